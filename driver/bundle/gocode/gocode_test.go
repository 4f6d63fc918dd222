package gocode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
)

func variant(hints []int, options string, constants ...kernel.Arg) bundle.Variant {
	return bundle.Variant{Options: options, Variant: kernel.Variant{Target: "cuda:80", Stage: "ptx", Hints: hints, Constants: constants}}
}

// TestPackage: names that Go cannot have, every type, a grid or none, constants to choose.
func TestPackage(t *testing.T) {
	b := &bundle.Bundle{
		Targets: []bundle.Target{{Name: "cuda:80"}, {Name: "cuda:86"}, {Name: "cuda:90"}},
		Kernels: []*bundle.Kernel{
			{
				Name: "_attn_fwd", Source: "attn.py", Grid: "cdiv(n,\n BLOCK)",
				Params: []kernel.Param{{Name: "x_ptr", Type: "*fp16"}, {Name: "args", Type: "*fp16"}, {Name: "any", Type: "i32"}, {Name: "n", Type: "i32"}},
				Variants: []bundle.Variant{
					variant(nil, "", kernel.Named("BLOCK", int64(64))),
					variant([]int{16, 16, 0, 16}, "", kernel.Named("BLOCK", int64(64))),
					variant([]int{16, 16, 0, 1}, "num_warps=8", kernel.Named("BLOCK", int64(128))),
				},
			},
			{
				Name: "attn_fwd", Source: "attn.py",
				Params: []kernel.Param{
					{Name: "type", Type: "i64"},
					{Name: "k", Type: "u1"},
					{Name: "ctx", Type: "fp32"},
					{Name: "float32", Type: "fp64"},
					{Name: "t[0]", Type: "*i1"},
					{Name: "t[1]", Type: "*kbf16"},
					{Name: "T0", Type: "**i8"},
					{Name: "desc", Type: "tensordesc<fp8e5[16, 16]>"},
					{Name: "h", Type: "bf16"},
					{Name: "_2d", Type: "u8"},
					{Name: "größe", Type: "u32"},
					{Name: "NUM_SMs", Type: "u64"},
				},
				Variants: []bundle.Variant{variant(nil, "")},
			},
			{Name: "none", Source: "none.py", Grid: "1", Variants: []bundle.Variant{variant(nil, "", kernel.Named("P", "tf32"))}},
		},
	}
	src, err := Package("attn", b)
	if err != nil {
		t.Fatal(err)
	}
	same(t, SourceFile, src) // beside a bundle that is empty
	if out, err := exec.Command("go", "vet", "./"+filepath.Join("testdata", "attn")).CombinedOutput(); err != nil {
		t.Errorf("what is generated does not compile: %v\n%s", err, out)
	}

	for _, name := range []string{"", "2d", "a b", "func", "main", "_"} {
		if _, err := Package(name, b); err == nil {
			t.Errorf("a package is called %q", name)
		}
	}
	b.Kernels[0].Params[0].Type = "*fp31"
	if _, err := Package("attn", b); err == nil || !strings.Contains(err.Error(), "kernel _attn_fwd: parameter x_ptr: ") {
		t.Error(err)
	}
}

// same holds what is generated against a file of the package testdata/attn.
func same(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "attn", name)
	if os.Getenv("TRITONC_UPDATE") == "1" {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is generated; TRITONC_UPDATE=1 go test writes it:\n%s", path, got)
	}
}

// Without a need for it, package kernel is not imported.
func TestImports(t *testing.T) {
	src, err := Package("none", &bundle.Bundle{Kernels: []*bundle.Kernel{{Name: "none", Source: "n.py", Grid: "1"}}})
	if err != nil || strings.Contains(string(src), "driver/kernel") {
		t.Errorf("%v\n%s", err, src)
	}
	if _, err := Package("none", &bundle.Bundle{}); err == nil {
		t.Error("a package of no kernels")
	}
}

func TestExported(t *testing.T) {
	for name, want := range map[string]string{
		"x_ptr": "XPtr", "t[0]": "T0", "add_fp16": "AddFp16", "_under": "Under", "9": "K9",
		"matmul_fp16_64x32": "MatmulFp16_64x32", "matmul_fp16_6_4x32": "MatmulFp16_6_4x32",
	} {
		if got := exported(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}
