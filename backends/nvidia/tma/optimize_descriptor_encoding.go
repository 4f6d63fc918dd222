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
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeDescriptorEncoding gives descriptors the layout in which their blocks
// lie in shared memory: rows of 128, 64 or 32 bytes, as many as a block's rows
// fill, whose 16-byte pieces are permuted so that eight rows hit different banks.
// A buffer that is filled from a load through a descriptor, and read through
// transpositions only, gets that layout, too, so that the copy can go into it.
var OptimizeDescriptorEncoding = &pass.Pass{
	Name:    "triton-nvidia-optimize-descriptor-encoding",
	Doc:     "give descriptors the shared layouts of their blocks",
	Example: optimizeDescriptorEncodingExample,
	Before:  []*pass.Fact{facts.KnownDescriptors},
	After:   []*pass.Fact{encodedDescriptors},
	Run: func(r *pass.Run) error {
		one := func(desc *ir.Value) {
			r.Module.Context().Load(ttng.Dialect())
			encode(r.Module.Context(), desc)
			r.Count("descriptors", 1)
		}
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch {
			case op.Is(tt.MakeTensorDesc) && needsEncoding(op.OneResult()):
				one(op.OneResult())
			case op.Is(tt.Func) && op.Body() != nil:
				sig := tt.Signature(op)
				in := slices.Clone(sig.In)
				for i, arg := range op.Body().Args() {
					if needsEncoding(arg) {
						one(arg)
						in[i] = arg.Type()
					}
				}
				if !slices.Equal(in, sig.In) {
					tt.AsFunc(op).SetFunctionType(op.Context().Func(in, sig.Out))
				}
			}
			return ir.Advance
		})
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

func needsEncoding(v *ir.Value) bool {
	desc, ok := v.Type().(*tt.TensorDescType)
	return ok && desc.Block.Encoding == nil
}

func encode(c *ir.Context, desc *ir.Value) {
	block := desc.Type().(*tt.TensorDescType).Block
	desc.SetType(tt.TensorDesc(c, c.Tensor(block.Shape, block.Elem, encoding.Of(c, dividedLayout(block, cluster(desc))))))
	for load := range desc.Users() {
		if !load.Is(tt.DescriptorLoad) {
			continue
		}
		enc := throughDescriptor(desc, load.OneResult().Type().(*ir.TensorType))
		for u := range load.OneResult().Users() {
			if u.Is(ttg.LocalAlloc) && onlyTransposed(u) {
				retype(c, u.OneResult(), enc)
			}
		}
	}
}

// cluster is how the blocks of a descriptor are divided among the CTAs of a cluster: as
// plan-cta has divided what is loaded and stored through it. It is nil for one CTA.
func cluster(desc *ir.Value) layout.Bases {
	for u := range desc.Users() {
		var t *ir.TensorType
		switch {
		case u.Is(tt.DescriptorLoad):
			t = u.OneResult().Type().(*ir.TensorType)
		case isStore(u):
			t = source(u).Type().(*ir.TensorType)
		default:
			continue
		}
		return cut(tensors.CGA(t), len(desc.Type().(*tt.TensorDescType).Block.Shape))
	}
	return nil
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
// memory, which is loaded or stored through desc.
func throughDescriptor(desc *ir.Value, block *ir.TensorType) *encoding.Attr {
	c := desc.Type().(*tt.TensorDescType)
	var cga layout.Bases
	if a, ok := c.Block.Encoding.(*encoding.Attr); ok {
		if e, ok := a.Layout.(*layout.NVMMAShared); ok {
			cga = cut(e.CGA, len(block.Shape))
		}
	}
	return encoding.Of(contextOf(desc), dividedLayout(block, cga))
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
func sharedLayout(block *ir.TensorType) *layout.NVMMAShared { return dividedLayout(block, nil) }

// dividedLayout is the same for CTAs of a cluster.
func dividedLayout(block *ir.TensorType, cga layout.Bases) *layout.NVMMAShared {
	rank := len(block.Shape)
	part := slices.Clone(block.Shape)
	for _, v := range cga {
		for d, x := range v {
			if x != 0 {
				part[d] = max(part[d]/2, 1)
			}
		}
	}
	row := int(part[rank-1]) * ir.BitWidth(block.Elem) / 8
	rows := int64(1)
	for _, n := range part[:rank-1] {
		rows *= n
	}
	e := &layout.NVMMAShared{ElementBitWidth: ir.BitWidth(block.Elem), CGA: cga}
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
