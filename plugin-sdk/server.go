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

// NewGRPCServer makes a gRPC server with the contract's message limits.
func NewGRPCServer(opts []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(slices.Clone(opts),
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
	)...)
}

// RegisterBackend puts b on a gRPC server; methods get log through Logger.
func RegisterBackend(s grpc.ServiceRegistrar, b Backend, log hclog.Logger) {
	pb.RegisterBackendServer(s, &server{backend: b, caller: caller{log: log, who: "the backend"}})
}

type loggerKey struct{}

// Logger returns the logger of a call. Its lines reach the user under -v.
func Logger(ctx context.Context) hclog.Logger {
	if l, ok := ctx.Value(loggerKey{}).(hclog.Logger); ok {
		return l
	}
	return hclog.NewNullLogger()
}

// server adapts a Backend to the wire.
type server struct {
	pb.UnimplementedBackendServer
	backend Backend
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
			stack := string(debug.Stack())
			s.log.Error("panic", "method", method, "value", fmt.Sprint(p), "stack", stack)
			diags = []*pb.Diagnostic{diagnosticToWire(Diagnostic{
				Kind:    Bug,
				Message: fmt.Sprintf("BUG in %s, in %s: %v", s.who, method, p),
				Help:    "this is a mistake in " + s.who + ", not in your kernel; please report it with the input and the stack below",
				Notes:   []Diagnostic{{Severity: Note, Message: stack}},
			})}
			err = nil
		}
	}()
	ferr := f(context.WithValue(ctx, loggerKey{}, s.log))
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
		f, err := describe(ctx, s.backend)
		f.Modules = each(f.Modules, func(m Module) Module { return Module{Name: m.Name, Aliases: m.Aliases} })
		resp.Facts = factsToWire(f)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) DescribeModule(ctx context.Context, req *pb.DescribeModuleRequest) (*pb.DescribeModuleResponse, error) {
	resp := &pb.DescribeModuleResponse{}
	diags, err := s.guard(ctx, "DescribeModule", func(ctx context.Context) error {
		f, err := s.backend.Describe(ctx)
		if err != nil {
			return err
		}
		m, ok := f.Module(req.GetName())
		if !ok {
			return fmt.Errorf("the backend has no module %q", req.GetName())
		}
		resp.Module = moduleToWire(m)
		return nil
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

// describe is b.Describe plus the capabilities that its methods show.
func describe(ctx context.Context, b Backend) (Facts, error) {
	f, err := b.Describe(ctx)
	if _, ok := b.(PassRunner); ok && !f.Has(CapRunPasses) {
		f.Capabilities = append(slices.Clone(f.Capabilities), CapRunPasses)
	}
	return f, err
}

func (s *server) SupportsTarget(ctx context.Context, req *pb.SupportsTargetRequest) (*pb.SupportsTargetResponse, error) {
	resp := &pb.SupportsTargetResponse{}
	diags, err := s.guard(ctx, "SupportsTarget", func(ctx context.Context) error {
		r, err := supportsTarget(ctx, s.backend, targetFromWire(req.GetTarget()))
		resp.Supported, resp.Target, resp.Reason = r.Supported, targetToWire(r.Target), r.Reason
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

// supportsTarget asks the facts of b, and b itself when it has an opinion.
func supportsTarget(ctx context.Context, b Backend, t Target) (SupportsTargetResponse, error) {
	f, err := b.Describe(ctx)
	if err != nil {
		return SupportsTargetResponse{}, err
	}
	if c, ok := b.(TargetChecker); ok {
		if _, matches := f.For(t); matches {
			return c.SupportsTarget(ctx, t)
		}
	}
	return f.Supports(t), nil
}

// Supports decides by the facts alone: a row must match, and the warp size, when
// given, must be one of the row's.
func (f *Facts) Supports(t Target) SupportsTargetResponse {
	row, ok := f.For(t)
	if !ok {
		return SupportsTargetResponse{} // its list of targets says why
	}
	if t.WarpSize == 0 {
		t.WarpSize = row.WarpSize
	}
	if t.WarpSize != row.WarpSize && !slices.Contains(row.WarpSizes, t.WarpSize) {
		return SupportsTargetResponse{Reason: fmt.Sprintf("%s:%s has warps of %d threads, not %d", t.Backend, t.Arch, row.WarpSize, t.WarpSize)}
	}
	return SupportsTargetResponse{Supported: true, Target: t}
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

func (s *server) RunStages(ctx context.Context, req *pb.RunStagesRequest) (*pb.RunStagesResponse, error) {
	resp := &pb.RunStagesResponse{}
	diags, err := s.guard(ctx, "RunStages", func(ctx context.Context) error {
		r, err := s.backend.RunStages(ctx, runStagesRequestFromWire(req))
		resp = runStagesResponseToWire(r)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}

func (s *server) RunPasses(ctx context.Context, req *pb.RunPassesRequest) (*pb.RunPassesResponse, error) {
	runner, ok := s.backend.(PassRunner)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "this backend runs no passes by name")
	}
	resp := &pb.RunPassesResponse{}
	diags, err := s.guard(ctx, "RunPasses", func(ctx context.Context) error {
		r, err := runner.RunPasses(ctx, runPassesRequestFromWire(req))
		resp = runPassesResponseToWire(r)
		return err
	})
	resp.Diagnostics = append(resp.Diagnostics, diags...)
	return resp, err
}
