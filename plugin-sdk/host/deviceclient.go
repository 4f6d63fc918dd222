package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	bpb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// DeviceClient is a sdk.DeviceDriver at the far end of a connection. sdk.Diagnostics
// that end a call come back as a sdk.Diagnostics error; gRPC's errors pass
// unchanged.
type DeviceClient struct {
	stub pb.DevicesClient
}

var _ sdk.DeviceDriver = (*DeviceClient)(nil)

// NewDeviceClient speaks with the driver at the other end of conn.
func NewDeviceClient(conn grpc.ClientConnInterface) *DeviceClient {
	return &DeviceClient{stub: pb.NewDevicesClient(conn)}
}

// answered is the outcome of a call: gRPC's error, or the response's.
func answered(resp wireDiagnostics, err error) error {
	if err == nil {
		_, err = received(resp.GetDiagnostics())
	}
	return err
}

// Describe implements DeviceDriver.
func (c *DeviceClient) Describe(ctx context.Context) (sdk.DeviceFacts, error) {
	resp, err := c.stub.Describe(ctx, &pb.DescribeRequest{}, sendLimits...)
	if err := answered(resp, err); err != nil {
		return sdk.DeviceFacts{}, err
	}
	return sdk.DeviceFacts{Name: resp.GetName(), Version: resp.GetVersion(), Devices: wire.Each(resp.GetDevices(), deviceInfoFromWire)}, nil
}

// Open implements DeviceDriver.
func (c *DeviceClient) Open(ctx context.Context, number int, target sdk.Target) (sdk.Device, error) {
	resp, err := c.stub.Open(ctx, &pb.OpenRequest{Number: int32(number), Target: wire.TargetToWire(target)}, sendLimits...)
	if err := answered(resp, err); err != nil {
		return nil, err
	}
	d := &deviceClient{c.stub, resp.GetSession(), devicePropertiesFromWire(resp.GetProperties())}
	if resp.GetTimer() {
		return timerClient{d}, nil
	}
	return d, nil
}

type deviceClient struct {
	stub       pb.DevicesClient
	session    uint64
	properties sdk.DeviceProperties
}

func (d *deviceClient) Properties() sdk.DeviceProperties { return d.properties }

func (d *deviceClient) Close() error {
	ctx, cancel := background()
	defer cancel()
	return answered(d.stub.Close(ctx, &pb.CloseRequest{Session: d.session}, sendLimits...))
}

// background is the context of calls that give things back: these happen even
// when the work was cancelled, but not for ever.
func background() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

func (d *deviceClient) Alloc(ctx context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	resp, err := d.stub.Alloc(ctx, &pb.AllocRequest{Session: d.session, Name: wire.UTF8(name), Size: size}, sendLimits...)
	if err := answered(resp, err); err != nil {
		return nil, err
	}
	return &bufferClient{d, resp.GetBuffer(), resp.GetAddress()}, nil
}

type bufferClient struct {
	device  *deviceClient
	number  uint64
	address uint64
}

func (b *bufferClient) Addr() uint64 { return b.address }

func (b *bufferClient) Free() error {
	ctx, cancel := background()
	defer cancel()
	return answered(b.device.stub.Free(ctx, &pb.FreeRequest{Session: b.device.session, Buffer: b.number}, sendLimits...))
}

func (b *bufferClient) Write(ctx context.Context, offset int64, p []byte) error {
	stream, err := b.device.stub.Write(ctx, sendLimits...)
	if err != nil {
		return err
	}
	msg := &pb.WriteRequest{Header: &pb.WriteHeader{
		Session: b.device.session, Buffer: b.number, Offset: offset, Size: int64(len(p)),
	}}
	for first := true; first || len(p) > 0; first = false {
		msg.Data = p[:min(len(p), wire.PieceBytes)]
		p = p[len(msg.Data):]
		if err := stream.Send(msg); err != nil {
			if errors.Is(err, io.EOF) {
				break // the answer says why
			}
			return err
		}
		msg = &pb.WriteRequest{}
	}
	return answered(stream.CloseAndRecv())
}

func (b *bufferClient) Read(ctx context.Context, offset int64, p []byte) error {
	ctx, cancel := context.WithCancel(ctx) // ends the stream of a read that fails here
	defer cancel()
	stream, err := b.device.stub.Read(ctx, &pb.ReadRequest{
		Session: b.device.session, Buffer: b.number, Offset: offset, Size: int64(len(p)),
	}, sendLimits...)
	if err != nil {
		return err
	}
	for got := 0; ; {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if got != len(p) {
				return fmt.Errorf("%d of %d bytes arrived", got, len(p))
			}
			return nil
		}
		if err := answered(resp, err); err != nil {
			return err
		}
		if len(resp.GetData()) > len(p)-got {
			return fmt.Errorf("more than %d bytes arrived", len(p))
		}
		got += copy(p[got:], resp.GetData())
	}
}

