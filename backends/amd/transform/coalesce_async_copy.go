package transform

import (
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// CoalesceAsyncCopy gives copies to LDS a layout in which the lanes of a wave write one
// after the other, as the instruction does: it takes one address of LDS for a wave. Each
// lane copies as much as the chip has an instruction for.
var CoalesceAsyncCopy = &pass.Pass{
	Name:    "tritonamdgpu-coalesce-async-copy",
	Doc:     "have the lanes of a wave copy to neighbours in LDS",
	Options: []pass.Option{archOption},
	Example: coalesceAsyncCopyExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		c, err := chipOf(r)
		if err != nil {
			return err
		}
		widths := copyWidths[c]
		if widths == nil {
			return nil
		}
		info, m := axisinfo.Analyze(r.Module), machine.Of(r.Module)
		b := ir.NewBuilder(r.Module.Context())
		for _, op := range operations(r.Module, ttg.AsyncCopy) {
			v := ttg.AsAsyncCopy(op)
			vector := info.Vector(v.Src())
			if v.Mask() != nil {
				vector = min(vector, info.MaskRun(v.Mask()))
			}
			if enc, n := lanesInARow(m.At(op), v, vector, widths); enc != nil {
				relayoutCopy(b, v, encoding.Of(b.Context(), enc), n)
				r.Count("coalesced", 1)
			}
		}
		return nil
	},
}

// copyWidths are the bits that an instruction copies to LDS for a lane, the most first.
// Those of 8 and 16 bits would write 32.
var copyWidths = map[*chip.Chip][]int64{
	&chip.GFX942: {32},
	&chip.GFX950: {128, 32},
}

// lanesInARow is the layout for a copy of so many elements at once at most in which lanes
// write one after the other, and how many elements each lane copies at once; nil if there
// is none, or the copy has it.
func lanesInARow(m machine.Machine, v ttg.AsyncCopyOp, vector int64, widths []int64) (layout.Encoding, int64) {
	t, buffer := tensors.Type(v.Src()), v.Result().Type().(*ttg.MemDescType)
	from, blocked := encoding.Get(t).(*layout.Blocked)
	e, ok := buffer.Encoding.(*encoding.Attr)
	if !blocked || !ok || tensors.Elements(t) > ir.MaxTensorElements {
		return nil, 0
	}
	shared, err := e.Layout.Linear(buffer.Shape)
	if err != nil {
		return nil, 0
	}
	writes, ok := shared.InvertAndCompose(tensors.Linear(t))
	if !ok {
		return nil, 0
	}
	n := fitting(min(vector, inARow(writes)), int64(ir.BitWidth(buffer.Elem)), widths)
	if n == 0 || writesInARow(writes, n) {
		return nil, 0
	}
	var to layout.Encoding
	switch e.Layout.(type) {
	case *layout.SwizzledShared:
		l := tensors.Linear(t)
		size := make([]int, len(t.Shape))
		for i := range size {
			size[i] = l.Contig(layout.TensorDim(i))
		}
		size[from.Order[0]] = int(n)
		to = layout.BlockedFor(t.Shape, size, from.Order, m.Warps, m.Lanes, m.CTAs)
	case *layout.PaddedShared:
		if e := alongOffsets(m, shared, n); e != nil {
			to = e
		}
	}
	return to, n
}

// fitting is the most elements of so many bits, at most n, that one of the widths copies.
func fitting(n, elem int64, widths []int64) int64 {
	for ; n > 0 && elem > 0; n /= 2 {
		if slices.Contains(widths, n*elem) {
			return n
		}
	}
	return 0
}

// writesInARow reports whether the lanes of a wave write n elements each, one after the
// other, and waves do not change where lanes write.
func writesInARow(writes layout.Layout, n int64) bool {
	if inARow(writes) != n {
		return false
	}
	next := uint64(n)
	for _, c := range writes.Columns(layout.Lane) {
		if c != next {
			return false
		}
		next *= 2
	}
	return !slices.ContainsFunc(writes.Columns(layout.Warp), func(c uint64) bool { return c&(next-1) != 0 })
}

// alongOffsets is the layout in which registers, then lanes, then warps follow the offsets
// of a buffer; nil if the buffer is smaller than what a wave copies at once.
func alongOffsets(m machine.Machine, shared layout.Layout, n int64) *layout.Linear {
	bases := shared.BasesOf(layout.Offset)
	registers, lanes, warps := bits.Len64(uint64(n))-1, bits.Len(uint(m.Lanes))-1, bits.Len(uint(m.Warps))-1
	if len(bases) < registers+lanes || m.CTAs > 1 {
		return nil
	}
	e := &layout.Linear{Register: slices.Clone(bases[:registers]), Lane: bases[registers : registers+lanes], Block: layout.Bases{}}
	rest := bases[registers+lanes:]
	e.Warp = slices.Clone(rest[:min(warps, len(rest))])
	e.Register = append(e.Register, rest[len(e.Warp):]...)
	for len(e.Warp) < warps {
		e.Warp = append(e.Warp, make([]int32, len(shared.Outs())))
	}
	return e
}

// relayoutCopy copies in another layout, n elements at once.
func relayoutCopy(b *ir.Builder, v ttg.AsyncCopyOp, enc ir.Attribute, n int64) {
	b.At(v.Op)
	v.SetSrc(ttg.NewConvertLayout(b, v.Src(), enc))
	if v.Mask() != nil {
		v.SetMask(ttg.NewConvertLayout(b, v.Mask(), enc))
	}
	if v.Other() != nil {
		v.SetOther(ttg.NewConvertLayout(b, v.Other(), enc))
	}
	v.SetContiguity(n)
}
