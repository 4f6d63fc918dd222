//lint:file-ignore ST1005 these messages are Triton's, word for word

package amdg

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// verifiers check what the declaration cannot say. They run where this backend
// reads a module, whoever wrote it.
var verifiers = map[string]func(*ir.Operation) error{
	"buffer_load":                    verifyBufferLoad,
	"buffer_store":                   verifyBufferStore,
	"buffer_atomic_rmw":              verifyBufferAtomicRMW,
	"buffer_atomic_cas":              verifyBufferAtomicCAS,
	"buffer_load_to_local":           verifyBufferLoadToLocal,
	"extract_slice":                  verifyExtractSlice,
	"concat":                         verifyConcat,
	"in_thread_transpose":            verifyInThreadTranspose,
	"local_load_packed_tranposed":    verifyLocalLoadPackedTransposed,
	"instruction_sched_hint":         verifySchedHint,
	"upcast_mxfp":                    verifyUpcastMXFP,
	"scaled_upcast_fp4":              verifyScaledUpcastFP4,
	"scaled_upcast_fp8":              verifyScaledUpcastFP8,
	"async_wait":                     notNegative(func(op *ir.Operation) (string, int64) { return "num_inst", AsAsyncWait(op).NumInst() }),
	"async_tdm_wait":                 notNegative(func(op *ir.Operation) (string, int64) { return "num", AsAsyncTdmWait(op).Num() }),
	"async_tdm_copy_global_to_local": verifyTDMLoad,
	"async_tdm_copy_local_to_global": verifyTDMStore,
	"init_barrier": func(op *ir.Operation) error {
		return verifyCounted(AsInitBarrier(op).Alloc(), AsInitBarrier(op).Count())
	},
	"arrive_barrier": func(op *ir.Operation) error {
		return verifyCounted(AsArriveBarrier(op).Alloc(), AsArriveBarrier(op).Count())
	},
	"wait_barrier":               func(op *ir.Operation) error { return verifyBarrier(AsWaitBarrier(op).Alloc()) },
	"async_copy_mbarrier_arrive": func(op *ir.Operation) error { return verifyBarrier(AsAsyncCopyMbarrierArrive(op).Barrier()) },
}

func notNegative(attr func(*ir.Operation) (string, int64)) func(*ir.Operation) error {
	return func(op *ir.Operation) error {
		if name, n := attr(op); n < 0 {
			return fmt.Errorf("%s must not be negative", name)
		}
		return nil
	}
}

func verifySchedHint(op *ir.Operation) error {
	if _, ok := HintOf(op); !ok {
		return fmt.Errorf("variant must be a #%s.SchedHintVariant", Name)
	}
	return nil
}

// access is an access through a buffer descriptor: its pointer, offsets and mask, and the
// tensors of values that must look like the offsets.
type access struct {
	ptr, offsets, mask *ir.Value
	values             []*ir.Value
}

// verify checks that the parts of an access fit together.
func (a access) verify() error {
	offsets := a.offsets.Type().(*ir.TensorType)
	fits := func(v *ir.Value) bool {
		t, ok := v.Type().(*ir.TensorType)
		return ok && slices.Equal(t.Shape, offsets.Shape) && encoding.Same(t.Shape, t.Encoding, offsets.Encoding)
	}
	for _, v := range a.values {
		if v == nil {
			continue
		}
		if !fits(v) {
			return fmt.Errorf("values and offsets must have the same shape and layout")
		}
		if ir.ElemOf(v.Type()) != a.ptr.Type().(*tt.PtrType).Pointee {
			return fmt.Errorf("values must be of the type that ptr points to")
		}
	}
	if a.mask != nil && !fits(a.mask) {
		return fmt.Errorf("mask and offsets must have the same shape and layout")
	}
	return nil
}

func verifyBufferLoad(op *ir.Operation) error {
	v := AsBufferLoad(op)
	return access{v.Ptr(), v.Offsets(), v.Mask(), []*ir.Value{v.Result(), v.Other()}}.verify()
}

func verifyBufferStore(op *ir.Operation) error {
	v := AsBufferStore(op)
	return access{v.Ptr(), v.Offsets(), v.Mask(), []*ir.Value{v.Value()}}.verify()
}

