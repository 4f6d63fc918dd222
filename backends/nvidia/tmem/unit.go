package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Unit is the matrix unit of every NVIDIA GPU: tcgen05.mma where the target has it and
// it computes the dot, else that of package wgmma. Scaled dots go by tcgen05.mma, too,
// and by mma.sync on compute capability 12.0.
type Unit struct {
	wgmma.Unit
	// Rows16 has warps read accumulators 16 rows by 256 bits at once, the layout of
	// mma.sync's results, instead of a row by each thread.
	Rows16 bool
	// AsScheduled has the pipeliner take a schedule at its word: where what reads an
	// accumulator comes after the next multiplication, a new sum begins in between, and the
	// first iteration begins one. Else these are conditions for several accumulators.
	AsScheduled bool
}

var _ dots.ScaledUnit = Unit{}

// Sizes that tcgen05.mma wants: an instruction computes 64 or 128 rows and up to mostN
// columns, in steps of leastN, and is kBits of a row of A deep. Tensor memory has
// allColumns columns.
const (
	leastRows  = 64
	mostRows   = 128
	leastN     = 16
	mostN      = 256
	kBits      = 256
	allColumns = 512
	leastTwoN  = 32 // of two CTAs
	byCTAPairs = 2
)

// capability is the compute capability of a target, which Check took.
func capability(target string) int {
	cc, err := mma.Capability(target)
	if err != nil {
		panic("BUG: tmem: " + err.Error())
	}
	return cc
}

// has reports whether the target has tensor memory, and warps can access all of it.
func has(target string, warps int) bool {
	return capability(target)/10 == 10 && (warps == 4 || warps == 8)
}

// Form implements dots.MatrixUnit.
func (u Unit) Form(d dots.Dot) *dots.Form {
	if !u.takes(d) {
		return u.Unit.Form(d)
	}
	two := byTwoCTAs(d)
	m := accumulatorBuffer(d.Op.Context(), d.Result(), two)
	result, ok := u.registers(m, d.Warps, encoding.Get(d.Result().Type()))
	if !ok || columnsOf(m) > allColumns {
		return u.Unit.Form(d)
	}
	keep := !ir.IsFloat(ir.ElemOf(d.A().Type())) || ir.BitWidth(ir.ElemOf(d.A().Type())) < 32
	f := &dots.Form{Result: result, A: inShared(d.A(), 0, keep), B: inShared(d.B(), 1, keep)}
	if two {
		t := tensors.Type(dots.LoadOf(d.B()).OneResult())
		f.B = wgmma.Shared(t, contiguous(t, 1, keep), layout.Bases{{0, 1}}, false)
	}
	f.Slow = append(wgmma.Reordered(d.A(), 0, f.A), wgmma.Reordered(d.B(), 1, f.B)...)
	f.Make = func(b *ir.Builder, _ dots.Dot, x, y, acc *ir.Value) *ir.Value {
		alloc := ttng.NewTmemAlloc(b, m, acc, true)
		dot := ttng.NewMMA(b, x, y, alloc.Result(), alloc.Token(), entryTrue(b))
		dot.SetTwoCtas(two)
		return ttng.NewTmemLoad(b, acc.Type(), alloc.Result(), dot.Token()[0]).Result()
	}
	return f
}

// takes reports whether tcgen05.mma computes d, as precisely as it asks for.
func (u Unit) takes(d dots.Dot) bool {
	x, y, result := d.Elems()
	shape := d.Shape()
	switch {
	case !has(d.Target, d.Warps), tensors.IsMatrix(encoding.Get(d.Result().Type())), len(shape) != 2,
		shape[0]%leastRows != 0, shape[1]%leastN != 0,
		tensors.Type(d.A()).Shape[1]*int64(ir.BitWidth(x)) < kBits:
		return false
	case ir.BitWidth(x) == 32 && d.InputPrecision() != tt.PrecisionTF32:
		return false
	}
	return ir.IsFloat(x) && ir.IsFloat(y) && ttng.Multiplies(x, y, result)
}

// Widen implements dots.MatrixUnit: tcgen05.mma takes all of its types as they are.
func (u Unit) Widen(d dots.Dot, elem ir.Type) ir.Type {
	if u.takes(d) {
		return elem
	}
	return u.Unit.Widen(d, elem)
}

// entryTrue is the constant true where canonicalize keeps constants: at the start of the
// function.
func entryTrue(b *ir.Builder) *ir.Value {
	defer b.Restore(b.Save())
	entry := b.Block()
	for op := entry.Parent(); !op.Def().Has(ir.IsolatedFromAbove); op = entry.Parent() {
		entry = op.Block()
	}
	yes := b.Context().BoolAttr(true)
	for op := entry.First(); op != nil && op.Def().Has(ir.ConstantLike); op = op.Next() {
		if op.ConstantValue() == ir.Attribute(yes) {
			return op.OneResult()
		}
	}
	b.SetToStart(entry)
	return arith.NewConstant(b, yes)
}

// accumulatorBuffer is the buffer in tensor memory in which a result is added up, by one CTA
// or by two.
func accumulatorBuffer(c *ir.Context, result *ir.Value, two bool) *ttg.MemDescType {
	t := tensors.Type(result)
	part := tensors.PerCTA(t)
	e := ttng.Matrix{
		BlockM: mostRows, BlockN: min(part[1], mostN), ColStride: int64(32 / ir.BitWidth(t.Elem)),
		CTASplitM: t.Shape[0] / part[0], CTASplitN: t.Shape[1] / part[1], TwoCTAs: two,
	}
	if part[0] < mostRows {
		e.BlockM = leastRows
	}
	return ttg.MemDesc(c, ttg.MemDescType{Shape: t.Shape, Elem: t.Elem, Encoding: e.Attr(c), Space: ttng.TensorMemory(c), Mutable: true})
}

// columnsOf is how many columns of tensor memory a buffer takes.
func columnsOf(m *ttg.MemDescType) int64 {
	_, n := size(m)
	return n
}

// registers is the layout in which warps read and write m.
func (u Unit) registers(m *ttg.MemDescType, warps int, like layout.Encoding) (layout.Encoding, bool) {
	if u.Rows16 {
		if l, ok := registerLayout(m, by16x256b, warps, like); ok {
			return l, true
		}
	}
	l, ok := registerLayout(m, by32x32b, warps, like)
	return l, ok
}

// inShared is how operand number index lies in shared memory: in the order in which
// threads hold it, unless K must be contiguous.
func inShared(v *ir.Value, index int, keep bool) *layout.NVMMAShared {
	t := tensors.Type(dots.Unconverted(v))
	return wgmma.Shared(t, contiguous(t, index, keep), tensors.CGA(t), false)
}

// contiguous is the dimension of operand number index that is contiguous in shared
// memory: that of the registers, or K.
func contiguous(t *ir.TensorType, index int, keep bool) int {
	if keep {
		return sharedmem.Order(t)[0]
	}
	return 1 - index
}

// byTwoCTAs reports whether two CTAs, one with the upper and one with the lower half of
// the result, compute d together: each then loads half of B.
func byTwoCTAs(d dots.Dot) bool {
	t, part := tensors.Type(d.Result()), d.Shape()
	return d.CTAs == byCTAPairs && t.Shape[0] == byCTAPairs*part[0] && t.Shape[1] == part[1] &&
		part[1] >= leastTwoN && dots.LoadOf(d.B()) != nil
}
