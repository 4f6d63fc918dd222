package amd

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/internal/refkernels"
)

// refused are the kernels that do not compile, with a part of the message and the
// reason. Triton refuses them too.
var refused = map[string]struct{ message, why string }{
	"inline_asm":              {"invalid instruction", "its assembly is PTX"},
	"dot_fp32_float32_tf32x3": {"input_precision", "no chip has instructions for it"},
	"dot_fp32_float32_tf32":   {"input_precision", "only gfx942 has instructions for it"},
}

// TestReference compiles every reference kernel to a code object.
func TestReference(t *testing.T) {
	needTools(t)
	for _, chip := range []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200"} {
		t.Run(chip, func(t *testing.T) {
			list := refkernels.Jobs(t, kernelDir)
			if chip == "gfx950" {
				list = append(list, copying(list)...)
			}
			var count, large atomic.Int32
			t.Run("kernels", func(t *testing.T) {
				for _, r := range list {
					t.Run(r.Name, func(t *testing.T) {
						t.Parallel()
						fits, ok := made(t, &r, chip)
						if ok {
							count.Add(1)
						}
						if ok && !fits {
							large.Add(1)
						}
					})
				}
			})
			t.Logf("%d of %d reference kernels become code objects, of which %d need more LDS than there is", count.Load(), len(list), large.Load())
			for name := range refused {
				if !slices.ContainsFunc(list, func(r refkernels.Job) bool { return r.Name == name }) {
					t.Errorf("the list of refused kernels has %s, which is not a kernel", name)
				}
			}
		})
	}
}

// copying are the kernels with loops around dots, with copies to LDS.
func copying(list []refkernels.Job) []refkernels.Job {
	var out []refkernels.Job
	for _, r := range list {
		if _, known := refused[r.Name]; !known && (strings.Contains(r.Name, "matmul") || strings.Contains(r.Name, "flash")) {
			r.Name += "/copies"
			r.Options = maps.Clone(r.Options)
			if r.Options == nil {
				r.Options = map[string]any{}
			}
			r.Options[optionAsyncCopy] = true
			out = append(out, r)
		}
	}
	return out
}

// made reports whether the kernel compiles, and whether it fits on the device.
func made(t *testing.T, r *refkernels.Job, chip string) (fits, ok bool) {
	path := filepath.Join(kernelDir, r.File)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	k, err := compile(t, chip, path, src, r.Kernel, r.Signature, stageHSACO, r.Options)
	if x, known := refused[r.Name]; known && !(chip == "gfx942" && r.Name == "dot_fp32_float32_tf32") {
		switch {
		case err == nil:
			t.Error("compiles, though the list says that it does not")
		case !strings.Contains(err.Error(), x.message):
			t.Errorf("fails, but not with %q: %v", x.message, err)
		default:
			t.Logf("refused, as known: %s", x.why)
		}
		return false, false
	}
	if err != nil {
		t.Fatal(err)
	}
	if code := k.Artifact(stageHSACO).Data; !strings.HasPrefix(string(code), "\x7fELF") {
		t.Fatal("the code object is not an ELF file")
	}
	return !slices.ContainsFunc(k.Warnings, func(d *diag.Diagnostic) bool { return d.Unlaunchable }), true
}
