package ir

import (
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/work"
)

var (
	testModule = &OpDef{Name: "t.module", Regions: []RegionDef{{Name: "body", MaxBlocks: 1}}, Traits: NoTerminator | IsolatedFromAbove}
	testFunc   = &OpDef{Name: "t.func", Regions: []RegionDef{{Name: "body"}}, Traits: IsolatedFromAbove}
	testConst  = &OpDef{
		Name: "t.const", Results: []Result{{Name: "r"}}, Traits: ConstantLike,
		Attrs: []AttrDef{{Name: "value", Kind: AttrTyped}},
	}
	isInt   = Constraint{Name: "integer", Test: func(t Type) bool { return IsInt(t, 0) }}
	testAdd = &OpDef{
		Name: "t.add", Operands: []Operand{{Name: "a", Type: isInt}, {Name: "b", Type: isInt}}, Results: []Result{{Name: "r"}},
		Traits: SameOperandsAndResultType,
		Infer:  func(s *State) ([]Type, error) { return []Type{s.Operands[0].Type()}, nil },
	}
	testPair = &OpDef{
		Name: "t.pair", Operands: []Operand{{Name: "p"}, {Name: "mask", Arity: Optional}, {Name: "rest", Arity: Variadic}},
		Traits: SegmentedOperands,
	}
	testBr  = &OpDef{Name: "t.br", Operands: []Operand{{Name: "args", Arity: Variadic}}, Successors: -1, Traits: Terminator}
	testRet = &OpDef{Name: "t.ret", Operands: []Operand{{Name: "vals", Arity: Variadic}}, Traits: Terminator}
)

var testDialect = &Dialect{Name: "t", Ops: []*OpDef{testModule, testFunc, testConst, testAdd, testPair, testBr, testRet}}

// fixture is a module with one function whose entry block has an i32 argument.
func fixture() (c *Context, b *Builder, mod *Operation, arg *Value) {
	c = NewContext(testDialect)
	mod = NewOperation(testModule, &State{Ctx: c, Regions: 1})
	b = NewBuilder(c)
	b.SetToEnd(mod.Region(0).AddBlock())
	f := b.Create(testFunc, State{Regions: 1})
	entry := f.Region(0).AddBlock()
	arg = entry.AddArg(c.I32(), c.UnknownLoc())
	b.SetToEnd(entry)
	return c, b, mod, arg
}

func TestInterning(t *testing.T) {
	c := NewContext()
	shape := []int64{1, 2, 3, 4, 5, 6}
	pairs := [][2]any{
		{c.Int(32), c.I32()},
		{c.Tensor(shape, c.F32(), nil), c.Tensor([]int64{1, 2, 3, 4, 5, 6}, c.F32(), nil)},
		{c.Func([]Type{c.I32()}, nil), c.Func([]Type{c.I32()}, nil)},
		{c.ArrayAttr(c.I32Attr(1), c.I32Attr(2)), c.ArrayAttr(c.I32Attr(1), c.I32Attr(2))},
		{c.IntAttr(c.I8(), 255), c.IntAttr(c.I8(), -1)},
		{c.DenseElements(c.Tensor([]int64{2}, c.I8(), nil), []uint64{3, 3}), c.DenseSplat(c.Tensor([]int64{2}, c.I8(), nil), 3)},
		{c.FusedLoc([]Location{c.UnknownLoc()}, nil), c.FusedLoc([]Location{c.UnknownLoc()}, nil)},
		{c.DictAttr(NamedAttr{"b", c.Unit()}, NamedAttr{"a", c.Unit()}), c.DictAttr(NamedAttr{"a", c.Unit()}, NamedAttr{"b", c.Unit()})},
	}
	for i, p := range pairs {
		if p[0] != p[1] {
			t.Errorf("pair %d: equal values are not one", i)
		}
	}
	if shape[0] = 9; c.Tensor([]int64{9, 2, 3, 4, 5, 6}, c.F32(), nil) == pairs[1][0] {
		t.Error("the interned tensor shares the caller's shape")
	}
	if any(c.Func([]Type{c.I32()}, nil)) == any(c.Func(nil, []Type{c.I32()})) {
		t.Error("inputs and outputs are confused")
	}
	if any(c.IntSigned(8, Unsigned)) == any(c.I8()) {
		t.Error("ui8 is i8")
	}
}

