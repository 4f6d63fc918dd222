package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// An owner is the partition that uses a buffer, of the loop with that tag. No owner
// stands for what runs before and after the loops.
type owner struct{ id, tag int64 }

// unfit is a diagnostic at an operation that the passes for partitions cannot take.
func unfit(op *ir.Operation, format string, args ...any) *diag.Diagnostic {
	return mistake(op, format, args...).WithHelp("tritongpu-hoist-tmem-alloc and tritongpu-partition-scheduling make loops that this pass takes")
}

// same reports whether two owners are one.
func (o *owner) same(p *owner) bool {
	return o == p || o != nil && p != nil && *o == *p
}

// ownerOf is the partition of op, which has no regions or of whose results one is meant.
func ownerOf(op *ir.Operation, result int) (*owner, error) {
	ids, ok := idsOf(op)
	if !ok {
		return nil, nil
	}
	if op.NumRegions() > 0 {
		ids = outputsOf(op, result)
	}
	if len(ids) != 1 {
		return nil, unfit(op, "%s uses a buffer in tensor memory in %d partitions, not in one", op.Name(), len(ids))
	}
	for o := op; o != nil; o = o.ParentOf(scf.For) {
		if tag, ok := tagOf(o); ok {
			return &owner{ids[0], tag}, nil
		}
	}
	return nil, unfit(op, "%s says its partition, but no loop around it has %s", op.Name(), tagAttr)
}

// An access is one operation of the chain of those that use a buffer in tensor memory,
// each with the token of the one before.
type access struct {
	op    *ir.Operation
	token *ir.Use // its operand, or nil
	owner *owner
	// prev and next are in the same region.
	prev, next *access
	// around is, of the first access of a region, that of the operation with the region;
	// of the end of a region, the first access there.
	around  *access
	regions []*access // the first access in each
	result  int       // of a loop or condition: the number of the token among its results
}

// chainOf follows the token of a buffer. The first access is what makes the buffer.
func chainOf(alloc ttng.TmemAllocOp) (*access, error) {
	root := &access{op: alloc.Op, result: -1}
	if alloc.Src() != nil {
		var err error
		if root.owner, err = ownerOf(alloc.Op, 0); err != nil {
			return nil, err
		}
	}
	token := alloc.Token()
	switch {
	case token == nil || !token.HasUses():
		for u := range alloc.Result().Users() {
			if alloc.Result().HasOneUse() {
				o, err := ownerOf(u, 0)
				if err != nil {
					return nil, err
				}
				root.next = &access{op: u, owner: o, prev: root, result: -1}
			}
		}
		return root, nil
	case !token.HasOneUse():
		return nil, unfit(alloc.Op, "more than one operation takes the token of a new buffer")
	}
	_, err := root.follow(onlyUse(token), alloc.Op.Block())
	return root, err
}

func onlyUse(v *ir.Value) *ir.Use {
	for u := range v.Uses() {
		return u
	}
	return nil
}

// follow adds the operation that takes a token after a, and those after it, all of them in
// block; it returns the token that the end of the block hands on.
func (a *access) follow(use *ir.Use, block *ir.Block) (*ir.Value, error) {
	for {
		op := use.Owner()
		if op.Block() != block {
			return nil, unfit(op, "%s takes a token from outside of its block", op.Name())
		}
		if op.Is(scf.Yield) {
			return use.Value(), nil
		}
		n := &access{op: op, token: use, prev: a, result: -1}
		a.next = n
		var token *ir.Value
		switch {
		case ttng.IsTmemLoad(op):
			token = ttng.AsTmemLoad(op).Token()
		case ttng.IsTmemStore(op):
			token = first(ttng.AsTmemStore(op).Token())
		case ttng.AsMMA(op) != nil:
			token = first(ttng.AsMMA(op).Token())
		case op.Is(scf.For):
			if err := n.enterLoop(); err != nil {
				return nil, err
			}
			token = op.Result(n.result)
		default:
			return nil, unfit(op, "%s takes the token of a buffer in tensor memory", op.Name())
		}
		var err error
		if op.NumRegions() == 0 {
			if n.owner, err = ownerOf(op, 0); err != nil {
				return nil, err
			}
		}
		switch {
		case token == nil || !token.HasUses():
			return token, nil
		case !token.HasOneUse():
			if n, err = n.enterIf(token); err != nil {
				return nil, err
			}
			if token = n.op.Result(n.result); !token.HasUses() {
				return token, nil
			}
			if !token.HasOneUse() {
				return nil, unfit(n.op, "more than one operation takes the token of a condition")
			}
		}
		a, use = n, onlyUse(token)
	}
}

