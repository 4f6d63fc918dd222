package host

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// served is the server that sdk makes of a backend, and a connection to it for calls
// that do not stream.
type served struct {
	desc   *grpc.ServiceDesc
	server pb.BackendServer
}

// serve has sdk serve b.
func serve(b sdk.Backend) *served {
	s := &served{}
	sdk.Plugin{Backend: b}.Register(s, hclog.NewNullLogger())
	return s
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *served) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.desc, s.server = desc, impl.(pb.BackendServer)
}

// Invoke implements grpc.ClientConnInterface.
func (s *served) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	for _, m := range s.desc.Methods {
		if "/"+s.desc.ServiceName+"/"+m.MethodName != method {
			continue
		}
		out, err := m.Handler(s.server, ctx, func(in any) error {
			proto.Merge(in.(proto.Message), args.(proto.Message))
			return nil
		}, nil)
		if err == nil {
			proto.Merge(reply.(proto.Message), out.(proto.Message))
		}
		return err
	}
	return errors.New("no method " + method)
}

// NewStream implements grpc.ClientConnInterface.
func (*served) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("streams go over a tape")
}

// known is a backend that answers what a test gives it, and keeps what it was asked.
type known struct {
	facts    sdk.Facts
	options  sdk.ParseOptionsResponse
	stages   []sdk.Stage
	dialects []sdk.Dialect
	modules  []sdk.Module
	progress []sdk.Progress
	ran      sdk.RunStagesResponse
	passed   sdk.RunPassesResponse

	askedOptions sdk.ParseOptionsRequest
	askedStages  sdk.AddStagesRequest
	askedRun     sdk.RunStagesRequest
	askedPasses  sdk.RunPassesRequest
}

func (k *known) Describe(context.Context) (sdk.Facts, error) { return k.facts, nil }

func (k *known) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	k.askedOptions = req
	return k.options, nil
}

func (k *known) AddStages(_ context.Context, req sdk.AddStagesRequest) ([]sdk.Stage, error) {
	k.askedStages = req
	return k.stages, nil
}

func (k *known) LoadDialects(context.Context) ([]sdk.Dialect, error) { return k.dialects, nil }

func (k *known) GetModuleMap(context.Context) ([]sdk.Module, error) { return k.modules, nil }

func (k *known) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	k.askedRun = req
	k.askedRun.Progress = nil
	for _, p := range k.progress {
		sdk.ReportProgress(ctx, p)
	}
	return k.ran, nil
}

func (k *known) RunPasses(_ context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	k.askedPasses = req
	return k.passed, nil
}

// runStages has b answer what is on a tape.
func runStages(t *testing.T, b sdk.Backend, s *stagesTape) error {
	return serve(b).server.RunStages(stagesServerTape{tape: s, ctx: t.Context()})
}

// runPasses has b answer what is on a tape.
func runPasses(t *testing.T, b sdk.Backend, s *passesTape) error {
	return serve(b).server.RunPasses(passesServerTape{tape: s, ctx: t.Context()})
}
