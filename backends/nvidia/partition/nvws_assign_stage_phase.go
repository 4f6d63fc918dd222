package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// AssignStagePhase gives each operation on an asynchronous reference its stage, which
// of the buffers is next, and those that wait also the phase, which changes with every
// round through the buffers:
//
//	%next = arith.addi %stage, 1
//	%wraps = arith.cmpi eq, %next, %depth
//	%s = arith.select %wraps, 0, %next
//	%p = arith.select %wraps, %phase ^ 1, %phase
//	%m, %t = nvws.aref.put.enter %a[%s, %p]
//	nvws.aref.put.exit %a[%s], %t
//
// Each partition that enters a reference counts by itself, through loops and branches.
// Operations that take the token of an enter have its stage.
var AssignStagePhase = &pass.Pass{
	Name:    "nvws-assign-stage-phase",
	Doc:     "number the buffers of asynchronous references",
	Example: assignStagePhaseExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		r.Count("references", assignStages(b, r.Module))
		return nil
	},
}

// references lists the asynchronous references of a module that have buffers.
func references(module *ir.Operation) (refs []*ir.Operation) {
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(nvws.Def("aref.create")) && len(nvws.AsArefCreate(op).Buffers()) > 0 {
			refs = append(refs, op)
		}
		return ir.Advance
	})
	return refs
}

// assignStages numbers the buffers of all references and returns how many these are.
func assignStages(b *ir.Builder, module *ir.Operation) int {
	refs := references(module)
	for _, a := range refs {
		countStages(b, a, nvws.Def("aref.put.enter"), 0)
		countStages(b, a, nvws.Def("aref.get.enter"), 1)
	}
	giveScalarsToDefault(module)
	return len(refs)
}

// place is where a partition is in the buffers of a reference: the last stage and phase,
// and the token of the last enter, nil before the first.
type place struct{ stage, phase, token *ir.Value }

// counter counts for one partition, which has its own places for filling and reading.
type counter struct {
	b     *ir.Builder
	kind  *ir.OpDef // of the enters
	aref  *ir.Value
	depth int64
	p     int64
	// at is which value a loop carries, or a branch or loop yields, as the stage of a
	// token.
	at map[tokenAt]int
}

type tokenAt struct {
	op    *ir.Operation
	token *ir.Value
}

// countStages numbers the enters of one kind of the reference that op makes, from the
// given phase on.
func countStages(b *ir.Builder, op *ir.Operation, kind *ir.OpDef, phase int64) {
	ref := nvws.AsArefCreate(op)
	var partitions []int64
	for u := range ref.Result().Users() {
		if u.Is(kind) {
			ids, _ := idsOf(u)
			partitions = union(partitions, ids)
		}
	}
	if len(partitions) == 0 {
		partitions = []int64{0} // not divided yet, or not at all
	}
	depth := ref.BuffersAt(0).Type().(*ttg.MemDescType).Shape[0]
	b.SetAfter(op)
	b.Loc = op.Loc()
	first := place{stage: arith.Int(b, b.Context().I32(), depth-1), phase: arith.Int(b, b.Context().I32(), phase)}
	for _, p := range partitions {
		c := &counter{b: b, kind: kind, aref: ref.Result(), depth: depth, p: p, at: make(map[tokenAt]int)}
		c.block(op.Block(), first)
		for u := range ref.Result().Users() {
			if c.mine(u) {
				c.follow(asEnter(u).Token(), asEnter(u).Stage(), make(map[*ir.Operation]bool))
			}
		}
	}
}

// mine reports whether op is an enter that c counts.
func (c *counter) mine(op *ir.Operation) bool {
	if !op.Is(c.kind) || asEnter(op).Aref() != c.aref {
		return false
	}
	ids, ok := idsOf(op)
	return !ok || slices.Contains(ids, c.p)
}

// used reports whether something in block counts, or takes token.
func (c *counter) used(block *ir.Block, token *ir.Value) bool {
	for op := range block.Ops() {
		switch {
		case c.mine(op):
			return true
		case op.Is(nvws.Def("aref.buffer")) && token != nil && nvws.AsArefBuffer(op).Aref() == c.aref && nvws.AsArefBuffer(op).Token() == token:
			return true
		case op.Is(scf.For):
			if c.used(op.Body(), carriedAs(op, token)) {
				return true
			}
		case op.Is(scf.If):
			for _, r := range op.Regions() {
				if !r.Empty() && c.used(r.First(), token) {
					return true
				}
			}
		}
	}
	return false
}

