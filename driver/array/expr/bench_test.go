package expr

import (
	"context"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
)

// BenchmarkEval times what references of kernels mostly are.
func BenchmarkEval(b *testing.B) {
	x := array.New(array.Named("fp16"), 512, 512)
	for i := range x.Len() {
		x.Set(i, float64(i%101)/64)
	}
	lookup := func(name string) (any, bool, error) { return x, name == "x", nil }
	for _, text := range []string{"x", "x + x * 2", "x + x[0]", "softmax(x)", "x @ x", "x.to(fp16)", "sort(x)", "sum(x, axis=0)"} {
		e, err := Parse("", text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Eval(context.Background(), Env{Lookup: lookup}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
