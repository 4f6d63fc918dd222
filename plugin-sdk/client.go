package sdk

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// Client is a backend at the far end of a connection, for hosts. A call that the
// backend does not serve ends with gRPC's status UNIMPLEMENTED. Diagnostics that end a call come back as a
// Diagnostics error, beside the response; gRPC's errors pass unchanged.
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

// sendLimits are the host's half of MaxMessageBytes.
var sendLimits = []grpc.CallOption{
	grpc.MaxCallRecvMsgSize(MaxMessageBytes),
	grpc.MaxCallSendMsgSize(MaxMessageBytes),
}

// received parts a response's diagnostics into the call's error and the rest.
func received(wire []*pb.Diagnostic) ([]Diagnostic, error) {
	errs, rest := Diagnostics(each(wire, diagnosticFromWire)).split()
	if len(errs) > 0 {
		return rest, errs
	}
	return rest, nil
}

// Describe answers the facts, but for the modules, which GetModuleMap lists.
func (c *Client) Describe(ctx context.Context) (Facts, error) {
	resp, err := c.stub.Describe(ctx, &pb.DescribeRequest{}, sendLimits...)
	if err != nil {
		return Facts{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return factsFromWire(resp.GetFacts()), err
}

// LoadDialects asks for the declarations of the dialects.
func (c *Client) LoadDialects(ctx context.Context) ([]Dialect, error) {
	resp, err := c.stub.LoadDialects(ctx, &pb.LoadDialectsRequest{}, sendLimits...)
	if err != nil {
		return nil, err
	}
	_, err = received(resp.GetDiagnostics())
	return each(resp.GetDialects(), dialectFromWire), err
}

// GetModuleMap lists the backend's modules with their names and aliases alone;
// GetModule has the rest.
func (c *Client) GetModuleMap(ctx context.Context) ([]Module, error) {
	resp, err := c.stub.GetModuleMap(ctx, &pb.GetModuleMapRequest{}, sendLimits...)
	if err != nil {
		return nil, err
	}
	_, err = received(resp.GetDiagnostics())
	return each(resp.GetModules(), moduleNameFromWire), err
}

// GetModule returns one of GetModuleMap's modules whole.
func (c *Client) GetModule(ctx context.Context, name string) (Module, error) {
	resp, err := c.stub.GetModule(ctx, &pb.GetModuleRequest{Name: name}, sendLimits...)
	if err != nil {
		return Module{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return moduleFromWire(resp.GetModule()), err
}

// SupportsTarget asks whether the backend compiles for t.
func (c *Client) SupportsTarget(ctx context.Context, t Target) (SupportsTargetResponse, error) {
	resp, err := c.stub.SupportsTarget(ctx, &pb.SupportsTargetRequest{Target: targetToWire(t)}, sendLimits...)
	if err != nil {
		return SupportsTargetResponse{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return SupportsTargetResponse{
		Supported: resp.GetSupported(), Target: targetFromWire(resp.GetTarget()), Reason: resp.GetReason(),
	}, err
}

// ParseOptions has options checked and completed.
func (c *Client) ParseOptions(ctx context.Context, req ParseOptionsRequest) (ParseOptionsResponse, error) {
	resp, err := c.stub.ParseOptions(ctx, &pb.ParseOptionsRequest{
		Target: targetToWire(req.Target), OptionsJson: req.OptionsJSON, Settings: req.Settings,
	}, sendLimits...)
	if err != nil {
		return ParseOptionsResponse{}, err
	}
	rest, err := received(resp.GetDiagnostics())
	return ParseOptionsResponse{OptionsJSON: resp.GetOptionsJson(), Diagnostics: rest}, err
}

// AddStages asks for the stages of a compile.
func (c *Client) AddStages(ctx context.Context, req AddStagesRequest) (AddStagesResponse, error) {
	resp, err := c.stub.AddStages(ctx, &pb.AddStagesRequest{
		Target: targetToWire(req.Target), OptionsJson: req.OptionsJSON, Settings: req.Settings,
	}, sendLimits...)
	if err != nil {
		return AddStagesResponse{}, err
	}
	rest, err := received(resp.GetDiagnostics())
	return AddStagesResponse{Stages: each(resp.GetStages(), stageFromWire), Diagnostics: rest}, err
}

// RunStages has stages run.
func (c *Client) RunStages(ctx context.Context, req RunStagesRequest) (RunStagesResponse, error) {
	return streamed(ctx, c.stub.RunStages,
		func(stream pb.Backend_RunStagesClient) error { return sendStages(stream, &req) },
		func(stream pb.Backend_RunStagesClient) (RunStagesResponse, error) {
			return c.receiveStages(stream, req.Progress)
		})
}

// RunPasses has passes run by name.
func (c *Client) RunPasses(ctx context.Context, req RunPassesRequest) (RunPassesResponse, error) {
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
