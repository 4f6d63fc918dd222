package sdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// MaxMessageBytes is the largest message of either direction. Beyond it a call
// fails with a size error rather than with the machine's memory.
const MaxMessageBytes = 256 << 20

// windowBytes is how much may be under way on a connection. gRPC's own start of
// 64 KiB is for slow networks: on a socket of one machine either side would wait for the
// other again and again.
const (
	windowBytes = 8 << 20
	bufferBytes = 256 << 10
)

// NewGRPCServer makes a gRPC server with the contract's message limits.
func NewGRPCServer(opts []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(slices.Clone(opts),
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
	)...)
}

// DialOptions are a host's half of NewGRPCServer.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec())),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
	}
}

// RegisterBackend puts b on a gRPC server; methods get log through Logger.
func RegisterBackend(s grpc.ServiceRegistrar, b Backend, log hclog.Logger) {
	registerLocal(s, NewLocal(b), log)
}

func registerLocal(s grpc.ServiceRegistrar, l *Local, log hclog.Logger) {
	pb.RegisterBackendServer(s, &server{backend: l, caller: caller{log: log, who: "the backend"}})
}

// server adapts a Backend to the wire.
type server struct {
	pb.UnimplementedBackendServer
	backend *Local
	caller
}

// caller calls the author's methods.
type caller struct {
	log hclog.Logger
	who string // "the backend", in messages
}

// guard runs one method: it lends the logger, converts the method's error to
// diagnostics and a panic into one that says BUG. What remains is a gRPC error,
// for a cancelled call or a lost device only.
func (s *caller) guard(ctx context.Context, method string, f func(context.Context) error) (diags []*pb.Diagnostic, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			s.log.Error("panic", "method", method, "value", fmt.Sprint(p), "stack", string(stack))
			diags, err = []*pb.Diagnostic{diagnosticToWire(*panicked(s.who, method, p, stack))}, nil
		}
	}()
	ferr := f(context.WithValue(ctx, callKey{}, &call{log: s.log}))
	if ferr != nil && ctx.Err() != nil && (errors.Is(ferr, context.Canceled) || errors.Is(ferr, context.DeadlineExceeded)) {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if errors.Is(ferr, ErrDeviceLost) {
		return nil, status.Error(codes.Aborted, ferr.Error())
	}
	return each(diagnosticsOf(ferr), diagnosticToWire), nil
}

func (s *server) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	resp := &pb.DescribeResponse{}
	diags, err := s.guard(ctx, "Describe", func(ctx context.Context) error {
		f, err := s.backend.Describe(ctx)
		resp.Facts = factsToWire(f)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) LoadDialects(ctx context.Context, _ *pb.LoadDialectsRequest) (*pb.LoadDialectsResponse, error) {
	resp := &pb.LoadDialectsResponse{}
	diags, err := s.guard(ctx, "LoadDialects", func(ctx context.Context) error {
		dialects, err := s.backend.LoadDialects(ctx)
		resp.Dialects = each(dialects, dialectToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) GetModuleMap(ctx context.Context, _ *pb.GetModuleMapRequest) (*pb.GetModuleMapResponse, error) {
	resp := &pb.GetModuleMapResponse{}
	diags, err := s.guard(ctx, "GetModuleMap", func(ctx context.Context) error {
		modules, err := s.backend.GetModuleMap(ctx)
		resp.Modules = each(modules, moduleNameToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) GetModule(ctx context.Context, req *pb.GetModuleRequest) (*pb.GetModuleResponse, error) {
	resp := &pb.GetModuleResponse{}
	diags, err := s.guard(ctx, "GetModule", func(ctx context.Context) error {
		m, err := s.backend.GetModule(ctx, req.GetName())
		resp.Module = moduleToWire(m)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) SupportsTarget(ctx context.Context, req *pb.SupportsTargetRequest) (*pb.SupportsTargetResponse, error) {
	resp := &pb.SupportsTargetResponse{}
	diags, err := s.guard(ctx, "SupportsTarget", func(ctx context.Context) error {
		r, err := s.backend.SupportsTarget(ctx, targetFromWire(req.GetTarget()))
		resp.Supported, resp.Target, resp.Reason = r.Supported, targetToWire(r.Target), r.Reason
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) ParseOptions(ctx context.Context, req *pb.ParseOptionsRequest) (*pb.ParseOptionsResponse, error) {
	resp := &pb.ParseOptionsResponse{}
	diags, err := s.guard(ctx, "ParseOptions", func(ctx context.Context) error {
		r, err := s.backend.ParseOptions(ctx, ParseOptionsRequest{
			Target: targetFromWire(req.GetTarget()), OptionsJSON: req.GetOptionsJson(), Settings: req.GetSettings(),
		})
		resp.OptionsJson, resp.Diagnostics = r.OptionsJSON, each(r.Diagnostics, diagnosticToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) AddStages(ctx context.Context, req *pb.AddStagesRequest) (*pb.AddStagesResponse, error) {
	resp := &pb.AddStagesResponse{}
	diags, err := s.guard(ctx, "AddStages", func(ctx context.Context) error {
		r, err := s.backend.AddStages(ctx, AddStagesRequest{
			Target: targetFromWire(req.GetTarget()), OptionsJSON: req.GetOptionsJson(), Settings: req.GetSettings(),
		})
		resp.Stages, resp.Diagnostics = each(r.Stages, stageToWire), each(r.Diagnostics, diagnosticToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) RunStages(stream grpc.BidiStreamingServer[pb.RunStagesRequest, pb.RunStagesEvent]) error {
	req, err := receiveRequest(stream)
	if err != nil {
		return err
	}
	out := &eventWriter{events[pb.RunStagesEvent]{send: stream.Send}}
	var resp RunStagesResponse
	req.Progress = out.progress
	diags, err := s.guard(stream.Context(), "RunStages", func(ctx context.Context) (err error) {
		resp, err = s.backend.RunStages(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	return out.finish(&resp, diags)
}

func (s *server) RunPasses(stream grpc.BidiStreamingServer[pb.RunPassesRequest, pb.RunPassesEvent]) error {
	if !s.backend.runsPasses() {
		return status.Error(codes.Unimplemented, errNoPasses.Error())
	}
	req, err := receivePasses(stream)
	if err != nil {
		return err
	}
	var resp RunPassesResponse
	diags, err := s.guard(stream.Context(), "RunPasses", func(ctx context.Context) (err error) {
		resp, err = s.backend.RunPasses(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	out := passEvents{events[pb.RunPassesEvent]{send: stream.Send}}
	return out.finish(&resp, diags)
}
