package layouts

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// PlanCTA decides how the CTAs of a cluster share the work on a tensor where
// that matters: of a dot each gets rows and columns of the result that are large
// enough for matrix instructions, of a reduction or scan it gets whole lines, so that
// nothing is reduced across CTAs. Where there are fewer lines than CTAs, several reduce
// parts of one, and all scan it. Loads of a dot's operands and stores of its result
// are shared in the same way, and all accesses through one descriptor alike.
// Everything else follows, by conversions that
// tritongpu-remove-layout-conversions spreads.
//
//	%r = "tt.reduce"(%x) <{axis = 1}> … %x: tensor<64x64xf32, #split_along_1>
//
// becomes
//
//	%y = ttg.convert_layout %x : … -> tensor<64x64xf32, #split_along_0>
//	%s = "tt.reduce"(%y) <{axis = 1}> …
//	%r = ttg.convert_layout %s : …
//
// Where a cluster is one CTA it does nothing. Triton's pass has a vendor in its
// name, which that vendor's backend gives it.
var PlanCTA = &pass.Pass{
	Name:    "tritongpu-plan-cta",
	Doc:     "share dots and reductions among the CTAs of a cluster",
	Example: planCTAExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		all := machine.Of(r.Module)
		if all.CTAs == 1 {
			return nil
		}
		b := ir.NewBuilder(r.Module.Context())
		plan := &accessPlan{all: all, b: b, seen: make(map[*ir.Operation]bool), blocks: make(map[*ir.Value]layout.Bases)}
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			m := all.At(op)
			switch op.Def() {
			case tt.Dot:
				if planDot(b, op, m) {
					r.Count("dots", 1)
				}
				plan.operands(tt.AsDot(op))
			case tt.Reduce:
				if planReduce(b, op, m) {
					r.Count("reductions", 1)
				}
			case tt.Scan:
				if planScan(b, op, m) {
					r.Count("scans", 1)
				}
			}
		})
		plan.results(r.Module)
		plan.descriptors(r.Module)
		r.Count("accesses", plan.changed)
		return nil
	},
}

// Rows of a dot's result that a CTA gets at best, and the least number of rows
// and of columns, where there are so many.
const (
	bestRows  = 128
	leastPart = 64
)

// dotSplit is into how many parts the rows and the columns of a dot's result are
// cut for n CTAs: parts of 128 rows if that leaves no less than 64 columns to
// each, else of 64.
func dotSplit(rows, cols int64, n int) (alongRows, alongCols int) {
	for part := int64(bestRows); part >= leastPart; part /= 2 {
		alongRows = max(1, min(int(rows/part), n))
		alongCols = n / alongRows
		if cols/int64(alongCols) >= leastPart {
			break
		}
	}
	return alongRows, alongCols
}

// planDot gives a dot of blocked layouts one in which CTAs share its result.
func planDot(b *ir.Builder, dot *ir.Operation, m machine.Machine) bool {
	v := tt.AsDot(dot)
	have, ok := encoding.Get(v.Result().Type()).(*layout.Blocked)
	if !ok {
		return false
	}
	shape := resultShape(dot)
	rank := len(shape)
	ctas := slices.Repeat([]int{1}, rank)
	ctas[rank-2], ctas[rank-1] = dotSplit(shape[rank-2], shape[rank-1], m.CTAs)
	want := blockedSplit(have, shape, ctas, m)
	if layout.Equal(want, have) {
		return false
	}
	c := b.Context()
	b.At(dot)
	for i, u := range []*ir.Use{v.AUse(), v.BUse()} {
		o := &layout.DotOp{OpIdx: i, Parent: want}
		if d, ok := encoding.Get(u.Value().Type()).(*layout.DotOp); ok {
			o.KWidth = d.KWidth
		}
		u.Set(ttg.NewConvertLayout(b, u.Value(), encoding.Of(c, o)))
	}
	v.SetC(ttg.NewConvertLayout(b, v.C(), encoding.Of(c, want)))
	reencode(b, dot, encoding.Of(c, want))
	return true
}

