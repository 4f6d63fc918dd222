package lang

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// matrices: dots.
var matrices = []*Builtin{
	{Name: "dot", Params: "input other acc=None input_precision=None allow_tf32=None max_num_imprecise_acc=None out_dtype=float32", Fn: dot},
	{
		Name:   "dot_scaled",
		Params: "lhs lhs_scale lhs_format rhs rhs_scale rhs_format acc=None fast_math=False lhs_k_pack=True rhs_k_pack=True out_dtype=float32",
		Fn:     dotScaled,
	},
}

// minDot finds the smallest dot of the target for operands of a width.
func (f *Facts) minDot(bits int) MinDot {
	for _, m := range f.MinDot {
		if m.Bits == 0 || m.Bits == bits {
			return m
		}
	}
	return MinDot{M: 1, N: 1, K: 1}
}

var precisions = []choice{
	{"tf32", tt.PrecisionTF32}, {"tf32x3", tt.PrecisionTF32x3}, {"ieee", tt.PrecisionIEEE}, {"bf16x3", tt.PrecisionBF16x3}, {"bf16x6", tt.PrecisionBF16x6},
}

// precision chooses how f32 operands are multiplied. An allow_tf32
// of None, where the call says so, is false, as in Triton.
func (e *Emitter) precision(a *Args) int64 {
	given, allow := a.constant(3), a.constant(4)
	if a.given(3) && a.given(4) {
		eval.Fail(errDotBoth)
	}
	allowed := e.Facts.DotPrecisions
	name := "ieee"
	switch {
	case given != nil:
		name = a.str(3)
		if allowed != nil && !slices.Contains(allowed, name) {
			help := eval.DidYouMean(name, allowed, "")
			if slices.ContainsFunc(precisions, func(p choice) bool { return p.word == name }) {
				help = "this target computes no dot in " + name + ": choose one of these"
			}
			eval.FailHelp(help, errDotPrecision, pyStrings(allowed), name)
		}
	case a.given(4):
		if eval.Truth(allow) && (allowed == nil || slices.Contains(allowed, "tf32")) {
			name = "tf32"
		}
	case e.Opts.DefaultDotPrecision != "":
		name = e.Opts.DefaultDotPrecision
	case e.Facts.DefaultDotPrecision != "":
		name = e.Facts.DefaultDotPrecision
	}
	for _, p := range precisions {
		if p.word == name {
			return p.value
		}
	}
	if slices.Contains(allowed, name) { // the IR has no name for it, and more precise is right, too
		return tt.PrecisionIEEE
	}
	var words []string
	for _, p := range precisions {
		words = append(words, p.word)
	}
	eval.FailHelp(eval.DidYouMean(name, words, ""), errDotPrecision, pyStrings(words), name)
	return 0
}

func dot(e *Emitter, a *Args) any {
	x, y, acc := a.tensor(0), a.tensor(1), a.optTensor(2)
	precision := e.precision(a)
	out, ok := a.dtype(6).(*DType)
	if !ok {
		eval.Fail("dot(): out_dtype must be a scalar type")
	}
	if len(x.Shape()) > 3 {
		return e.batchedDot(a, x, y, acc)
	}
	return e.Dot(x, y, acc, precision, a.constant(5), out)
}

// batchedDot folds all leading dimensions into one.
func (e *Emitter) batchedDot(a *Args, x, y, acc *Tensor) *Tensor {
	rank := len(x.Shape())
	if len(y.Shape()) != rank {
		eval.Fail("input and other must have equal ranks >= 2")
	}
	fold := func(t *Tensor) *Tensor {
		s := t.Shape()
		n := numElements(s[:rank-2])
		return e.Reshape(t, []int64{n, s[rank-2], s[rank-1]}, false)
	}
	lead := slices.Clone(x.Shape()[:rank-2])
	if !sameShape(lead, y.Shape()[:rank-2]) {
		eval.Fail("input and other must have equal batch shapes")
	}
	if acc != nil {
		acc = fold(acc)
	}
	r := e.Dot(fold(x), fold(y), acc, e.precision(a), a.constant(5), a.dtype(6).(*DType))
	s := r.Shape()
	return e.Reshape(r, append(lead, s[1], s[2]), false)
}

