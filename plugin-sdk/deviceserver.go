package sdk

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// deviceServer adapts a DeviceDriver to the wire: it gives what the driver makes
// numbers, from 1, and keeps accesses inside buffers.
type deviceServer struct {
	pb.UnimplementedDevicesServer
	driver DeviceDriver
	caller

	mu       sync.Mutex
	last     uint64
	sessions map[uint64]*session
}

// session is an open device. Its own calls come one after the other, so only
// the server's map is locked.
type session struct {
	device  Device
	last    uint64
	buffers map[uint64]*memory
	kernels map[uint64]DeviceKernel
}

type memory struct {
	buffer DeviceBuffer
	name   string
	size   int64
}

// errNumber is a host's mistake: it names what is not there.
func errNumber(what string, number uint64) error {
	return status.Errorf(codes.NotFound, "no %s has the number %d", what, number)
}

func (s *deviceServer) session(number uint64) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.sessions[number]; open != nil {
		return open, nil
	}
	return nil, errNumber("session", number)
}

// memory finds a buffer and sees to it that size bytes from offset lie inside.
func (s *deviceServer) memory(number, buffer uint64, offset, size int64) (*memory, error) {
	open, err := s.session(number)
	if err != nil {
		return nil, err
	}
	m := open.buffers[buffer]
	if m == nil {
		return nil, errNumber("buffer", buffer)
	}
	if offset < 0 || size < 0 || offset > m.size || size > m.size-offset {
		return nil, status.Errorf(codes.OutOfRange, "bytes %d to %d of %s, which has %d", offset, offset+size, m.name, m.size)
	}
	return m, nil
}

func (s *deviceServer) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	resp := &pb.DescribeResponse{}
	var err error
	resp.Diagnostics, err = s.guard(ctx, "Describe", func(ctx context.Context) error {
		f, err := s.driver.Describe(ctx)
		resp.Name, resp.Version, resp.Devices = wire.UTF8(f.Name), wire.UTF8(f.Version), wire.Each(f.Devices, deviceInfoToWire)
		return err
	})
	return resp, err
}

func (s *deviceServer) Open(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
	resp := &pb.OpenResponse{}
	var err error
	resp.Diagnostics, err = s.guard(ctx, "Open", func(ctx context.Context) error {
		d, err := s.driver.Open(ctx, int(req.GetNumber()), wire.TargetFromWire(req.GetTarget()))
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last++
		s.sessions[s.last] = &session{device: d, buffers: map[uint64]*memory{}, kernels: map[uint64]DeviceKernel{}}
		resp.Session, resp.Properties = s.last, devicePropertiesToWire(d.Properties())
		_, resp.Timer = d.(DeviceTimer)
		return nil
	})
	return resp, err
}

func (s *deviceServer) Close(ctx context.Context, req *pb.CloseRequest) (*pb.CloseResponse, error) {
	open, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.sessions, req.GetSession())
	s.mu.Unlock()
	resp := &pb.CloseResponse{}
	resp.Diagnostics, err = s.guard(ctx, "Close", func(context.Context) error { return open.device.Close() })
	return resp, err
}

func (s *deviceServer) Alloc(ctx context.Context, req *pb.AllocRequest) (*pb.AllocResponse, error) {
	open, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if req.GetSize() < 0 {
		return nil, status.Errorf(codes.InvalidArgument, "memory of %d bytes", req.GetSize())
	}
	resp := &pb.AllocResponse{}
	resp.Diagnostics, err = s.guard(ctx, "Alloc", func(ctx context.Context) error {
		b, err := open.device.Alloc(ctx, req.GetName(), req.GetSize())
		if err != nil {
			return err
		}
		open.last++
		open.buffers[open.last] = &memory{b, req.GetName(), req.GetSize()}
		resp.Buffer, resp.Address = open.last, b.Addr()
		return nil
	})
	return resp, err
}

