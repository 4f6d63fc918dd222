package cuda_test

import (
	"context"
	"fmt"
	"os"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/cuda"
)

// A kernel that tritonc compiled is launched a thousand times without waiting, and then
// waited for.
func Example() {
	if err := run(context.Background(), "add.cubin", "add.json"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func run(ctx context.Context, cubin, metadata string) error {
	code, err := os.ReadFile(cubin)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(metadata)
	if err != nil {
		return err
	}
	meta, err := driver.ParseMetadata(text)
	if err != nil {
		return err
	}
	dev, err := cuda.Open(0)
	if err != nil {
		return err
	}
	defer dev.Close()
	kernel, err := dev.Load(driver.Binary{Name: cubin, Code: code, Metadata: meta})
	if err != nil {
		return err
	}
	const n = 1 << 20
	x, err := dev.Alloc("x", 4*n)
	if err != nil {
		return err
	}
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	for range 1000 {
		if _, err := kernel.Launch(ctx, driver.Launch{Grid: [3]int{n / 1024, 1, 1}, Args: []any{x, int32(n)}, Stream: stream}); err != nil {
			return err
		}
	}
	return stream.Sync(ctx)
}