func TestUseLists(t *testing.T) {
	_, b, _, arg := fixture()
	x := b.Op(testAdd, []*Value{arg, arg})
	y := b.Op(testAdd, []*Value{x.Result(0), arg})
	if n := arg.NumUses(); n != 3 {
		t.Fatalf("argument has %d uses, want 3", n)
	}
	if !x.Result(0).HasOneUse() {
		t.Error("x does not have one use")
	}
	arg.ReplaceUsesIf(x.Result(0), func(u *Use) bool { return u.Owner() == y })
	if y.Operand(1) != x.Result(0) || arg.NumUses() != 2 || x.Result(0).NumUses() != 2 {
		t.Error("conditional replacement failed")
	}
	x.Result(0).ReplaceAllUsesWith(arg)
	x.Erase()
	if arg.NumUses() != 2 || y.Operand(0) != arg {
		t.Error("erasing x left its uses")
	}
	y.EraseOperand(0)
	if y.NumOperands() != 1 || y.OperandUse(0).Index() != 0 || arg.NumUses() != 1 {
		t.Error("EraseOperand left wrong indices or uses")
	}
}

// TestGroups: what changes a group of operands keeps the sizes of the groups right.
func TestGroups(t *testing.T) {
	def := &OpDef{
		Name: "t.groups", Traits: SegmentedOperands,
		Operands: []Operand{{Name: "first"}, {Name: "maybe", Arity: Optional}, {Name: "rest", Arity: Variadic}},
	}
	_, b, _, arg := fixture()
	other := b.Op(testAdd, []*Value{arg, arg}).OneResult()
	op := b.Create(def, State{Operands: []*Value{arg, arg, arg}, Segments: []int32{1, 0, 2}})
	want := func(what string, segments []int32, operands ...*Value) {
		t.Helper()
		if !slices.Equal(op.Segments(), segments) || !slices.Equal(op.OperandValues(), operands) {
			t.Errorf("%s: segments %v and operands %v", what, op.Segments(), op.OperandValues())
		}
	}
	op.SetGroupOne(1, other)
	want("added", []int32{1, 1, 2}, arg, other, arg, arg)
	op.SetGroupOne(1, arg)
	want("replaced", []int32{1, 1, 2}, arg, arg, arg, arg)
	op.EraseOperand(3)
	want("one of the last group erased", []int32{1, 1, 1}, arg, arg, arg)
	op.SetGroup(2, []*Value{other, arg, other})
	want("the last group replaced", []int32{1, 1, 3}, arg, arg, other, arg, other)
	op.SetGroupOne(1, nil)
	want("removed", []int32{1, 0, 3}, arg, other, arg, other)
}

func TestPair(t *testing.T) {
	_, b, _, arg := fixture()
	other := b.Op(testAdd, []*Value{arg, arg}).OneResult()
	op := b.Op(testAdd, []*Value{arg, other})
	op.SwapPair()
	if l, r, ok := op.Pair(); !ok || l != other || r != arg {
		t.Error("not exchanged")
	}
	if _, _, ok := b.Op(testRet, []*Value{arg}).Pair(); ok {
		t.Error("one operand is a pair")
	}
}

// TestAt: At and After set place and location at once.
func TestAt(t *testing.T) {
	c, b, _, arg := fixture()
	b.Loc = c.FileLoc("k.py", 3, 5)
	at := b.Op(testAdd, []*Value{arg, arg})
	b.Loc = c.UnknownLoc()
	b.After(at)
	after := b.Op(testAdd, []*Value{arg, arg})
	b.Loc = c.UnknownLoc()
	b.At(at)
	before := b.Op(testAdd, []*Value{arg, arg})
	if before.Next() != at || at.Next() != after {
		t.Error("not in the order before, at, after")
	}
	if before.Loc() != at.Loc() || after.Loc() != at.Loc() {
		t.Errorf("locations %v and %v, want %v", before.Loc(), after.Loc(), at.Loc())
	}
}

func TestOrderSurvivesInsertion(t *testing.T) {
	_, b, _, arg := fixture()
	var ops []*Operation
	for range 5 {
		ops = append(ops, b.Op(testAdd, []*Value{arg, arg}))
	}
	b.SetBefore(ops[2])
	mid := b.Op(testAdd, []*Value{arg, arg})
	ops[4].MoveBefore(ops[0])
	order := []*Operation{ops[4], ops[0], ops[1], mid, ops[2], ops[3]}
	for i := range order {
		for j := range order {
			if i != j && order[i].IsBeforeInBlock(order[j]) != (i < j) {
				t.Errorf("order of %d and %d is wrong", i, j)
			}
		}
	}
}

