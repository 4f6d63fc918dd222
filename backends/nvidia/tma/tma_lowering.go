package tma

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Lower makes copies by TMA of the loads and stores through descriptors that no
// pipeline took, each with the wait for it, and lets each program write its
// descriptors to global memory of its own. One that is made in a loop is overwritten by
// each iteration. Loads of the iterations before have ended by then, since their loop has
// waited for them; for stores through it the iteration waits.
var Lower = &pass.Pass{
	Name:    "triton-nvidia-tma-lowering",
	Doc:     "lower loads and stores through descriptors to TMA copies",
	Example: lowerExample,
	Before:  []*pass.Fact{facts.Machine, blockLayouts, facts.KnownDescriptors, encodedDescriptors},
	After:   []*pass.Fact{facts.NoDescriptors},
	Run: func(r *pass.Run) error {
		if err := CheckDescriptors(r.Module); err != nil {
			return err
		}
		b := ir.NewBuilder(r.Module.Context())
		var accesses, made []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch {
			case isLoad(op), isStore(op):
				accesses = append(accesses, op)
			case op.Is(tt.MakeTensorDesc):
				made = append(made, op)
			}
			return ir.Advance
		})
		if len(made) > 0 {
			r.Module.Context().Load(ttng.Dialect())
		}
		for _, op := range accesses {
			b.At(op)
			if isLoad(op) {
				lowerLoad(b, op)
			} else {
				lowerStore(b, op)
			}
			op.Erase()
		}
		for _, op := range made {
			b.At(op)
			if op.HasUses() {
				op.ReplaceAllUsesWith(lowerDescriptor(b, tt.AsMakeTensorDesc(op)))
			}
			op.Erase()
		}
		r.Count("accesses", len(accesses))
		r.Count("descriptors", len(made))
		return nil
	},
}

// blockLayouts holds where what descriptors copy is laid out in the registers.
var blockLayouts = &pass.Fact{
	Name: "block-layouts", Doc: "a module in which every block that is copied through a descriptor has a layout",
	Help: "convert-triton-to-tritongpu chooses the first layouts", From: []*pass.Fact{facts.Layouts},
	Broken: facts.FirstOp(func(op *ir.Operation) string {
		var block *ir.Value
		switch {
		case isLoad(op):
			block = op.OneResult()
		case isStore(op):
			block = source(op)
		default:
			return ""
		}
		if encoding.Get(block.Type()) == nil {
			return "that of " + op.Name() + " has none"
		}
		return ""
	}),
}

// isLoad reports whether op reads through a descriptor.
func isLoad(op *ir.Operation) bool { return op.Is(tt.DescriptorLoad) || op.Is(tt.DescriptorGather) }

// lowerLoad makes a copy into a buffer, the wait at a barrier that counts its
// bytes, and the read of the buffer. A buffer of the program's own that is filled
// with the block, and nothing else, is the one that the copy fills.
func lowerLoad(b *ir.Builder, op *ir.Operation) {
	c := b.Context()
	t := op.OneResult().Type().(*ir.TensorType)
	enc := loadedThrough(descriptor(op), t)
	buffer := b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(c, ttg.MemDescType{
		Shape: t.Shape, Elem: t.Elem, Encoding: enc, Space: ttg.SharedMemory(c), Mutable: true,
	})).OneResult()
	barrier := b.Op(ttg.LocalAlloc, nil, barriersType(b, 0)).OneResult()
	newBarrier(b, barrier)
	size, _ := elemBytes(t.Elem)
	expect(b, barrier, tensors.Elements(t)*size)
	startLoad(b, op, buffer, barrier)
	wait(b, barrier, i32(b, 0))
	endBarrier(b, barrier)
	for u := range op.OneResult().Users() {
		if u.Is(ttg.LocalAlloc) && u.OneResult().Type().(*ttg.MemDescType).Encoding == ir.Attribute(enc) {
			u.ReplaceAllUsesWith(buffer)
			u.Erase()
		}
	}
	makeMutable(c, buffer)
	if op.HasUses() {
		op.ReplaceAllUsesWith(b.Op(ttg.LocalLoad, []*ir.Value{buffer}, t).OneResult())
	}
}

// makeMutable gives what else stands for a mutable buffer types that say so: its views,
// and what waits for the dots that read it give back.
func makeMutable(c *ir.Context, buffer *ir.Value) {
	for u := range buffer.Uses() {
		var same *ir.Value
		switch op := u.Owner(); {
		case ttg.Viewed(op) == u.Value():
			same = op.OneResult()
		case ttng.Is(op, "warp_group_dot_wait"):
			same = op.Result(ttng.AsWarpGroupDotWait(op).InputsIndex(u))
		default:
			continue
		}
		t := *same.Type().(*ttg.MemDescType)
		t.Mutable = true
		same.SetType(ttg.MemDesc(c, t))
		makeMutable(c, same)
	}
}