// planReduce gives a reduction of blocked layouts one in which each CTA has all
// of its lines.
func planReduce(b *ir.Builder, op *ir.Operation, m machine.Machine) bool {
	want := wholeLines(op, axisOf(op), m, true)
	if want == nil {
		return false
	}
	b.At(op)
	for i := range op.NumOperands() {
		op.SetOperand(i, ttg.NewConvertLayout(b, op.Operand(i), want))
	}
	reencode(b, op, encoding.Slice(b.Context(), want, axisOf(op)))
	return true
}

// planScan is planReduce for a scan.
func planScan(b *ir.Builder, op *ir.Operation, m machine.Machine) bool {
	want := wholeLines(op, int(tt.AsScan(op).Axis()), m, false)
	if want == nil {
		return false
	}
	b.At(op)
	for i := range op.NumOperands() {
		op.SetOperand(i, ttg.NewConvertLayout(b, op.Operand(i), want))
	}
	reencode(b, op, want)
	return true
}

// wholeLines is a blocked layout like that of op's operands in which each CTA has
// whole lines along an axis, as far as there are so many lines. What is left of the CTAs
// then divides the lines, where cut says so, or has what others have, too. It is nil
// where op has that layout.
func wholeLines(op *ir.Operation, axis int, m machine.Machine, cut bool) *encoding.Attr {
	have, ok := encoding.Get(firstTensor(op).Type()).(*layout.Blocked)
	if !ok {
		return nil
	}
	shape := firstTensor(op).Type().(*ir.TensorType).Shape
	if !splits(have.CGA, axis) {
		return nil
	}
	ctas, left := slices.Repeat([]int{1}, len(shape)), m.CTAs
	for _, d := range slices.Backward(have.Order) {
		if d != axis {
			ctas[d] = max(1, min(left, int(shape[d])/have.SizePerThread[d]))
			left /= ctas[d]
		}
	}
	if cut {
		ctas[axis] = max(1, min(left, int(shape[axis])/have.SizePerThread[axis]))
	}
	want := blockedSplit(have, shape, ctas, m)
	if layout.Equal(want, have) {
		return nil
	}
	return encoding.Of(op.Context(), want)
}

// splits reports whether CTAs have different parts along a dimension.
func splits(cga layout.Bases, d int) bool {
	return slices.ContainsFunc(cga, func(v []int32) bool { return v[d] != 0 })
}

// blockedSplit is a layout like e in which so many CTAs share each dimension;
// those of the cluster that are left over have what others have, too.
func blockedSplit(e *layout.Blocked, shape []int64, ctas []int, m machine.Machine) *layout.Blocked {
	part := slices.Clone(shape)
	var cga layout.Bases
	for _, d := range e.Order {
		part[d] = max(1, part[d]/int64(ctas[d]))
		for n := 1; n < ctas[d]; n *= 2 {
			v := make([]int32, len(shape))
			v[d] = int32(n)
			cga = append(cga, v)
		}
	}
	for 1<<len(cga) < m.CTAs {
		cga = append(cga, make([]int32, len(shape)))
	}
	s := layout.BlockedFor(part, e.SizePerThread, e.Order, m.Warps, m.Lanes, 1)
	s.CGA = cga
	return s
}

// reencode gives op's tensor results the encoding enc, and their users what they
// had.
func reencode(b *ir.Builder, op *ir.Operation, enc ir.Attribute) {
	b.SetAfter(op)
	for _, r := range op.Results() {
		t := tensors.Type(r)
		if t == nil {
			continue // a reduction to a scalar
		}
		r.SetType(tensors.WithEncoding(b.Context(), t, enc))
		if r.HasUses() {
			back := ttg.NewConvertLayout(b, r, t.Encoding)
			r.ReplaceUsesIf(back, func(u *ir.Use) bool { return u.Owner() != back.Def() })
		}
	}
}
