package cudastandin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeader: CUDA_HOME goes first, and the header there is taken if the driver
// can be built with it.
func TestHeader(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for version, good := range map[int]bool{11080: true, 12040: true, 12090: true, 13000: true, 10020: false, 14000: false} {
		home := t.TempDir()
		include := filepath.Join(home, "include")
		if err := os.Mkdir(include, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("#ifndef cuda_h\n#define CUDA_VERSION %d\n#endif\n", version)
		if err := os.WriteFile(filepath.Join(include, "cuda.h"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		check := exec.Command("sh", filepath.Join("..", "..", "scripts", "device-cuda.sh"), "--check")
		// An empty cache, so that what was fetched before is not found.
		check.Env = append(os.Environ(), "CUDA_HOME="+home, "XDG_CACHE_HOME="+t.TempDir())
		out, err := check.CombinedOutput()
		said := string(out)
		switch {
		case good:
			if err != nil || strings.TrimSpace(said) != include {
				t.Errorf("CUDA_VERSION %d: %v\n%s", version, err, said)
			}
		case err == nil: // this machine has a good one
			if strings.TrimSpace(said) == include {
				t.Errorf("CUDA_VERSION %d is taken", version)
			}
		case !strings.Contains(said, "cannot be built") || !strings.Contains(said, include+"/cuda.h") || !strings.Contains(said, "set CUDA_HOME"):
			t.Errorf("CUDA_VERSION %d: %v\n%s", version, err, said)
		}
	}
}

// header13 has the functions that CUDA 13 gave other parameters, as its cuda.h has them.
const header13 = `
#define CUDA_VERSION 13000
#define CUDAAPI
#define cuCtxCreate cuCtxCreate_v4
#define cuMemAdvise cuMemAdvise_v2
#define cuMemPrefetchAsync cuMemPrefetchAsync_v2
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphGetEdges cuGraphGetEdges_v2
#include <stddef.h>
typedef int CUresult, CUdevice;
typedef enum { CU_MEM_ADVISE_SET_READ_MOSTLY = 1 } CUmem_advise;
typedef unsigned long long CUdeviceptr;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct graph *CUgraph;
typedef struct node *CUgraphNode;
typedef struct { int type, id; } CUmemLocation;
typedef struct { char port; } CUgraphEdgeData;
typedef struct { int n; } CUctxCreateParams;
CUresult cuCtxCreate(CUcontext *, CUctxCreateParams *, unsigned int, CUdevice);
CUresult cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUmemLocation);
CUresult cuMemPrefetchAsync(CUdeviceptr, size_t, CUmemLocation, unsigned int, CUstream);
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, const CUgraphEdgeData *, size_t);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, CUgraphEdgeData *, size_t *);
`

// caller12 calls them as gorgonia.org/cu does.
const caller12 = `
#include <cuda.h>
int main(void) {
	CUcontext c;
	size_t n = 0;
	return cuCtxCreate(&c, 0u, 0) | cuMemAdvise(0, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0) | cuMemPrefetchAsync(0, 1, 0, NULL)
		| cuGraphAddDependencies(NULL, NULL, NULL, 0) | cuGraphGetEdges(NULL, NULL, NULL, &n);
}
`

// TestHeader13: code for cuda.h of CUDA 12 is compiled with that of CUDA 13 by the flags
// of the script, and not without them.
func TestHeader13(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	include, caller := filepath.Join(home, "include"), filepath.Join(home, "caller.c")
	if err := os.Mkdir(include, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{filepath.Join(include, "cuda.h"): header13, caller: caller12} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(cc, "-c", "-I"+include, "-o", filepath.Join(home, "caller.o"), caller).CombinedOutput(); err == nil {
		t.Errorf("the header is that of CUDA 12:\n%s", out)
	}
	build := exec.Command("sh", "-c", `eval "$(sh "$1" --env)" && "$2" $CGO_CFLAGS -Wall -Werror -o "$3" "$4" $CGO_LDFLAGS -lcuda`,
		"sh", filepath.Join("..", "..", "scripts", "device-cuda.sh"), cc, filepath.Join(home, "caller"), caller)
	build.Env = append(os.Environ(), "CUDA_HOME="+home, "XDG_CACHE_HOME="+t.TempDir())
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	symbols, err := exec.Command("nm", "-D", filepath.Join(home, "caller")).CombinedOutput()
	if err != nil {
		t.Skip(err)
	}
	for _, want := range []string{"cuCtxCreate_v2", "cuMemAdvise", "cuMemPrefetchAsync", "cuGraphAddDependencies", "cuGraphGetEdges"} {
		if !strings.Contains(string(symbols), " U "+want+"\n") {
			t.Errorf("%s is not called:\n%s", want, symbols)
		}
	}
}
