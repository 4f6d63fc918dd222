package frontend

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func parseFile(t testing.TB, name string) *File {
	t.Helper()
	f, err := Parse(name, name, readFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// job is a line of jobs.txt.
type job struct {
	name, file, kernel, sig string
	opts                    map[string]string
}

// jobs reads the list of the reference kernels.
func jobs(t testing.TB) []job {
	t.Helper()
	var out []job
	for _, line := range strings.Split(string(readFile(t, "jobs.txt")), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		j := job{name: f[0], file: f[1], kernel: f[2], opts: map[string]string{}}
		var parts []string
		for _, p := range strings.Split(f[3], ", ") {
			if name, typ, ok := strings.Cut(p, ":"); ok && !strings.Contains(name, "=") {
				p = name + "=" + typ
			}
			if rest, ok := strings.CutPrefix(p, "PREC="); ok && rest != "None" {
				p = "PREC='" + rest + "'"
			}
			parts = append(parts, p)
		}
		j.sig = strings.Join(parts, ", ")
		if len(f) > 4 {
			for _, o := range strings.Fields(f[4]) {
				k, v, _ := strings.Cut(o, "=")
				j.opts[k] = v
			}
		}
		out = append(out, j)
	}
	return out
}

// facts is a target as the tests need one: what the reference was made for.
func facts() *Facts {
	return &Facts{
		Backend: "test", Arch: "80", WarpSize: 4,
		FP8:           []string{"fp8e4b15", "fp8e5"},
		DotPrecisions: []string{"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"}, DefaultDotPrecision: "tf32",
		MinDot: []MinDot{{Bits: 8, M: 1, N: 1, K: 32}, {M: 1, N: 1, K: 16}},
		Modules: []ModuleSource{{Module: "triton.language.extra.test.libdevice", Name: "libdevice.py", Externs: []Extern{
			unaryExtern("tanh"), unaryExtern("log1p"), unaryExtern("expm1"), unaryExtern("asin"), unaryExtern("round"), unaryExtern("rint"),
			{Name: "pow", Args: []string{"fp32", "i32"}, Result: "fp32", Symbol: "__nv_powif", Pure: true},
			{Name: "pow", Args: []string{"fp32", "fp32"}, Result: "fp32", Symbol: "__nv_powf", Pure: true},
			{Name: "fmod", Args: []string{"fp32", "fp32"}, Result: "fp32", Symbol: "__nv_fmodf", Pure: true},
			{Name: "isnan", Args: []string{"fp32"}, Result: "i1", Symbol: "__nv_isnanf", Pure: true},
		}}, {
			Module: "triton.language.extra.test", Name: "test.py",
			Text: "from triton import jit\n\n\n@jit\ndef twice(x):\n    return x + x\n",
		}},
		Aliases: []Alias{{From: "triton.language.extra.libdevice", To: "triton.language.extra.test.libdevice"}},
	}
}

func unaryExtern(name string) Extern {
	return Extern{Name: name, Args: []string{"fp32"}, Result: "fp32", Symbol: "__nv_" + name + "f", Pure: true}
}

func build(t testing.TB, f *File, kernel, sig string, s *setup) (*ir.Operation, error) {
	t.Helper()
	return s.build(f, request(kernel, sig))
}

func explain(err error) string {
	var b strings.Builder
	for _, d := range diag.All(err) {
		diag.Fprint(&b, d)
	}
	if b.Len() == 0 {
		return err.Error()
	}
	return b.String()
}

func TestReferenceKernelsBuild(t *testing.T) {
	files := map[string]*File{}
	for _, j := range jobs(t) {
		t.Run(j.name, func(t *testing.T) {
			if files[j.file] == nil {
				files[j.file] = parseFile(t, j.file)
			}
			m, err := build(t, files[j.file], j.kernel, j.sig, &setup{Facts: facts(), Debug: j.opts["debug"] == "True", SanitizeOverflow: true})
			if strings.Contains(j.name, "fp8e4nv") || j.name == "casts_fp8" {
				if err == nil || !strings.Contains(err.Error(), "type fp8e4nv not supported in this architecture") {
					t.Fatalf("Triton refuses this kernel for the target, but here: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(explain(err))
			}
			if err := ir.Verify(m); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestDefine: values that the command line gives to names that are not there.
func TestDefine(t *testing.T) {
	const src = `import os
import triton
import triton.language as tl
from far.away import SCALE, KIND
import other

N = tl.constexpr(int(os.environ.get("N", "3")))
MODE = tl.constexpr(os.getenv("MODE"))


@triton.jit
def k(x):
    tl.static_assert(N == 7)
    tl.static_assert(MODE == "fast")
    tl.static_assert(SCALE == 0.5)
    tl.static_assert(KIND == tl.float16)
    tl.static_assert(other.deep.FLAG)
    tl.store(x, SCALE)
`
	f, err := Parse("k.py", "", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	define := []Definition{
		{"os.environ.N", "7"},
		{"os.environ.MODE", "'fast'"},
		{"far.away.SCALE", "1 / 2"},
		{"far.away.KIND", "tl.float16"},
		{"other.deep.FLAG", "True"},
	}
	if _, err := build(t, f, "k", "*fp32", &setup{Define: define}); err != nil {
		t.Error(explain(err))
	}
	for i, missing := range []string{"assertion", "assertion", "far.away", "far.away", "other"} {
		_, err := build(t, f, "k", "*fp32", &setup{Define: slices.Delete(slices.Clone(define), i, i+1)})
		if err == nil || !strings.Contains(explain(err), missing) {
			t.Errorf("without %s: %v", define[i].Name, err)
		}
	}
	_, err = build(t, f, "k", "*fp32", &setup{Define: []Definition{{"far.away.SCALE", "1 +"}}})
	if err == nil || !strings.Contains(explain(err), "--define:1:") {
		t.Errorf("a value that is none: %v", err)
	}
}

// TestDeviceProperties: what all devices of a target have is known; the rest can
// be given.
func TestDeviceProperties(t *testing.T) {
	const src = `import torch
import triton
import triton.language as tl
from triton.runtime import driver

P = driver.active.utils.get_device_properties(driver.active.get_current_device())
Q = torch.cuda.get_device_properties(0)
SHARED = tl.constexpr(P["max_shared_mem"] == 1000 and Q.shared_memory_per_block_optin == 1000)
WARP = tl.constexpr(P["warpSize"] == 4 and Q.warp_size == 4)
ARCH = tl.constexpr((Q.major, Q.minor) == (8, 0))
COUNT = tl.constexpr(P["multiprocessor_count"])
SAME = tl.constexpr(P["multiprocessor_count"] == Q.multi_processor_count)


@triton.jit
def known(x):
    tl.static_assert(SHARED and WARP and ARCH)


@triton.jit
def given(x):
    tl.static_assert(COUNT == 108)
    tl.static_assert(SAME)
`
	f, err := Parse("k.py", "", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	opts := &setup{Facts: facts()}
	opts.Facts.Properties = []Property{{Name: "max_shared_mem", Value: 1000}}
	if _, err := build(t, f, "known", "*fp32", opts); err != nil {
		t.Error(explain(err))
	}
	_, err = build(t, f, "given", "*fp32", opts)
	if err == nil || !strings.Contains(explain(err), "--define device.multiprocessor_count=VALUE") {
		t.Errorf("got %v", err)
	}
	opts.Define = []Definition{{"device.multiprocessor_count", "108"}}
	if _, err := build(t, f, "given", "*fp32", opts); err != nil {
		t.Error(explain(err))
	}
}
