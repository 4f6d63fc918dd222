// Package amdsim runs what backends/amd compiles on simulated devices, for tests: it
// lowers the ttgir again and executes the LLVM IR by package llirsim. What the target's
// intrinsics do is described here from AMD's instruction set documents, independently of
// the backend.
//
//	intrinsics.go  indices, lanes that exchange values
//	matrix.go      MFMA and WMMA
package amdsim

import (
	"context"
	"io"

	"github.com/tritonc/tritonc/backends/amd"
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/work"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/internal/llirdevice"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Platform is the backend with its simulated devices.
type Platform struct{ *backend.Backend }

// NewPlatform makes the backend.
func NewPlatform() Platform { return Platform{amd.New()} }

// Open makes a device of a target. Nothing prints.
func (p Platform) Open(_ context.Context, t sdk.Target, _ io.Writer) (driver.Device, error) {
	c := chip.Of(t.Backend + ":" + t.Arch)
	return (&llirdevice.Config{
		Stage: "ttgir", Intrinsics: intrinsicsOf(c), MaxThreads: 1024, MaxShared: 64 << 10,
		Lowered: func(b driver.Binary) (*lower.Result, error) {
			f, err := p.Parse(work.Start(context.Background()), b.Name, b.Code)
			if err != nil {
				return nil, err
			}
			return lower.Module(f.Op, &gpu.Target{Chip: c}, lower.Options{})
		},
	}).Open(), nil
}
