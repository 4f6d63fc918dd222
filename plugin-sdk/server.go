package sdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// server adapts a Backend to the wire.
type server struct {
	pb.UnimplementedBackendServer
	backend *complete
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
	return wire.Each(diagnosticsOf(ferr), diagnosticToWire), nil
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
		resp.Dialects = wire.Each(dialects, dialectToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) GetModuleMap(ctx context.Context, _ *pb.GetModuleMapRequest) (*pb.GetModuleMapResponse, error) {
	resp := &pb.GetModuleMapResponse{}
	diags, err := s.guard(ctx, "GetModuleMap", func(ctx context.Context) error {
		modules, err := s.backend.GetModuleMap(ctx)
		resp.Modules = wire.Each(modules, moduleNameToWire)
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
		r, err := s.backend.SupportsTarget(ctx, wire.TargetFromWire(req.GetTarget()))
		resp.Supported, resp.Target, resp.Reason = r.Supported, wire.TargetToWire(r.Target), r.Reason
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) ParseOptions(ctx context.Context, req *pb.ParseOptionsRequest) (*pb.ParseOptionsResponse, error) {
	resp := &pb.ParseOptionsResponse{}
	diags, err := s.guard(ctx, "ParseOptions", func(ctx context.Context) error {
		r, err := s.backend.ParseOptions(ctx, ParseOptionsRequest{
			Target: wire.TargetFromWire(req.GetTarget()), OptionsJSON: req.GetOptionsJson(), Settings: req.GetSettings(),
		})
		resp.OptionsJson, resp.Diagnostics = r.OptionsJSON, wire.Each(r.Diagnostics, diagnosticToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) AddStages(ctx context.Context, req *pb.AddStagesRequest) (*pb.AddStagesResponse, error) {
	resp := &pb.AddStagesResponse{}
	diags, err := s.guard(ctx, "AddStages", func(ctx context.Context) error {
		stages, warnings, err := s.backend.AddStages(ctx, AddStagesRequest{
			Target: wire.TargetFromWire(req.GetTarget()), OptionsJSON: req.GetOptionsJson(), Settings: req.GetSettings(),
		})
		resp.Stages, resp.Diagnostics = wire.Each(stages, stageToWire), wire.Each(warnings, diagnosticToWire)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) ListTools(ctx context.Context, req *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	if !s.backend.listsTools() {
		return nil, status.Error(codes.Unimplemented, errNoToolList.Error())
	}
	resp := &pb.ListToolsResponse{}
	diags, err := s.guard(ctx, "ListTools", func(ctx context.Context) error {
		r, err := s.backend.ListTools(ctx, ListToolsRequest{Target: wire.TargetFromWire(req.GetTarget()), Settings: req.GetSettings()})
		resp.Tools, resp.LookedAt = wire.Each(r.Tools, toolToWire), wire.Each(r.LookedAt, wire.UTF8)
		resp.Settings, resp.Unshared, resp.WhenRun = r.Settings, r.Unshared, r.WhenRun
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
	out := &eventWriter{events: events[pb.RunStagesEvent]{send: stream.Send}}
	defer out.over()
	var resp RunStagesResponse
	req.Progress = out.progress
	diags, err := s.guard(stream.Context(), "RunStages", func(ctx context.Context) (err error) {
		resp, err = s.backend.RunStages(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	out.over()
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
