package core_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/internal/nvidiaplugin"
)

func TestMain(m *testing.M) { nvidiaplugin.Main(m) }

// addSource is a file with a kernel, as a program would read it with os.ReadFile.
const addSource = `
import triton
import triton.language as tl

# tritonc: add(*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=256) num_warps=2
# tritonc: add(*fp32:16, *fp32:16, *fp32:16, i32, BLOCK=1024)

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)
`

// The variants that a file's comments ask for are compiled one by one. Backends are
// programs of their own, which a plugin.Host finds in folders; nvidiaplugin.Dir stands
// for the folder that tritonc is installed in.
func Example() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	src := &core.Source{Path: "add.py", Text: []byte(addSource)}
	target := core.Target{Backend: "cuda", Arch: "80"}
	opts := &core.Options{Select: host.Select, Stages: []string{"ttgir", "ptx"}}

	variants, err := core.Variants(ctx, src, target, opts, core.Want{Kernel: "add"})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range variants {
		kernel, err := core.Compile(ctx, v, target, opts)
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range kernel.Artifacts {
			entry := bytes.Contains(a.Data, []byte(kernel.Name))
			fmt.Printf("%s.%s for %s names its kernel: %v\n", kernel.FileStem(), a.Ending, kernel.Target, entry)
		}
	}
	// Output:
	// add.n-i32x16-BLOCK256-num_warps2.ttgir for cuda:80:32 names its kernel: true
	// add.n-i32x16-BLOCK256-num_warps2.ptx for cuda:80:32 names its kernel: true
	// add.n-i32-BLOCK1024.ttgir for cuda:80:32 names its kernel: true
	// add.n-i32-BLOCK1024.ptx for cuda:80:32 names its kernel: true
}

// The signature may come from the program, too. A compile may end at any stage: this
// one ends before those for which tools are run.
func ExampleCompile() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	src := &core.Source{Path: "add.py", Text: []byte(addSource)}
	target := core.Target{Backend: "cuda", Arch: "80"}
	opts := &core.Options{Select: host.Select, Stages: []string{"ttgir"}, Values: map[string]any{"num_warps": 8}}

	variants, err := core.Variants(ctx, src, target, opts, core.Want{
		Kernel: "add", Signature: "*fp16:16, *fp16:16, *fp16:16, i32, BLOCK=512",
	})
	if err != nil {
		log.Fatal(err)
	}
	kernel, err := core.Compile(ctx, variants[0], target, opts)
	if err != nil {
		log.Fatal(err)
	}
	ttgir := string(kernel.Artifact("ttgir").Data)
	blocked, _, _ := strings.Cut(ttgir, "\n")
	fmt.Println(blocked)
	// Output:
	// #blocked = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
}

// A mistake in a kernel is a diagnostic with its place, the line, and what to do.
func ExampleCompile_mistake() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	src := &core.Source{Path: "add.py", Text: []byte(strings.Replace(addSource, "x + y", "x + z", 1))}
	target := core.Target{Backend: "cuda", Arch: "80"}
	opts := &core.Options{Select: host.Select, Stages: []string{"ttgir"}}

	variants, err := core.Variants(ctx, src, target, opts, core.Want{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = core.Compile(ctx, variants[0], target, opts)
	fmt.Println(err)
	// Output:
	// add.py:13:31: error: z is not defined
}
