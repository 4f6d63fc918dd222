package main

import (
	"fmt"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// newBuilder inserts into an empty module.
func newBuilder() *ir.Builder {
	c := ir.NewContext(dialect.All()...)
	b := ir.NewBuilder(c)
	b.SetToEnd(builtin.NewModule(c, c.UnknownLoc()).Body())
	return b
}

// atMost is the upper bound of what v is clamped to; nil for another value.
func atMost(v *ir.Value) *ir.Value {
	if !v.DefIs(tt.Clampf) {
		return nil
	}
	return tt.AsClampf(v.Def()).Max()
}

// passNaNs lets NaNs pass a clamp.
func passNaNs(op *ir.Operation) {
	tt.AsClampf(op).SetPropagateNan(tt.PropagateAll)
}

// Example is in docs/add-an-op.md.
func Example() {
	b := newBuilder()
	f32 := b.Context().F32()
	x, low, high := arith.Float(b, f32, 3), arith.Float(b, f32, -1), arith.Float(b, f32, 1)
	op := b.Create(tt.Clampf, ir.State{
		Operands: []*ir.Value{x, low, high},
		Attrs:    []ir.NamedAttr{{Name: "propagateNan", Attr: b.Context().I32Attr(tt.PropagateNone)}},
	})
	passNaNs(op)
	fmt.Println(atMost(op.OneResult()) == high, atMost(high) == nil, tt.AsClampf(op).PropagateNan() == tt.PropagateAll)

	sum := arith.Binary(b, arith.AddF, x, high).Def()
	fmt.Println(arith.IsBinary(sum), arith.AsBinary(sum).Rhs() == high, arith.IsBinary(op))
	// Output:
	// true true true
	// true true false
}

// TestViewsAllocateNothing: to read through a view costs what the operation's own
// methods do.
func TestViewsAllocateNothing(t *testing.T) {
	b := newBuilder()
	c := b.Context()
	i32 := c.I32()
	ptr := b.Op(tt.IntToPtr, []*ir.Value{arith.Int(b, c.I64(), 64)}, tt.Ptr(c, i32)).OneResult()
	mask := arith.Int(b, c.I1(), 1)
	load := tt.NewLoad(b, ptr, mask, nil, tt.Access{Cache: tt.CacheCG, Volatile: true}).Def()
	zero := arith.Int(b, i32, 0)
	sum := arith.Binary(b, arith.AddI, zero, zero).Def()
	loop := scf.NewFor(b, zero, zero, zero, zero, zero)
	use := scf.AsFor(loop).InitArgsUse(1)
	for what, read := range map[string]func() bool{
		"operand":           func() bool { return tt.AsLoad(load).Ptr() == ptr },
		"optional operand":  func() bool { return tt.AsLoad(load).Mask() == mask && tt.AsLoad(load).Other() == nil },
		"attributes":        func() bool { return tt.AsLoad(load).IsVolatile() && tt.AsLoad(load).Cache() == tt.CacheCG },
		"family":            func() bool { return arith.IsBinary(sum) && arith.AsBinary(sum).Lhs() == zero },
		"member of a group": func() bool { return scf.AsFor(loop).InitArgsAt(1) == zero && scf.AsFor(loop).InitArgsIndex(use) == 1 },
		"result, region":    func() bool { return tt.AsLoad(load).Result() == load.OneResult() && scf.AsFor(loop).Region() != nil },
	} {
		if !read() {
			t.Errorf("%s: read wrongly", what)
		}
		if n := testing.AllocsPerRun(100, func() { read() }); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}
