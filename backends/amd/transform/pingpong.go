package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// The schedules. Each is a list of what follows what; operations that the schedule does not
// name stay before or after it, where they were.

// Masks of scheduling barriers: nothing may move across, or what has no effects.
const (
	nothingMoves = 0
	pureMoves    = 1
)

// oneCluster has four warps read LDS and global memory, with priority as far as they read
// LDS for the first half, and then multiply.
func (p *pingpong) oneCluster() bool {
	dot := p.dots[0]
	p.last = dot.Prev()
	before := p.schedBarrier(pureMoves)
	p.last = p.reads[0]
	p.priority(1)
	p.raise(p.loads[0])
	p.schedBarrier(nothingMoves)
	p.raise(p.reads[1])
	p.priority(0)
	p.raise(p.loads[1])
	p.last = before
	p.multiply(dot)
	p.Say(dot, "warps of two programs take turns at this dot")
	return true
}

// fourClusters cuts the dot into four along K.
func (p *pingpong) fourClusters(operand *layout.DotOp) bool {
	parts := p.cut(operand, 4)
	if parts == nil {
		return false
	}
	p.last = p.loads[1]
	p.read(parts[0])
	p.turn()
	p.multiply(parts[0].dot)
	p.turn()
	p.place(p.loads[1])
	p.read(parts[1])
	p.turn()
	p.multiply(parts[1].dot)
	p.turn()
	p.read(parts[2])
	p.read(parts[3])
	p.turn()
	p.multiply(parts[2].dot)
	p.turn()
	p.raise(p.writes[0])
	p.raise(p.writes[1])
	p.turn()
	p.multiply(parts[3].dot)
	p.atEnd(p.turn)
	p.keepApart()
	p.Say(parts[0].dot, "warps take turns at four parts of this dot")
	return true
}

// twoClusters cuts the dot into two along K.
func (p *pingpong) twoClusters(operand *layout.DotOp) bool {
	parts := p.cut(operand, 2)
	if parts == nil {
		return false
	}
	p.last = p.loads[1]
	p.read(parts[0])
	p.schedBarrier(nothingMoves)
	p.place(p.loads[0])
	p.schedBarrier(nothingMoves)
	p.read(parts[1])
	p.schedBarrier(nothingMoves)
	p.place(p.loads[1])
	p.meet()
	p.schedBarrier(nothingMoves)
	p.multiply(parts[0].dot)
	p.turn()
	p.raise(p.writes[0])
	p.raise(p.writes[1])
	p.turn()
	p.multiply(parts[1].dot)
	p.atEnd(p.turn)
	p.keepApart()
	p.Say(parts[0].dot, "warps take turns at two parts of this dot")
	return true
}

// twoSteps marks a dot for which LLVM is to keep two clusters.
const twoSteps = "pingpong_2step"

// scaledBeside has the copies for the next iteration before what reads LDS and multiplies.
func (p *pingpong) scaledBeside() bool {
	p.last = p.waits[0]
	for _, op := range slices.Concat(p.commits, p.loads) {
		p.raise(op)
	}
	p.schedBarrier(nothingMoves)
	p.meet()
	p.schedBarrier(nothingMoves)
	p.scaled[0].SetAttr(twoSteps, p.b.Context().Unit())
	p.keepApart()
	return true
}

// Kinds of instructions in masks of groups.
const (
	scalarInstrs = 1 << 2
	matrixInstrs = 1 << 3
)

// copiesBeside has one cluster read LDS and start a copy, and the other multiply and start
// the second one.
func (p *pingpong) copiesBeside() bool {
	if len(p.copies) != 2 || len(p.commits) != 2 || len(p.waits) == 0 {
		return false
	}
	p.last = p.copies[1]
	wait := p.joinWaits()
	p.raise(p.reads[0])
	p.raise(p.reads[1])
	p.schedBarrier(nothingMoves)
	p.place(p.copies[0])
	p.place(p.commits[0])
	p.schedBarrier(nothingMoves)
	p.place(wait)
	p.schedBarrier(nothingMoves)
	// Between the first MFMA, what is computed for the copy's address.
	for i := range 5 {
		if i%2 == 0 {
			p.group(matrixInstrs, 1)
		} else {
			p.group(scalarInstrs, 3)
		}
	}
	p.place(p.copies[1])
	p.place(p.commits[1])
	p.place(p.dots[0])
	p.schedBarrier(nothingMoves)
	p.meet()
	p.schedBarrier(nothingMoves)
	p.keepApart()
	return true
}

