package amd

import (
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestPlans: in every plan each pass has what it needs, whatever users leave out: each pass
// alone, and all of them. The stage llir does, too, but for scaled dots, which only
// accelerate-matmul takes away; of compiles without it, it looks at the module (TestLeftOut).
func TestPlans(t *testing.T) {
	n := 0
	for _, a := range archs {
		for _, o := range []options{
			{NumStages: 1}, {NumStages: 3, UseBufferOps: true}, {NumStages: 2, UseBufferOps: true, UseAsyncCopy: a.copiesToLDS()},
		} {
			o.NumWarps, o.UsePingpong = 4, a.chip.MFMA > 0
			var names []string
			for _, r := range slices.Concat(ttirRows(o), ttgirRows(a, o)) {
				if !slices.Contains(names, r.Pass.Name) {
					names = append(names, r.Pass.Name)
				}
			}
			var all []string
			for _, name := range names {
				needed := slices.ContainsFunc(slices.Concat(ttirRows(o), ttgirRows(a, o)), func(r pass.Row) bool { return r.Pass.Name == name && r.Needed })
				if err := checkSkipped(a, []string{name}); (err != nil) != needed {
					t.Errorf("%s: %s is needed: %v; skip_passes: %v", a.chip.Target(), name, needed, err)
				}
				if !needed {
					all = append(all, name)
				}
			}
			skips := [][]string{nil, all}
			for i := range all {
				skips = append(skips, all[i:i+1])
			}
			for _, skip := range skips {
				n++
				o.SkipPasses = skip
				err := (&job{arch: a, opts: o}).plan().Check()
				if slices.ContainsFunc(skip, func(s string) bool { return strings.HasSuffix(s, "accelerate-matmul") }) {
					if err == nil || !strings.HasPrefix(err.Error(), "the stage llir needs no-scaled-dots") {
						t.Errorf("%s, skip_passes=%v: %v", a.chip.Target(), skip, err)
					}
				} else if err != nil {
					t.Errorf("%s, skip_passes=%v: %v", a.chip.Target(), skip, err)
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d plans", n)
	}
}

// TestLeftOut: a kernel with scaled dots whose pass is left out is refused where they are; any
// other compiles.
func TestLeftOut(t *testing.T) {
	source := []byte(`import triton
import triton.language as tl

@triton.jit
def scaled(a, s, b, c):
    m = tl.arange(0, 32)
    k = tl.arange(0, 64)
    x = tl.load(a + m[:, None] * 64 + k[None, :])
    y = tl.load(b + k[:, None] * 32 + m[None, :])
    e = tl.load(s + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    tl.store(c + m[:, None] * 32 + m[None, :], tl.dot_scaled(x, e, "e5m2", y, None, "e5m2"))

@triton.jit
def plain(a, b, c):
    m = tl.arange(0, 32)
    at = m[:, None] * 32 + m[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))
`)
	skip := map[string]any{optionSkipPasses: []any{matrixcore.AccelerateMatmul.Name}}
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return kerneltest.Text(err)
	}
	for kernel, signature := range map[string]string{"scaled": "*fp8e5, *u8, *fp8e5, *fp32", "plain": "*fp16, *fp16, *fp32"} {
		_, err := compile(t, "gfx942", "k.py", source, kernel, signature, stageLLIR, skip)
		want := "the stage llir needs a module without tt.dot_scaled: here is one"
		if kernel == "plain" {
			want = ""
		}
		if got := text(err); (want == "") != (err == nil) || !strings.Contains(got, want) || want != "" && !strings.Contains(got, "k.py:11:") {
			t.Errorf("%s: got %q, want %q", kernel, got, want)
		}
	}
}
