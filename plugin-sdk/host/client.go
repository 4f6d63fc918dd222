package host

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// Client is a backend at the far end of a connection, for hosts. A call that the
// backend does not serve ends with gRPC's status UNIMPLEMENTED. sdk.Diagnostics that end a call come back as a
// sdk.Diagnostics error, beside the response; gRPC's errors pass unchanged.
type Client struct {
	stub pb.BackendClient
	// MaxBytes bounds what RunStages or RunPasses may answer, data of all kinds together; 0
	// means DefaultMaxBytes.
	MaxBytes int64
}

// DefaultMaxBytes is the bound of a Client that names none.
const DefaultMaxBytes = 4 << 30

// NewClient speaks with the backend at the other end of conn.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{stub: pb.NewBackendClient(conn)}
}

// sendLimits are the host's half of wire.MaxMessageBytes.
var sendLimits = []grpc.CallOption{
	grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes),
	grpc.MaxCallSendMsgSize(wire.MaxMessageBytes),
}

// received parts a response's diagnostics into the call's error and the rest.
func received(diagnostics []*pb.Diagnostic) (rest []sdk.Diagnostic, err error) {
	var errs sdk.Diagnostics
	for _, d := range wire.Each(diagnostics, diagnosticFromWire) {
		if d.Severity == sdk.Error {
			errs = append(errs, d)
		} else {
			rest = append(rest, d)
		}
	}
	if len(errs) > 0 {
		return rest, errs
	}
	return rest, nil
}

// Describe answers the facts, but for the modules, which GetModuleMap lists.
func (c *Client) Describe(ctx context.Context) (sdk.Facts, error) {
	resp, err := c.stub.Describe(ctx, &pb.DescribeRequest{}, sendLimits...)
	if err != nil {
		return sdk.Facts{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return factsFromWire(resp.GetFacts()), err
}

// LoadDialects asks for the declarations of the dialects.
func (c *Client) LoadDialects(ctx context.Context) ([]sdk.Dialect, error) {
	resp, err := c.stub.LoadDialects(ctx, &pb.LoadDialectsRequest{}, sendLimits...)
	if err != nil {
		return nil, err
	}
	_, err = received(resp.GetDiagnostics())
	return wire.Each(resp.GetDialects(), dialectFromWire), err
}

// GetModuleMap lists the backend's modules with their names and aliases alone;
// GetModule has the rest.
func (c *Client) GetModuleMap(ctx context.Context) ([]sdk.Module, error) {
	resp, err := c.stub.GetModuleMap(ctx, &pb.GetModuleMapRequest{}, sendLimits...)
	if err != nil {
		return nil, err
	}
	_, err = received(resp.GetDiagnostics())
	return wire.Each(resp.GetModules(), moduleNameFromWire), err
}

// GetModule returns one of GetModuleMap's modules whole.
func (c *Client) GetModule(ctx context.Context, name string) (sdk.Module, error) {
	resp, err := c.stub.GetModule(ctx, &pb.GetModuleRequest{Name: name}, sendLimits...)
	if err != nil {
		return sdk.Module{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return moduleFromWire(resp.GetModule()), err
}

// SupportsTarget asks whether the backend compiles for t.
func (c *Client) SupportsTarget(ctx context.Context, t sdk.Target) (sdk.SupportsTargetResponse, error) {
	resp, err := c.stub.SupportsTarget(ctx, &pb.SupportsTargetRequest{Target: wire.TargetToWire(t)}, sendLimits...)
	if err != nil {
		return sdk.SupportsTargetResponse{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return sdk.SupportsTargetResponse{
		Supported: resp.GetSupported(), Target: wire.TargetFromWire(resp.GetTarget()), Reason: resp.GetReason(),
	}, err
}

// ParseOptions has options checked and completed.
func (c *Client) ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	resp, err := c.stub.ParseOptions(ctx, &pb.ParseOptionsRequest{
		Target: wire.TargetToWire(req.Target), OptionsJson: req.OptionsJSON, Settings: req.Settings,
	}, sendLimits...)
	if err != nil {
		return sdk.ParseOptionsResponse{}, err
	}
	rest, err := received(resp.GetDiagnostics())
	return sdk.ParseOptionsResponse{OptionsJSON: resp.GetOptionsJson(), Diagnostics: rest}, err
}

// AddStages asks for the stages of a compile, and what is to be said of them.
func (c *Client) AddStages(ctx context.Context, req sdk.AddStagesRequest) ([]sdk.Stage, []sdk.Diagnostic, error) {
	resp, err := c.stub.AddStages(ctx, &pb.AddStagesRequest{
		Target: wire.TargetToWire(req.Target), OptionsJson: req.OptionsJSON, Settings: req.Settings,
	}, sendLimits...)
	if err != nil {
		return nil, nil, err
	}
	rest, err := received(resp.GetDiagnostics())
	return wire.Each(resp.GetStages(), stageFromWire), rest, err
}

// ListTools asks what compiles for a target may take from the machine.
func (c *Client) ListTools(ctx context.Context, req sdk.ListToolsRequest) (sdk.ListToolsResponse, error) {
	resp, err := c.stub.ListTools(ctx, &pb.ListToolsRequest{Target: wire.TargetToWire(req.Target), Settings: req.Settings}, sendLimits...)
	if err != nil {
		return sdk.ListToolsResponse{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return sdk.ListToolsResponse{
		Tools: wire.Each(resp.GetTools(), toolFromWire), LookedAt: resp.GetLookedAt(),
		Settings: resp.GetSettings(), Unshared: resp.GetUnshared(), WhenRun: resp.GetWhenRun(),
	}, err
}

// RunStages has stages run.
func (c *Client) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	return streamed(ctx, c.stub.RunStages,
		func(stream pb.Backend_RunStagesClient) error { return sendStages(stream, &req) },
		func(stream pb.Backend_RunStagesClient) (sdk.RunStagesResponse, error) {
			return c.receiveStages(stream, req.Progress)
		})
}

// RunPasses has passes run by name.
func (c *Client) RunPasses(ctx context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	return streamed(ctx, c.stub.RunPasses,
		func(stream pb.Backend_RunPassesClient) error { return sendPasses(stream, &req) },
		c.receivePasses)
}

// streamed makes a call that streams both ways: it sends and receives at once, for a
// backend that answers before it has read all would else wait for us while we wait for
// it. Whatever happens, the stream ends with the call.
func streamed[S, R any](ctx context.Context, open func(context.Context, ...grpc.CallOption) (S, error), send func(S) error, receive func(S) (R, error)) (R, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx, sendLimits...)
	if err != nil {
		var zero R
		return zero, err
	}
	sent := make(chan error, 1)
	go func() {
		err := send(stream)
		if err != nil {
			cancel()
		}
		sent <- err
	}()
	resp, err := receive(stream)
	cancel()
	if unsent := <-sent; unsent != nil && status.Code(err) == codes.Canceled {
		err = unsent // it is why
	}
	return resp, err
}
