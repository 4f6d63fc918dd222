package amd

import (
	_ "embed" // the example is an archive of the tests, too

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/inspect"
)

//go:embed testdata/test-tritonamdgpu-membar/example.txtar
var testMembarExample string

// testMembar is test-print-membar by the rule of Triton's backend for AMD's GPUs: loads with
// a token of ttg.async_wait need no barrier but the one of the wait, since loops that copy
// have buffers of more parts than there are copies in flight. The lowering does not take that
// for granted, and asks which part each access is to.
var testMembar = &pass.Pass{
	Name:    "test-tritonamdgpu-membar",
	Doc:     "put a barrier wherever one is due, where waits order copies and loads",
	Example: testMembarExample,
	Run: func(r *pass.Run) error {
		return inspect.PutBarriers(r, func(m *ir.Operation, placed *allocation.Result) *membar.Result {
			return membar.AnalyzeWaited(m, placed, (&gpu.Target{Chip: &chip.GFX942}).Effects(), afterWait)
		})
	},
}

// afterWait reports whether a load from LDS has a token of a wait for copies.
func afterWait(load *ir.Operation) bool {
	token := ttg.AsLocalLoad(load).Token()
	return token != nil && isWaited(token, map[*ir.Value]bool{})
}

// isWaited reports whether a token is that of a wait on all paths to it.
func isWaited(token *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[token] {
		return true // by another path
	}
	seen[token] = true
	def := token.Def()
	switch {
	case def == nil:
		return argumentWaited(token, seen)
	case def.Is(scf.If):
		for _, r := range def.Regions() {
			if r.Empty() || !isWaited(r.First().Terminator().Operand(token.Index()), seen) {
				return false
			}
		}
		return true
	case def.Is(scf.For):
		return carriedWaited(def, token.Index(), seen)
	}
	return def.Is(ttg.AsyncWait) || def.Name() == "amdg.async_wait"
}

// argumentWaited is isWaited of the argument of a block.
func argumentWaited(token *ir.Value, seen map[*ir.Value]bool) bool {
	b := token.Block()
	if !b.IsEntry() {
		for branch, i := range b.Predecessors() {
			if !isWaited(cf.SuccessorArgs(branch, i)[token.Index()], seen) {
				return false
			}
		}
		return true
	}
	loop := b.Parent()
	return loop != nil && loop.Is(scf.For) && carriedWaited(loop, scf.CarriedIndex(token), seen)
}

// carriedWaited is isWaited of the i-th value that a loop carries.
func carriedWaited(loop *ir.Operation, i int, seen map[*ir.Value]bool) bool {
	return isWaited(scf.Inits(loop)[i], seen) && isWaited(loop.Body().Terminator().Operand(i), seen)
}
