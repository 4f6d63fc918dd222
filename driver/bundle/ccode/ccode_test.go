package ccode

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/internal/cudastandin"
)

// cubin is a variant as the stand-in for CUDA takes one.
func cubin(name string, warps int, more string, hints []int, constants ...kernel.Arg) bundle.Variant {
	return bundle.Variant{Variant: kernel.Variant{
		Target: "cuda:90", Stage: Stage, Hints: hints, Constants: constants, Code: []byte("\x7fELF " + name),
		Metadata: fmt.Appendf(nil, `{"name":%q,"num_warps":%d,"num_stages":3,"warp_size":32%s}`, name, warps, more),
	}}
}

func block(n int64) kernel.Arg { return kernel.Named("BLOCK", n) }

// example has hints to tell apart, two algorithms, every type of number, a grid with
// every function, and launches with attributes. The stand-in's kernels "add…" add.
func example() *bundle.Bundle {
	return &bundle.Bundle{Kernels: []*bundle.Kernel{
		{
			Name: "add", Source: "add.py", Grid: "cdiv(n, BLOCK), stride",
			Params: []kernel.Param{
				{Name: "x_ptr", Type: "*fp32"},
				{Name: "y_ptr", Type: "*fp32"},
				{Name: "out_ptr", Type: "*fp32"},
				{Name: "n", Type: "i32"},
				{Name: "stride", Type: "i64"},
			},
			Order: []string{"x_ptr", "y_ptr", "out_ptr", "n", "stride", "BLOCK"},
			Variants: []bundle.Variant{
				cubin("add_any", 4, "", nil, block(128)),
				cubin("add_even", 4, "", []int{0, 0, 0, 16, 0}, block(128)),
				cubin("add_both", 4, `,"shared":65536`, []int{0, 0, 0, 16, 16}, block(128)),
				cubin("add_wide", 8, "", []int{16, 16, 16, 0, 0}, block(1024)),
				cubin("add_one", 4, "", []int{0, 0, 0, 16, 1}, block(128)),
			},
		},
		{
			Name: "types", Source: "types.py", Grid: "max(a, b - 1, n // 2), min(c, 1 + int(d)) % 7, next_power_of_2(abs(-u)) << FLAG",
			Params: []kernel.Param{
				{Name: "a", Type: "i8"},
				{Name: "b", Type: "i16"},
				{Name: "c", Type: "u8"},
				{Name: "d", Type: "u16"},
				{Name: "n", Type: "u64"},
				{Name: "u", Type: "u32"},
				{Name: "double", Type: "fp32"},
				{Name: "stream", Type: "fp64"},
				{Name: "h[0]", Type: "fp16"},
				{Name: "flag", Type: "u1"},
				{Name: "größe", Type: "*kbf16"},
			},
			Variants: []bundle.Variant{cubin("types", 1, `,"num_ctas":16,"launch_pdl":true,"launch_cooperative_grid":true`, nil,
				kernel.Named("FLAG", true), kernel.Named("P", "tf32"), kernel.Named("S", 0.5), kernel.Named("Z", nil))},
		},
		{Name: "none", Source: "none.py", Grid: "3", Variants: []bundle.Variant{cubin("none", 1, "", nil)}},
	}}
}

// TestFiles shows what link.py's rules make of the variants, and one variant.
func TestFiles(t *testing.T) {
	files, err := Files("kernels", example())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Files("kernels", example())
	if err != nil {
		t.Fatal(err)
	}
	var listing strings.Builder
	for i, f := range files {
		if !bytes.Equal(f.Data, again[i].Data) {
			t.Errorf("%s is another the second time", f.Name)
		}
		fmt.Fprintln(&listing, f.Name)
		if strings.Count(f.Name, ".") == 1 {
			same(t, f.Name, f.Data)
		} else if strings.HasPrefix(f.Name, "kernels.types.") {
			same(t, "types"+filepath.Ext(f.Name), f.Data)
		}
	}
	same(t, "files.txt", []byte(listing.String()))
}

