package wire

import (
	"context"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Backend is what core asks of a backend. A user's mistakes come back as diag.List.
type Backend interface {
	Facts(ctx context.Context) (*sdk.Facts, error)
	// LoadDialects returns the declarations of the facts' dialects.
	LoadDialects(ctx context.Context) ([]sdk.Dialect, error)
	// GetModule returns one of the facts' modules whole; the facts have its names.
	GetModule(ctx context.Context, name string) (sdk.Module, error)
	ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error)
	AddStages(ctx context.Context, req sdk.AddStagesRequest) (AddStagesResponse, error)
	RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error)
}

// Ahead is a Backend that knows its facts before its process has started.
type Ahead interface {
	Backend
	// FactsAhead is Facts without waiting for the process, for which await waits. A nil
	// await: it runs.
	FactsAhead(ctx context.Context) (facts *sdk.Facts, await func(context.Context) error, err error)
}

// AddStagesResponse lists the stages of a compile, first to last.
type AddStagesResponse struct {
	Stages      []sdk.Stage
	Diagnostics []sdk.Diagnostic // warnings
}
