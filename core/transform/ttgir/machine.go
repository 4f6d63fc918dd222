package ttgir

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// machine is how many threads run a program.
type machine struct {
	warps, lanes, ctas int
}

func (m machine) threads() int { return m.warps * m.lanes }

// onDevice says why a pass that asks how many threads run a program cannot take
// the module, or nil.
func onDevice(module *ir.Operation) error {
	for _, name := range []string{ttg.NumWarpsAttr, ttg.ThreadsPerWarpAttr, ttg.NumCTAsAttr} {
		if n, ok := module.IntAttr(name); !ok || n < 1 || n&(n-1) != 0 {
			return fmt.Errorf("the module has no attribute %s that is a power of two; convert-triton-to-tritongpu gives it one", name)
		}
	}
	return nil
}

// machineOf reads the attributes of a module that onDevice takes.
func machineOf(module *ir.Operation) machine {
	get := func(name string) int {
		n, ok := module.IntAttr(name)
		if !ok {
			panic("BUG: ttgir: the module has no attribute " + name)
		}
		return int(n)
	}
	return machine{get(ttg.NumWarpsAttr), get(ttg.ThreadsPerWarpAttr), get(ttg.NumCTAsAttr)}
}

// at is the machine that runs op: a partition of a warp-specialised operation
// has warps of its own.
func (m machine) at(op *ir.Operation) machine {
	for ; op.Parent() != nil; op = op.Parent() {
		p := op.Parent()
		if !p.Is(ttg.WarpSpecializePartitions) {
			continue
		}
		counts, ok := p.Parent().Attr("partitionNumWarps").(*ir.DenseArrayAttr)
		for i, r := range p.Regions() {
			if ok && r == op.Block().Region() {
				m.warps = int(counts.Values[i])
				return m
			}
		}
	}
	return m
}
