package sdk

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// Client is a Backend at the far end of a connection. It implements Backend and
// its optional powers; a call that the backend does not serve ends with gRPC's
// status UNIMPLEMENTED. Diagnostics that end a call come back as a
// Diagnostics error, beside the response; gRPC's errors pass unchanged.
type Client struct {
	stub pb.BackendClient
	// MaxBytes bounds what RunStages may answer, data of all kinds together; 0
	// means DefaultMaxBytes.
	MaxBytes int64
}

// DefaultMaxBytes is the bound of a Client that names none.
const DefaultMaxBytes = 4 << 30

var (
	_ Backend       = (*Client)(nil)
	_ TargetChecker = (*Client)(nil)
	_ DialectLoader = (*Client)(nil)
	_ ModuleMapper  = (*Client)(nil)
	_ PassRunner    = (*Client)(nil)
)

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

// Describe implements Backend. The facts have no modules: GetModuleMap lists them.
func (c *Client) Describe(ctx context.Context) (Facts, error) {
	resp, err := c.stub.Describe(ctx, &pb.DescribeRequest{}, sendLimits...)
	if err != nil {
		return Facts{}, err
	}
	_, err = received(resp.GetDiagnostics())
	return factsFromWire(resp.GetFacts()), err
}

// LoadDialects implements DialectLoader.
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

// SupportsTarget implements TargetChecker.
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

// ParseOptions implements Backend.
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

// AddStages implements Backend.
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

// RunStages implements Backend.
func (c *Client) RunStages(ctx context.Context, req RunStagesRequest) (RunStagesResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // whatever happens, the stream ends with this call
	stream, err := c.stub.RunStages(ctx, sendLimits...)
	if err != nil {
		return RunStagesResponse{}, err
	}
	if err := sendStages(stream, &req); err != nil {
		return RunStagesResponse{}, err
	}
	return c.receiveStages(stream, req.Progress)
}

// RunPasses implements PassRunner.
func (c *Client) RunPasses(ctx context.Context, req RunPassesRequest) (RunPassesResponse, error) {
	resp, err := c.stub.RunPasses(ctx, runPassesRequestToWire(req), sendLimits...)
	if err != nil {
		return RunPassesResponse{}, err
	}
	out := runPassesResponseFromWire(resp)
	out.Diagnostics, err = received(resp.GetDiagnostics())
	return out, err
}