// Dot emits x·y + acc; acc may be nil.
func (e *Emitter) Dot(x, y, acc *Tensor, precision int64, imprecise any, out *DType) *Tensor {
	if !x.IsBlock() || !y.IsBlock() {
		eval.Fail("dot needs two tensors of two or three dimensions; got %s and %s", x.T, y.T)
	}
	x, y = e.dotOperands(x, y)
	xd, yd := dtypeOf(x.T), dtypeOf(y.T)
	rank := len(x.Shape())
	if rank != len(y.Shape()) || rank < 2 {
		eval.Fail("Both inputs must be either 2D or 3D; (lhs: %s vs rhs: %s)", shapeString(x.Shape()), shapeString(y.Shape()))
	}
	xs, ys := x.Shape(), y.Shape()
	k1, k2 := xs[rank-1], ys[rank-2]
	if k1 != k2 {
		eval.Fail(errDotShape, shapeString(xs), shapeString(ys), k1, k2)
	}
	if rank == 3 && xs[0] != ys[0] {
		eval.Fail("First input shape (%s) and second input shape (%s) must have equal batch shape", shapeString(xs), shapeString(ys))
	}
	m, n := xs[rank-2], ys[rank-1]
	if least := e.Facts.minDot(xd.bits); m < int64(least.M) || n < int64(least.N) || k1 < int64(least.K) {
		eval.FailHelp(sprintf("the shapes are M = %d, N = %d, K = %d; make the blocks larger", m, n, k1), errDotMin, least.M, least.N, least.K)
	}
	var d *DType
	switch {
	case xd.IsInt():
		d = Int32
	case out == BF16:
		eval.Fail(errDotBF16)
	case xd == Float32 || xd == BF16:
		d = Float32
	case xd == Float64:
		d = Float64
	default:
		d = out
		if d != Float16 && d != Float32 {
			eval.Fail("out_dtype must be float16 or float32 for operands of type %s, not %s", xd, d)
		}
	}
	shape := []int64{m, n}
	if rank == 3 {
		shape = []int64{xs[0], m, n}
	}
	t := &Block{d, shape}
	if acc == nil {
		acc = e.Constant(int64(0), t)
	} else if !acc.T.Equal(t) || d != out {
		eval.FailHelp("make it with tl.zeros(…, tl."+exportName(d)+"), and give out_dtype where it is not float32",
			"the accumulator of this dot must be of type %s, and out_dtype %s; they are %s and %s", t, d, acc.T, out)
	}
	limit := int64(0)
	fp8 := xd.IsFP8() && yd.IsFP8()
	if imprecise == nil {
		if fp8 {
			limit = e.Opts.MaxNumImpreciseAcc
		}
	} else {
		n, ok := eval.AsInt(imprecise)
		if !ok {
			eval.Fail("max_num_imprecise_acc must be an integer, not %s", eval.Repr(imprecise))
		}
		if limit = n; fp8 && n > k1 {
			eval.Fail(errDotImprecise, n, k1)
		}
	}
	attrs := []ir.NamedAttr{{Name: "inputPrecision", Attr: e.C.I32Attr(precision)}}
	if limit != 0 {
		attrs = append(attrs, ir.NamedAttr{Name: "maxNumImpreciseAcc", Attr: e.C.I32Attr(limit)})
	}
	op := e.B.Create(tt.Dot, ir.State{Operands: []*ir.Value{x.V, y.V, acc.V}, Attrs: attrs})
	return e.tensor(op.OneResult(), t)
}

// dotOperands checks the operands' types. Formats that the hardware does not
// multiply are widened to fp16.
func (e *Emitter) dotOperands(x, y *Tensor) (*Tensor, *Tensor) {
	xd, yd := dtypeOf(x.T), dtypeOf(y.T)
	if xd == nil || yd == nil {
		eval.Fail(errInvalidOperands, x.T, y.T)
	}
	if xd.IsFP8() && yd.IsFP8() {
		for _, p := range []**Tensor{&x, &y} {
			d := dtypeOf((*p).T)
			e.checkFP8(d)
			old := slices.Contains(e.Facts.DeprecatedFP8Dot, d.name)
			if d == FP8E4B15 || old && (d == FP8E4B8 || d == FP8E5B16) {
				if old {
					e.Gen.Warn("the use of %s is deprecated on this target and can cause significant slow down. It will be removed in a future triton release", d)
				}
				*p = e.Cast(*p, Float16)
			}
		}
		return x, y
	}
	if xd != yd {
		eval.FailHelp("convert one of them with .to(…)", errDotDtypes, xd, yd)
	}
	switch xd {
	case Int8, UInt8, Float16, BF16, Float32, Float64:
		if xd == UInt8 {
			eval.Fail("only int8 supported!")
		}
		return x, y
	}
	eval.Fail("Unsupported dtype %s", xd)
	return nil, nil
}

// scaledFormats are the element formats of dot_scaled and their values in the IR.
var scaledFormats = []choice{{"e4m3", 0}, {"e5m2", 1}, {"e2m1", 4}, {"bf16", 5}, {"fp16", 6}}

