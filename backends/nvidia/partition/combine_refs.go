package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// pair is a reference that is filled once and read once in an iteration.
type pair struct {
	ref                                  *ir.Operation
	putEnter, putExit, getEnter, getExit *ir.Operation
	reader                               *ir.Operation // the first in the loop's body
}

// combineRefs makes one reference of those that one partition fills and that one
// operation of another reads, so that they share barriers.
func combineRefs(b *ir.Builder, module *ir.Operation) {
	var loops []*ir.Operation
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(scf.For) && op.HasAttr(tt.WarpSpecializeAttr) {
			loops = append(loops, op)
		}
		return ir.Advance
	})
	for _, loop := range loops {
		var groups [][]*pair
		for _, a := range references(module) {
			p := pairOf(a, loop)
			if p == nil {
				continue
			}
			i := slices.IndexFunc(groups, func(g []*pair) bool { return goTogether(g[0], p) })
			if i < 0 {
				groups = append(groups, []*pair{p})
			} else {
				groups[i] = append(groups[i], p)
			}
		}
		for _, g := range groups {
			if len(g) > 1 && movable(g) {
				combine(b, g)
			}
		}
	}
}

// goTogether reports whether two references can be one.
func goTogether(x, y *pair) bool {
	same := func(a, b *ir.Operation) bool {
		p, _ := idsOf(a)
		q, _ := idsOf(b)
		return len(p) == 1 && slices.Equal(p, q)
	}
	return x.reader == y.reader && same(x.putEnter, y.putEnter) && same(x.getEnter, y.getEnter) && x.ref.Block() == y.ref.Block() &&
		stagesOf(x.ref) == stagesOf(y.ref)
}

func stagesOf(ref *ir.Operation) int64 {
	return nvws.AsArefCreate(ref).BuffersAt(0).Type().(*ttg.MemDescType).Shape[0]
}

// pairOf is what uses a reference of one buffer, each once and in the body of loop; nil
// if it is used otherwise.
func pairOf(ref, loop *ir.Operation) *pair {
	r := nvws.AsArefCreate(ref)
	if len(r.Buffers()) != 1 {
		return nil
	}
	p := &pair{ref: ref}
	for u := range r.Result().Users() {
		slot := map[*ir.OpDef]**ir.Operation{
			nvws.Def("aref.put.enter"): &p.putEnter, nvws.Def("aref.put.exit"): &p.putExit,
			nvws.Def("aref.get.enter"): &p.getEnter, nvws.Def("aref.get.exit"): &p.getExit,
		}[u.Def()]
		if slot == nil || *slot != nil || u.Block() != loop.Body() {
			return nil
		}
		*slot = u
	}
	if p.putEnter == nil || p.putExit == nil || p.getEnter == nil || p.getExit == nil {
		return nil
	}
	p.reader = readerOf(asEnter(p.getEnter).Buffers()[0], loop)
	if p.reader == nil {
		return nil
	}
	return p
}

// readerOf is the first operation of loop's body that reads a buffer, or holds one that
// does.
func readerOf(v *ir.Value, loop *ir.Operation) (first *ir.Operation) {
	for u := range v.Users() {
		var at *ir.Operation
		switch {
		case ttng.AsMMA(u) != nil, u.Is(ttg.LocalLoad):
			at = forloop.AncestorIn(loop.Body(), u)
		case ttg.Viewed(u) == v:
			for _, r := range u.Results() {
				if x := readerOf(r, loop); x != nil && (at == nil || x.IsBeforeInBlock(at)) {
					at = x
				}
			}
		}
		if at != nil && (first == nil || at.IsBeforeInBlock(first)) {
			first = at
		}
	}
	return first
}

// ends are the first and the last of operations of one block.
func ends(ops []*ir.Operation) (first, last *ir.Operation) {
	first, last = ops[0], ops[0]
	for _, op := range ops {
		if op.IsBeforeInBlock(first) {
			first = op
		}
		if last.IsBeforeInBlock(op) {
			last = op
		}
	}
	return first, last
}

func each(g []*pair, f func(*pair) *ir.Operation) (ops []*ir.Operation) {
	for _, p := range g {
		ops = append(ops, f(p))
	}
	return ops
}