func same(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
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

// The name of a variant is that which compile.py gives it: the hash was taken of
// "*fp32:16 *fp32:16 *fp32:16 i32:16 256 warps4xstages3" with sha256sum.
func TestName(t *testing.T) {
	k := &bundle.Kernel{
		Name: "add", Source: "add.py", Grid: "1",
		Params:   []kernel.Param{{Name: "x", Type: "*fp32"}, {Name: "y", Type: "*fp32"}, {Name: "o", Type: "*fp32"}, {Name: "n", Type: "i32"}},
		Order:    []string{"x", "y", "o", "n", "BLOCK"},
		Variants: []bundle.Variant{cubin("add", 4, "", []int{16, 16, 16, 16}, block(256))},
	}
	c, err := newKernel("out/add", k)
	if err != nil {
		t.Fatal(err)
	}
	if v := c.variants[0]; v.Name != "add_50fc12fb_0d1d2d3d4" || v.Header != "add.50fc12fb_0d1d2d3d4.h" || v.Algo != "256_warps4xstages3" {
		t.Errorf("%s, %s, %s", v.Name, v.Header, v.Algo)
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		what   string
		change func(b *bundle.Bundle)
		says   string
	}{
		{"no grid", func(b *bundle.Bundle) { b.Kernels[0].Grid = "" }, "kernel add: its C needs the formula of its grid"},
		{"no cubin", func(b *bundle.Bundle) { b.Kernels[2].Variants[0].Stage = "ptx" }, "kernel none: there is no cubin of it"},
		{"two targets", func(b *bundle.Bundle) { b.Kernels[2].Variants[0].Target = "cuda:80" }, "one target can be had in C, and there is code for cuda:90 and cuda:80"},
		{"another backend", func(b *bundle.Bundle) { b.Kernels[2].Variants[0].Target = "hip:gfx942" }, "targets of cuda can be had in C, and this is hip:gfx942"},
		{"scratch", func(b *bundle.Bundle) { b.Kernels[2].Variants[0] = cubin("none", 1, `,"global_scratch_size":16`, nil) }, "it needs scratch memory"},
		{"descriptor", func(b *bundle.Bundle) { b.Kernels[0].Params[0].Type = "tensordesc<fp16[16, 16]>" }, "its parameter x_ptr is a tensor descriptor"},
		{"type", func(b *bundle.Bundle) { b.Kernels[0].Params[3].Type = "fp8e5" }, "its parameter n is of type fp8e5"},
		{"float in the grid", func(b *bundle.Bundle) { b.Kernels[1].Grid = "double" }, "the grid asks for double, which is not an integer"},
		{"quotient in the grid", func(b *bundle.Bundle) { b.Kernels[0].Grid = "n / 2" }, `the grid's "n / 2" cannot be written in C`},
		{"function in the grid", func(b *bundle.Bundle) { b.Kernels[0].Grid = "sqrt(n)" }, `the grid's "sqrt(n)" cannot be written in C`},
		{"one name", func(b *bundle.Bundle) { b.Kernels[2].Name = "types?" }, "the kernels types and types? have one name in C: types"},
		{"no threads", func(b *bundle.Bundle) { b.Kernels[2].Variants[0].Metadata = []byte("{}") }, "do not say how many threads"},
		{"same variant", func(b *bundle.Bundle) {
			b.Kernels[0].Variants = append(b.Kernels[0].Variants, b.Kernels[0].Variants[0])
		}, "two variants for cuda:90 and cuda:90 are called add_"},
		{"nothing", func(b *bundle.Bundle) { b.Kernels = nil }, "there is no kernel"},
	} {
		b := example()
		tt.change(b)
		if _, err := Files("kernels", b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.says)
		}
	}
}

// TestRun compiles what is generated and runs it on a stand-in for CUDA's library, which
// tells what was launched.
func TestRun(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	library, missing := cudastandin.Library(t, root)
	if missing != "" {
		t.Skip(missing)
	}
	header, err := exec.Command("sh", filepath.Join(root, "scripts", "device-cuda.sh"), "--check").Output()
	if err != nil {
		t.Fatal(err)
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	files, err := Files("kernels", example())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	main, err := filepath.Abs(filepath.Join("testdata", "main.c"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-std=c99", "-Wall", "-Wextra", "-Werror", "-I" + dir, "-I" + strings.TrimSpace(string(header)), "-o", filepath.Join(dir, "main"), main}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".c") {
			args = append(args, path)
		}
	}
	compile := exec.Command(cc, append(args, filepath.Join(library, "libcuda.so.1"))...)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compile, err, out)
	}
	log := filepath.Join(dir, "log")
	run := exec.Command(filepath.Join(dir, "main"))
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+library, "STANDIN_LOG="+log)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	launches, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "launches.txt", launches)
}
