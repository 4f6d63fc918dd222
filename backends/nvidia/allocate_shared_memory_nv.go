package nvidia

import (
	_ "embed" // the example is an archive of the tests, too

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/memory"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

//go:embed testdata/allocate-shared-memory-nv/example.txtar
var allocateSharedExample string

// allocateShared is allocate-shared-memory with the scratch memory that the lowering for a
// compute capability takes, at the places where it has it.
var allocateShared = &pass.Pass{
	Name:    "allocate-shared-memory-nv",
	Doc:     "place buffers and scratch memory where the lowering for a GPU has them",
	Example: allocateSharedExample,
	Before:  facts.Lowerable,
	Options: []pass.Option{
		{Name: "compute-capability", Doc: "90 for 9.0", Default: 80},
		{Name: "ptx-version", Doc: "of no consequence", Default: 80},
	},
	Run: func(r *pass.Run) error {
		cc := r.Int("compute-capability")
		target := &gpu.Target{CC: cc}
		for _, a := range archs {
			if a.cc == cc {
				target = a.target()
			}
		}
		if cc < archs[0].cc {
			return sdk.Errorf("compute-capability is %d or more, not %d", archs[0].cc, cc)
		}
		for _, m := range builtin.Modules(r.Module) {
			placed, _, err := lower.Allocate(m, target)
			if err != nil {
				return err
			}
			memory.Place(m, placed)
			r.Count("bytes", placed.Size())
		}
		return nil
	},
}
