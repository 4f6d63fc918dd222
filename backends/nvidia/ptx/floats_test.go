package ptx

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

// Zero is added once to what may be -0, and not to what is not.
func TestZeroAdded(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *llir.Builder, x, zero llir.Value) llir.Value
		sums  int
	}{
		{"a number", func(b *llir.Builder, x, zero llir.Value) llir.Value { return plus(b, plus(b, x, zero), zero) }, 1},
		{"a square", func(b *llir.Builder, x, zero llir.Value) llir.Value { return plus(b, times(b, x, x), zero) }, 0},
		{"a product", func(b *llir.Builder, x, zero llir.Value) llir.Value {
			return plus(b, times(b, x, b.M.Float(llir.F32, 3)), zero)
		}, 1},
		{"a sum", func(b *llir.Builder, x, zero llir.Value) llir.Value {
			return plus(b, plus(b, x, b.M.Float(llir.F32, 3)), zero)
		}, 1},
	} {
		text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
			storeAll(b, p, c.build(b, number(b, p, 0), b.M.Float(llir.F32, 0)))
		})
		if n := strings.Count(text, "add.f32") + strings.Count(text, "fma.rn"); n != c.sums {
			t.Errorf("%s: %d sums, expected %d:\n%s", c.name, n, c.sums, text)
		}
	}
}

func plus(b *llir.Builder, x, y llir.Value) llir.Value { return b.Binary(llir.FAdd, x, y, 0) }

func times(b *llir.Builder, x, y llir.Value) llir.Value { return b.Binary(llir.FMul, x, y, 0) }
