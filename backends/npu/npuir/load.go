package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// partial is the one copy to a buffer that is filled before, to a part of it whose size is
// not known; nil if the buffer is filled and written in another way.
func partial(buffer *ir.Value) *ir.Operation {
	var fill, part, other *ir.Operation
	for user := range buffer.Users() {
		slot := &other
		switch user.Def() {
		case linalg.Fill:
			slot = &fill
		case linalg.SubView:
			slot = &part
		case linalg.ToTensor:
			continue
		}
		if *slot != nil {
			return nil
		}
		*slot = user
	}
	if fill == nil || part == nil || other != nil || !part.OneResult().HasOneUse() {
		return nil
	}
	op := part.OneResult().OnlyUser()
	if !op.Is(linalg.Copy) || linalg.AsCopy(op).Target() != part.OneResult() || fill.Block() != op.Block() || !fill.IsBeforeInBlock(op) {
		return nil
	}
	from := linalg.AsCopy(op).Source()
	if !from.DefIs(linalg.SubView) || !slices.Contains(linalg.AsSubView(part).StaticSizes(), linalg.Dynamic) ||
		!slices.Equal(linalg.MemRefOf(op.Context(), linalg.AsSubView(from.Def()).Source().Type()).Shape, linalg.MemRefOf(op.Context(), buffer.Type()).Shape) {
		return nil
	}
	return op
}

// load copies to a buffer. One that is filled before is filled only if the copy leaves a
// rest: what is copied whole waits for no instruction that fills.
func (l *lowering) load(op *ir.Operation) {
	v := linalg.AsCopy(op)
	if !v.Target().DefIs(linalg.SubView) || partial(linalg.AsSubView(v.Target().Def()).Source()) != op {
		l.Op(DMA, []*ir.Value{v.Source(), v.Target()})
		return
	}
	part := linalg.AsSubView(v.Target().Def())
	buffer := part.Source()
	shape := linalg.MemRefOf(l.Context(), buffer.Type()).Shape
	var rest *ir.Value
	for i, size := range slots(part.StaticSizes(), part.Sizes()) {
		if size.Value == nil && size.N == shape[i] {
			continue
		}
		less := arith.Compare(l.Builder, arith.CmpI, arith.NE, l.index(size), l.index(linalg.Num(shape[i])))
		if rest == nil {
			rest = less
		} else {
			rest = arith.Binary(l.Builder, arith.OrI, rest, less)
		}
	}
	var value *ir.Value
	for user := range buffer.Users() {
		if user.Is(linalg.Fill) {
			value = linalg.AsFill(user).InputsAt(0)
		}
	}
	made := scf.AsIf(scf.NewIf(l.Builder, rest, true))
	at := l.Save()
	l.SetToEnd(made.ThenRegion().First())
	l.Op(Fill, []*ir.Value{value, buffer})
	l.Op(DMA, []*ir.Value{v.Source(), v.Target()})
	scf.NewYield(l.Builder)
	l.SetToEnd(made.ElseRegion().First())
	l.Op(DMA, []*ir.Value{linalg.AsSubView(v.Source().Def()).Source(), buffer})
	scf.NewYield(l.Builder)
	l.Restore(at)
}
