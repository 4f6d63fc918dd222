package kernel_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/simulated"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// A kernel that was compiled before runs without a compiler. Programs embed the code;
// tritonc build writes such Sets, with a function for each.
func Example() {
	ctx := context.Background()
	code, err := os.ReadFile("../sim/testdata/vector_add.ptx")
	if err != nil {
		log.Fatal(err)
	}
	set := &kernel.Set{
		Name: "vector_add",
		Params: []kernel.Param{
			{Name: "x", Type: "*fp32"}, {Name: "y", Type: "*fp32"}, {Name: "out", Type: "*fp32"}, {Name: "n", Type: "i32"},
		},
		Variants: []kernel.Variant{{
			Target: "cuda:80", Stage: "ptx", Hints: []int{16, 16, 16, 16}, Constants: []kernel.Arg{kernel.Named("BLOCK", 1024)},
			Metadata: []byte(`{"name": "vector_add", "num_warps": 4}`), Code: code,
		}},
	}
	dev, err := simulated.New(sdk.Target{Backend: "cuda", Arch: "80"}, simulated.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	add, err := set.Load(dev)
	if err != nil {
		log.Fatal(err)
	}

	x, err := kernel.From(dev, []float32{1, 2, 3, 15: 16})
	if err != nil {
		log.Fatal(err)
	}
	out, err := kernel.Alloc[float32](dev, x.Len())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := add.Launch(ctx, kernel.Dims(1), x, x, out, x.Len()); err != nil {
		log.Fatal(err)
	}
	values, err := out.Values()
	fmt.Println(values[:3], values[15], err)

	// Wrong arguments are errors, and nothing is launched.
	_, err = add.Launch(ctx, kernel.Dims(1), x, x, out)
	fmt.Println(err)
	_, err = add.Launch(ctx, kernel.Dims(0), x, x, out, 16)
	fmt.Println(err)
	_, err = add.Launch(ctx, kernel.Dims(1), x, x, out, 3)
	fmt.Println(err)
	// Output:
	// [2 4 6] 32 <nil>
	// vector_add lacks arguments: n; it is vector_add(x: *fp32, y: *fp32, out: *fp32, n: i32)
	// grid dimension x is 0: it must be at least 1
	// argument n: no variant of vector_add takes 3: it is compiled for multiples of 16
}

// Types that Go lacks are their bits, which Round makes and Float64 reads.
func ExampleRound() {
	x := kernel.Round[kernel.Float16](0.1)
	y := kernel.Round[kernel.Float8E4NV](500)
	fmt.Printf("%#x %v, %#x %v\n", uint16(x), x.Float64(), uint8(y), y.Float64())
	// Output: 0x2e66 0.0999755859375, 0x7f NaN
}

// A grid may depend on constants that the kernel's variant or configuration gives.
func ExampleGridFunc() {
	grid := kernel.GridFunc(func(c kernel.Constants) kernel.Grid {
		return kernel.Dims((c.Int("n")+c.Int("BLOCK")-1)/c.Int("BLOCK"), c.Int("heads"))
	})
	constants := map[string]any{"n": 1000, "BLOCK": 128, "heads": 4}
	l, err := grid.Resolve(func(name string) (any, bool) {
		v, ok := constants[name]
		return v, ok
	})
	fmt.Println(l.Grid, err)
	// Output: [8 4 1] <nil>
}
