package tmem

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeTMemLayouts chooses how tensors are loaded from tensor memory and stored to it
// by what they are used for. Halves of the columns are loaded and stored by themselves:
//
//	%x = ttng.tmem_load %m
//	%y = tt.reshape %x : tensor<128x128xf32> -> tensor<128x2x64xf32>
//	%z = tt.trans %y {order = array<i32: 0, 2, 1>}
//	%lo, %hi = tt.split %z
//
// becomes
//
//	%a = ttng.tmem_subslice %m {N = 0}
//	%lo = ttng.tmem_load %a
//	%b = ttng.tmem_subslice %m {N = 64}
//	%hi = ttng.tmem_load %b
//
// A row that is reduced is loaded by one warp. 16-bit elements that pass between tensor
// memory and shared memory, where a thread's elements are not neighbours, go by
// instructions of 16 rows by 256 bits, for which matrices in shared memory are made.
//
// Operations in a chain of tokens stay as they are: the pass is for after
// triton-nvidia-gpu-remove-tmem-tokens.
var OptimizeTMemLayouts = &pass.Pass{
	Name:    "triton-nvidia-optimize-tmem-layouts",
	Doc:     "choose the layouts of what is loaded from tensor memory and stored to it",
	Example: optimizeTMemLayoutsExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		patterns := []rewrite.Pattern{
			{Name: "load-halves", Root: tt.Split, Apply: loadHalves},
			{Name: "store-halves", Root: ttng.Def("tmem_store"), Apply: storeHalves},
			{Name: "load-rows", Root: ttng.Def("tmem_load"), Apply: loadRows},
			{Name: "store-of-shared", Root: ttng.Def("tmem_store"), Apply: storeOfShared},
			{Name: "load-to-shared", Root: ttng.Def("tmem_load"), Apply: loadToShared},
		}
		rewrite.Greedy(r.Module, rewrite.NewSet(patterns), rewrite.Options{Count: func(name string) { r.Count(name, 1) }})
		return nil
	},
}

// leastColumns is the least half that is worth an instruction of its own.
const leastColumns = 8

// rowsOf is how many rows of a buffer each CTA has.
func rowsOf(m *ttg.MemDescType) int64 {
	rows := m.Shape[len(m.Shape)-2]
	if e, ok := ttng.MatrixOf(m); ok {
		rows /= e.CTASplitM
	}
	return rows
}

// unconverted is v before conversions of its layout.
func unconverted(v *ir.Value) *ir.Value {
	for v.DefIs(ttg.ConvertLayout) {
		v = ttg.AsConvertLayout(v.Def()).Src()
	}
	return v
}

// columns makes the view of n columns of buffer from first on.
func columns(b *ir.Builder, buffer *ir.Value, first, n int64) *ir.Value {
	s := ttng.AsTmemSubslice(b.Op(ttng.Def("tmem_subslice"), []*ir.Value{buffer}, columnsType(b.Context(), buffer, n)))
	s.SetN(first)
	return s.Result()
}

// columnsType is the type of n columns of buffer.
func columnsType(c *ir.Context, buffer *ir.Value, n int64) *ttg.MemDescType {
	t := *buffer.Type().(*ttg.MemDescType)
	e, _ := ttng.MatrixOf(&t)
	e.BlockN = min(e.BlockN, n)
	t.Shape = slices.Clone(t.Shape)
	t.Shape[len(t.Shape)-1] = n
	t.Encoding = e.Attr(c)
	return ttg.MemDesc(c, t)
}

// swapsLast reports whether op exchanges the last two of three dimensions.
func swapsLast(v *ir.Value) (src *ir.Value, ok bool) {
	if !v.DefIs(tt.Trans) || !slices.Equal(tt.AsTrans(v.Def()).Order(), []int64{0, 2, 1}) {
		return nil, false
	}
	return tt.AsTrans(v.Def()).Src(), true
}

// halvable reports whether the columns of buffer, seen as two halves of n, can be
// accessed one half at a time.
func halvable(buffer *ir.Value, shape []int64) bool {
	t := buffer.Type().(*ttg.MemDescType)
	_, matrix := ttng.MatrixOf(t)
	return matrix && len(t.Shape) == 2 && len(shape) == 3 && shape[0] == t.Shape[0] && shape[1] == 2 &&
		shape[2] >= leastColumns && rowsOf(t) == 128
}