func (s *deviceServer) Free(ctx context.Context, req *pb.FreeRequest) (*pb.FreeResponse, error) {
	m, err := s.memory(req.GetSession(), req.GetBuffer(), 0, 0)
	if err != nil {
		return nil, err
	}
	open, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	delete(open.buffers, req.GetBuffer())
	resp := &pb.FreeResponse{}
	resp.Diagnostics, err = s.guard(ctx, "Free", func(context.Context) error { return m.buffer.Free() })
	return resp, err
}

func (s *deviceServer) Write(stream pb.Devices_WriteServer) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	h := first.GetHeader()
	m, err := s.memory(h.GetSession(), h.GetBuffer(), h.GetOffset(), h.GetSize())
	if err != nil {
		return err
	}
	resp := &pb.WriteResponse{}
	at, end := h.GetOffset(), h.GetOffset()+h.GetSize()
	for piece := first.GetData(); ; {
		if int64(len(piece)) > end-at {
			return status.Errorf(codes.InvalidArgument, "more than the %d bytes announced for %s", h.GetSize(), m.name)
		}
		if len(piece) > 0 {
			resp.Diagnostics, err = s.guard(ctx, "Write", func(ctx context.Context) error { return m.buffer.Write(ctx, at, piece) })
			if err != nil {
				return err
			}
			if len(resp.Diagnostics) > 0 {
				return stream.SendAndClose(resp)
			}
		}
		at += int64(len(piece))
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		piece = msg.GetData()
	}
	if at != end {
		return status.Errorf(codes.DataLoss, "%d of the %d bytes announced for %s arrived", at-h.GetOffset(), h.GetSize(), m.name)
	}
	return stream.SendAndClose(resp)
}

func (s *deviceServer) Read(req *pb.ReadRequest, stream pb.Devices_ReadServer) error {
	m, err := s.memory(req.GetSession(), req.GetBuffer(), req.GetOffset(), req.GetSize())
	if err != nil {
		return err
	}
	for at, left := req.GetOffset(), req.GetSize(); left > 0; {
		resp := &pb.ReadResponse{Data: make([]byte, min(left, wire.PieceBytes))} // the message keeps it
		resp.Diagnostics, err = s.guard(stream.Context(), "Read", func(ctx context.Context) error { return m.buffer.Read(ctx, at, resp.Data) })
		if err != nil {
			return err
		}
		n := int64(len(resp.Data))
		if len(resp.Diagnostics) > 0 {
			resp.Data, left = nil, n // and no more
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
		at, left = at+n, left-n
	}
	return nil
}

func (s *deviceServer) Load(ctx context.Context, req *pb.LoadRequest) (*pb.LoadResponse, error) {
	open, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	resp := &pb.LoadResponse{}
	resp.Diagnostics, err = s.guard(ctx, "Load", func(ctx context.Context) error {
		k, err := open.device.Load(ctx, deviceBinaryFromWire(req))
		if err != nil {
			return err
		}
		open.last++
		open.kernels[open.last] = k
		resp.Kernel = open.last
		return nil
	})
	return resp, err
}

func (s *deviceServer) Launch(ctx context.Context, req *pb.LaunchRequest) (*pb.LaunchResponse, error) {
	open, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	k, l, err := open.launch(req)
	if err != nil {
		return nil, err
	}
	return s.launched(ctx, "Launch", func(ctx context.Context) (DeviceResult, error) { return k.Launch(ctx, l) })
}

func (s *deviceServer) Time(ctx context.Context, req *pb.TimeRequest) (*pb.LaunchResponse, error) {
	open, err := s.session(req.GetLaunch().GetSession())
	if err != nil {
		return nil, err
	}
	k, l, err := open.launch(req.GetLaunch())
	if err != nil {
		return nil, err
	}
	timer, ok := open.device.(DeviceTimer)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the driver measures no kernels")
	}
	t := DeviceTiming{Runs: int(req.GetRuns()), Warmup: int(req.GetWarmup()), Flush: req.GetFlush(), Graph: req.GetGraph(), Together: req.GetTogether()}
	if t.Runs < 1 || t.Warmup < 0 || t.Flush < 0 {
		return nil, status.Errorf(codes.InvalidArgument, "%d runs after %d, with %d bytes before each", t.Runs, t.Warmup, t.Flush)
	}
	return s.launched(ctx, "Time", func(ctx context.Context) (DeviceResult, error) { return timer.Time(ctx, k, l, t) })
}

