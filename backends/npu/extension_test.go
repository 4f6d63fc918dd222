package npu

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

// TestSlices has the extensions of kernels for Ascend NPUs, of both modules.
func TestSlices(t *testing.T) {
	r := newRand(t)
	const b, n = 8, 16
	artifact := own(t, "slices", "*fp32, *fp32, i32, B=8, N=16")
	at := r.IntN(b - 1)
	x, out := random(t, r, "f32", b*n), blank("f32", b*n)
	run(t, "slices", artifact, [3]int{1, 1, 1}, x, out, i32(at))
	want := make([]float64, b*n)
	for i := range b {
		for k := range n {
			v := x.data[i*n+k]
			if i < 2 && k >= n/2 {
				v = 2 * x.data[(at+i)*n+1+2*(k-n/2)]
			}
			if i == b-1 && k%2 == 0 {
				v = x.data[(at+1)*n+1+k]
			}
			want[i*n+k] = v + x.data[at*n+3]
		}
	}
	near(t, "out", out.data, want, 1e-6)
}

// TestAnywhere: slices and masked parts begin at any element, those where instructions can
// and others, and cost more where they cannot.
func TestAnywhere(t *testing.T) {
	for _, tt := range []struct {
		param, elem string
		unit        int // elements that instructions begin at multiples of
	}{{"*fp32", "f32", 8}, {"*fp16", "f16", 16}, {"*i8", "i8", 32}, {"*i16", "i16", 16}} {
		t.Run(tt.elem, func(t *testing.T) {
			r := newRand(t)
			const programs = 3
			n := tt.unit * (4 + r.IntN(4))
			size := 1 + r.IntN(2*tt.unit)
			cycles := map[bool]float64{}
			for range 4 {
				for _, fits := range []bool{true, false} {
					n := n
					at, fixed, lo := r.IntN(n-size+1), r.IntN(n-size+1), r.IntN(n/2)
					if fits {
						at, fixed, lo = at/tt.unit*tt.unit, fixed/tt.unit*tt.unit, lo/tt.unit*tt.unit
						n = (n-size)/tt.unit*tt.unit + size
						at = min(at, n-size)
						fixed = min(fixed, n-size)
					} else {
						at |= 1
						at = min(at, n-size)
					}
					hi := lo + r.IntN(n-lo+1)
					artifact := own(t, "anywhere", fmt.Sprintf("%s, %s, i32, i32, i32, N=%d, SIZE=%d, FIXED=%d", tt.param, tt.param, n, size, fixed))
					x, out := random(t, r, tt.elem, programs*n), blank(tt.elem, programs*n)
					if tt.elem[0] == 'i' {
						for i := range x.data {
							x.data[i] = float64(r.IntN(100) - 50)
						}
						for i := range out.data {
							out.data[i] = 7
						}
					}
					want := slices.Clone(out.data)
					for p := range programs {
						a := make([]float64, n)
						for i := lo; i < hi; i++ {
							a[i] = x.data[p*n+i]
						}
						part := slices.Clone(a[at : at+size])
						for i, v := range part {
							a[fixed+i] = v + v
						}
						copy(a[n-size-at:], part)
						for i := lo; i < hi; i++ {
							want[p*n+i] = a[i]
						}
					}
					rep := simulate(t, artifact, [3]int{programs, 1, 1}, x, out, i32(at), i32(lo), i32(hi))
					near(t, fmt.Sprintf("at %d, fixed %d, %d to %d of %d, %d of them", at, fixed, lo, hi, n, size), out.data, want, 1e-3)
					cycles[fits] += rep.Cycles
				}
			}
			if cycles[true] >= cycles[false] {
				t.Errorf("what begins where instructions can takes %g cycles, what does not %g", cycles[true], cycles[false])
			}
		})
	}
}

// TestOutside: what a slice has outside of its tensor is an error at its place.
func TestOutside(t *testing.T) {
	src, err := os.ReadFile(ownKernels)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"8": "", "9": "elements 9 to 16 of dimension 0 are outside, which has 16", "-1": "elements -1 to 6 of dimension 0 are outside"} {
		_, err := compile(t, ownKernels, src, "outside", "*fp32, B=16, FROM="+from, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("from %s: error %v, want %q", from, err, want)
		}
		if l := diag.All(err); want != "" && (len(l) != 1 || l[0].Pos.File != ownKernels || len(l[0].Notes) != 1) {
			t.Errorf("from %s: %v is not at the kernel's line with a note of the library's", from, l)
		}
	}
}