// lowerStore makes a copy out of a buffer that is filled with the block, and waits
// until it has been read.
func lowerStore(b *ir.Builder, op *ir.Operation) {
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{stored(op)}, bufferType(op, false)).OneResult()
	startStore(b, op, buffer)
	waitForStores(b)
}

// descriptorBytes is the size of a descriptor, and its alignment.
const descriptorBytes = 128

// Modes of a descriptor, as PTX's tensormap.replace numbers them.
var (
	swizzleModes = map[int]int64{0: 0, 32: 1, 64: 2, 128: 3}
	fillModes    = map[int64]int64{tt.PadZero: 0, tt.PadNaN: 1}
)

// CheckDescriptors checks that TMA knows the layouts in which descriptors say that their
// blocks are in shared memory, and that each CTA's part of a block has one. The host makes
// those that a kernel takes, and loads through them leave blocks in a layout of TMA's.
func CheckDescriptors(module *ir.Operation) (err error) {
	check := func(op *ir.Operation, v *ir.Value) {
		desc, ok := v.Type().(*tt.TensorDescType)
		if !ok || desc.Block.Encoding == nil || err != nil {
			return
		}
		var enc *layout.NVMMAShared
		if a, ok := desc.Block.Encoding.(*encoding.Attr); ok {
			enc, _ = a.Layout.(*layout.NVMMAShared)
		}
		if enc == nil && op.Is(tt.MakeTensorDesc) {
			err = diag.Errorf(std.PosOf(op.Loc()), "blocks of a descriptor are in a layout that TMA does not know").
				WithHelp("it knows #ttg.nvmma_shared")
		}
		if enc == nil {
			return
		}
		if _, misfit := layout.PartOf(enc, desc.Block.Shape); misfit != nil {
			err = diag.Errorf(std.PosOf(op.Loc()), "blocks of a descriptor do not fit their layout: %v", misfit)
		}
	}
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(tt.Func) && op.Body() != nil:
			for _, arg := range op.Body().Args() {
				check(op, arg)
			}
		case op.Is(tt.MakeTensorDesc):
			check(op, op.OneResult())
		}
		return ir.Advance
	})
	return err
}

// lowerDescriptor makes what writes a descriptor, and returns it.
func lowerDescriptor(b *ir.Builder, op tt.MakeTensorDescOp) *ir.Value {
	if isRepeated(op.Op) {
		waitForUses(b, op)
	}
	b.SetBefore(outermost(op.Op))
	memory := newMaps(b, 1)
	b.At(op.Op)
	return writeDescriptor(b, op, memory)
}

// waitForUses waits for stores through the descriptor that was where op makes one.
func waitForUses(b *ir.Builder, op tt.MakeTensorDescOp) {
	if !onlyLoadsThrough(op.Result(), make(map[*ir.Value]bool)) {
		waitForStores(b)
	}
}

