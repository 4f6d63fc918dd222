package layouts

import (
	"sort"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
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

// widestAccess is the number of bits that one thread moves with one memory
// instruction at most.
const widestAccess = 128

// Coalesce gives each access to memory the layout in which neighbouring threads
// touch neighbouring addresses and each thread as many of them at once as
// alignment and the widest access allow. Accesses that depend on one another
// and have the same shape and order agree on the widest of their vectors, but for
// those whose pointers a loop carries.
// Conversions lead from and to the layouts around.
var Coalesce = &pass.Pass{
	Name:    "tritongpu-coalesce",
	Doc:     "give loads and stores layouts that coalesce their accesses",
	Example: coalesceExample,
	Before:  []*pass.Fact{facts.Machine}, // accesses without a layout stay as they are
	Run: func(r *pass.Run) error {
		c := &coalescer{Machine: machine.Of(r.Module), info: axisinfo.Analyze(r.Module)}
		c.related = c.relate(r.Module)
		// The analysis describes the module as it is now, so all layouts are
		// chosen before the first operation changes.
		type choice struct {
			op  *ir.Operation
			enc ir.Attribute
		}
		var choices []choice
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if enc := c.encodingFor(op); enc != nil {
				choices = append(choices, choice{op, enc})
			}
			return ir.Advance
		})
		b := ir.NewBuilder(r.Module.Context())
		for _, ch := range choices {
			rewriteAccess(b, ch.op, ch.enc)
		}
		r.Count("accesses", len(choices))
		return nil
	},
}

type coalescer struct {
	machine.Machine
	info    *axisinfo.Result
	related *related
}

// accessPointer is the tensor of pointers through which op accesses memory, or
// nil.
func accessPointer(op *ir.Operation) (ptr *ir.Value) {
	switch op.Def() {
	case tt.Load, tt.Store, tt.AtomicRMW, tt.AtomicCAS:
		ptr = tt.Address(op)
	case ttg.AsyncCopy:
		ptr = ttg.AsAsyncCopy(op).Src()
	}
	if ptr == nil || tensors.Type(ptr) == nil {
		return nil
	}
	return ptr
}

// encodingFor is the layout in which op is to access memory; nil when op does
// not, or through one pointer.
func (c *coalescer) encodingFor(op *ir.Operation) ir.Attribute {
	m := c.At(op)
	if op.Is(tt.DescriptorLoad) || op.Is(tt.DescriptorStore) || op.Is(tt.DescriptorGather) || op.Is(tt.DescriptorScatter) || op.Is(tt.DescriptorReduce) {
		return descriptorEncoding(m, op)
	}
	ptr := accessPointer(op)
	if ptr == nil || tensors.Type(ptr).Encoding == nil {
		return nil
	}
	t := tensors.Type(ptr)
	order := c.order(ptr)
	size := c.vector(ptr, order[0])
	if ptr.Def() != nil {
		// A pointer that a loop carries has its own vector, as in Triton.
		size = max(size, c.related.widest(op, c.kind(ptr, order)))
	}
	shape := tensors.PerCTA(t)
	elems := int64(1)
	for _, n := range shape {
		elems *= n
	}
	size = min(size, max(elems/int64(m.Threads()), 1))
	if !op.Is(tt.Load) {
		// A store wider than its own vector is split into instructions with
		// gaps between the threads; loads have a cache to hide that.
		size = min(size, c.vector(ptr, order[0]))
	}
	return blockedAlong(op.Context(), m, t.Shape, order, int(size))
}

// order sorts the dimensions by contiguity, the first dimension first among
// equals, as Triton does.
func (c *coalescer) order(ptr *ir.Value) []int {
	axes := c.info.Of(ptr).Axes
	order := make([]int, len(axes))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return axes[order[i]].Contiguity > axes[order[j]].Contiguity })
	return order
}

// vector is the number of elements along dimension d that one thread can access
// at once through ptr.
func (c *coalescer) vector(ptr *ir.Value, d int) int64 {
	t := tensors.Type(ptr)
	bits := axisinfo.ElemBytes(t) * 8
	return min(c.info.Aligned(ptr, d), tensors.PerCTA(t)[d], widestAccess/bits)
}

func blockedAlong(ctx *ir.Context, m machine.Machine, shape []int64, order []int, size int) ir.Attribute {
	sizes := make([]int, len(shape))
	for i := range sizes {
		sizes[i] = 1
	}
	sizes[order[0]] = size
	return encoding.Of(ctx, layout.BlockedFor(shape, sizes, order, m.Warps, m.Lanes, m.CTAs))
}

// descriptorEncoding: blocks that come and go through a descriptor lie row by
// row.
func descriptorEncoding(m machine.Machine, op *ir.Operation) ir.Attribute {
	var t *ir.TensorType
	if op.NumResults() > 0 {
		t = tensors.Type(op.OneResult())
	} else {
		for _, v := range op.Operands() {
			if x := tensors.Type(v); x != nil && (t == nil || len(x.Shape) > len(t.Shape)) {
				t = x
			}
		}
	}
	if t == nil || t.Encoding == nil {
		return nil
	}
	size := min(max(t.NumElements()/int64(m.Threads()), 1), widestAccess/(axisinfo.ElemBytes(t)*8), t.Shape[len(t.Shape)-1])
	order := make([]int, len(t.Shape))
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	return blockedAlong(op.Context(), m, t.Shape, order, int(size))
}

// rewriteAccess converts op's tensor operands to enc, and its results back. An operand
// that has the layout already is converted, too, as in Triton; remove-layout-conversions
// drops that.
func rewriteAccess(b *ir.Builder, op *ir.Operation, enc ir.Attribute) {
	b.Loc = op.Loc()
	rank := len(enc.(*encoding.Attr).Layout.(*layout.Blocked).Order)
	for i, v := range op.Operands() {
		if t := tensors.Type(v); t != nil && len(t.Shape) == rank {
			b.SetBefore(op)
			op.SetOperand(i, b.Op(ttg.ConvertLayout, []*ir.Value{v}, tensors.WithEncoding(b.Context(), t, enc)).OneResult())
		}
	}
	b.SetAfter(op)
	for _, r := range op.Results() {
		t := tensors.Type(r)
		if t == nil || t.Encoding == enc {
			continue
		}
		r.SetType(tensors.WithEncoding(b.Context(), t, enc))
		back := ttg.NewConvertLayout(b, r, t.Encoding)
		r.ReplaceUsesIf(back, func(u *ir.Use) bool { return u.Owner() != back.Def() })
	}
}
