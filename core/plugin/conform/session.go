package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tritonc/tritonc/plugin-sdk/host"
	bpb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// devicesPlugin gives the service as it is on the wire: the SDK's client knows only
// numbers that were given out.
type devicesPlugin struct{ host.DevicePlugin }

func (*devicesPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return pb.NewDevicesClient(conn), nil
}

// refusal is what a call's diagnostics say.
type refusal string

func (r refusal) Error() string { return string(r) }

// answered is the outcome of a call: gRPC's error, or that of its diagnostics.
func answered(resp interface{ GetDiagnostics() []*bpb.Diagnostic }, err error) error {
	if err != nil {
		return err
	}
	return refused(resp.GetDiagnostics())
}

func refused(list []*bpb.Diagnostic) error {
	for _, d := range list {
		if d.GetSeverity() == bpb.Diagnostic_ERROR {
			return refusal(d.GetMessage())
		}
	}
	return nil
}

// session is an open device.
type session struct {
	client pb.DevicesClient
	id     uint64
	props  *pb.Properties
}

func (s *session) close(ctx context.Context) error {
	resp, err := s.client.Close(ctx, &pb.CloseRequest{Session: s.id})
	return answered(resp, err)
}

func (s *session) alloc(ctx context.Context, name string, size int64) (buffer, address uint64, err error) {
	resp, err := s.client.Alloc(ctx, &pb.AllocRequest{Session: s.id, Name: name, Size: size})
	if err := answered(resp, err); err != nil {
		return 0, 0, err
	}
	return resp.GetBuffer(), resp.GetAddress(), nil
}

func (s *session) free(ctx context.Context, buffer uint64) error {
	resp, err := s.client.Free(ctx, &pb.FreeRequest{Session: s.id, Buffer: buffer})
	return answered(resp, err)
}

// pieceBytes is the most that one message carries of memory.
const pieceBytes = 1 << 20

// write announces size bytes and sends data.
func (s *session) write(ctx context.Context, buffer uint64, offset, size int64, data []byte) error {
	stream, err := s.client.Write(ctx)
	if err != nil {
		return err
	}
	msg := &pb.WriteRequest{Header: &pb.WriteHeader{Session: s.id, Buffer: buffer, Offset: offset, Size: size}}
	for first := true; first || len(data) > 0; first = false {
		msg.Data = data[:min(len(data), pieceBytes)]
		data = data[len(msg.Data):]
		if err := stream.Send(msg); err != nil {
			if errors.Is(err, io.EOF) {
				break // the answer says why
			}
			return err
		}
		msg = &pb.WriteRequest{}
	}
	resp, err := stream.CloseAndRecv()
	return answered(resp, err)
}

func (s *session) read(ctx context.Context, buffer uint64, offset, size int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.Read(ctx, &pb.ReadRequest{Session: s.id, Buffer: buffer, Offset: offset, Size: size})
	if err != nil {
		return nil, err
	}
	var data []byte
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := answered(resp, err); err != nil {
			return nil, err
		}
		if data = append(data, resp.GetData()...); int64(len(data)) > size {
			break
		}
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("a read of size %d gave %d", size, len(data))
	}
	return data, nil
}

// launchMetadata is what of a compile's metadata goes to Load.
type launchMetadata struct {
	Name               string `json:"name"`
	NumWarps           int32  `json:"num_warps"`
	NumCTAs            int32  `json:"num_ctas"`
	Shared             int64  `json:"shared"`
	GlobalScratchSize  int64  `json:"global_scratch_size"`
	GlobalScratchAlign int64  `json:"global_scratch_align"`
	Cooperative        bool   `json:"launch_cooperative_grid"`
	PDL                bool   `json:"launch_pdl"`
}

func (s *session) load(ctx context.Context, name string, code []byte, metadata string) (uint64, error) {
	var m launchMetadata
	if metadata != "" {
		if err := json.Unmarshal([]byte(metadata), &m); err != nil {
			return 0, fmt.Errorf("metadata: %w", err)
		}
	}
	resp, err := s.client.Load(ctx, &pb.LoadRequest{
		Session: s.id, Name: name, Code: code, Kernel: m.Name, NumWarps: m.NumWarps, NumCtas: m.NumCTAs, Shared: m.Shared,
		GlobalScratchSize: m.GlobalScratchSize, GlobalScratchAlign: m.GlobalScratchAlign,
		LaunchCooperativeGrid: m.Cooperative, LaunchPdl: m.PDL, Metadata: metadata,
	})
	if err := answered(resp, err); err != nil {
		return 0, err
	}
	return resp.GetKernel(), nil
}

// launch runs a kernel to its end. What the kernel did wrong is an error, too.
func (s *session) launch(ctx context.Context, kernel uint64, grid []int64, args []*pb.Argument) error {
	resp, err := s.client.Launch(ctx, &pb.LaunchRequest{Session: s.id, Kernel: kernel, Grid: grid, Arguments: args})
	if err := answered(resp, err); err != nil {
		return err
	}
	return refused(resp.GetFault())
}

// memory are a kernel's arguments on a device.
type memory struct {
	of      []argument
	buffers []uint64 // by argument; 0 for numbers
	args    []*pb.Argument
}

// place puts arguments into memory of the device.
func (s *session) place(ctx context.Context, list []argument) (*memory, error) {
	m := &memory{of: list, buffers: make([]uint64, len(list))}
	for i := range list {
		a := &list[i]
		if a.scalar != nil {
			m.args = append(m.args, &pb.Argument{Scalar: a.scalar})
			continue
		}
		size := int64(len(a.before))
		buffer, _, err := s.alloc(ctx, fmt.Sprintf("argument %d", i), size)
		if err != nil {
			return nil, fmt.Errorf("memory of size %d: %w", size, err)
		}
		if err := s.write(ctx, buffer, 0, size, a.before); err != nil {
			return nil, fmt.Errorf("a write of size %d: %w", size, err)
		}
		m.buffers[i] = buffer
		m.args = append(m.args, &pb.Argument{Buffer: buffer})
	}
	return m, nil
}

// compare reads the arguments and holds them to what they should be: after the kernel
// ran, or as they were before.
func (s *session) compare(ctx context.Context, m *memory, ran bool) error {
	for i, buffer := range m.buffers {
		if buffer == 0 {
			continue
		}
		want := m.of[i].before
		if ran {
			want = m.of[i].want
		}
		got, err := s.read(ctx, buffer, 0, int64(len(want)))
		if err != nil {
			return err
		}
		if at := firstDifference(got, want); at >= 0 {
			at &^= 3
			end := min(at+4, len(want))
			return fmt.Errorf("argument %d has the bytes % x at %d, it must have % x", i, got[at:end], at, want[at:end])
		}
	}
	return nil
}

func (s *session) freeAll(ctx context.Context, m *memory) error {
	for _, buffer := range m.buffers {
		if buffer == 0 {
			continue
		}
		if err := s.free(ctx, buffer); err != nil {
			return err
		}
	}
	return nil
}

// firstDifference is the first byte in which two texts of one length differ, or -1.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// grid3 is a grid as it crosses to the driver.
func grid3(g [3]int) []int64 { return []int64{int64(g[0]), int64(g[1]), int64(g[2])} }

// names joins what was and what was not.
func names(list []string) string { return strings.Join(list, " ") }
