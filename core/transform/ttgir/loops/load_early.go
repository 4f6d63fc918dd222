package loops

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// LoadEarly is the pass for a target without a matrix unit.
var LoadEarly = NewLoadEarly(dots.MultiplyAdd{})

// NewLoadEarly makes the pass that moves short loads from global memory together: to the
// start of an iteration, or to the last write or loop before them, in loops without dots
// and in those with dots that are not pipelined and write no global memory:
//
//	%q = tt.load …                     %q = tt.load …
//	%a = ttg.local_alloc %q            %l = tt.load …
//	%s = tt.dot …             →        %a = ttg.local_alloc %q
//	%l = tt.load …                     %s = tt.dot …
//	%p = arith.subf %s, %l             %p = arith.subf %s, %l
//
// An iteration then waits for memory once. No assembler does this: a load does not pass
// the barriers that threads wait at between writing and reading shared memory. In a function
// without loops a load moves before the first dot if it is the only one that follows: the
// operands of the dot have left their registers to it. chunk_bwd_kernel_dv_local of
// flash-linear-attention, with one such tile, then takes 4.7 us on an H200 instead of 5.2;
// chunk_bwd_kernel_dv, whose four tiles would need 127 registers instead of 80, 6.7
// instead of 6.1.
func NewLoadEarly(unit dots.MatrixUnit) *pass.Pass {
	return &pass.Pass{
		Name: "tritongpu-load-early",
		Doc:  "issue an iteration's short loads together",
		Options: []pass.Option{
			{Name: "registers", Doc: "the most 32-bit registers per thread for a loop's tensors and the moved loads", Default: 255},
		},
		Example: loadEarlyExample,
		Before:  []*pass.Fact{facts.Machine, facts.Layouts},
		Run: func(r *pass.Run) error {
			room := r.Int("registers")
			ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
				switch {
				case op.Is(scf.For) && (leavesGlobalMemory(op) || !hasDots(unit, op)):
					r.Count("moved", loadEarly(op.Body(), room-WordsIn(op)))
				case op.Is(tt.Func) && len(forloop.All(op)) == 0:
					if body := tt.AsFunc(op).Body().First(); body != nil {
						r.Count("moved", loadBeforeDot(unit, body))
					}
				}
				return ir.Advance
			})
			return nil
		},
	}
}

// mostEarly is how many registers of 32 bits a load takes at most that is worth them
// from an iteration's start on.
const mostEarly = 16

// leavesGlobalMemory reports whether loop has dots of the program's threads and, apart
// from reading global memory, only uses the shared memory that it fills itself.
func leavesGlobalMemory(loop *ir.Operation) bool {
	return hasDots(dots.MultiplyAdd{}, loop) && !writes(loop)
}

// hasDots reports whether there are dots in op, those that the unit made among them.
func hasDots(unit dots.MatrixUnit, op *ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if _, made := unit.Made(o); made || tt.IsDot(o) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// writes reports whether op, or one inside it, writes anything but the shared memory that
// it makes.
func writes(op *ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if o.NumRegions() == 0 && !o.Is(ttg.LocalAlloc) && ir.HasEffect(o, ir.Effects.Writes) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// loadEarly moves the loads of a block before the first operation that threads may
// wait at, since the last that writes and the last loop, and with them what their
// addresses and masks are computed of, as long as their results fit into so many words of
// 32 bits. What goes to shared memory stays where it is: it waits at a barrier anyway. It
// returns the number of loads.
func loadEarly(block *ir.Block, room int) int {
	var first *ir.Operation
	n := 0
	for op := range block.Ops() {
		switch {
		case writes(op), op.Is(scf.For), op.Is(scf.If), op.Is(scf.While):
			first = nil
		case first == nil:
			if !op.Is(tt.Load) && !tensors.ComputesInThread(op) {
				first = op
			}
		case op.Is(tt.Load):
			words := tensors.Words(op)
			if words > min(mostEarly, room) || staged(op) {
				continue
			}
			if slice, ok := tensors.MovableBefore(first, op); ok {
				for _, o := range slice {
					o.MoveBefore(first)
				}
				room -= words
				n++
			}
		}
	}
	return n
}

// loadBeforeDot moves the only load that follows the first dot of a block before it, if
// nothing is written between them. It returns the number of loads.
func loadBeforeDot(unit dots.MatrixUnit, block *ir.Block) int {
	var dot, load *ir.Operation
	for op := range block.Ops() {
		switch {
		case dot == nil:
			if hasDots(unit, op) {
				dot = op
			}
		case op.Is(tt.Load):
			if load != nil {
				return 0
			}
			load = op
		}
	}
	if load == nil || tensors.Words(load) > mostEarly {
		return 0
	}
	for op := dot; op != load; op = op.Next() {
		if writes(op) {
			return 0
		}
	}
	slice, ok := tensors.MovableBefore(dot, load)
	if !ok {
		return 0
	}
	for _, o := range slice {
		o.MoveBefore(dot)
	}
	return 1
}

// staged reports whether all that op loads goes into shared memory.
func staged(op *ir.Operation) bool {
	for use := range op.OneResult().Uses() {
		if !use.Owner().Is(ttg.LocalAlloc) {
			return false
		}
	}
	return true
}
