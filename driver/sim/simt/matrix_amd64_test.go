package simt

import "testing"

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
