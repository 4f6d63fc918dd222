package ttng

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/layout"
)

// verifiers check what the declaration cannot say. They run where this backend
// reads a module, whoever wrote it.
var verifiers = map[string]func(*ir.Operation) error{
	"warp_group_dot":                 verifyWarpGroupDot,
	"warp_group_dot_wait":            verifyWarpGroupDotWait,
	"init_barrier":                   verifyInitBarrier,
	"inval_barrier":                  ofBarrier(func(op *ir.Operation) *ir.Value { return AsInvalBarrier(op).Alloc() }),
	"barrier_expect":                 verifyBarrierExpect,
	"wait_barrier":                   ofBarrier(func(op *ir.Operation) *ir.Value { return AsWaitBarrier(op).Alloc() }),
	"arrive_barrier":                 verifyArriveBarrier,
	"async_copy_mbarrier_arrive":     ofBarrier(func(op *ir.Operation) *ir.Value { return AsAsyncCopyMbarrierArrive(op).Barrier() }),
	"async_tma_copy_global_to_local": verifyCopyToLocal,
	"async_tma_copy_local_to_global": verifyCopyToGlobal,
	"async_tma_reduce":               verifyReduce,
	"async_tma_gather":               verifyGather,
	"async_tma_scatter":              verifyScatter,
	"async_tma_store_wait":           verifyPendings,
	"tc_gen5_mma":                    verifyMMA,
	"tc_gen5_mma_scaled":             verifyMMAScaled,
	"tc_gen5_commit":                 ofBarrier(func(op *ir.Operation) *ir.Value { return AsTcGen5Commit(op).Barrier() }),
	"tmem_alloc":                     verifyTensorMemoryAlloc,
	"tmem_load":                      verifyTensorMemoryLoad,
	"tmem_store":                     verifyTensorMemoryStore,
	"tmem_subslice":                  verifyTensorMemorySubslice,
	"tmem_copy":                      verifyTensorMemoryCopy,
	"tensormap_create":               verifyTensormapCreate,
}

func buffer(v *ir.Value) *ttg.MemDescType { return v.Type().(*ttg.MemDescType) }

func inShared(m *ttg.MemDescType) bool {
	_, ok := m.Space.(*ttg.SharedMemoryAttr)
	return ok
}

// sharedLayout is the layout of a buffer in shared memory, nil for others.
func sharedLayout(m *ttg.MemDescType) layout.Encoding {
	if a, ok := m.Encoding.(*encoding.Attr); ok {
		return a.Layout
	}
	return nil
}

// tensorMemory is the encoding of that name, "tensor_memory_encoding" or
// "tensor_memory_scales_encoding", of a buffer; nil if it has another one.
func tensorMemory(m *ttg.MemDescType, name string) *decl.AttrValue {
	if a, ok := m.Encoding.(*decl.AttrValue); ok && a.AttrDialect() == Name && a.Name() == name {
		return a
	}
	return nil
}

// IsScales reports whether an encoding is that of scales in tensor memory.
func IsScales(encoding ir.Attribute) bool {
	a, ok := encoding.(*decl.AttrValue)
	return ok && a.AttrDialect() == Name && a.Name() == scalesEncoding
}

const (
	matrixEncoding = "tensor_memory_encoding"
	scalesEncoding = "tensor_memory_scales_encoding"
)

func inTensorMemory(m *ttg.MemDescType) bool {
	a, ok := m.Space.(*decl.AttrValue)
	return ok && a.AttrDialect() == Name && a.Name() == "tensor_memory"
}

// bits is the width of an element type, 0 for one without.
func bits(t ir.Type) int {
	switch t := t.(type) {
	case *ir.IntegerType:
		return t.Width
	case *ir.FloatType:
		return t.Kind.Width()
	}
	return 0
}

// verifyBarrier checks that v can hold an mbarrier.
func verifyBarrier(v *ir.Value) error {
	m := buffer(v)
	if !ir.IsInt(m.Elem, 64) || !slices.Equal(m.Shape, []int64{1}) {
		return fmt.Errorf("barrier allocation must be a descriptor of 1xi64 type")
	}
	if !inShared(m) {
		return fmt.Errorf("a barrier must be in shared memory")
	}
	return nil
}