func (d *deviceClient) Load(ctx context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	req := deviceBinaryToWire(b)
	req.Session = d.session
	resp, err := d.stub.Load(ctx, req, sendLimits...)
	if err := answered(resp, err); err != nil {
		return nil, err
	}
	return &kernelClient{d, resp.GetKernel()}, nil
}

type kernelClient struct {
	device *deviceClient
	number uint64
}

func (k *kernelClient) Launch(ctx context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	req, err := k.request(&l)
	if err != nil {
		return sdk.DeviceResult{}, err
	}
	return launched(k.device.stub.Launch(ctx, req, sendLimits...))
}

// timerClient is a deviceClient whose driver has Time.
type timerClient struct{ *deviceClient }

var _ sdk.DeviceTimer = timerClient{}

func (d timerClient) Time(ctx context.Context, k sdk.DeviceKernel, l sdk.DeviceLaunch, t sdk.DeviceTiming) (sdk.DeviceResult, error) {
	kernel, ok := k.(*kernelClient)
	if !ok || kernel.device != d.deviceClient {
		return sdk.DeviceResult{}, errors.New("the kernel is one of another device")
	}
	req, err := kernel.request(&l)
	if err != nil {
		return sdk.DeviceResult{}, err
	}
	return launched(d.stub.Time(ctx, &pb.TimeRequest{
		Launch: req, Runs: int32(t.Runs), Warmup: int32(t.Warmup), Flush: t.Flush, Graph: t.Graph, Together: t.Together,
	}, sendLimits...))
}

// request is a launch as it crosses to the driver.
func (k *kernelClient) request(l *sdk.DeviceLaunch) (*pb.LaunchRequest, error) {
	req := &pb.LaunchRequest{Session: k.device.session, Kernel: k.number}
	for _, n := range l.Grid {
		req.Grid = append(req.Grid, int64(n))
	}
	for _, a := range l.Args {
		arg := &pb.Argument{Scalar: a.Scalar}
		if a.Buffer != nil {
			b, ok := a.Buffer.(*bufferClient)
			if !ok || b.device != k.device {
				return nil, errors.New("an argument is memory of another device")
			}
			arg.Buffer = b.number
		}
		if m := a.Map; m != nil {
			if a.Buffer == nil {
				return nil, errors.New("a tensor map needs memory")
			}
			arg.TensorMap = &pb.TensorMap{
				Offset: m.Offset, Shape: m.Shape, Strides: m.Strides, Box: m.Box,
				ElemSize: int32(m.ElemSize), ElemType: int32(m.ElemType), Swizzle: int32(m.Swizzle), Nan: m.NaN,
			}
		}
		req.Arguments = append(req.Arguments, arg)
	}
	return req, nil
}

// launched is the outcome of a launch or a measurement.
func launched(resp *pb.LaunchResponse, err error) (sdk.DeviceResult, error) {
	if err != nil {
		return sdk.DeviceResult{}, err
	}
	_, err = received(resp.GetDiagnostics())
	r := sdk.DeviceResult{
		Time: time.Duration(resp.GetNanoseconds()), Output: resp.GetOutput(), Lost: resp.GetLost(),
		Fault: wire.Each(resp.GetFault(), diagnosticFromWire),
	}
	for _, ns := range resp.GetTimes() {
		r.Times = append(r.Times, time.Duration(ns))
	}
	return r, err
}

func deviceInfoFromWire(d *pb.DeviceInfo) sdk.DeviceInfo {
	return sdk.DeviceInfo{
		Name: d.GetName(), Target: wire.TargetFromWire(d.GetTarget()), Memory: d.GetMemory(),
		Multiprocessors: int(d.GetMultiprocessors()), MaxShared: d.GetMaxShared(),
	}
}

func devicePropertiesFromWire(p *pb.Properties) sdk.DeviceProperties {
	return sdk.DeviceProperties{
		Name: p.GetName(), Stage: p.GetStage(), WarpSize: int(p.GetWarpSize()), Multiprocessors: int(p.GetMultiprocessors()),
		MaxThreads: int(p.GetMaxThreads()), MaxShared: int(p.GetMaxShared()), Memory: p.GetMemory(),
	}
}

func deviceBinaryToWire(b sdk.DeviceBinary) *pb.LoadRequest {
	return &pb.LoadRequest{
		Name: wire.UTF8(b.Name), Code: b.Code, Kernel: wire.UTF8(b.Kernel), NumWarps: int32(b.NumWarps), NumCtas: int32(b.NumCTAs),
		Shared: b.Shared, GlobalScratchSize: b.GlobalScratchSize, GlobalScratchAlign: b.GlobalScratchAlign,
		LaunchCooperativeGrid: b.Cooperative, LaunchPdl: b.PDL, Metadata: wire.UTF8(b.Metadata),
	}
}

// wireDiagnostics are those of a response.
type wireDiagnostics interface {
	GetDiagnostics() []*bpb.Diagnostic
}
