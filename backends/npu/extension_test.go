package npu

import (
	"os"
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
