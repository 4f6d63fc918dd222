package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// Dots pipelines matrix multiplications that accumulate in tensor memory: it is a
// pipeline.AsyncDots.
type Dots struct{}

// Fills reports whether op stores to tensor memory.
func (Dots) Fills(op *ir.Operation) bool { return ttng.IsTmemStore(op) }

// SetLatencies gives each matrix multiplication of loop whose operands are there, or whose
// place is known where they are written, a latency for itself: the wait for it may come an
// iteration later. What uses the result comes a stage later if one accumulator is enough or
// the loop may have two. Loops with dots in registers have none: their last iteration
// would only wait.
func (Dots) SetLatencies(loop *ir.Operation, isEarly map[*ir.Operation]bool) {
	var dots []*ir.Operation
	for op := range loop.Body().Ops() {
		if op.Is(tt.Dot) {
			return
		}
		if ttng.AsMMA(op) != nil {
			dots = append(dots, op)
		}
	}
	one := loop.Context().I32Attr(1)
	for _, dot := range dots {
		o := operandsOf(dot, loop, func(alloc *ir.Operation) bool { return isEarly[loadFor(alloc)] })
		if !o.ready && (!o.known || readAfter(dot, loop)) {
			continue
		}
		dot.SetAttr(tt.SelfLatencyAttr, one)
		latency := 0
		if !isRead(dot, loop) || isOverwritten(dot, loop) && !loop.HasAttr(tt.OneAccumulatorAttr) {
			latency = 1
		}
		if isDivided(loop) {
			// The partition that uses the result is another: it needs a buffer more.
			if modifies(dot, loop) {
				continue
			}
			latency++
		}
		if latency > 0 {
			dot.SetAttr(tt.LatencyAttr, dot.Context().I32Attr(int64(latency)))
		}
	}
}

// isDivided reports whether loop is divided between groups of warps, or a loop around it.
func isDivided(loop *ir.Operation) bool {
	for ; loop != nil; loop = loop.ParentOf(scf.For) {
		if loop.HasAttr(tt.WarpSpecializeAttr) {
			return true
		}
	}
	return false
}

// operands is what is known of the operands of a matrix multiplication in a loop.
type operands struct {
	ready bool            // all are there when the iteration begins
	known bool            // of those that are not there, it is known what writes them
	late  []*ir.Operation // what does: allocations that fill a buffer, and others
}

// operandsOf looks at the operands of dot; none is ready where the accumulator is made in
// loop. A buffer for whose allocation isAhead holds is filled by a copy that was started
// before.
func operandsOf(dot, loop *ir.Operation, isAhead func(alloc *ir.Operation) bool) operands {
	m := ttng.AsMMA(dot)
	if allocBefore(dot, loop) == nil {
		return operands{known: true}
	}
	o := operands{known: true}
	values := []*ir.Value{m.A(), m.B()}
	if scaled, ok := m.(ttng.TcGen5MmaScaledOp); ok {
		values = append(values, scaled.AScale(), scaled.BScale())
		for _, v := range values[2:] {
			if forloop.DefinedInside(v, loop) && ttng.InTensorMemory(v) {
				o.known = false
			}
		}
		if !o.known {
			return o
		}
	}
	for _, v := range values {
		ready, def := source(v, loop, isAhead)
		switch {
		case ready:
		case def == nil:
			o.known = false
		default:
			o.late = append(o.late, def)
		}
	}
	o.ready = o.known && len(o.late) == 0
	return o
}

// source reports whether the buffer v is ready when the iteration of loop begins; if not,
// what writes it, or nil.
func source(v *ir.Value, loop *ir.Operation, isAhead func(alloc *ir.Operation) bool) (ready bool, def *ir.Operation) {
	if !forloop.DefinedInside(v, loop) {
		return true, nil
	}
	for v.DefIs(ttg.MemDescTrans) || v.DefIs(ttg.MemDescReshape) {
		v = ttg.Viewed(v.Def())
	}
	def = v.Def()
	switch {
	case def == nil:
		return false, nil
	case ttng.IsTmemAlloc(def):
		return false, def
	case !def.Is(ttg.LocalAlloc):
		return false, nil
	}
	src := ttg.AsLocalAlloc(def).Src()
	if src == nil {
		return false, def
	}
	if !forloop.DefinedInside(src, loop) {
		return true, nil
	}
	return loadFor(def) != nil && isAhead(def), def
}

