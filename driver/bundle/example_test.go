package bundle_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/simulated"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// A bundle's kernel on a simulated GPU.
func ExampleOpen() {
	dev, err := simulated.New(sdk.Target{Backend: "cuda", Arch: "90"}, simulated.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	b, err := bundle.Open("../../examples/goservice/kernels/kernels.bundle")
	if err != nil {
		log.Fatal(err)
	}
	softmax, err := b.Load("row_softmax", dev)
	if err != nil {
		log.Fatal(err)
	}
	x, err := kernel.From(dev, []float32{0, 0, 0, 0})
	if err != nil {
		log.Fatal(err)
	}
	out, err := kernel.Alloc[float32](dev, x.Len())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := softmax.Launch(context.Background(), kernel.Dims(1), out, x, x.Len()); err != nil {
		log.Fatal(err)
	}
	values, err := out.Values()
	fmt.Println(values, err)
	// Output: [0.25 0.25 0.25 0.25] <nil>
}
