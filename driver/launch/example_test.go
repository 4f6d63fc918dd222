package launch_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/nvidiaplugin"
)

// softmaxSource is a file with a kernel, as a program would read it with os.ReadFile.
const softmaxSource = `
import triton
import triton.language as tl

@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["cols"])})
@triton.jit
def softmax(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + i, e / tl.sum(e, axis=0), mask=i < cols)
`

// A Function compiles a kernel for the arguments of each launch, as far as they are
// new. nvidiaplugin.Dir stands for the folder that tritonc is installed in.
func Example() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	dev, err := simulated.New(core.Target{Backend: "cuda", Arch: "80"}, simulated.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	softmax, err := launch.New(ctx, launch.Options{
		Source:  &core.Source{Path: "softmax.py", Text: []byte(softmaxSource)},
		Device:  dev,
		Compile: core.Options{Select: host.Select},
	})
	if err != nil {
		log.Fatal(err)
	}

	const rows, cols = 2, 3
	x, err := kernel.From(dev, []float32{0, 0, 0, 1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Free()
	out, err := kernel.Alloc[float32](dev, rows*cols)
	if err != nil {
		log.Fatal(err)
	}
	defer out.Free()
	if _, err := softmax.Launch(ctx, kernel.Dims(rows), x, out, cols); err != nil {
		log.Fatal(err)
	}
	values, err := out.Values()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", values)
	// Output: [0.333 0.333 0.333 0.090 0.245 0.665]
}

// What is named and not a parameter is an option of the compile. Compile makes a variant
// ready before it is launched, and tells what was made.
func ExampleFunction_Compile() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	dev, err := simulated.New(core.Target{Backend: "cuda", Arch: "80"}, simulated.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	softmax, err := launch.New(ctx, launch.Options{
		Source:  &core.Source{Path: "softmax.py", Text: []byte(softmaxSource)},
		Device:  dev,
		Compile: core.Options{Select: host.Select},
	})
	if err != nil {
		log.Fatal(err)
	}
	x, err := kernel.Alloc[kernel.Float16](dev, 1024)
	if err != nil {
		log.Fatal(err)
	}
	compiled, err := softmax.Compile(ctx, x, x, 1024, kernel.Named("num_warps", 8))
	if err != nil {
		log.Fatal(err)
	}
	meta, err := driver.ParseMetadata(compiled.Metadata)
	fmt.Println(compiled.Name, compiled.Target, meta.NumWarps, "warps", err)

	_, err = softmax.Compile(ctx, x, x, 1024, kernel.Named("warps", 8))
	fmt.Println(err)
	// Output:
	// softmax cuda:80:32 8 warps <nil>
	// argument warps: softmax has no such parameter, and the backend no such option; it is softmax(x_ptr, out_ptr, cols, BLOCK: constexpr)
}

// Bind gives a launch to whoever runs it themselves: package bench measures it as
// Triton's do_bench does. Of a simulated device that is an estimate of the chip's time.
func ExampleFunction_Bind() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	dev, err := simulated.New(core.Target{Backend: "cuda", Arch: "80"}, simulated.Options{Estimate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	softmax, err := launch.New(ctx, launch.Options{
		Source:  &core.Source{Path: "softmax.py", Text: []byte(softmaxSource)},
		Device:  dev,
		Compile: core.Options{Select: host.Select},
	})
	if err != nil {
		log.Fatal(err)
	}
	x, err := kernel.From(dev, make([]float32, 64*1024))
	if err != nil {
		log.Fatal(err)
	}
	k, l, err := softmax.Bind(ctx, kernel.Dims(64), x, x, 1024)
	if err != nil {
		log.Fatal(err)
	}
	times, err := bench.Measure(ctx, dev, k, l, bench.Options{})
	if err != nil {
		log.Fatal(err)
	}
	t := times.Median()
	fmt.Println(t > time.Microsecond && t < time.Millisecond)
	// Output: true
}

// Compile and Run are for one launch on arrays of the host, as tritonc run has them.
func ExampleCompile() {
	ctx := context.Background()
	host := plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
	defer host.Close()
	target := core.Target{Backend: "cuda", Arch: "80"}
	dev, err := simulated.New(target, simulated.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	x := array.Of(array.Named("fp32"), 1, 2, 3)
	out := array.Empty(array.Named("fp32"), 3)
	k, err := launch.Compile(ctx, launch.Request{
		Source: &core.Source{Path: "softmax.py", Text: []byte(softmaxSource)},
		Args:   []launch.Arg{{Name: "x_ptr", Value: x}, {Name: "out_ptr", Value: out}, {Name: "cols", Value: int64(3)}},
		Target: target, Device: dev, Options: core.Options{Select: host.Select},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := k.Run(ctx, [3]int{1, 1, 1}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.3f\n", k.Signature, out.Floats())
	// Output: x_ptr=*fp32:16, out_ptr=*fp32:16, cols=i32: [0.090 0.245 0.665]
}
