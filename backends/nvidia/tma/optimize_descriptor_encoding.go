package tma

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// OptimizeDescriptorEncoding gives descriptors the layout in which their blocks
// lie in shared memory. It is that of the buffers which loads through the descriptor
// fill, where these have one that TMA knows and agree; else rows of 128, 64 or 32 bytes,
// as many as the rows of a copy fill, whose 16-byte pieces are permuted so that eight
// rows hit different banks. A buffer that is filled from a load, and read through
// transpositions only, gets that layout, too, so that the copy can go into it.
//
// Values that may be the same descriptor, as those that a loop carries, get one layout.
// What crosses a call has that of its blocks alone, so that caller and callee agree.
var OptimizeDescriptorEncoding = &pass.Pass{
	Name:    "triton-nvidia-optimize-descriptor-encoding",
	Doc:     "give descriptors the shared layouts of their blocks",
	Example: optimizeDescriptorEncodingExample,
	After:   []*pass.Fact{encodedDescriptors},
	Run: func(r *pass.Run) error {
		for f := range r.Module.Body().Ops() {
			if f.Is(tt.Func) && f.Body() != nil {
				r.Count("descriptors", encodeAll(f))
			}
		}
		return nil
	},
}

// encodedDescriptors holds once descriptors say how their blocks lie in shared memory.
var encodedDescriptors = &pass.Fact{
	Name: "encoded-descriptors", Doc: "a module whose descriptors have the shared layouts of their blocks",
	Help: "triton-nvidia-optimize-descriptor-encoding gives them these",
	From: []*pass.Fact{facts.NoDescriptors},
	Broken: facts.FirstOp(func(op *ir.Operation) string {
		switch {
		case op.Is(tt.MakeTensorDesc) && needsEncoding(op.OneResult()):
			return "the descriptor that " + op.Name() + " makes has none"
		case op.Is(tt.Func) && op.Body() != nil && slices.ContainsFunc(op.Body().Args(), needsEncoding):
			return "a descriptor that a kernel takes has none"
		}
		return ""
	}),
}

func needsEncoding(v *ir.Value) bool { return lacksEncoding(v.Type()) }

func lacksEncoding(t ir.Type) bool {
	desc, ok := t.(*tt.TensorDescType)
	return ok && desc.Block.Encoding == nil
}

// encodeAll gives the descriptors of a function their layouts, and returns how many it
// takes or makes.
func encodeAll(f *ir.Operation) int {
	c := f.Context()
	n := 0
	for _, class := range descriptorClasses(f) {
		c.Load(ttng.Dialect())
		block := class.values[0].Type().(*tt.TensorDescType).Block
		t := tt.TensorDesc(c, c.Tensor(block.Shape, block.Elem, encoding.Of(c, class.layout(block))))
		for _, v := range class.values {
			v.SetType(t)
			if v.Def() == nil && v.Block().Parent() == f || v.DefIs(tt.MakeTensorDesc) {
				n++
			}
		}
		for _, v := range class.values {
			joinBuffers(c, v)
		}
	}
	sig := tt.Signature(f)
	in, out := slices.Clone(sig.In), slices.Clone(sig.Out)
	for i, arg := range f.Body().Args() {
		in[i] = arg.Type()
	}
	for i, t := range out {
		if lacksEncoding(t) {
			block := t.(*tt.TensorDescType).Block
			out[i] = tt.TensorDesc(c, c.Tensor(block.Shape, block.Elem, encoding.Of(c, sharedLayout(block))))
		}
	}
	if !slices.Equal(in, sig.In) || !slices.Equal(out, sig.Out) {
		tt.AsFunc(f).SetFunctionType(c.Func(in, out))
	}
	return n
}

// joinBuffers gives the buffers that are filled from loads through desc, and only
// transposed and read, the layout in which the copy comes.
func joinBuffers(c *ir.Context, desc *ir.Value) {
	for load := range desc.Users() {
		if !load.Is(tt.DescriptorLoad) {
			continue
		}
		enc := throughDescriptor(desc, load.OneResult().Type().(*ir.TensorType))
		for u := range load.OneResult().Users() {
			if u.Is(ttg.LocalAlloc) && u.HasUses() && onlyTransposed(u) {
				retype(c, u.OneResult(), enc)
			}
		}
	}
}

// cut gives the vectors of a division the last rank coordinates; those that they lack
// are zeros.
func cut(cga layout.Bases, rank int) layout.Bases {
	var out layout.Bases
	for _, v := range cga {
		w := make([]int32, rank)
		copy(w[max(rank-len(v), 0):], v[max(len(v)-rank, 0):])
		out = append(out, w)
	}
	return out
}