func verifyBufferAtomicRMW(op *ir.Operation) error {
	v := AsBufferAtomicRmw(op)
	return access{v.Ptr(), v.Offsets(), v.Mask(), []*ir.Value{v.Value(), v.Result()}}.verify()
}

func verifyBufferAtomicCAS(op *ir.Operation) error {
	v := AsBufferAtomicCas(op)
	return access{v.Ptr(), v.Offsets(), nil, []*ir.Value{v.Cmp(), v.Val(), v.Result()}}.verify()
}

func verifyBufferLoadToLocal(op *ir.Operation) error {
	v := AsBufferLoadToLocal(op)
	if err := (access{v.Ptr(), v.Offsets(), v.Mask(), []*ir.Value{v.Other()}}).verify(); err != nil {
		return err
	}
	dest := v.Dest().Type().(*ttg.MemDescType)
	if dest.Elem != v.Ptr().Type().(*tt.PtrType).Pointee {
		return fmt.Errorf("dest must be of the type that ptr points to")
	}
	if !dest.Mutable {
		return fmt.Errorf("cannot store into immutable memory")
	}
	return nil
}

// verifyBarrier checks that v can hold a barrier.
func verifyBarrier(v *ir.Value) error {
	m := v.Type().(*ttg.MemDescType)
	if !ir.IsInt(m.Elem, 64) || !slices.Equal(m.Shape, []int64{1}) {
		return fmt.Errorf("barrier allocation must be a descriptor of 1xi64 type")
	}
	return nil
}

func verifyCounted(barrier *ir.Value, count int64) error {
	if err := verifyBarrier(barrier); err != nil {
		return err
	}
	if count < 1 {
		return fmt.Errorf("count must be greater than or equal to 1")
	}
	return nil
}

// maxTDMBlock is how long a dimension of a block that a descriptor copies may be.
const maxTDMBlock = 1<<16 - 1

// verifyTDM checks a copy between a descriptor's block and LDS.
func verifyTDM(desc, buffer *ir.Value) (layout.Encoding, error) {
	for i, n := range desc.Type().(*tt.TensorDescType).Block.Shape {
		if n > maxTDMBlock {
			return nil, fmt.Errorf("TDM block dimension %d (%d) exceeds maximum size of %d", i, n, maxTDMBlock)
		}
	}
	var e layout.Encoding
	if a, ok := buffer.Type().(*ttg.MemDescType).Encoding.(*encoding.Attr); ok {
		e = a.Layout
	}
	switch e := e.(type) {
	case *layout.SwizzledShared:
		if e.MaxPhase != 1 {
			return nil, fmt.Errorf("TDM does not support swizzling")
		}
	case *layout.PaddedShared:
	default:
		return nil, fmt.Errorf("Invalid shared memory layout for TDM")
	}
	return e, nil
}

// dwordBits are the bits of the unit in which the copy engine pads.
const dwordBits = 32

func verifyTDMLoad(op *ir.Operation) error {
	v := AsAsyncTdmCopyGlobalToLocal(op)
	e, err := verifyTDM(v.Desc(), v.Result())
	if err != nil {
		return err
	}
	padded, ok := e.(*layout.PaddedShared)
	if !ok {
		return nil
	}
	bits := ir.BitWidth(v.Result().Type().(*ttg.MemDescType).Elem)
	for i, every := range padded.Intervals {
		if every*bits/dwordBits < 2 {
			return fmt.Errorf("TDM padding interval must be at least 2 dwords")
		}
		if padded.Paddings[i]*bits/dwordBits < 1 {
			return fmt.Errorf("TDM padding amount must be at least 1 dword")
		}
	}
	return nil
}

func verifyTDMStore(op *ir.Operation) error {
	v := AsAsyncTdmCopyLocalToGlobal(op)
	e, err := verifyTDM(v.Desc(), v.Src())
	if err != nil {
		return err
	}
	if _, padded := e.(*layout.PaddedShared); padded {
		return fmt.Errorf("TDM store does not support padding")
	}
	return nil
}