// joinWaits makes one wait of several.
func (p *pingpong) joinWaits() *ir.Operation {
	if len(p.waits) == 1 {
		return p.waits[0]
	}
	var tokens []*ir.Value
	for _, w := range p.waits {
		tokens = append(tokens, ttg.AsAsyncWait(w).AsyncToken()...)
	}
	all := p.add(ttg.AsyncWait, tokens, []ir.Type{ttg.AsyncToken(p.b.Context())}, ir.NamedAttr{Name: "num", Attr: p.b.Context().I32Attr(0)})
	for _, w := range p.waits {
		w.ReplaceAllUsesWith(all.OneResult())
		w.Erase()
	}
	return all
}

// chained has the clusters of a loop with two dots begin where it waits for copies or writes
// LDS, and where the dots are.
func (p *pingpong) chained() bool {
	var memory [2]*ir.Operation
	for i, dot := range p.dots {
		if dot.Block() != p.loop.Body() {
			return false
		}
		for memory[i] = dot; memory[i] != nil && !memory[i].Is(ttg.AsyncWait) && !memory[i].Is(ttg.LocalStore); {
			memory[i] = memory[i].Next()
		}
	}
	if memory[0] == nil || memory[1] == nil || memory[0] == memory[1] {
		return false
	}
	p.beforeOp(p.dots[0], p.meet, p.closed)
	p.memoryCluster(memory[0])
	p.beforeOp(p.dots[1], p.closed, func() { p.priority(0) }, p.waitForLDS, p.meet, p.closed)
	p.memoryCluster(memory[1])
	p.atEnd(p.closed, func() { p.priority(0) }, p.waitForLDS)
	p.keepApart()
	return true
}

// memoryCluster begins a cluster at first, which waits for copies or writes LDS.
func (p *pingpong) memoryCluster(first *ir.Operation) {
	high := func() { p.priority(1) }
	if !first.Is(ttg.AsyncWait) {
		p.beforeOp(first, p.closed, p.barrier, high)
		return
	}
	p.beforeOp(first, p.closed)
	p.last = first
	high()
	p.closed()
}

// part is a part of a dot along K: views of its operands, what is read, the dot.
type part struct {
	views, reads [2]*ir.Operation
	dot          *ir.Operation
}

// cut makes n dots of one, which read parts of the operands' buffers; nil if it cannot.
func (p *pingpong) cut(operand *layout.DotOp, n int64) []part {
	dot := tt.AsDot(p.dots[0])
	k := tensors.Type(dot.B()).Shape[0]
	operands := []*ir.Value{dot.A(), dot.B()}
	for _, v := range operands {
		if !v.DefIs(ttg.LocalLoad) || !v.HasOneUse() || !slices.Contains(p.reads, v.Def()) {
			return nil
		}
	}
	parts := make([]part, n)
	p.last = p.loads[0]
	for i, v := range operands {
		for j := range parts {
			parts[j].views[i], parts[j].reads[i] = p.slice(v, operand.KWidth, i, k/n, int64(j)*(k/n))
		}
	}
	sum := dot.C()
	for j := range parts {
		parts[j].dot = p.add(tt.Dot, []*ir.Value{parts[j].reads[0].OneResult(), parts[j].reads[1].OneResult(), sum}, []ir.Type{sum.Type()}, dot.Op.Attrs()...)
		sum = parts[j].dot.OneResult()
	}
	dot.Op.ReplaceAllUsesWith(sum)
	dot.Op.Erase()
	for _, v := range operands {
		v.Def().Erase()
	}
	return parts
}

// slice reads k columns of A or rows of B, from at on.
func (p *pingpong) slice(operand *ir.Value, kWidth, idx int, k, at int64) (view, read *ir.Operation) {
	c := p.b.Context()
	buffer := ttg.AsLocalLoad(operand.Def()).Src()
	whole := *buffer.Type().(*ttg.MemDescType)
	whole.Shape = slices.Clone(whole.Shape)
	whole.Shape[1-idx] = k
	offsets := []int64{0, 0}
	offsets[1-idx] = at
	view = p.add(ttg.MemDescSubslice, []*ir.Value{buffer}, []ir.Type{ttg.MemDesc(c, whole)}, ir.NamedAttr{Name: "offsets", Attr: c.I32Array(offsets...)})
	parent := encoding.Get(p.dots[0].OneResult().Type())
	enc := encoding.Of(c, &layout.DotOp{OpIdx: idx, Parent: parent, KWidth: kWidth})
	read = p.add(ttg.LocalLoad, []*ir.Value{view.OneResult()}, []ir.Type{c.Tensor(whole.Shape, whole.Elem, enc)})
	return view, read
}