// movable reports whether what uses the buffers before all are full can wait until they
// are: views and loads of them, and pure operations on these.
func movable(g []*pair) bool {
	_, full := ends(each(g, func(p *pair) *ir.Operation { return p.putExit }))
	var can func(op *ir.Operation) bool
	can = func(op *ir.Operation) bool {
		for _, r := range op.Results() {
			for u := range r.Users() {
				at := forloop.AncestorIn(full.Block(), u)
				if at == nil || at.IsTerminator() {
					continue
				}
				if at.IsBeforeInBlock(full) && !u.Is(nvws.Def("aref.get.exit")) {
					if at != u || !ir.IsPure(u) && !u.Is(ttg.LocalLoad) || !can(u) {
						return false
					}
				}
			}
		}
		return true
	}
	for _, p := range g {
		if !can(p.getEnter) {
			return false
		}
	}
	return true
}

// combine makes one reference of g.
func combine(b *ir.Builder, g []*pair) {
	_, last := ends(each(g, func(p *pair) *ir.Operation { return p.ref }))
	var buffers []*ir.Value
	for _, p := range g {
		buffers = append(buffers, nvws.AsArefCreate(p.ref).Buffers()...)
	}
	b.At(last)
	// The type names one buffer only; the reference is gone before anybody reads it.
	ref := b.Create(nvws.Def("aref.create"), ir.State{Operands: buffers, Types: []ir.Type{nvws.AsArefCreate(last).Result().Type()}})
	exit := replacePair(b, ref, g, func(p *pair) (x, y *ir.Operation) { return p.putEnter, p.putExit }, nil)
	replacePair(b, ref, g, func(p *pair) (x, y *ir.Operation) { return p.getEnter, p.getExit }, exit)
	for _, p := range g {
		for _, op := range []*ir.Operation{p.putExit, p.putEnter, p.getExit, p.getEnter, p.ref} {
			op.Erase()
		}
	}
}

// replacePair makes an enter of ref before the first of those that of gives, or right
// after the operation after, and an exit before their last exit, which it returns.
func replacePair(b *ir.Builder, ref *ir.Operation, g []*pair, of func(*pair) (enter, exit *ir.Operation), after *ir.Operation) *ir.Operation {
	first, _ := ends(each(g, func(p *pair) *ir.Operation { e, _ := of(p); return e }))
	_, last := ends(each(g, func(p *pair) *ir.Operation { _, e := of(p); return e }))
	var types []ir.Type
	var kinds []ir.Attribute
	for _, p := range g {
		enter, exit := of(p)
		types = append(types, asEnter(enter).Buffers()[0].Type())
		for _, k := range arrivalsOf(exit) {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	if after != nil {
		b.SetAfter(after)
	} else {
		b.SetBefore(first)
	}
	b.Loc = first.Loc()
	result := nvws.AsArefCreate(ref).Result()
	enter := b.Create(first.Def(), ir.State{
		Operands: []*ir.Value{result}, Segments: []int32{1, 0, 0}, Types: append(types, ttg.AsyncToken(b.Context())),
	})
	like(enter, first)
	b.At(last)
	exit := b.Create(last.Def(), ir.State{
		Operands: []*ir.Value{result, asEnter(enter).Token()},
		Attrs:    []ir.NamedAttr{{Name: "async_ops", Attr: b.Context().ArrayAttr(kinds...)}},
	})
	like(exit, last)
	for i, p := range g {
		old, _ := of(p)
		moveUsersAfter(old, enter)
		asEnter(old).Buffers()[0].ReplaceAllUsesWith(asEnter(enter).Buffers()[i])
	}
	return exit
}

// moveUsersAfter moves what uses results of op, and is before at, after it.
func moveUsersAfter(op, at *ir.Operation) {
	for _, r := range op.Results() {
		for u := range r.Users() {
			x := forloop.AncestorIn(at.Block(), u)
			if x != nil && x.IsBeforeInBlock(at) && asStaged(x) == nil {
				x.MoveAfter(at)
				moveUsersAfter(x, x)
			}
		}
	}
}
