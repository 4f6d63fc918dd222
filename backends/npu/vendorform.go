package npu

import (
	"slices"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// Attributes of the kernel that the vendor's compiler looks at, and what they hold.
const (
	lockArgAttr      = "SyncBlockLockArgIdx"
	workspaceArgAttr = "WorkspaceArgIdx"
	globalKernelAttr = "global_kernel"
	mixModeAttr      = "mix_mode"
	parallelModeAttr = "parallel_mode"
	tensorKindAttr   = "tt.tensor_kind"

	vectorMode, mixedMode = "aiv", "mix"
	simdMode              = "simd"
)

// What a kernel does with the memory of an argument, as tt.tensor_kind counts.
const (
	kindRead = iota
	kindWritten
	kindBoth
)

// vendorKernel is what the vendor's compiler and a launch must know of a kernel.
type vendorKernel struct {
	mixMode     string
	together    bool  // programs wait for one another
	tensorKinds []int // of the arguments that are memory, in order
}

// toVendorForm gives the kernel of a module of the stage ttadapter the form that the
// vendor's compiler takes: two arguments before its own, memory for locks and the workspace,
// attributes that say so, and the operations of its own.
func toVendorForm(module *ir.Operation) vendorKernel {
	ctx := module.Context()
	module.SetAttr(ir.AnyBlockSizes, nil)
	k := vendorKernel{mixMode: vectorMode}
	for f := range module.Body().Ops() {
		if !f.Is(linalg.Func) || f.IsPrivate() {
			continue
		}
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			if op.Is(linalg.Matmul) || op.Is(linalg.BatchMatmul) {
				k.mixMode = mixedMode
			}
			return ir.Advance
		})
		entry := linalg.AsFunc(f).Body().First()
		attrs := argAttrs(f, entry.NumArgs())
		for i, arg := range entry.Args() {
			if linalg.MemRefOf(ctx, arg.Type()) == nil {
				continue
			}
			kind := kindOf(arg)
			k.tensorKinds = append(k.tensorKinds, kind)
			attrs[i] = with(ctx, attrs[i], ir.NamedAttr{Name: tensorKindAttr, Attr: ctx.I32Attr(int64(kind))})
		}
		if f.HasAttr(lockArgAttr) { // a file that has the form already
			continue
		}
		own := (&linalg.MemRef{Shape: []int64{linalg.Dynamic}, Elem: ctx.Int(8)}).Type(ctx)
		for range 2 {
			entry.InsertArg(0, own, f.Loc())
			attrs = append([]ir.Attribute{ctx.DictAttr()}, attrs...)
		}
		var in []ir.Type
		for _, arg := range entry.Args() {
			in = append(in, arg.Type())
		}
		linalg.AsFunc(f).SetFunctionType(ctx.Func(in, nil))
		linalg.AsFunc(f).SetArgAttrs(ctx.ArrayAttr(attrs...))
		f.SetAttr(lockArgAttr, ctx.I64Attr(0))
		f.SetAttr(workspaceArgAttr, ctx.I64Attr(1))
		f.SetAttr(globalKernelAttr, ctx.StringAttr("local"))
		f.SetAttr(mixModeAttr, ctx.StringAttr(k.mixMode))
		f.SetAttr(parallelModeAttr, ctx.StringAttr(simdMode))
	}
	k.together = adapter.Together(module, k.mixMode == mixedMode)
	adapter.Vendor(module)
	return k
}

// argAttrs are the attributes of the arguments of a function, one for each.
func argAttrs(f *ir.Operation, n int) []ir.Attribute {
	if a, ok := linalg.AsFunc(f).ArgAttrs().(*ir.ArrayAttr); ok && len(a.Elems) == n {
		return slices.Clone(a.Elems)
	}
	list := make([]ir.Attribute, n)
	for i := range list {
		list[i] = f.Context().DictAttr()
	}
	return list
}

// with is a dictionary with one entry more.
func with(ctx *ir.Context, dict ir.Attribute, entry ir.NamedAttr) ir.Attribute {
	var entries []ir.NamedAttr
	if d, ok := dict.(*ir.DictAttr); ok {
		entries = slices.DeleteFunc(slices.Clone(d.Entries), func(e ir.NamedAttr) bool { return e.Name == entry.Name })
	}
	return ctx.DictAttr(append(entries, entry)...)
}

// kindOf says what is done with memory. What is neither read nor written counts as read.
func kindOf(memory *ir.Value) int {
	read, written := accesses(memory)
	switch {
	case read && written:
		return kindBoth
	case written:
		return kindWritten
	}
	return kindRead
}

// accesses reports whether memory, or part of it, is read and written.
func accesses(memory *ir.Value) (read, written bool) {
	for u := range memory.Uses() {
		op := u.Owner()
		r, w := false, false
		switch {
		case op.Is(linalg.ReinterpretCast) || op.Is(linalg.SubView):
			r, w = accesses(op.OneResult())
		case op.Is(linalg.Copy):
			r, w = linalg.AsCopy(op).Source() == memory, linalg.AsCopy(op).Target() == memory
		case op.Is(linalg.Load) || op.Is(linalg.ToTensor):
			r = true
		case op.Is(linalg.Store) || op.Is(linalg.Materialize):
			w = true
		default: // atomic operations
			r, w = true, true
		}
		read, written = read || r, written || w
	}
	return read, written
}