// Wherever operations are inserted, asking for their order does not number the
// whole block again each time.
func TestOrderOfManyInsertions(t *testing.T) {
	const n = 4000
	for name, where := range map[string]func(b *Builder, first, at, newest *Operation){
		"one after another": func(b *Builder, _, at, _ *Operation) { b.SetBefore(at) },
		"latest first":      func(b *Builder, first, _, _ *Operation) { b.SetAfter(first) },
		"at the start":      func(b *Builder, first, _, _ *Operation) { b.SetToStart(first.Block()) },
		"at the end":        func(b *Builder, first, _, _ *Operation) { b.SetToEnd(first.Block()) },
		"before the newest": func(b *Builder, _, _, newest *Operation) { b.SetBefore(newest) },
	} {
		c, b, _, arg := fixture()
		var meter work.Meter
		c.SetMeter(&meter)
		var ops []*Operation
		for range n {
			ops = append(ops, b.Op(testAdd, []*Value{arg, arg}))
		}
		newest := ops[n/2]
		at := meter.Visits()
		for range n {
			where(b, ops[0], ops[n/2], newest)
			newest = b.Op(testAdd, []*Value{arg, arg})
			if newest.IsBeforeInBlock(ops[n-1]) == ops[n-1].IsBeforeInBlock(newest) {
				t.Fatalf("%s: no order", name)
			}
		}
		if visits := meter.Visits() - at; visits > 500*n {
			t.Errorf("%s: %d visits for %d insertions", name, visits, n)
		}
		i := 0
		for op := ops[0].Block().First(); op != nil && op.Next() != nil; op = op.Next() {
			if !op.IsBeforeInBlock(op.Next()) || op.Next().IsBeforeInBlock(op) {
				t.Fatalf("%s: operation %d is not before the next", name, i)
			}
			i++
		}
	}
}

func TestAttrsAreSorted(t *testing.T) {
	c, b, _, arg := fixture()
	op := b.Op(testAdd, []*Value{arg, arg})
	for _, n := range []string{"c", "a", "b", "a"} {
		op.SetAttr(n, c.StringAttr(n))
	}
	op.SetAttr("b", nil)
	op.SetAttr("nosuch", nil)
	var names []string
	for _, a := range op.Attrs() {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, ""); got != "ac" {
		t.Errorf("attributes %q, want ac", got)
	}
}

func TestSegments(t *testing.T) {
	c, b, _, arg := fixture()
	op := b.Create(testPair, State{Operands: []*Value{arg, arg, arg}, Segments: []int32{1, 0, 2}})
	if op.GroupOne(0) != arg || op.GroupOne(1) != nil || len(op.Group(2)) != 2 {
		t.Error("groups do not follow the segments")
	}
	_ = c
}

func TestCloneRemapsForwardReferences(t *testing.T) {
	c, b, mod, arg := fixture()
	// entry -> late ; late defines v ; mid (placed before late in the list) uses v
	f := mod.Body().First()
	entry := b.Block()
	mid := f.Region(0).AddBlock()
	late := f.Region(0).AddBlock()
	b.Create(testBr, State{Successors: []*Block{late}})
	b.SetToEnd(late)
	v := b.Op(testAdd, []*Value{arg, arg})
	b.Create(testBr, State{Successors: []*Block{mid}})
	b.SetToEnd(mid)
	b.Create(testRet, State{Operands: []*Value{v.Result(0)}})
	if err := Verify(mod); err != nil {
		t.Fatal(err)
	}
	clone := mod.Clone(NewMapping())
	if err := Verify(clone); err != nil {
		t.Fatal(err)
	}
	Walk(clone, func(op *Operation) WalkResult {
		for _, x := range op.Operands() {
			if x == v.Result(0) || x == arg {
				t.Errorf("%s of the clone uses a value of the original", op.Name())
			}
		}
		for _, s := range op.Successors() {
			if s == mid || s == late || s == entry {
				t.Errorf("%s of the clone branches into the original", op.Name())
			}
		}
		return Advance
	})
	_ = c
}