// launched answers with the outcome of a launch or a measurement.
func (s *deviceServer) launched(ctx context.Context, method string, f func(context.Context) (DeviceResult, error)) (*pb.LaunchResponse, error) {
	resp := &pb.LaunchResponse{}
	var err error
	resp.Diagnostics, err = s.guard(ctx, method, func(ctx context.Context) error {
		r, err := f(ctx)
		resp.Nanoseconds, resp.Output, resp.Lost = r.Time.Nanoseconds(), r.Output, r.Lost
		resp.Fault = wire.Each(r.Fault, diagnosticToWire)
		for _, t := range r.Times {
			resp.Times = append(resp.Times, t.Nanoseconds())
		}
		return err
	})
	return resp, err
}

// launch finds what a request has launched, and on what.
func (s *session) launch(req *pb.LaunchRequest) (DeviceKernel, DeviceLaunch, error) {
	l := DeviceLaunch{Args: make([]DeviceArg, len(req.GetArguments()))}
	k := s.kernels[req.GetKernel()]
	if k == nil {
		return nil, l, errNumber("kernel", req.GetKernel())
	}
	if len(req.GetGrid()) != 3 {
		return nil, l, status.Errorf(codes.InvalidArgument, "a grid of %d dimensions", len(req.GetGrid()))
	}
	for i, n := range req.GetGrid() {
		l.Grid[i] = int(n)
	}
	for i, a := range req.GetArguments() {
		l.Args[i].Scalar = a.GetScalar()
		if m := a.GetTensorMap(); m != nil {
			if a.GetBuffer() == 0 {
				return nil, l, status.Errorf(codes.InvalidArgument, "argument %d is a tensor map of no memory", i)
			}
			l.Args[i].Map = &DeviceTensorMap{
				Offset: m.GetOffset(), Shape: m.GetShape(), Strides: m.GetStrides(), Box: m.GetBox(),
				ElemSize: int(m.GetElemSize()), ElemType: int(m.GetElemType()), Swizzle: int(m.GetSwizzle()), NaN: m.GetNan(),
			}
		}
		if a.GetBuffer() == 0 {
			continue
		}
		m := s.buffers[a.GetBuffer()]
		if m == nil {
			return nil, l, errNumber("buffer", a.GetBuffer())
		}
		l.Args[i].Buffer = m.buffer
	}
	return k, l, nil
}

func deviceInfoToWire(d DeviceInfo) *pb.DeviceInfo {
	return &pb.DeviceInfo{
		Name: wire.UTF8(d.Name), Target: wire.TargetToWire(d.Target), Memory: d.Memory,
		Multiprocessors: int32(d.Multiprocessors), MaxShared: d.MaxShared,
	}
}

func devicePropertiesToWire(p DeviceProperties) *pb.Properties {
	return &pb.Properties{
		Name: wire.UTF8(p.Name), Stage: p.Stage, WarpSize: int32(p.WarpSize), Multiprocessors: int32(p.Multiprocessors),
		MaxThreads: int32(p.MaxThreads), MaxShared: int64(p.MaxShared), Memory: p.Memory,
	}
}

func deviceBinaryFromWire(b *pb.LoadRequest) DeviceBinary {
	return DeviceBinary{
		Name: b.GetName(), Code: b.GetCode(), Kernel: b.GetKernel(), NumWarps: int(b.GetNumWarps()), NumCTAs: int(b.GetNumCtas()),
		Cooperative: b.GetLaunchCooperativeGrid(), PDL: b.GetLaunchPdl(),
		Shared: b.GetShared(), GlobalScratchSize: b.GetGlobalScratchSize(), GlobalScratchAlign: b.GetGlobalScratchAlign(),
		Metadata: b.GetMetadata(),
	}
}
