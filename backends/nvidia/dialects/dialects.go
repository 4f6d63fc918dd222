// Package dialects declares dialects of which IR of Triton's for NVIDIA GPUs may have
// operations, and that no stage of ours makes: they parse, verify and print.
//
//	nvg         what is left of a kernel in the LLVM dialect before it is PTX
//	nvvm        barriers and special registers of such a kernel
//	proton      scopes that the profiler measures
//	proton_gpu  how it measures them
//
// The package imports core/dialect and core/ir.
package dialects

import (
	_ "embed"
	"sync"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// The declarations, JSON that core/ir/decl reads.
var (
	//go:embed nvg.json
	NVGDeclaration string
	//go:embed nvvm.json
	NVVMDeclaration string
	//go:embed proton.json
	ProtonDeclaration string
	//go:embed proton_gpu.json
	ProtonGPUDeclaration string
)

// The dialects, made on first use and shared by contexts.
var (
	NVG       = sync.OnceValue(func() *ir.Dialect { return load(NVGDeclaration) })
	NVVM      = sync.OnceValue(func() *ir.Dialect { return load(NVVMDeclaration) })
	Proton    = sync.OnceValue(func() *ir.Dialect { return load(ProtonDeclaration) })
	ProtonGPU = sync.OnceValue(func() *ir.Dialect { return load(ProtonGPUDeclaration) })
)

func load(declaration string) *ir.Dialect {
	d, err := decl.Load([]byte(declaration), dialect.All()...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return d
}