// Each case breaks one rule of the verifier.
func TestVerifyRejects(t *testing.T) {
	cases := []struct {
		name  string
		want  string
		build func(c *Context, b *Builder, arg *Value)
	}{
		{"operand count", "expected 2 operands", func(c *Context, b *Builder, arg *Value) {
			b.Op(testAdd, []*Value{arg})
		}},
		{"operand type", "operand #0 must be integer, but got f32", func(c *Context, b *Builder, arg *Value) {
			arg.SetType(c.F32())
			b.Op(testAdd, []*Value{arg, arg})
		}},
		{"same type", "same type for all operands and results", func(c *Context, b *Builder, arg *Value) {
			b.Op(testAdd, []*Value{arg, arg}, c.I64())
		}},
		{"missing attribute", "requires attribute 'value'", func(c *Context, b *Builder, arg *Value) {
			b.Op(testConst, nil, c.I32())
		}},
		{"attribute kind", "attribute 'value' failed", func(c *Context, b *Builder, arg *Value) {
			b.Create(testConst, State{Types: []Type{c.I32()}, Attrs: []NamedAttr{{"value", c.StringAttr("x")}}})
		}},
		{"segments", "add up to 2, but it has 1 operand", func(c *Context, b *Builder, arg *Value) {
			b.Create(testPair, State{Operands: []*Value{arg}, Segments: []int32{1, 1, 0}})
		}},
		{"segment size", "group 'mask' has size 2", func(c *Context, b *Builder, arg *Value) {
			b.Create(testPair, State{Operands: []*Value{arg, arg, arg}, Segments: []int32{1, 2, 0}})
		}},
		{"terminator in the middle", "must be the last operation", func(c *Context, b *Builder, arg *Value) {
			b.Op(testRet, nil)
			b.Op(testAdd, []*Value{arg, arg})
		}},
		{"use before definition", "does not dominate this use", func(c *Context, b *Builder, arg *Value) {
			x := b.Op(testAdd, []*Value{arg, arg})
			y := b.Op(testAdd, []*Value{x.Result(0), arg})
			y.MoveBefore(x)
		}},
		{"no dominance between branches", "does not dominate this use", func(c *Context, b *Builder, arg *Value) {
			r := b.Block().Region()
			l, m := r.AddBlock(), r.AddBlock()
			b.Create(testBr, State{Successors: []*Block{l, m}})
			b.SetToEnd(l)
			x := b.Op(testAdd, []*Value{arg, arg})
			b.Op(testRet, nil)
			b.SetToEnd(m)
			b.Op(testRet, []*Value{x.Result(0)})
		}},
		{"isolation", "does not dominate this use", func(c *Context, b *Builder, arg *Value) {
			f := b.Create(testFunc, State{Regions: 1})
			p := b.Save()
			b.SetToEnd(f.Region(0).AddBlock())
			b.Op(testRet, []*Value{arg})
			b.Restore(p)
		}},
		{"branch out of the region", "block of another region", func(c *Context, b *Builder, arg *Value) {
			f := b.Create(testFunc, State{Regions: 1})
			outer := b.Block()
			p := b.Save()
			b.SetToEnd(f.Region(0).AddBlock())
			b.Create(testBr, State{Successors: []*Block{outer}})
			b.Restore(p)
		}},
		{"regions", "requires 1 region, but found 0", func(c *Context, b *Builder, arg *Value) {
			b.Create(testFunc, State{})
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c, b, mod, arg := fixture()
			tc.build(c, b, arg)
			if b.Block().Terminator() == nil && b.Block().Region().First() == b.Block() {
				b.Op(testRet, nil)
			}
			err := Verify(mod)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("no terminator", func(t *testing.T) {
		_, b, mod, arg := fixture()
		b.Op(testAdd, []*Value{arg, arg})
		if err := Verify(mod); err == nil || !strings.Contains(err.Error(), "no terminator") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWalkMayErase(t *testing.T) {
	_, b, mod, arg := fixture()
	for range 4 {
		b.Op(testAdd, []*Value{arg, arg})
	}
	b.Op(testRet, nil)
	seen := 0
	Walk(mod, func(op *Operation) WalkResult {
		if op.Is(testAdd) {
			seen++
			op.Erase()
			return Skip
		}
		return Advance
	})
	if seen != 4 || arg.HasUses() {
		t.Errorf("visited %d of 4", seen)
	}
}
