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

// Ahead is a Backend that may know its facts before its process has started.
type Ahead interface {
	Backend
	// KnownFacts is Facts without a process where they are known.
	KnownFacts(ctx context.Context) (*sdk.Facts, error)
	// StartAhead begins to start the process, for which await waits. A nil await: it runs.
	StartAhead(ctx context.Context) (await func(context.Context) error)
}

// KnownFacts are the facts of b, without its process if that can be.
func KnownFacts(ctx context.Context, b Backend) (*sdk.Facts, error) {
	if ahead, ok := b.(Ahead); ok {
		return ahead.KnownFacts(ctx)
	}
	return b.Facts(ctx)
}

// AddStagesResponse lists the stages of a compile, first to last.
type AddStagesResponse struct {
	Stages      []sdk.Stage
	Diagnostics []sdk.Diagnostic // warnings
}