func loadHalves(rw *rewrite.Rewriter, op *ir.Operation) bool {
	split := tt.AsSplit(op)
	src, ok := swapsLast(unconverted(split.Src()))
	if !ok || !src.DefIs(tt.Reshape) || tt.AsReshape(src.Def()).AllowReorder() {
		return false
	}
	from := unconverted(tt.AsReshape(src.Def()).Src())
	if !ttng.IsTmemLoad(from.Def()) {
		return false
	}
	load := ttng.AsTmemLoad(from.Def())
	shape := tensors.Type(src).Shape
	if load.Token() != nil || load.Dep() != nil || !halvable(load.Src(), shape) {
		return false
	}
	t := tensors.Type(split.OutLHS())
	l, ok := defaultLayout(rw.Context(), columnsType(rw.Context(), load.Src(), shape[2]), warpsOf(op), encoding.Get(t))
	if !ok {
		return false
	}
	var halves []*ir.Value
	rw.SetBefore(load.Op)
	rw.Loc = unnamed(op)
	for i := range int64(2) {
		part := columns(rw.Builder, load.Src(), i*shape[2], shape[2])
		half := ttng.NewTmemLoad(rw.Builder, tensors.WithEncoding(rw.Context(), t, l), part, nil).Result()
		halves = append(halves, ttg.NewConvertLayout(rw.Builder, half, t.Encoding))
	}
	rw.Replace(op, halves...)
	return true
}

func storeHalves(rw *rewrite.Rewriter, op *ir.Operation) bool {
	store := ttng.AsTmemStore(op)
	src := unconverted(store.Src())
	if store.Dep() != nil || len(store.Token()) > 0 || !src.DefIs(tt.Reshape) || tt.AsReshape(src.Def()).AllowReorder() {
		return false
	}
	src = tt.AsReshape(src.Def()).Src()
	joined, ok := swapsLast(src)
	if !ok || !joined.DefIs(tt.Join) || !halvable(store.Dst(), tensors.Type(src).Shape) {
		return false
	}
	join := tt.AsJoin(joined.Def())
	n := tensors.Type(src).Shape[2]
	l, ok := defaultLayout(rw.Context(), columnsType(rw.Context(), store.Dst(), n), warpsOf(op), encoding.Get(join.Lhs().Type()))
	if !ok {
		return false
	}
	rw.SetBefore(op)
	rw.Loc = unnamed(op)
	for i, half := range []*ir.Value{join.Lhs(), join.Rhs()} {
		part := columns(rw.Builder, store.Dst(), int64(i)*n, n)
		ttng.NewTmemStore(rw.Builder, ttg.NewConvertLayout(rw.Builder, half, l), part, nil, store.Pred())
	}
	rw.Erase(op)
	return true
}

// loadRows gives each of two warpgroups half of the rows of a tensor whose rows are
// reduced.
func loadRows(rw *rewrite.Rewriter, op *ir.Operation) bool {
	load := ttng.AsTmemLoad(op)
	t := tensors.Type(load.Result())
	if warpsOf(op) != 8 || !reducesRows(load.Result()) {
		return false
	}
	l, ok := registerLayout(load.Src().Type().(*ttg.MemDescType), by32x32b, 8, encoding.Get(t))
	if !ok || len(l.Warp) != 3 || len(l.Lane) != 5 {
		return false
	}
	// The third warp bit takes the place of the last lane bit, if that divides the
	// dimension that the first warp bits do, and it does not.
	for dim := range 2 {
		along := func(b []int32) bool { return b[dim] != 0 }
		rows := along(l.Warp[0])
		if rows == along(l.Warp[1]) && rows == along(l.Lane[4]) && rows != along(l.Warp[2]) {
			l.Warp[2], l.Lane[4] = l.Lane[4], l.Warp[2]
			return relayLoad(rw, load, encoding.Of(rw.Context(), l))
		}
	}
	return false
}

// reducesRows reports whether v goes, through elementwise operations, to a reduction
// along its second dimension.
func reducesRows(v *ir.Value) bool {
	seen := make(map[*ir.Operation]bool)
	list := []*ir.Value{v}
	for len(list) > 0 {
		v, list = list[len(list)-1], list[:len(list)-1]
		for u := range v.Users() {
			if u.Is(tt.Reduce) && tt.AsReduce(u).Axis() == 1 {
				return true
			}
			if !seen[u] && (u.Is(ttg.ConvertLayout) || u.Def().Has(ir.Elementwise)) {
				seen[u] = true
				list = append(list, u.Results()...)
			}
		}
	}
	return false
}

// relayLoad has load give its tensor in layout l, from which it is converted.
func relayLoad(rw *rewrite.Rewriter, load ttng.TmemLoadOp, l ir.Attribute) bool {
	t := tensors.Type(load.Result())
	if t.Encoding == l {
		return false
	}
	load.Result().SetType(tensors.WithEncoding(rw.Context(), t, l))
	rw.SetAfter(load.Op)
	rw.Loc = unnamed(load.Op)
	cvt := ttg.NewConvertLayout(rw.Builder, load.Result(), t.Encoding)
	load.Result().ReplaceUsesIf(cvt, func(u *ir.Use) bool { return u.Owner() != cvt.Def() })
	rw.Modified(load.Op)
	return true
}