// throughDescriptor is how a block of that type, whatever its encoding, lies in shared
// memory, which is loaded or stored through desc: as the descriptor says, where TMA knows
// such a layout.
func throughDescriptor(desc *ir.Value, block *ir.TensorType) *encoding.Attr {
	c := contextOf(desc)
	if e := layoutOf(desc.Type().(*tt.TensorDescType).Block); e != nil {
		return encoding.Of(c, fitted(e, len(block.Shape)))
	}
	// Modules that others wrote may have rows that simply follow one another.
	if a, ok := desc.Type().(*tt.TensorDescType).Block.Encoding.(*encoding.Attr); ok {
		if e, ok := a.Layout.(*layout.SwizzledShared); ok && e.MaxPhase == 1 && len(e.Order) == len(block.Shape) && slices.IsSortedFunc(e.Order, func(a, b int) int { return b - a }) {
			return a
		}
	}
	return encoding.Of(c, sharedLayout(block))
}

// loadedThrough is throughDescriptor for loads, which the copy unit leaves in a layout of
// its own only.
func loadedThrough(desc *ir.Value, block *ir.TensorType) *encoding.Attr {
	enc := throughDescriptor(desc, block)
	if _, ok := enc.Layout.(*layout.NVMMAShared); !ok {
		return encoding.Of(contextOf(desc), sharedLayout(block))
	}
	return enc
}

// layoutOf is the layout of a block in shared memory that TMA knows, or nil.
func layoutOf(block *ir.TensorType) *layout.NVMMAShared {
	if a, ok := block.Encoding.(*encoding.Attr); ok {
		if e, ok := a.Layout.(*layout.NVMMAShared); ok && !e.Transposed {
			return e
		}
	}
	return nil
}

// fitted is a layout for blocks with more or fewer dimensions of size 1 in front.
func fitted(e *layout.NVMMAShared, rank int) *layout.NVMMAShared {
	out := *e
	out.CGA, out.NDims = cut(e.CGA, rank), 0
	if rank != 2 {
		out.NDims = rank
	}
	return &out
}

// contextOf is the context of a value that has users.
func contextOf(v *ir.Value) *ir.Context {
	for u := range v.Users() {
		return u.Context()
	}
	panic("BUG: tma: a descriptor without users")
}

// sharedLayout is how a block of that type, whatever its encoding, lies in the shared
// memory of a program that is one CTA.
func sharedLayout(block *ir.TensorType) *layout.NVMMAShared {
	return dividedLayout(block.Shape, block.Elem, nil)
}

// dividedLayout is the same for CTAs of a cluster.
func dividedLayout(shape []int64, elem ir.Type, cga layout.Bases) *layout.NVMMAShared {
	rank := len(shape)
	part := slices.Clone(shape)
	for _, v := range cga {
		for d, x := range v {
			if x != 0 {
				part[d] = max(part[d]/2, 1)
			}
		}
	}
	row := int(part[rank-1]) * ir.BitWidth(elem) / 8
	rows := int64(1)
	for _, n := range part[:rank-1] {
		rows *= n
	}
	e := &layout.NVMMAShared{ElementBitWidth: ir.BitWidth(elem), CGA: cga}
	if rank != 2 {
		e.NDims = rank
	}
	if rows >= 8 {
		for _, width := range []int{128, 64, 32} {
			if row >= width {
				e.SwizzlingByteWidth = width
				break
			}
		}
	}
	return e
}

// onlyTransposed reports whether the buffer that alloc makes is read through
// transpositions of matrices and itself only.
func onlyTransposed(alloc *ir.Operation) bool {
	for u := range alloc.OneResult().Users() {
		switch {
		case u.Is(ttg.LocalLoad):
		case u.Is(ttg.MemDescTrans):
			if !slices.Equal(ttg.AsMemDescTrans(u).Order(), []int64{1, 0}) || !onlyTransposed(u) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// retype gives a buffer another layout, and so the transposed views of it.
func retype(c *ir.Context, buffer *ir.Value, enc *encoding.Attr) {
	t := *buffer.Type().(*ttg.MemDescType)
	t.Encoding = enc
	buffer.SetType(ttg.MemDesc(c, t))
	for u := range buffer.Users() {
		if !u.Is(ttg.MemDescTrans) {
			continue
		}
		seen, err := layout.Trans(enc.Layout, t.Shape, []int{1, 0})
		if err != nil {
			panic("BUG: tma: " + err.Error())
		}
		retype(c, u.OneResult(), encoding.Of(c, seen))
	}
}
