package ttng

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Def is the definition of the operation ttng.name, which must be there.
func Def(name string) *ir.OpDef {
	d := Dialect().Op(Name + "." + name)
	if d == nil {
		panic("BUG: ttng: no operation ttng." + name)
	}
	return d
}

// Is reports whether op, which may be nil, is ttng.name. It makes no dialect for a kernel
// that has nothing of it.
func Is(op *ir.Operation, name string) bool {
	if op == nil {
		return false
	}
	rest, ok := strings.CutPrefix(op.Name(), Name+".")
	return ok && rest == name
}

// Matrix is #ttng.tensor_memory_encoding: how a matrix lies in tensor memory.
type Matrix struct {
	BlockM, BlockN, ColStride int64
	// CTASplitM and CTASplitN are how many CTAs share each dimension; at least 1.
	CTASplitM, CTASplitN int64
	TwoCTAs              bool
}

// MatrixOf returns the encoding of a matrix in tensor memory; ok is false for any other.
func MatrixOf(m *ttg.MemDescType) (e Matrix, ok bool) {
	a := tensorMemory(m, matrixEncoding)
	if a == nil {
		return Matrix{}, false
	}
	return Matrix{a.Int("blockM"), a.Int("blockN"), a.Int("colStride"), a.Int("CTASplitM"), a.Int("CTASplitN"), a.Bool("twoCTAs")}, true
}

// ScalesOf returns how many CTAs share each dimension of scales in tensor memory; ok
// is false for any other buffer.
func ScalesOf(m *ttg.MemDescType) (split [2]int64, ok bool) {
	a := tensorMemory(m, scalesEncoding)
	if a == nil {
		return split, false
	}
	return [2]int64{a.Int("CTASplitM"), a.Int("CTASplitN")}, true
}

// Attr is the attribute of e.
func (e Matrix) Attr(c *ir.Context) ir.Attribute {
	return attr(c, fmt.Sprintf("#ttng.%s<blockM = %d, blockN = %d, colStride = %d, CTASplitM = %d, CTASplitN = %d, twoCTAs = %t>",
		matrixEncoding, e.BlockM, e.BlockN, e.ColStride, e.CTASplitM, e.CTASplitN, e.TwoCTAs))
}

// Scales is #ttng.tensor_memory_scales_encoding.
func Scales(c *ir.Context, splitM, splitN int64) ir.Attribute {
	return attr(c, fmt.Sprintf("#ttng.%s<CTASplitM = %d, CTASplitN = %d>", scalesEncoding, splitM, splitN))
}

// TensorMemory is #ttng.tensor_memory, the memory space.
func TensorMemory(c *ir.Context) ir.Attribute { return attr(c, "#ttng.tensor_memory") }

func attr(c *ir.Context, src string) ir.Attribute {
	c.Load(Dialect())
	a, err := text.ParseAttr(c, src)
	if err != nil {
		panic("BUG: ttng: " + err.Error())
	}
	return a
}

// InTensorMemory reports whether v is a buffer in tensor memory.
func InTensorMemory(v *ir.Value) bool {
	m, ok := v.Type().(*ttg.MemDescType)
	return ok && inTensorMemory(m)
}

// MMA is what ttng.tc_gen5_mma and ttng.tc_gen5_mma_scaled have in common.
type MMA interface {
	A() *ir.Value
	SetA(*ir.Value)
	B() *ir.Value
	D() *ir.Value
	SetD(*ir.Value)
	AccDep() *ir.Value
	SetAccDep(*ir.Value)
	UseD() *ir.Value
	SetUseD(*ir.Value)
	Pred() *ir.Value
	SetPred(*ir.Value)
	Barriers() []*ir.Value
	SetBarriers([]*ir.Value)
	BarrierPreds() []*ir.Value
	SetBarrierPreds([]*ir.Value)
	IsAsync() bool
	SetIsAsync(bool)
	TwoCtas() bool
	Token() []*ir.Value
}

// AsMMA is the view of op; nil for operations that are not a matrix multiplication in tensor memory.
func AsMMA(op *ir.Operation) MMA {
	switch {
	case Is(op, "tc_gen5_mma"):
		return AsTcGen5Mma(op)
	case Is(op, "tc_gen5_mma_scaled"):
		return AsTcGen5MmaScaled(op)
	}
	return nil
}

