package simt

import (
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// TestSumsInVectors compares the vector code with exact sums on operands of all
// exponents, zeros and subnormals among them.
func TestSumsInVectors(t *testing.T) {
	for name, c := range map[string]struct {
		have bool
		f    func(*mmaArgs)
	}{"AVX2": {haveSums, sums256}, "AVX-512": {have512, sums512}} {
		t.Run(name, func(t *testing.T) {
			if !c.have {
				t.Skip("this processor has no " + name)
			}
			for _, odd := range []bool{false, true} {
				testSums(t, odd, func(a, b *fragment, c0, d *accumulator) bool {
					if a.wide || b.wide || a.special || b.special {
						return false
					}
					x, y := &a.steps[0], &b.steps[0]
					args := mmaArgs{aVal: &x.val, aExp: &x.exp, bVal: &y.val, bExp: &y.exp, c: *c0, d: *d, odd: int64(bit(odd))}
					c.f(&args)
					return args.bad == 0
				})
			}
		})
	}
}

// TestDecodeWords compares the AVX2 code with the scalar one, which a processor
// with AVX-512 would else not use.
func TestDecodeWords(t *testing.T) {
	if !haveSums {
		t.Skip("this processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(testseed.Seed(), 9))
	for kind, c := range []struct {
		ty    Type
		depth []int
	}{{F16, []int{8, 16}}, {BF16, []int{8, 16}}, {TF32, []int{4, 8}}} {
		format, _ := mmaFormat(c.ty)
		done, wide := 0, 0
		for trial := range 200 {
			for _, width := range []int{widthA, widthB} {
				var f fragment
				depth := c.depth[trial%2]
				randomOperand(r, &f, c.ty, width, depth, 1+trial%(1<<format.exp-2), trial%8 == 0)
				g := f
				g.decodeOneByOne(width)
				for i := range depth * width {
					f.steps[0].val[i], f.steps[0].exp[i] = -1, -1
				}
				if ok := f.decodeWords(width, int64(kind)); ok == g.special {
					t.Fatalf("%s: the vector code says %v of an operand that is special: %v", c.ty, ok, g.special)
				}
				if g.special {
					continue
				}
				done++
				if f.wide {
					wide++
				}
				if f.wide != g.wide || f.steps != g.steps {
					t.Fatalf("%s, depth %d, width %d: the elements differ, or one is wide: %v, %v", c.ty, depth, width, f.wide, g.wide)
				}
			}
		}
		if done < 100 || wide == 0 && format.exp == 8 {
			t.Errorf("%s: %d operands compared, %d wide", c.ty, done, wide)
		}
	}
}
