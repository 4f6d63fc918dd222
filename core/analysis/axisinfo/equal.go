package axisinfo

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// EqualRuns is the length of the runs of equal elements along each dimension of v, a
// tensor of any type: a power of two, at multiples of which the runs start. Unlike
// Constancy it presumes nothing of the signs of dividends, so that one element
// of a run may stand for the others.
func (r *Result) EqualRuns(v *ir.Value) []int64 {
	if info, ok := r.infos[v]; ok {
		return info.equalRuns(ir.ShapeOf(v.Type()))
	}
	return r.equalRuns(v, map[*ir.Value][]int64{})
}

// Runs is Of, and of a tensor that the analysis does not track, such as one of floats, the
// runs of equal elements.
func (r *Result) Runs(v *ir.Value) Info {
	info := r.Of(v)
	if _, tensor := v.Type().(*ir.TensorType); !tensor || r.Known(v) {
		return info
	}
	for d, n := range r.EqualRuns(v) {
		info.Axes[d].Constancy = n
	}
	return info
}

func (i Info) equalRuns(shape []int64) []int64 {
	runs := ones(shape)
	for d, a := range i.Axes[:len(shape)] {
		if !a.Presumed {
			runs[d] = min(a.Constancy&-a.Constancy, shape[d])
		}
	}
	return runs
}

// equalRuns keeps what it has found in done.
func (r *Result) equalRuns(v *ir.Value, done map[*ir.Value][]int64) []int64 {
	if runs, ok := done[v]; ok {
		return runs
	}
	shape := ir.ShapeOf(v.Type())
	var runs []int64
	if info, ok := r.infos[v]; ok {
		runs = info.equalRuns(shape)
	} else {
		runs = r.runsOf(v, shape, done)
	}
	done[v] = runs
	return runs
}

// runsOf is equalRuns of a value that the analysis does not track, by what computes it.
func (r *Result) runsOf(v *ir.Value, shape []int64, done map[*ir.Value][]int64) []int64 {
	op := v.Def()
	if op == nil {
		return ones(shape)
	}
	switch {
	case op.Is(tt.Splat):
		return shape
	case op.Is(arith.Constant):
		if a, ok := arith.AsConstant(op).Value().(*ir.DenseElementsAttr); ok && a.IsSplat() {
			return shape
		}
	case op.Is(tt.ExpandDims):
		e := tt.AsExpandDims(op)
		return slices.Insert(slices.Clone(r.equalRuns(e.Src(), done)), int(e.Axis()), 1)
	case op.Is(tt.Broadcast):
		src := tt.AsBroadcast(op).Src()
		runs := slices.Clone(r.equalRuns(src, done))
		for d, n := range ir.ShapeOf(src.Type()) {
			if n == 1 {
				runs[d] = shape[d]
			}
		}
		return runs
	case op.Is(tt.Load) && tt.AsLoad(op).IsVolatile():
	case op.Is(tt.Load) && !tt.IsBlockPtr(tt.AsLoad(op).Ptr().Type()), op.Is(ttg.ConvertLayout),
		op.Def().Has(ir.Elementwise) && op.NumResults() == 1 && op.NumRegions() == 0 && ir.IsPure(op):
		return r.operandRuns(op, shape, done)
	}
	return ones(shape)
}

// operandRuns are the runs that all operands of op have.
func (r *Result) operandRuns(op *ir.Operation, shape []int64, done map[*ir.Value][]int64) []int64 {
	runs := slices.Clone(shape)
	for _, x := range op.Operands() {
		if _, tensor := x.Type().(*ir.TensorType); !tensor {
			continue // the same for all elements
		}
		for d, n := range r.equalRuns(x, done) {
			runs[d] = min(runs[d], n)
		}
	}
	return runs
}

func ones(shape []int64) []int64 {
	runs := make([]int64, len(shape))
	for d := range runs {
		runs[d] = 1
	}
	return runs
}