// wide is the layout of 16 rows by 256 bits for tensors of type t in buffer.
func wide(op *ir.Operation, buffer *ir.Value, t *ir.TensorType) (ir.Attribute, bool) {
	m := buffer.Type().(*ttg.MemDescType)
	if _, matrix := ttng.MatrixOf(m); !matrix || len(m.Shape) != 2 {
		return nil, false
	}
	l, ok := registerLayout(m, by16x256b, warpsOf(op), encoding.Get(t))
	if !ok {
		return nil, false
	}
	a := encoding.Of(op.Context(), l)
	return a, ir.Attribute(a) != t.Encoding
}

// scattered reports whether neighbours among the registers of v are not neighbours in buffer.
func scattered(v, buffer *ir.Value) bool {
	t, m := tensors.Type(v), buffer.Type().(*ttg.MemDescType)
	regs, shared := encoding.Get(t), m.Encoding.(*encoding.Attr)
	r, err := regs.Linear(t.Shape)
	if err != nil {
		return false
	}
	s, err := shared.Layout.Linear(m.Shape)
	if err != nil {
		return false
	}
	c, ok := s.InvertAndCompose(r)
	return ok && c.ConsecutiveRegisters(layout.Offset) == 1
}

// storeOfShared stores what comes from shared memory in the wide layout, if the loads
// there gain by it.
func storeOfShared(rw *rewrite.Rewriter, op *ir.Operation) bool {
	store := ttng.AsTmemStore(op)
	t := tensors.Type(store.Src())
	l, ok := wide(op, store.Dst(), t)
	if !ok {
		return false
	}
	type item struct {
		v   *ir.Value
		enc ir.Attribute
	}
	seen := make(map[*ir.Value]bool)
	gains := false
	for list := []item{{store.Src(), l}}; len(list) > 0; {
		x := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[x.v] {
			continue
		}
		seen[x.v] = true
		def := x.v.Def()
		switch {
		case def == nil:
			return false
		case def.Is(ttg.LocalLoad):
			if ir.BitWidth(tensors.Type(x.v).Elem) != 16 || !scattered(x.v, ttg.AsLocalLoad(def).Src()) {
				return false
			}
			gains = true
		case def.Is(ttg.ConvertLayout):
			list = append(list, item{ttg.AsConvertLayout(def).Src(), x.enc})
		case def.Is(tt.Splat), def.ConstantValue() != nil:
		default:
			enc := layouts.OperandEncoding(def, x.enc)
			if enc == nil || def.NumRegions() > 0 || !ir.IsPure(def) {
				return false
			}
			for _, o := range def.Operands() {
				if tensors.Type(o) != nil {
					list = append(list, item{o, enc})
				}
			}
		}
	}
	if !gains {
		return false
	}
	rw.SetBefore(op)
	rw.Loc = unnamed(op)
	store.SetSrc(ttg.NewConvertLayout(rw.Builder, store.Src(), l))
	rw.Modified(op)
	return true
}

// loadToShared loads what goes to shared memory in the wide layout, if a store there
// gains by it.
func loadToShared(rw *rewrite.Rewriter, op *ir.Operation) bool {
	load := ttng.AsTmemLoad(op)
	l, ok := wide(op, load.Src(), tensors.Type(load.Result()))
	if !ok || warpsOf(op) == 8 && reducesRows(load.Result()) {
		return false
	}
	type item struct {
		v   *ir.Value
		enc ir.Attribute
	}
	seen := make(map[item]bool)
	for list := []item{{load.Result(), l}}; len(list) > 0; {
		x := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[x] {
			continue
		}
		seen[x] = true
		for u := range x.v.Users() {
			if u.Is(ttg.LocalStore) {
				s := ttg.AsLocalStore(u)
				if ir.BitWidth(tensors.Type(s.Src()).Elem) < 32 && scattered(s.Src(), s.Dst()) {
					return relayLoad(rw, load, l)
				}
				continue
			}
			if u.IsTerminator() || u.Is(scf.For) || u.Is(scf.While) || u.Is(scf.If) {
				continue
			}
			enc := x.enc
			if !u.Is(ttg.ConvertLayout) {
				if enc = layouts.ResultEncoding(u, x.enc); enc == nil {
					continue
				}
			}
			for _, r := range u.Results() {
				list = append(list, item{r, enc})
			}
		}
	}
	return false
}
