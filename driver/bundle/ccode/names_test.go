package ccode

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct{ name, parameter, function string }{
		{"add", "add", "add"},
		{"_add", "_add", "_add"},
		{"h[0]", "h_0", "h_0"},
		{"xor", "xor_", "xor_"},
		{"CUMSUM", "CUMSUM", "CUMSUM"},
		{"cumsum", "cumsum", "cumsum"},
		{"cuInit", "cuInit_", "cuInit_"},
		{"CUmodule", "CUmodule_", "CUmodule_"},
		{"main", "main", "main_"},
		{"exp", "exp", "exp_"},
		{"expf", "expf", "expf_"},
		{"select", "select", "select_"},
		{"fill", "fill", "fill"},
		{"l", "l", "l"},
	} {
		if p, f := identifier(tt.name), function(tt.name); p != tt.parameter || f != tt.function {
			t.Errorf("%s: %s as a parameter, %s as a function", tt.name, p, f)
		}
	}
}

// TestNamesCompile: the names that C and its headers have are names of kernels and of
// parameters nevertheless. The headers stand for CUDA's, which includes stdlib.h, too.
func TestNamesCompile(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cuda.h", []byte(`#include <stdlib.h>
typedef enum { CUDA_SUCCESS } CUresult;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr;
CUresult cuInit(unsigned);
`))
	b := &bundle.Bundle{}
	for _, name := range append(strings.Fields("cuInit CUstream CUresult CUDA_SUCCESS sinf sinl"), append(append(reserved, library...), mathLibrary...)...) {
		b.Kernels = append(b.Kernels, &bundle.Kernel{
			Name: name, Source: "k.py", Grid: "1",
			Params:   []kernel.Param{{Name: name, Type: "i32"}},
			Order:    []string{name},
			Variants: []bundle.Variant{cubin(name, 4, "", nil)},
		})
	}
	files, err := Files("names", b)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == "names.h" {
			write(f.Name, f.Data)
		}
	}
	for _, language := range []string{"c", "c++"} {
		out, err := exec.CommandContext(t.Context(), cc, "-fsyntax-only", "-Wall", "-Werror", "-I", dir, "-x", language, filepath.Join(dir, "names.h")).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", language, err, out)
		}
	}
}