func dotScaled(e *Emitter, a *Args) any {
	lhs := e.scaled(a, "lhs", 0, 8)
	rhs := e.scaled(a, "rhs", 3, 9)
	if d, ok := a.dtype(10).(*DType); !ok || d != Float32 {
		eval.Fail(errScaledOut)
	}
	rank := len(lhs.x.Shape())
	if rank != len(rhs.x.Shape()) || rank != 2 && rank != 3 {
		eval.Fail("Both inputs must be either 2D or 3D; (lhs: %s vs rhs: %s)", shapeString(lhs.x.Shape()), shapeString(rhs.x.Shape()))
	}
	xs, ys := lhs.x.Shape(), rhs.x.Shape()
	m, k1 := xs[rank-2], xs[rank-1]
	k2, n := ys[rank-2], ys[rank-1]
	if lhs.format == "e2m1" {
		if lhs.kPack {
			k1 *= 2
		} else {
			m *= 2
		}
	}
	if rhs.format == "e2m1" {
		if rhs.kPack {
			k2 *= 2
		} else {
			n *= 2
		}
	}
	if k1 != k2 {
		eval.Fail("Reduction dimension should pack the same number of elements; (lhs: %s vs rhs: %s)", shapeString(xs), shapeString(ys))
	}
	lhs.checkScale("lhs", m, k1)
	rhs.checkScale("rhs", n, k1)
	shape := []int64{m, n}
	if rank == 3 {
		if xs[0] != ys[0] {
			eval.Fail("First input shape (%s) and second input shape (%s) must have equal batch shape", shapeString(xs), shapeString(ys))
		}
		shape = []int64{xs[0], m, n}
	}
	t := &Block{Float32, shape}
	acc := a.optTensor(6)
	if acc == nil {
		acc = e.Constant(int64(0), t)
	} else if !acc.T.Equal(t) {
		eval.Fail("the accumulator of this dot must be of type %s, but is %s", t, acc.T)
	}
	operands := []*ir.Value{lhs.x.V, rhs.x.V, acc.V}
	segments := []int32{1, 1, 1, 0, 0}
	for i, s := range []*Tensor{lhs.scale, rhs.scale} {
		if s != nil {
			operands = append(operands, s.V)
			segments[3+i] = 1
		}
	}
	op := e.B.Create(tt.DotScaled, ir.State{Operands: operands, Segments: segments, Attrs: []ir.NamedAttr{
		{Name: "a_elem_type", Attr: e.C.I32Attr(lhs.code)},
		{Name: "b_elem_type", Attr: e.C.I32Attr(rhs.code)},
		{Name: "fastMath", Attr: e.C.BoolAttr(a.bool(7))},
		{Name: "lhs_k_pack", Attr: e.C.BoolAttr(lhs.kPack)},
		{Name: "rhs_k_pack", Attr: e.C.BoolAttr(rhs.kPack)},
	}})
	return e.tensor(op.OneResult(), t)
}

// scaledOperand is one side of dot_scaled.
type scaledOperand struct {
	x, scale *Tensor
	format   string
	code     int64
	kPack    bool
}

// checkScale holds a scale to one number for each 32 elements of K, or 16 where it
// has a mantissa.
func (s *scaledOperand) checkScale(side string, rows, k int64) {
	if s.scale == nil {
		return
	}
	d := dtypeOf(s.scale.T)
	if !d.IsFloat() && d.bits != 8 {
		eval.FailHelp("each is the exponent of a power of two, less 127, in a byte, or a number",
			"%s_scale must be a tensor of uint8 or of floats. Got %s", side, d)
	}
	group := int64(32)
	if d == FP8E4NV {
		group = 16
	}
	if want := []int64{rows, k / group}; !sameShape(s.scale.Shape(), want) {
		help := fmt.Sprintf("one scale serves %d elements of K: lhs_scale is [M, K/%[1]d], rhs_scale [N, K/%[1]d]", group)
		eval.FailHelp(help, "%s_scale must be a tensor of shape %s. Got %s", side, shapeString(want), shapeString(s.scale.Shape()))
	}
}

// scaled reads an operand, its scale and format at argument first and after,
// and brings the operand to the type that its format has in the IR.
func (e *Emitter) scaled(a *Args, side string, first, pack int) *scaledOperand {
	s := &scaledOperand{x: a.tensor(first), scale: a.optTensor(first + 1), format: a.str(first + 2), kPack: a.bool(pack)}
	s.code = -1
	var words []string
	for _, f := range scaledFormats {
		words = append(words, f.word)
		if f.word == s.format {
			s.code = f.value
		}
	}
	if s.code < 0 {
		eval.FailHelp(eval.DidYouMean(s.format, words, "it is one of "+pyStrings(words)), errScaledFormat, s.format)
	}
	if s.format != "e2m1" && !s.kPack {
		eval.Fail("only mxfp4 inputs can be packed along a dimension different than K")
	}
	want := map[string]*DType{"e4m3": FP8E4NV, "e5m2": FP8E5, "e2m1": UInt8, "bf16": BF16, "fp16": Float16}[s.format]
	d := dtypeOf(s.x.T)
	switch {
	case d == want:
	case s.format == "e2m1":
		eval.Fail("e2m1 format must be packed as uint8. Got %s", d)
	case d == unsignedOf(want.bits):
		s.x = e.Bitcast(s.x, want)
	default:
		eval.Fail("%s is of type %s, which does not fit the format %s (%s)", side, d, s.format, want)
	}
	return s
}
