package core

import (
	"context"

	"github.com/tritonc/tritonc/core/plugin/wire"
)

// Backend is what a compile asks of a backend; *plugin.Backend is one.
type Backend = wire.Backend

// Options say how to compile.
type Options struct {
	// Select returns the backend that compiles for a target, starting its
	// process if need be, and the target completed (its warp size filled in).
	// It is required; plugin.Host's method is one.
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
	// LookedAt receives the files and folders of the machine, there or not, on which the
	// kernel depends, once it is compiled or taken from a cache; nil drops them.
	LookedAt func(paths []string)
	// AllowUnlaunchable lets a kernel through that no device of the target can
	// launch, with warnings that say so. Else these are errors.
	AllowUnlaunchable bool
	// Cache, when there, is asked first, and keeps what is compiled.
	Cache *Cache
}