// carriedAs is the argument of loop's body that begins as token; nil if none does.
func carriedAs(loop *ir.Operation, token *ir.Value) *ir.Value {
	if token == nil {
		return nil
	}
	if i := slices.Index(scf.Inits(loop), token); i >= 0 {
		return scf.IterArg(loop, i)
	}
	return nil
}

// block numbers the enters of a block, from at on, and returns where it ends.
func (c *counter) block(block *ir.Block, at place) place {
	for op := block.First(); op != nil; {
		next := op.Next()
		switch {
		case c.mine(op):
			at = c.advance(op, at)
		case op.Is(scf.For):
			at = c.loop(op, at)
		case op.Is(scf.If):
			at = c.branch(op, at)
		}
		op = next
	}
	return at
}

// advance computes the place of the enter op.
func (c *counter) advance(op *ir.Operation, at place) place {
	b := c.b
	b.SetBefore(op)
	b.Loc = nil
	number := func(n int64) *ir.Value {
		v := arith.Int(b, b.Context().I32(), n)
		like(v.Def(), op)
		return v
	}
	marked := func(v *ir.Value) *ir.Value {
		like(v.Def(), op)
		return v
	}
	next := marked(arith.Binary(b, arith.AddI, at.stage, number(1)))
	wraps := marked(arith.Compare(b, arith.CmpI, arith.EQ, next, number(c.depth)))
	at.stage = marked(arith.NewSelect(b, wraps, number(0), next))
	other := marked(arith.Binary(b, arith.XorI, at.phase, number(1)))
	at.phase = marked(arith.NewSelect(b, wraps, other, at.phase))
	e := asEnter(op)
	e.SetStage(at.stage)
	e.SetPhase(at.phase)
	at.token = e.Token()
	return at
}

// loop carries the place through a loop in which it changes.
func (c *counter) loop(op *ir.Operation, at place) place {
	token := carriedAs(op, at.token)
	if !c.used(op.Body(), token) {
		return at
	}
	position := -1
	if token != nil {
		position = scf.CarriedIndex(token)
	}
	ids, divided := idsOf(op)
	outputs := allOutputs(op)
	n := op.NumResults()
	op, args := forloop.AddCarried(c.b, op, at.stage, at.phase)
	inside := place{stage: args[0], phase: args[1], token: at.token}
	if token != nil {
		inside.token = token
	}
	end := c.block(op.Body(), inside)
	yield := forloop.Yield(op)
	c.at[tokenAt{op, inside.token}] = n
	c.at[tokenAt{yield, end.token}] = n
	yield.AppendOperand(end.stage)
	yield.AppendOperand(end.phase)
	if divided {
		for _, v := range []*ir.Value{end.stage, end.phase} {
			outputs = append(outputs, valueIDs(v))
			ids = union(ids, valueIDs(v))
		}
		setIDs(op, ids)
		setOutputs(op, outputs)
		markYield(yield, ids)
	}
	counted := op.Results()[n:]
	at.stage, at.phase = counted[0], counted[1]
	if position >= 0 {
		at.token = op.Result(position)
	}
	return at
}

// markYield gives the end of a block, which had nothing to yield, the partitions of what
// is around it.
func markYield(yield *ir.Operation, ids []int64) {
	old, _ := idsOf(yield)
	setIDs(yield, union(old, ids))
}

// branch has an scf.if give the place where a branch of it counts.
func (c *counter) branch(op *ir.Operation, at place) place {
	uses := false
	for _, r := range op.Regions() {
		uses = uses || !r.Empty() && c.used(r.First(), at.token)
	}
	if !uses {
		return at
	}
	branches := scf.AsIf(op)
	if branches.ElseRegion().Empty() {
		c.b.SetToEnd(branches.ElseRegion().AddBlock())
		c.b.Loc = op.Loc()
		scf.NewYield(c.b)
	}
	ids, divided := idsOf(op)
	outputs := allOutputs(op)
	n := op.NumResults()
	var ends [2]place
	var yields [2]*ir.Operation
	for i, r := range op.Regions() {
		ends[i] = c.block(r.First(), at)
		yields[i] = r.First().Terminator()
		c.at[tokenAt{yields[i], ends[i].token}] = n
	}
	for i := range n {
		if ends[0].token != nil && yields[0].Operand(i) == ends[0].token && yields[1].Operand(i) == ends[1].token {
			at.token = op.Result(i)
		}
	}
	for i := range yields {
		yields[i].AppendOperand(ends[i].stage)
		yields[i].AppendOperand(ends[i].phase)
	}
	at.stage, at.phase = op.AddResult(at.stage.Type()), op.AddResult(at.phase.Type())
	if divided {
		var stages, phases []int64
		for _, e := range ends {
			if e.stage.Def() != nil {
				stages = union(stages, valueIDs(e.stage))
			}
			if e.phase.Def() != nil {
				phases = union(phases, valueIDs(e.phase))
			}
		}
		setOutputs(op, append(outputs, stages, phases))
		for _, y := range yields {
			markYield(y, ids)
		}
	}
	return at
}

