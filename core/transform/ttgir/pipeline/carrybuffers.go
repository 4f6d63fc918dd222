package pipeline

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
)

// carryBuffers rotates a pipelined loop so that it carries the buffers of the
// dot's operands, and what their loads wait for:
//
//	for … iter_args(%i, %copy) {
//	  %next = … %i                       counts the buffers
//	  %done = ttg.async_wait %copy
//	  %a = ttg.memdesc_index %all[%next]
//	  %x = ttg.local_load %a token %done
//	  … }
//
// The head, all that leads to %a and %done, moves from the start of each iteration to
// the end of the one before, and before the loop for the first. What is executed,
// and in which order, stays the same, but for what the last iteration finds for one
// that does not come: a buffer there is, and a copy there was.
func (p *prefetch) carryBuffers(head []*ir.Operation) {
	b, inHead := p.b, make(map[*ir.Operation]bool, len(head))
	for _, op := range head {
		inHead[op] = true
	}
	var out []*ir.Value // what the rest of the iteration uses of it
	for _, op := range head {
		for _, r := range op.Results() {
			for u := range r.Users() {
				if !inHead[u] {
					out = append(out, r)
					break
				}
			}
		}
	}
	args := scf.IterArgs(p.loop)
	// again makes the head at the builder's point, where the loop's arguments
	// have the given values.
	again := func(values []*ir.Value) []*ir.Value {
		m := ir.NewMapping()
		for i, v := range values {
			m.Map(args[i], v)
		}
		for _, op := range head {
			b.Insert(op.Clone(m))
		}
		found := make([]*ir.Value, len(out))
		for i, v := range out {
			found[i] = m.Lookup(v)
		}
		return found
	}
	b.SetBefore(p.loop)
	loop, carried := forloop.AddCarried(b, p.loop, again(scf.Inits(p.loop))...)
	p.loop = loop
	for i, v := range out {
		v.ReplaceUsesIf(carried[i], func(u *ir.Use) bool { return !inHead[u.Owner()] })
	}
	yield := forloop.Yield(loop)
	b.SetBefore(yield)
	for _, v := range again(yield.OperandValues()) {
		yield.AppendOperand(v)
	}
	for i := len(head) - 1; i >= 0; i-- {
		head[i].Erase()
	}
}

// head lists, in order, the operations of an iteration that lead to the buffers and
// tokens of the operands; nil when they cannot move to the iteration before, since
// they do more than count and wait, or when the loop reads one buffer all along.
func (p *prefetch) head() []*ir.Operation {
	body := p.loop.Body()
	need := make(map[*ir.Operation]bool)
	ok := true
	var follow func(v *ir.Value)
	follow = func(v *ir.Value) {
		op := v.Def()
		if op == nil {
			// The iteration's number, unlike what the loop carries, is not known in the
			// iteration before.
			ok = ok && v != scf.InductionVar(p.loop)
			return
		}
		if op.Block() != body || need[op] {
			return
		}
		need[op] = true
		ok = ok && op.NumRegions() == 0 && (op.Is(ttg.AsyncWait) || ir.IsPure(op))
		for _, w := range op.OperandValues() {
			follow(w)
		}
	}
	for i := range p.operands {
		o := &p.operands[i]
		// Without a token something else says when the buffer may be read.
		ok = ok && (o.load.Token() != nil || !sharedmem.IsMutable(o.load.Src()))
		for _, v := range []*ir.Value{o.load.Src(), o.load.Token()} {
			if v != nil {
				follow(v)
				ok = ok && v.Block() == body
			}
		}
	}
	if !ok {
		return nil
	}
	var head []*ir.Operation
	for op := range body.Ops() {
		if need[op] {
			head = append(head, op)
		}
	}
	return head
}
