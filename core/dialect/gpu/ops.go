// Package gpu is the table of the part of the gpu dialect that Triton uses.
package gpu

//go:generate go run github.com/tritonc/tritonc/internal/opviews gpu

import "github.com/tritonc/tritonc/core/ir"

// Barrier waits for all threads of the program.
var Barrier = &ir.OpDef{
	Name: "gpu.barrier", Doc: "wait for all threads of the program; shared memory is visible after",
	Asm:     "attr-dict",
	Effects: ir.Effects{Read: true, Write: true},
}

// Dialect is the gpu dialect.
var Dialect = &ir.Dialect{Name: "gpu", Doc: "GPU synchronisation", Ops: []*ir.OpDef{Barrier}}