// follow gives what takes token, also after loops and branches, its stage.
func (c *counter) follow(token, stage *ir.Value, seen map[*ir.Operation]bool) {
	var uses []*ir.Use
	for u := range token.Uses() {
		uses = append(uses, u)
	}
	for _, u := range uses {
		op := u.Owner()
		if seen[op] {
			continue
		}
		seen[op] = true
		switch {
		case asStaged(op) != nil:
			asStaged(op).SetStage(stage)
			c.needs(stage, op)
		case op.Is(scf.For):
			i := slices.Index(scf.Inits(op), token)
			if i < 0 {
				continue
			}
			arg := scf.IterArg(op, i)
			if k, ok := c.at[tokenAt{op, arg}]; ok {
				c.follow(arg, scf.IterArg(op, k), seen)
			}
		case op.Is(scf.Yield):
			if k, ok := c.at[tokenAt{op, token}]; ok {
				parent := op.Parent()
				c.follow(parent.Result(u.Index()), parent.Result(k), seen)
			}
		}
	}
}

// needs has the loop that carries stage do so in the partitions of op, too.
func (c *counter) needs(stage *ir.Value, op *ir.Operation) {
	if !stage.IsArgument() || !stage.Block().Parent().Is(scf.For) {
		return
	}
	loop := stage.Block().Parent()
	more, marked := idsOf(op)
	ids, divided := idsOf(loop)
	if !marked || !divided {
		return
	}
	setIDs(loop, union(ids, more))
	outputs := allOutputs(loop)
	for k := range 2 { // the stage and the phase
		i := scf.CarriedIndex(stage) + k
		outputs[i] = union(outputs[i], more)
	}
	setOutputs(loop, outputs)
}

// giveScalarsToDefault has the first partition, whose results those of a divided loop
// are, compute the numbers that are used after it.
func giveScalarsToDefault(module *ir.Operation) {
	ir.WalkPost(module, func(loop *ir.Operation) {
		if !loop.Is(scf.For) || !loop.HasAttr(tt.WarpSpecializeAttr) || !loop.HasAttr(idsAttr) {
			return
		}
		seen := make(map[*ir.Value]bool)
		for i, res := range loop.Results() {
			switch res.Type().(type) {
			case *ir.IntegerType, *ir.FloatType:
			default:
				continue
			}
			outside := false
			for u := range res.Users() {
				_, marked := idsOf(u)
				outside = outside || !marked || u.Is(scf.For) && u.HasAttr(tagAttr)
			}
			if outside {
				addDefault(loop, i)
				computeInDefault(loop, forloop.Yield(loop).Operand(i), seen)
			}
		}
	})
}

// addDefault has op give result i in partition 0, too.
func addDefault(op *ir.Operation, i int) {
	outputs := allOutputs(op)
	outputs[i] = union(outputs[i], []int64{0})
	ids, _ := idsOf(op)
	setIDs(op, union(ids, []int64{0}))
	setOutputs(op, outputs)
}

// computeInDefault has partition 0 compute v, and what that needs inside loop.
func computeInDefault(loop *ir.Operation, v *ir.Value, seen map[*ir.Value]bool) {
	if seen[v] {
		return
	}
	seen[v] = true
	def := v.Def()
	switch {
	case def == nil:
		inner := v.Block().Parent()
		if inner != loop && inner.Is(scf.For) && scf.CarriedIndex(v) >= 0 {
			computeInDefault(loop, scf.Inits(inner)[scf.CarriedIndex(v)], seen)
		}
	case !forloop.DefinedInside(v, loop):
	case def.Is(scf.If):
		addDefault(def, v.Index())
		for _, r := range def.Regions() {
			computeInDefault(loop, r.First().Terminator().Operand(v.Index()), seen)
		}
		computeInDefault(loop, scf.AsIf(def).Condition(), seen)
	case def.Is(scf.For):
		addDefault(def, v.Index())
		computeInDefault(loop, forloop.Yield(def).Operand(v.Index()), seen)
		for _, o := range []*ir.Value{scf.LowerBound(def), scf.UpperBound(def), scf.Step(def)} {
			computeInDefault(loop, o, seen)
		}
	default:
		if ids, ok := idsOf(def); ok {
			setIDs(def, union(ids, []int64{0}))
		}
		for _, o := range def.Operands() {
			computeInDefault(loop, o, seen)
		}
	}
}