// add makes an operation after the last one.
func (p *pingpong) add(def *ir.OpDef, operands []*ir.Value, types []ir.Type, attrs ...ir.NamedAttr) *ir.Operation {
	p.b.After(p.last)
	p.last = p.b.Create(def, ir.State{Operands: operands, Types: types, Attrs: attrs})
	return p.last
}

func (p *pingpong) i32(name string, n int64) ir.NamedAttr {
	return ir.NamedAttr{Name: name, Attr: p.b.Context().I32Attr(n)}
}

func (p *pingpong) schedBarrier(mask int64) *ir.Operation {
	return p.add(amdg.ROCDL().Op("rocdl.sched.barrier"), nil, nil, p.i32("mask", mask))
}

func (p *pingpong) closed() { p.schedBarrier(nothingMoves) }

func (p *pingpong) priority(n int64) {
	p.add(amdg.ROCDL().Op("rocdl.s.setprio"), nil, nil, p.i32("priority", n))
}

// group says how many instructions of a kind come next.
func (p *pingpong) group(kind, n int64) {
	p.add(amdg.ROCDL().Op("rocdl.sched.group.barrier"), nil, nil, p.i32("mask", kind), p.i32("size", n), p.i32("groupId", 0))
}

// meet waits for the other warps, and for no memory.
func (p *pingpong) meet() { p.add(amdg.ROCDL().Op("rocdl.s.barrier"), nil, nil) }

func (p *pingpong) barrier() { p.add(gpu.Barrier, nil, nil) }

func (p *pingpong) waitForLDS() {
	p.add(amdg.Dialect().Op("amdg.memory_counter_wait"), nil, nil, p.i32("ds", 0))
}

// turn ends a cluster.
func (p *pingpong) turn() {
	p.barrier()
	p.closed()
}

// multiply places a dot, with priority.
func (p *pingpong) multiply(dot *ir.Operation) {
	p.priority(1)
	p.place(dot)
	p.priority(0)
}

// read places what reads the operands of a part.
func (p *pingpong) read(x part) {
	for i := range x.reads {
		p.place(x.views[i])
		p.place(x.reads[i])
	}
}

// place moves op after the last one.
func (p *pingpong) place(op *ir.Operation) {
	if op != p.last {
		op.MoveAfter(p.last)
	}
	p.last = op
}

// raise places op after the last one, and what it is computed of that is not before that. An
// operation from further up stays where it is if others on the way use it.
func (p *pingpong) raise(op *ir.Operation) {
	if op.Block() != p.last.Block() || op == p.last {
		return
	}
	at := p.last
	if op.IsBeforeInBlock(at) {
		for _, v := range op.Results() {
			for u := range v.Users() {
				if u != at && u.Block() == at.Block() && u.IsBeforeInBlock(at) {
					return
				}
			}
		}
		p.place(op)
		return
	}
	slice, _ := inBlock(op)
	for _, o := range slice {
		if at.IsBeforeInBlock(o) {
			p.place(o)
		}
	}
}

// beforeOp makes operations before op.
func (p *pingpong) beforeOp(op *ir.Operation, makers ...func()) {
	for _, add := range makers {
		first := op.Block().First()
		if op != first {
			p.last = op.Prev()
			add()
			continue
		}
		p.last = op
		add()
		op.MoveAfter(p.last)
	}
}

// atEnd makes operations at the end of the loop's body.
func (p *pingpong) atEnd(makers ...func()) { p.beforeOp(p.loop.Body().Terminator(), makers...) }

// threadsApart is how many threads of a program are on the first warp of each SIMD.
const threadsApart = 256

// keepApart has the upper half of the warps wait at a barrier more before the loop, and the
// lower half after it, so that they are a cluster apart in between.
func (p *pingpong) keepApart() {
	b := p.b
	b.At(p.loop)
	b.Create(gpu.Barrier, ir.State{})
	i32 := b.Context().I32()
	thread := b.Create(amdg.ROCDL().Op("rocdl.workitem.id.x"), ir.State{Types: []ir.Type{i32}}).OneResult()
	zero, apart := arith.Int(b, i32, 0), arith.Int(b, i32, threadsApart)
	half := arith.Binary(b, arith.DivSI, thread, apart)
	low := arith.Compare(b, arith.CmpI, arith.EQ, half, zero)
	high := arith.Compare(b, arith.CmpI, arith.NE, half, zero)
	wait := amdg.Dialect().Op("amdg.cond_barrier")
	b.Create(wait, ir.State{Operands: []*ir.Value{high}})
	b.After(p.loop)
	b.Create(wait, ir.State{Operands: []*ir.Value{low}})
}