// ofBarrier checks operations of which only the barrier needs it.
func ofBarrier(barrier func(*ir.Operation) *ir.Value) func(*ir.Operation) error {
	return func(op *ir.Operation) error { return verifyBarrier(barrier(op)) }
}

func atLeast(attr string, n, least int64) error {
	if n < least {
		return fmt.Errorf("%s must be greater than or equal to %d", attr, least)
	}
	return nil
}

func verifyInitBarrier(op *ir.Operation) error {
	if err := verifyBarrier(AsInitBarrier(op).Alloc()); err != nil {
		return err
	}
	if n := AsInitBarrier(op).Count(); n < 1 || n > maxArrivals {
		return fmt.Errorf("count must be from 1 to %d, not %d", maxArrivals, n)
	}
	return nil
}

// maxArrivals is the largest count of arrivals that an mbarrier can expect.
const maxArrivals = 1<<20 - 1

func verifyBarrierExpect(op *ir.Operation) error {
	v := AsBarrierExpect(op)
	if err := verifyBarrier(v.Alloc()); err != nil {
		return err
	}
	return atLeast("size", v.Size(), 0)
}

func verifyArriveBarrier(op *ir.Operation) error {
	v := AsArriveBarrier(op)
	if err := verifyBarrier(v.Alloc()); err != nil {
		return err
	}
	return atLeast("count", v.Count(), 1)
}

func verifyPendings(op *ir.Operation) error {
	return atLeast("pendings", AsAsyncTmaStoreWait(op).Pendings(), 0)
}

func verifyWarpGroupDotWait(op *ir.Operation) error {
	if op.NumOperands() == 0 {
		return fmt.Errorf("expected to be waiting on at least one dependency")
	}
	return atLeast("pendings", AsWarpGroupDotWait(op).Pendings(), 0)
}

// matrix is what a dot's operand says of itself, in registers or in memory.
type matrix struct {
	shape  []int64
	elem   ir.Type
	layout layout.Encoding // nil: none, or one of tensor memory
}

func matrixOf(t ir.Type) matrix {
	if m, ok := t.(*ttg.MemDescType); ok {
		return matrix{m.Shape, m.Elem, sharedLayout(m)}
	}
	tensor := t.(*ir.TensorType)
	return matrix{tensor.Shape, tensor.Elem, encoding.Get(t)}
}

// isWGMMAShared reports whether wgmma and tcgen05 can read a matrix of that layout
// from shared memory.
func isWGMMAShared(l layout.Encoding) bool {
	switch l.(type) {
	case *layout.NVMMAShared, *layout.SharedLinear:
		return true
	}
	return false
}

