package amd

import (
	_ "embed" // the example is an archive of the tests, too

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/memory"
)

//go:embed testdata/allocate-amdgpu-shared-memory/example.txtar
var allocateSharedExample string

// allocateShared is allocate-shared-memory with the scratch memory that the lowering for
// the module's chip takes, at the places where it has it.
var allocateShared = &pass.Pass{
	Name:    "allocate-amdgpu-shared-memory",
	Doc:     "place buffers and scratch memory in LDS where the lowering has them",
	Example: allocateSharedExample,
	Before:  facts.Lowerable,
	Run: func(r *pass.Run) error {
		c := chip.Of(r.Module.StringAttr(ttg.TargetAttr))
		if c == nil {
			c = &chip.GFX942
		}
		for _, m := range builtin.Modules(r.Module) {
			placed, _, err := lower.Allocate(m, &gpu.Target{Chip: c})
			if err != nil {
				return err
			}
			memory.Place(m, placed)
			r.Count("bytes", placed.Size())
		}
		return nil
	},
}