// onlyLoadsThrough reports whether nothing is stored through a descriptor, also where
// conditions and loops hand it on. What of those has been seen counts as such.
func onlyLoadsThrough(desc *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[desc] {
		return true
	}
	seen[desc] = true
	for use := range desc.Uses() {
		u := use.Owner()
		switch {
		case ttng.Is(u, "async_tma_copy_global_to_local"), ttng.Is(u, "async_tma_gather"), u.Is(tt.DescriptorLoad), u.Is(tt.DescriptorGather):
		case u.Is(scf.Yield) && u.Parent().Is(scf.If):
			if !onlyLoadsThrough(u.Parent().Result(use.Index()), seen) {
				return false
			}
		case u.Is(scf.Yield) && u.Parent().Is(scf.For):
			if !onlyLoadsThrough(u.Parent().Result(use.Index()), seen) || !onlyLoadsThrough(scf.IterArgs(u.Parent())[use.Index()], seen) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// newMaps makes global memory of the program's own for n descriptors.
func newMaps(b *ir.Builder, n int) *ir.Value {
	c := b.Context()
	return b.Create(ttg.GlobalScratchAlloc, ir.State{
		Types: []ir.Type{tt.Ptr(c, c.Int(8))},
		Attrs: []ir.NamedAttr{int32Attr(b, "alignment", descriptorBytes), int32Attr(b, "nbytes", int64(n)*descriptorBytes)},
	}).OneResult()
}

// writeDescriptor makes what writes a descriptor to memory, and returns it.
func writeDescriptor(b *ir.Builder, op tt.MakeTensorDescOp, memory *ir.Value) *ir.Value {
	c := b.Context()
	desc := op.Result().Type().(*tt.TensorDescType)
	size, _ := elemBytes(desc.Block.Elem)
	enc := desc.Block.Encoding.(*encoding.Attr).Layout.(*layout.NVMMAShared)
	rank := len(desc.Block.Shape)
	// TMA counts dimensions from the fastest on, and needs no stride of that one.
	operands := []*ir.Value{memory, op.Base()}
	constant := sharedI32(op.Op)
	for _, n := range slices.Backward(boxOf(enc, desc.Block.Shape)) {
		operands = append(operands, constant(b, n))
	}
	for _, n := range slices.Backward(op.Shape()) {
		operands = append(operands, n)
	}
	for _, n := range slices.Backward(op.Strides()[:rank-1]) {
		if size > 1 {
			n = arith.Binary(b, arith.MulI, n, arith.Int(b, c.Int(64), size))
		}
		operands = append(operands, n)
	}
	for range rank {
		operands = append(operands, constant(b, 1))
	}
	pad := op.Padding()
	if pad != tt.PadNaN {
		pad = tt.PadZero
	}
	r := int32(rank)
	b.Create(ttng.Def("tensormap_create"), ir.State{
		Operands: operands, Segments: []int32{1, 1, r, r, r - 1, r},
		Attrs: []ir.NamedAttr{
			int32Attr(b, "elem_type", elemType(desc.Block.Elem)), int32Attr(b, "fill_mode", fillModes[pad]),
			int32Attr(b, "interleave_layout", 0), int32Attr(b, "swizzle_mode", swizzleModes[enc.SwizzlingByteWidth]),
		},
	})
	b.Op(ttng.Def("tensormap_fenceproxy_acquire"), []*ir.Value{memory})
	return b.Op(ttng.Def("reinterpret_tensor_descriptor"), []*ir.Value{memory}, desc).OneResult()
}

// sharedI32 makes constants before op, each once; those of op's block serve as well.
func sharedI32(op *ir.Operation) func(*ir.Builder, int64) *ir.Value {
	have := make(map[int64]*ir.Value)
	for o := range op.Block().Ops() {
		if o == op {
			break
		}
		if o.Is(arith.Constant) && o.OneResult().Type() == op.Context().I32() {
			if n, ok := arith.ConstantInt(o.OneResult()); ok && have[n] == nil {
				have[n] = o.OneResult()
			}
		}
	}
	return func(b *ir.Builder, n int64) *ir.Value {
		if have[n] == nil {
			have[n] = i32(b, n)
		}
		return have[n]
	}
}

// isRepeated reports whether op may be executed more than once: in a loop, or in blocks
// that branch to one another.
func isRepeated(op *ir.Operation) bool {
	for p := op; p.Parent() != nil; p = p.Parent() {
		if p.Parent().Is(scf.For) || p.Parent().Is(scf.While) || p.Block().Region().First() != p.Block().Region().Last() {
			return true
		}
	}
	return false
}

// outermost is the outermost loop or condition around op, or op.
func outermost(op *ir.Operation) *ir.Operation {
	for p := op.Parent(); p.Is(scf.For) || p.Is(scf.While) || p.Is(scf.If); p = p.Parent() {
		op = p
	}
	return op
}

// maxBox is the largest extent of a box.
const maxBox = 256

// boxOf is the box that one instruction copies: the part of the block that a CTA has,
// cut to the largest box
// and to rows of the swizzle's width. Larger blocks take several.
func boxOf(enc *layout.NVMMAShared, block []int64) []int64 {
	box, err := layout.PartOf(enc, block)
	if err != nil {
		panic("BUG: tma: " + err.Error())
	}
	for i := range box {
		box[i] = min(box[i], maxBox)
	}
	if enc.SwizzlingByteWidth > 0 && enc.ElementBitWidth > 0 {
		box[len(box)-1] = int64(8 * enc.SwizzlingByteWidth / enc.ElementBitWidth)
	}
	return box
}

// elemType is an element type's number in PTX's tensormap.replace.
func elemType(t ir.Type) int64 {
	const (
		u8, u16, u32, s32, u64, s64 = 0, 1, 2, 3, 4, 5
		f16, f32, f64, bf16         = 6, 7, 9, 10
	)
	if f, ok := t.(*ir.FloatType); ok {
		switch f.Kind {
		case ir.F16:
			return f16
		case ir.BF16:
			return bf16
		case ir.F32:
			return f32
		case ir.F64:
			return f64
		}
	}
	signed := false
	if i, ok := t.(*ir.IntegerType); ok {
		signed = i.Sign != ir.Unsigned
	}
	switch ir.BitWidth(t) {
	case 8:
		return u8
	case 16:
		return u16
	case 32:
		if signed {
			return s32
		}
		return u32
	case 64:
		if signed {
			return s64
		}
		return u64
	}
	panic("BUG: tma: no elements of type " + t.TypeDialect())
}
