package transform

import (
	"slices"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// BlockPingpong has two warps of a SIMD take turns, one at the matrix cores and one at
// memory. A pipelined loop is cut into clusters that end in barriers, each of dots or of
// accesses to memory; those of dots have the higher priority. Eight warps, two to a SIMD,
// are of one program: a barrier that only the upper four wait at before the loop, and the
// lower four after it, keeps them one cluster apart. Four warps take turns with those of
// another program.
var BlockPingpong = &pass.Pass{
	Name: "tritonamdgpu-block-pingpong",
	Doc:  "have the warps of a SIMD take turns at matrix cores and memory",
	Options: []pass.Option{
		{Name: "num-stages", Doc: "stages of the pipelined loops", Default: 2},
		{Name: "apart", Doc: "let half of a program's warps run a cluster after the others, where eight warps or two dots ask for it", Default: true},
	},
	Example: blockPingpongExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		if r.Int("num-stages") <= 1 {
			return nil
		}
		m := machine.Of(r.Module)
		for _, loop := range operations(r.Module, scf.For) {
			p := &pingpong{
				Run: r, b: ir.NewBuilder(r.Module.Context()), loop: loop, warps: m.At(loop).Warps, stages: r.Int("num-stages"), apart: r.Bool("apart"),
			}
			p.gather()
			if p.take() {
				r.Count("loops", 1)
			}
		}
		return nil
	},
}

// pingpong is one loop.
type pingpong struct {
	*pass.Run
	b             *ir.Builder
	loop          *ir.Operation
	warps, stages int
	apart         bool

	loads, copies, commits, waits []*ir.Operation // from global memory
	reads, writes                 []*ir.Operation // of LDS; reads of carried buffers alone
	dots, scaled                  []*ir.Operation

	last *ir.Operation // what the schedule placed last
}

// gather lists what the loop does.
func (p *pingpong) gather() {
	lists := map[*ir.OpDef]*[]*ir.Operation{
		tt.Load: &p.loads, ttg.AsyncCopy: &p.copies, ttg.AsyncCommitGroup: &p.commits, ttg.AsyncWait: &p.waits,
		ttg.LocalStore: &p.writes, tt.Dot: &p.dots, tt.DotScaled: &p.scaled,
	}
	ir.Walk(p.loop, func(op *ir.Operation) ir.WalkResult {
		if list := lists[op.Def()]; list != nil {
			*list = append(*list, op)
		}
		if op.Is(ttg.LocalLoad) && p.isFilled(ttg.AsLocalLoad(op).Src()) {
			p.reads = append(p.reads, op)
		}
		return ir.Advance
	})
}

// isFilled reports whether v is a buffer that an earlier iteration filled: one that the loop
// carries, or the only one, which the loop stores to.
func (p *pingpong) isFilled(v *ir.Value) bool {
	return slices.Contains(scf.IterArgs(p.loop), v) || slices.ContainsFunc(slices.Collect(v.Users()), func(u *ir.Operation) bool {
		return u.Is(ttg.LocalStore) && u.Parent() == p.loop && v.Def() != nil && v.Def().Parent() != p.loop
	})
}

// Sizes of dots: bits of an operand times the other dimension.
const (
	leastTile  = 32 * 128 * 64 // as Triton has it, of 1 bit
	smallTile  = 128 * 128 * 64 * 16
	mediumTile = 2 * smallTile
	largeTile  = 256 * 256 * 64 * 16
)

// warpsOfProgram are the warps of a program that has two on each SIMD.
const warpsOfProgram = 8

// take schedules the loop if it is of a form for which there is a schedule.
func (p *pingpong) take() bool {
	if len(p.dots)+len(p.scaled) == 2 && len(p.dots) == 2 && p.stages == 4 {
		return p.apart && p.isAlone() && p.chained()
	}
	fetches := len(p.loads)
	if len(p.copies) > 0 {
		fetches = len(p.copies)
	}
	if fetches < 2 || len(p.reads) < 2 || len(p.dots)+len(p.scaled) != 1 {
		return false
	}
	if len(p.scaled) == 1 {
		return p.takeScaled()
	}
	dot := tt.AsDot(p.dots[0])
	shape, a := tensors.Type(dot.Result()).Shape, tensors.Type(dot.A())
	operand, width := mfmaOperand(dot), ir.BitWidth(a.Elem)
	switch {
	case operand == nil || len(shape) != 2 || p.warps == warpsOfProgram && !(p.apart && p.isAlone()):
		return false
	case len(p.copies) > 0 && (p.warps != warpsOfProgram || p.stages > 2):
		return p.warps == warpsOfProgram && shape[0] > 64 && shape[1] > 64 && (width == 16 || width == 8) && p.copiesBeside()
	case !p.onlyForDot(dot):
		return false
	}
	if tile := tileOf(dot); p.warps == 4 && leastTile <= tile && tile <= smallTile {
		return p.oneCluster()
	}
	if len(p.writes) != 2 {
		return false
	}
	switch partsOf(dot, p.warps, p.stages) {
	case 2:
		return p.twoClusters(operand)
	case 4:
		return p.fourClusters(operand)
	}
	return false
}

// tileOf is the size of a dot.
func tileOf(dot tt.DotOp) int64 {
	shape, a := tensors.Type(dot.Result()).Shape, tensors.Type(dot.A())
	return shape[0] * shape[1] * a.Shape[1] * int64(ir.BitWidth(a.Elem))
}

// mfmaOperand is the layout of the left operand of a dot by MFMA; nil of others.
func mfmaOperand(dot tt.DotOp) *layout.DotOp {
	operand, _ := encoding.Get(dot.A().Type()).(*layout.DotOp)
	if operand == nil {
		return nil
	}
	if _, ok := operand.Parent.(*layout.AMDMFMA); !ok {
		return nil
	}
	return operand
}

