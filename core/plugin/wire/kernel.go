package wire

import "context"

type kernelKey struct{}

type startKey struct{}

// WithKernel returns a context whose calls are for the kernel of that name, which
// what goes wrong with a backend is told of.
func WithKernel(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, kernelKey{}, name)
}

// Kernel is the name that WithKernel gave, or empty.
func Kernel(ctx context.Context) string {
	name, _ := ctx.Value(kernelKey{}).(string)
	return name
}

// WithStart returns a context in which who chooses a backend is sure to need its process:
// it may start while what is known of it is read.
func WithStart(ctx context.Context) context.Context {
	return context.WithValue(ctx, startKey{}, true)
}

// Starts reports whether ctx is one of WithStart.
func Starts(ctx context.Context) bool {
	return ctx.Value(startKey{}) != nil
}