// loadFor is the load of what a buffer is filled with, or nil.
func loadFor(alloc *ir.Operation) *ir.Operation {
	if !alloc.Is(ttg.LocalAlloc) || ttg.AsLocalAlloc(alloc).Src() == nil {
		return nil
	}
	load := ttg.AsLocalAlloc(alloc).Src().Def()
	if load == nil || !load.Is(tt.Load) && !load.Is(tt.DescriptorLoad) && !load.Is(tt.DescriptorGather) {
		return nil
	}
	return load
}

// allocBefore is what makes the accumulator of dot before loop, or nil.
func allocBefore(dot, loop *ir.Operation) *ir.Operation {
	alloc := ttng.AsMMA(dot).D().Def()
	if !ttng.IsTmemAlloc(alloc) || loop.IsAncestorOf(alloc) {
		return nil
	}
	return alloc
}

// accesses are the operations on the accumulator of dot inside loop that is tells.
func accesses(dot, loop *ir.Operation, is func(*ir.Operation) bool) []*ir.Operation {
	var list []*ir.Operation
	if alloc := allocBefore(dot, loop); alloc != nil {
		for u := range ttng.AsTmemAlloc(alloc).Result().Users() {
			if is(u) && loop.IsAncestorOf(u) {
				list = append(list, u)
			}
		}
	}
	return list
}

// isRead reports whether loop may read the accumulator of dot, so that the next iteration
// needs another.
func isRead(dot, loop *ir.Operation) bool {
	return allocBefore(dot, loop) == nil || len(accesses(dot, loop, ttng.IsTmemLoad)) > 0
}

// readAfter reports whether loop reads the accumulator after dot in the same iteration.
func readAfter(dot, loop *ir.Operation) bool {
	for _, u := range accesses(dot, loop, ttng.IsTmemLoad) {
		if dot.IsBeforeInBlock(forloop.AncestorIn(loop.Body(), u)) {
			return true
		}
	}
	return false
}

// isOverwritten reports whether loop begins a sum anew, by a store or by a dot that may
// leave the accumulator out: there it can take another buffer.
func isOverwritten(dot, loop *ir.Operation) bool {
	if len(accesses(dot, loop, ttng.IsTmemStore)) > 0 {
		return true
	}
	use := ttng.AsMMA(dot).UseD()
	if n, ok := arith.ConstantInt(use); ok && n&1 == 0 {
		return true
	}
	for seen := map[*ir.Value]bool{}; !seen[use]; {
		seen[use] = true
		if next := forloop.Next(loop, use); next != nil {
			use = next
		}
	}
	return use.Def() != nil && loop.IsAncestorOf(use.Def())
}

// modifies reports whether what loop reads of the accumulator of dot is changed and stored
// to it again.
func modifies(dot, loop *ir.Operation) bool {
	if allocBefore(dot, loop) == nil {
		return true
	}
	stores := make(map[*ir.Operation]bool)
	for _, s := range accesses(dot, loop, ttng.IsTmemStore) {
		stores[s] = true
	}
	type reached struct {
		v       *ir.Value
		changed bool
	}
	var queue []reached
	for _, l := range accesses(dot, loop, ttng.IsTmemLoad) {
		queue = append(queue, reached{ttng.AsTmemLoad(l).Result(), false})
	}
	seen := make(map[reached]bool)
	for len(queue) > 0 && len(stores) > 0 {
		r := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[r] {
			continue
		}
		seen[r] = true
		for u := range r.v.Uses() {
			op := u.Owner()
			switch {
			case stores[op] && r.changed:
				return true
			case stores[op]:
			case op.Is(scf.Yield) && op.Parent().Is(scf.If):
				queue = append(queue, reached{op.Parent().Result(u.Index()), r.changed})
			case op == forloop.Yield(loop):
				queue = append(queue, reached{scf.IterArgs(loop)[u.Index()], r.changed})
			default:
				for _, v := range op.Results() {
					queue = append(queue, reached{v, true})
				}
			}
		}
	}
	return false
}