// leastK is the least K of a part.
const leastK = 16

// partsOf is into how many parts along K the schedules for eight warps cut a dot; 0: there
// is none for it.
func partsOf(dot tt.DotOp, warps, stages int) int64 {
	operand := mfmaOperand(dot)
	if operand == nil || len(tensors.Type(dot.Result()).Shape) != 2 || warps != warpsOfProgram || stages != 2 {
		return 0
	}
	n, instr := int64(0), operand.Parent.(*layout.AMDMFMA).InstrShape
	switch tile := tileOf(dot); {
	case tile == mediumTile:
		n = 2
	case tile >= largeTile && (instr[0] != 16 || instr[1] != 16 || operand.KWidth != 8):
		n = 4
	}
	if k := tensors.Type(dot.B()).Shape[0]; n == 0 || k%n != 0 || k/n < leastK {
		return 0
	}
	return n
}

// isAlone reports whether the barriers of a loop will be those of the schedule: where halves
// of the program are a barrier apart, others cost two each, and barriers of the kernel's
// own, as for what threads tell one another in global memory, would not do what they say.
func (p *pingpong) isAlone() bool {
	rare, scratch := p.isPersistent(), allocation.Neutral(p.Place)
	return !ir.Walk(p.loop, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op == p.loop:
			return ir.Advance
		case op.Is(gpu.Barrier), op.Is(ttg.LocalBarrier), op.Is(tt.Call), op.Is(ttg.WarpSpecialize):
			return ir.Stop
		}
		n, _, err := scratch(op)
		if (n > 0 || err != nil || op.Is(ttg.LocalAlloc)) && p.disturbs(op, rare) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// takeScaled schedules a loop around a dot of block-scaled operands.
func (p *pingpong) takeScaled() bool {
	dot := tt.AsDotScaled(p.scaled[0])
	shape := tensors.Type(p.scaled[0].OneResult()).Shape
	return p.apart && p.isAlone() && p.warps == warpsOfProgram && p.stages == 2 && len(p.copies) > 0 && len(p.waits) > 0 &&
		shape[0] == 256 && shape[1] == 256 && ir.BitWidth(tensors.Type(dot.A()).Elem) == 8 && p.scaledBeside()
}

// onlyForDot keeps of the accesses to memory those that serve the dot, and reports whether
// there are two loads and two reads of LDS among them, and no other accesses in the loop; in
// a persistent matmul there may be others under the condition, which rarely holds.
func (p *pingpong) onlyForDot(dot tt.DotOp) bool {
	reads := sources(ttg.LocalLoad, dot.A(), dot.B())
	var views []*ir.Operation
	for op := range reads {
		for v := range sources(ttg.MemDescIndex, ttg.AsLocalLoad(op).Src()) {
			views = append(views, v)
		}
	}
	writes := map[*ir.Operation]bool{}
	for _, v := range views {
		for u := range v.OneResult().Users() {
			writes[u] = u.Is(ttg.LocalStore)
		}
	}
	loads := map[*ir.Operation]bool{}
	for op, is := range writes {
		if is {
			for l := range sources(tt.Load, ttg.AsLocalStore(op).Src()) {
				loads[l] = true
			}
		}
	}
	rare := p.isPersistent()
	for _, of := range []struct {
		list *[]*ir.Operation
		ours map[*ir.Operation]bool
	}{{&p.loads, loads}, {&p.reads, reads}, {&p.writes, writes}} {
		for _, op := range *of.list {
			if !of.ours[op] && p.disturbs(op, rare) {
				return false
			}
		}
		*of.list = slices.DeleteFunc(*of.list, func(op *ir.Operation) bool { return !of.ours[op] })
	}
	return len(p.loads) == 2 && len(p.reads) == 2
}

// sources are the operations of a kind that values are computed of, the nearest ones, in
// earlier iterations, too.
func sources(kind *ir.OpDef, values ...*ir.Value) map[*ir.Operation]bool {
	found, seen := map[*ir.Operation]bool{}, map[*ir.Value]bool{}
	for list := values; len(list) > 0; {
		v := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		def := v.Def()
		switch {
		case def == nil:
			if loop := v.Block().Parent(); loop.Is(scf.For) && v.Index() > 0 {
				list = append(list, forloop.Yield(loop).Operand(scf.CarriedIndex(v)))
			}
		case def.Is(kind):
			found[def] = true
		default:
			list = append(list, def.OperandValues()...)
		}
	}
	return found
}

// isPersistent reports whether the loop is that of a persistent matmul: a condition by
// equality, the dot, and another such condition.
func (p *pingpong) isPersistent() bool {
	conditional, dot := false, false
	for op := range p.loop.Body().Ops() {
		switch {
		case op.Is(scf.If):
			c := scf.AsIf(op).Condition().Def()
			if conditional || c == nil || !c.Is(arith.CmpI) || arith.AsCompare(c).Predicate() != arith.EQ {
				return false
			}
			conditional = true
		case op.Is(tt.Dot):
			if dot || !conditional {
				return false
			}
			dot, conditional = true, false
		}
	}
	return conditional && dot
}

// disturbs reports whether an access that is not for the dot happens in most iterations.
// Conditions of rare iterations do not hold.
func (p *pingpong) disturbs(op *ir.Operation, rare bool) bool {
	parent := op.Parent()
	if parent == p.loop || !parent.Is(scf.If) || !rare {
		return true
	}
	return op.Block() != scf.AsIf(parent).ThenRegion().First()
}
