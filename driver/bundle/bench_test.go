package bundle

import (
	"testing"

	"github.com/tritonc/tritonc/driver/kernel"
)

// BenchmarkRun is what a launch by a formula costs on a device that does nothing.
func BenchmarkRun(b *testing.B) {
	dev := device("80", "ptx")
	dev.Keep = false
	f, err := example().Kernels[0].Load(dev)
	if err != nil {
		b.Fatal(err)
	}
	x, err := kernel.Alloc[float32](dev, 1024)
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		grid kernel.Grid
	}{{"formula", f.Grid}, {"numbers", kernel.Dims(10, 2)}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Launch(b.Context(), tt.grid, x, int32(640)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
