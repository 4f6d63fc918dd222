package ptx

import (
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

// TestShiftedProducts counts the products of widened numbers that stay shifts.
func TestShiftedProducts(t *testing.T) {
	offset := func(b *llir.Builder, p llir.Value, k int) llir.Value {
		return b.Shl(b.SExt(b.Load(llir.I32, b.PtrAdd(p, int64(4*k)), 4, false), llir.I64), 2)
	}
	// taken is a loop that takes some products, and others several times.
	taken := func(once, often int) func(b *llir.Builder, x, p llir.Value) {
		return func(b *llir.Builder, x, p llir.Value) {
			var offsets []llir.Value
			for k := range once + often {
				offsets = append(offsets, offset(b, p, k))
			}
			looped(b, x, []llir.Value{p}, func(v []llir.Value, i llir.Value) []llir.Value {
				at := v[0]
				for k, o := range offsets {
					b.Store(i, b.GEP(llir.I8, at, o), 4, false)
					for n := 0; k >= once && n <= manyUses; n++ {
						at = b.PtrAdd(b.GEP(llir.I8, at, o), 64)
						b.Store(i, at, 4, false)
					}
				}
				return []llir.Value{b.PtrAdd(at, 64)}
			})
			b.Ret(nil)
		}
	}
	for _, c := range []struct {
		name  string
		build func(b *llir.Builder, x, p llir.Value)
		want  int
	}{
		{"taken by a loop", taken(2, 0), 2},
		{"too many", taken(mostShifted+1, 0), 0},
		{"many, and one of many uses", taken(mostShifted+1, 1), 1},
		{"more than there are registers for", taken(0, mostPressure/2), 0},
		{"in one block", func(b *llir.Builder, x, p llir.Value) {
			b.Store(x, b.GEP(llir.I8, p, offset(b, p, 0)), 4, false)
			b.Ret(nil)
		}, 0},
	} {
		f := converted(t, c.build)
		f.analyze()
		f.place()
		if got := len(f.shiftedProducts()); got != c.want {
			t.Errorf("%s: %d products, expected %d", c.name, got, c.want)
		}
	}
}

// TestPressure counts the words that are live at once.
func TestPressure(t *testing.T) {
	f := converted(t, func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		looped(b, x, []llir.Value{y}, func(v []llir.Value, i llir.Value) []llir.Value {
			b.Store(v[0], p, 4, false)
			return []llir.Value{b.Xor(v[0], i)}
		})
		b.Store(y, p, 4, false)
		b.Ret(nil)
	})
	f.analyze()
	// The counter and what the loop carries, and x, y and p, which take four.
	if got := f.mostLive(f.blocks, words); got != 6 {
		t.Errorf("%d words, expected 6", got)
	}
}