func first(list []*ir.Value) *ir.Value {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// enterLoop follows the token through the body of a loop.
func (a *access) enterLoop() (err error) {
	a.result = scf.AsFor(a.op).InitArgsIndex(a.token)
	arg := scf.IterArg(a.op, a.result)
	yield := forloop.Yield(a.op)
	switch {
	case !arg.HasOneUse():
		return unfit(a.op, "not one operation takes the token that the loop carries")
	case yield.Operand(a.result).Def() == nil:
		return unfit(a.op, "the loop hands on a token that it does not make")
	}
	head := &access{result: -1}
	if _, err := head.follow(onlyUse(arg), a.op.Body()); err != nil {
		return err
	}
	if a.owner, err = ownerOf(a.op, a.result); err != nil {
		return err
	}
	a.addRegion(head, yield)
	return nil
}

// enterIf follows a token through the branches of the condition that takes it in both.
func (a *access) enterIf(token *ir.Value) (*access, error) {
	var uses []*ir.Use
	for u := range token.Uses() {
		uses = append(uses, u)
	}
	op := uses[0].Owner().Parent()
	if len(uses) != 2 || !op.Is(scf.If) || uses[1].Owner().Parent() != op || scf.AsIf(op).ElseRegion().Empty() {
		return nil, unfit(token.Def(), "of a token's %s, not one is in each branch of a condition", diag.Count(len(uses), "use"))
	}
	yes, no := scf.AsIf(op).ThenRegion().First(), scf.AsIf(op).ElseRegion().First()
	if uses[0].Owner().Block() != yes {
		uses[0], uses[1] = uses[1], uses[0]
	}
	if uses[0].Owner().Block() != yes || uses[1].Owner().Block() != no {
		return nil, unfit(op, "a token is taken twice in one branch of the condition")
	}
	n := &access{op: op, prev: a, result: -1}
	a.next = n
	var heads [2]*access
	for i, u := range uses {
		heads[i] = &access{result: -1}
		last, err := heads[i].follow(u, u.Owner().Block())
		if err != nil {
			return nil, err
		}
		at := slices.Index(u.Owner().Block().Terminator().OperandValues(), last)
		if at < 0 || i == 1 && at != n.result {
			return nil, unfit(op, "the branches of the condition do not hand on the token as one result")
		}
		n.result = at
	}
	var err error
	if n.owner, err = ownerOf(op, n.result); err != nil {
		return nil, err
	}
	for i, block := range []*ir.Block{yes, no} {
		n.addRegion(heads[i], block.Terminator())
	}
	return n, nil
}

// addRegion gives a the accesses after head, which ends with its block.
func (a *access) addRegion(head *access, end *ir.Operation) {
	last := head
	for last.next != nil {
		last = last.next
	}
	last.next = &access{op: end, token: end.OperandUse(a.result), owner: a.owner, prev: last, result: -1}
	last.next.around = head.next
	head.next.prev, head.next.around = nil, a
	a.regions = append(a.regions, head.next)
}

// owners are the partitions that use the buffer, in the order of their numbers, and
// whether what is outside of the loops does after one of them.
func (a *access) owners() (list []owner, outside bool) {
	var visit func(a *access)
	visit = func(a *access) {
		for ; a != nil; a = a.next {
			if a.owner == nil {
				outside = len(list) > 0
			} else if !slices.Contains(list, *a.owner) {
				list = append(list, *a.owner)
			}
			for _, r := range a.regions {
				visit(r)
			}
		}
	}
	if a.owner != nil {
		list = append(list, *a.owner)
	}
	visit(a.next)
	slices.SortFunc(list, func(x, y owner) int { return int(x.id-y.id)<<8 + int(x.tag-y.tag) })
	return list, outside
}

// each calls f for a and all accesses after it.
func (a *access) each(f func(*access)) {
	for ; a != nil; a = a.next {
		f(a)
		for _, r := range a.regions {
			r.each(f)
		}
	}
}
