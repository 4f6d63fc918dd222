package npuir

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// atomicKinds are the operations of atomic transfers by memref's names.
var atomicKinds = map[string]*ir.OpDef{
	"addf": arith.AddF, "addi": arith.AddI, "maxs": arith.MaxSI, "mins": arith.MinSI,
	"maximumf": arith.MaximumF, "minimumf": arith.MinimumF, "maxnumf": arith.MaxNumF, "minnumf": arith.MinNumF,
}

// atomicLoop makes one atomic transfer of a nest of loops that changes each element of a
// block by an atomic operation with that of a tensor, and reports whether the loop is one.
func (l *lowering) atomicLoop(op *ir.Operation) bool {
	var indices []*ir.Value
	var sizes []linalg.Slot
	loop := op
	for {
		first, firstOK := arith.ConstantInt(scf.LowerBound(loop))
		step, stepOK := arith.ConstantInt(scf.Step(loop))
		if !firstOK || first != 0 || !stepOK || step != 1 || loop.NumResults() > 0 {
			return false
		}
		size := linalg.Slot{Value: scf.UpperBound(loop)}
		if n, ok := arith.ConstantInt(size.Value); ok {
			size = linalg.Num(n)
		}
		indices, sizes = append(indices, scf.InductionVar(loop)), append(sizes, size)
		inner := loop.Body().First()
		if !inner.Is(scf.For) || inner.Next() != loop.Body().Terminator() {
			break
		}
		loop = inner
	}
	var from *ir.Operation
	var offsets []linalg.Slot
	for o := range loop.Body().Ops() {
		switch o.Def() {
		case arith.AddI, scf.Yield:
		case linalg.Extract:
			v := linalg.AsExtract(o)
			if from != nil || len(v.Indices()) != len(indices) {
				return false
			}
			from = o
			for i, at := range v.Indices() {
				offset, ok := offsetFrom(at, indices[i], op)
				if !ok {
					return false
				}
				offsets = append(offsets, offset)
			}
		case linalg.AtomicRMW:
			v := linalg.AsAtomicRMW(o)
			if from == nil || v.Value() != from.OneResult() || o.HasUses() || len(v.Indices()) != len(indices) || !l.transferable(v) {
				return false
			}
			for i, at := range v.Indices() {
				if at != indices[i] {
					return false
				}
			}
			l.atomicTransfer(op, from, v, offsets, sizes)
			return true
		default:
			return false
		}
	}
	return false
}

// offsetFrom is what is added to an index; it is a number or made before the loops.
func offsetFrom(at, index *ir.Value, loops *ir.Operation) (linalg.Slot, bool) {
	if at == index {
		return linalg.Num(0), true
	}
	if at.DefIs(arith.AddI) {
		x, y, _ := at.Def().Pair()
		if y == index {
			x, y = y, x
		}
		if x == index && (y.Def() == nil && !scf.AsFor(loops).Region().Contains(y.Block().Parent()) || y.Def() != nil && !loops.IsAncestorOf(y.Def())) {
			return linalg.Slot{Value: y}, true
		}
	}
	return linalg.Slot{}, false
}

// transferable reports whether transfers have an atomic operation, which they have on
// elements of up to 32 bits.
func (l *lowering) transferable(v linalg.AtomicRMWOp) bool {
	return atomicKinds[atomicKind(v)] != nil && widthOf(v.Value().Type()) <= 32
}

func atomicKind(v linalg.AtomicRMWOp) string {
	for _, k := range linalg.AtomicKinds {
		if k.Value == v.Kind() {
			return k.Keyword
		}
	}
	return ""
}

func (l *lowering) atomicTransfer(loops, from *ir.Operation, v linalg.AtomicRMWOp, offsets, sizes []linalg.Slot) {
	l.At(loops)
	source := linalg.NewSubView(l.Builder, l.memref(l.buffer(from, linalg.AsExtract(from).Tensor())), offsets, sizes)
	target := linalg.NewSubView(l.Builder, v.Memref(), make([]linalg.Slot, len(sizes)), sizes)
	AsDMA(l.Op(DMA, []*ir.Value{source, target})).SetAtomic(atomicKinds[atomicKind(v)].Name)
	l.dead = append(l.dead, loops)
	l.replaced[loops] = true
}