func verifyWarpGroupDot(op *ir.Operation) error {
	v := AsWarpGroupDot(op)
	if v.C().Type() != v.D().Type() {
		return fmt.Errorf("result's type must match the accumulator's type")
	}
	a, b, d := matrixOf(v.A().Type()), matrixOf(v.B().Type()), matrixOf(v.D().Type())
	mma, ok := d.layout.(*layout.NvidiaMMA)
	if !ok || mma.VersionMajor != 3 {
		return fmt.Errorf("WGMMA result layout must be Hopper NVMMA")
	}
	dot, inRegisters := a.layout.(*layout.DotOp)
	if !inRegisters && !isWGMMAShared(a.layout) {
		return fmt.Errorf("WGMMA A operand must have NVMMA shared or dot layout")
	}
	if !isWGMMAShared(b.layout) {
		return fmt.Errorf("WGMMA B operand must have NVMMA shared layout")
	}
	if _, tensor := v.A().Type().(*ir.TensorType); tensor != inRegisters {
		return fmt.Errorf("the layout of the A operand is of another memory than the operand")
	}
	if n := warpsAt(op); n%4 != 0 {
		return fmt.Errorf("WGMMA requires num_warps to be divisible by 4, not %d", n)
	}
	if len(d.shape) != 2 {
		return fmt.Errorf("WGMMA result shape must be 2D")
	}
	split := ctaSplit(mma.CGA)
	if m := d.shape[0] / split[0]; m == 0 || m%64 != 0 {
		return fmt.Errorf("WGMMA result M dimension must be divisible by 64, not %d", m)
	}
	if n := d.shape[1] / split[1]; n == 0 || n%8 != 0 {
		return fmt.Errorf("WGMMA result N dimension must be divisible by 8, not %d", n)
	}
	if err := verifyDotShapes(a.shape, b.shape, d.shape); err != nil {
		return err
	}
	for _, m := range []matrix{a, b} {
		if !wgmmaElem(m.elem) {
			return fmt.Errorf("WGMMA has no operands of %s", typeName(m.elem))
		}
	}
	if v.MaxNumImpreciseAcc() < 32 && isFP8(a.elem) && isF32(d.elem) {
		return fmt.Errorf("cannot use f32 as the accumulator element type when maxNumImpreciseAcc is less than 32")
	}
	if inRegisters {
		if want := 32 / bits(a.elem); dot.KWidth != want {
			return fmt.Errorf("in-register LHS operand must have a kWidth of %d but got %d", want, dot.KWidth)
		}
		// Results that differ in N alone have one layout of operand 0.
		want := &layout.DotOp{OpIdx: 0, Parent: mma, KWidth: dot.KWidth}
		if dot.OpIdx != 0 || !encoding.Same(a.shape, encoding.AttrOf(v.A().Type()), encoding.Of(op.Context(), want)) {
			return fmt.Errorf("in-register LHS operand must have the layout of operand 0 of the result's layout")
		}
	}
	return nil
}

// verifyDotShapes checks that M×K times K×N gives M×N.
func verifyDotShapes(a, b, d []int64) error {
	if len(a) != 2 || len(b) != 2 || len(d) != 2 {
		return fmt.Errorf("operands and result must be 2D")
	}
	if a[1] != b[0] {
		return fmt.Errorf("expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand: %d and %d", a[1], b[0])
	}
	if a[0] != d[0] || b[1] != d[1] {
		return fmt.Errorf("result shape %v must be %v", d, []int64{a[0], b[1]})
	}
	return nil
}

// ctaSplit is how many CTAs share each of two dimensions.
func ctaSplit(cga layout.Bases) [2]int64 {
	split := [2]int64{1, 1}
	for _, basis := range cga {
		for d, c := range basis {
			if c != 0 && d < len(split) {
				split[d] *= 2
			}
		}
	}
	return split
}

// warpsAt is the number of warps that execute op: of its partition, else of the
// module; 4 where nothing says.
func warpsAt(op *ir.Operation) int64 {
	for r, p := op.Block().Region(), op.Parent(); p != nil; p = p.Parent() {
		if p.Is(ttg.WarpSpecializePartitions) && p.Parent() != nil && p.Parent().Is(ttg.WarpSpecialize) {
			counts := ttg.AsWarpSpecialize(p.Parent()).PartitionNumWarps()
			if i := slices.Index(p.Regions(), r); i >= 0 && i < len(counts) {
				return counts[i]
			}
		}
		if n, ok := p.IntAttr(ttg.NumWarpsAttr); ok {
			return n
		}
		if p.Block() != nil {
			r = p.Block().Region()
		}
	}
	return 4
}

func wgmmaElem(t ir.Type) bool {
	if f, ok := t.(*ir.FloatType); ok {
		return isFP8(t) || f.Kind == ir.F16 || f.Kind == ir.BF16 || f.Kind == ir.F32 || f.Kind == ir.F64
	}
	return ir.IsInt(t, 8)
}

func isF32(t ir.Type) bool {
	f, ok := t.(*ir.FloatType)
	return ok && f.Kind == ir.F32
}

func isFP8(t ir.Type) bool {
	f, ok := t.(*ir.FloatType)
	return ok && (f.Kind == ir.F8E4M3FN || f.Kind == ir.F8E5M2)
}

func typeName(t ir.Type) string {
	switch t := t.(type) {
	case *ir.IntegerType:
		return fmt.Sprintf("i%d", t.Width)
	case *ir.FloatType:
		return t.Kind.String()
	case *tt.PtrType:
		return "pointers"
	}
	return "this type"
}
