package amd

import (
	_ "embed" // the example is an archive of the tests, too

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/memory"
)

//go:embed testdata/allocate-amdgpu-shared-memory/example.txtar
var allocateSharedExample string

// allocateShared is allocate-shared-memory with the scratch memory of AMD's backend: where
// conversions are marked, with padded rows. With the option lowered it is that which the
// lowering for the module's chip takes, at the places where it has it.
var allocateShared = &pass.Pass{
	Name:    "allocate-amdgpu-shared-memory",
	Doc:     "place buffers and scratch memory in LDS",
	Options: []pass.Option{lowered},
	Example: allocateSharedExample,
	Before:  facts.Lowerable,
	Run: func(r *pass.Run) error {
		c := chip.Of(r.Module.StringAttr(ttg.TargetAttr))
		if c == nil {
			c = &chip.GFX942
		}
		for _, m := range builtin.Modules(r.Module) {
			placed, err := place(r, m, c)
			if err != nil {
				return err
			}
			memory.Place(m, placed)
			r.Count("bytes", placed.Size())
		}
		return nil
	},
}

// place finds the places of a module's buffers and scratch memory.
func place(r *pass.Run, m *ir.Operation, c *chip.Chip) (*allocation.Result, error) {
	if r.Bool(lowered.Name) {
		placed, _, err := lower.Allocate(m, &gpu.Target{Chip: c})
		return placed, err
	}
	scratch, err := scratchOf(r, m, c)
	if err != nil {
		return nil, err
	}
	return allocation.Analyze(m, scratch, allocation.Tight)
}
