package wire

import "context"

type kernelKey struct{}

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
