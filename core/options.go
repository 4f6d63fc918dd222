package core

import (
	"context"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Backend is what a trip asks of a backend; *plugin.Backend is one. A user's
// mistakes come back as diag.List.
type Backend interface {
	Facts(ctx context.Context) (*sdk.Facts, error)
	// Module returns one of the facts' modules whole; the facts have its names.
	Module(ctx context.Context, name string) (sdk.Module, error)
	ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error)
	AddStages(ctx context.Context, req sdk.AddStagesRequest) (sdk.AddStagesResponse, error)
	RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error)
}

// Options say how to compile.
type Options struct {
	// Select returns the backend that compiles for a target, starting its
	// process if need be, and the target completed (its warp size filled in).
	// It is required.
	Select func(ctx context.Context, target Target) (Backend, Target, error)
	// Values are the backend's options by name: values of the option's own
	// type (int, bool, string, …), or strings to be read as that type.
	Values map[string]any
	// Stages names the stages whose artifacts to return; the trip ends after
	// the last of them. Empty: the backend's last stage alone.
	Stages []string
	// Print receives what a kernel prints while it is compiled (static_print),
	// a line or more at a time; nil drops it. Compiles that run at once may
	// share it.
	Print func(text string)
	// AllowUnlaunchable lets a kernel through that no device of the target can
	// launch, with warnings that say so. Else these are errors.
	AllowUnlaunchable bool
	// Cache, when there, is asked first, and keeps what is compiled.
	Cache *Cache
}