// AddCompletionBarrier has the matrix multiplication arrive at barrier, if pred holds,
// when it is done.
func AddCompletionBarrier(m MMA, barrier, pred *ir.Value) {
	m.SetBarriers(append(append([]*ir.Value(nil), m.Barriers()...), barrier))
	m.SetBarrierPreds(append(append([]*ir.Value(nil), m.BarrierPreds()...), pred))
}

// IsTmemAlloc, IsTmemLoad and IsTmemStore tell the operations on tensor memory.
func IsTmemAlloc(op *ir.Operation) bool { return Is(op, "tmem_alloc") }

// IsTmemLoad reports whether op is a ttng.tmem_load.
func IsTmemLoad(op *ir.Operation) bool { return Is(op, "tmem_load") }

// IsTmemStore reports whether op is a ttng.tmem_store.
func IsTmemStore(op *ir.Operation) bool { return Is(op, "tmem_store") }

// NewTmemAlloc makes a buffer in tensor memory, filled with src unless that is nil, with
// a token if withToken.
func NewTmemAlloc(b *ir.Builder, t *ttg.MemDescType, src *ir.Value, withToken bool) TmemAllocOp {
	s := ir.State{Types: []ir.Type{t}}
	if src != nil {
		s.Operands = []*ir.Value{src}
	}
	if withToken {
		s.Types = append(s.Types, ttg.AsyncToken(b.Context()))
	}
	return AsTmemAlloc(b.Create(Def("tmem_alloc"), s))
}

// NewTmemLoad loads a tensor of type t from src, after dep, with a token of its own,
// unless dep is nil.
func NewTmemLoad(b *ir.Builder, t ir.Type, src, dep *ir.Value) TmemLoadOp {
	s := ir.State{Operands: []*ir.Value{src}, Types: []ir.Type{t}}
	if dep != nil {
		s.Operands, s.Types = append(s.Operands, dep), append(s.Types, ttg.AsyncToken(b.Context()))
	}
	return AsTmemLoad(b.Create(Def("tmem_load"), s))
}

// NewTmemStore stores src to dst if pred holds, after dep, with a token of its own,
// unless dep is nil.
func NewTmemStore(b *ir.Builder, src, dst, dep, pred *ir.Value) TmemStoreOp {
	s := ir.State{Operands: []*ir.Value{dst, src, pred}}
	if dep != nil {
		s.Operands, s.Types = []*ir.Value{dst, dep, src, pred}, []ir.Type{ttg.AsyncToken(b.Context())}
	}
	return AsTmemStore(b.Create(Def("tmem_store"), s))
}

// NewMMA multiplies x and y and adds the product to d, after dep, with a token of its
// own; yes is the constant true.
func NewMMA(b *ir.Builder, x, y, d, dep, yes *ir.Value) TcGen5MmaOp {
	return AsTcGen5Mma(b.Create(Def("tc_gen5_mma"), ir.State{
		Operands: []*ir.Value{x, y, d, dep, yes, yes}, Segments: []int32{1, 1, 1, 1, 1, 1, 0, 0},
		Types: []ir.Type{ttg.AsyncToken(b.Context())},
	}))
}

// NewMMAScaled is NewMMA of block-scaled operands, whose scales are in tensor memory.
// The types are cases of enum scaleType.
func NewMMAScaled(b *ir.Builder, x, y, d, dep, xScale, yScale, yes *ir.Value, xType, yType int64) TcGen5MmaScaledOp {
	c := b.Context()
	return AsTcGen5MmaScaled(b.Create(Def("tc_gen5_mma_scaled"), ir.State{
		Operands: []*ir.Value{x, y, d, dep, xScale, yScale, yes, yes}, Segments: []int32{1, 1, 1, 1, 1, 1, 1, 1, 0, 0},
		Types: []ir.Type{ttg.AsyncToken(c)},
		Attrs: []ir.NamedAttr{{Name: "a_type", Attr: c.I32Attr(xType)}, {Name: "b_type", Attr: c.I32Attr(yType)}},
	}))
}
