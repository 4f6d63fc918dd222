package gpu

import (
	"errors"
	"fmt"
	"sync"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// The operations of the dialect tti, which checks of concurrent accesses consist of. What
// threads hold of the tables that the checks look at is the same in each, so that the first
// speaks for all.

// ttiOps is the table of the operations.
var ttiOps = sync.OnceValue(func() map[string]*lower.VendorOp {
	ops := make(map[string]*lower.VendorOp)
	for name, f := range map[string]func(*lower.Site, *ir.Operation) error{
		"experimental_assert_in_thread": assertInThread,
		"experimental_buffer_pointers":  bufferPointers,
		"experimental_memdesc_to_i64":   bufferAddress,
		"experimental_lock_acquire":     acquireLock,
		"experimental_lock_release":     releaseLock,
	} {
		ops[tti.Name+"."+name] = &lower.VendorOp{Lower: f}
	}
	return ops
})

// isFirstThread is an i1 that holds in the first of the threads that run an operation.
func isFirstThread(s *lower.Site) llir.Value {
	return s.B.ICmp(enum.IPredEQ, s.Thread, s.B.M.I32(0))
}

// assertInThread stops the program unless the condition holds for all elements, or for
// any, that the first thread has.
func assertInThread(s *lower.Site, op *ir.Operation) error {
	v := tti.AsExperimentalAssertInThread(op)
	var ok llir.Value
	for _, x := range s.Value(v.Condition()) {
		switch {
		case ok == nil:
			ok = x
		case v.CheckAny():
			ok = s.B.Or(ok, x)
		default:
			ok = s.B.And(ok, x)
		}
	}
	s.Assert(s.B.Or(ok, s.B.ICmp(enum.IPredNE, s.Thread, s.B.M.I32(0))), v.Message())
	return nil
}

// bufferPointers makes the addresses of buffers, by where they were when the operation was
// made.
func bufferPointers(s *lower.Site, op *ir.Operation) error {
	v := tti.AsExperimentalBufferPointers(op)
	if v.MemType() != 0 {
		return errors.New("tensor memory is in no GPU that tritonc compiles for")
	}
	places, err := addressesNow(s)
	if err != nil {
		return err
	}
	coords, err := s.Coords(v.Result(), 0)
	if err != nil {
		return err
	}
	offsets := v.Offsets()
	regs := make([]llir.Value, len(coords))
	for r, x := range coords {
		i, ok := llir.ConstInt(x)
		if !ok || int(i) >= len(offsets) {
			return errors.New("each thread must hold all addresses")
		}
		at := offsets[i]
		if now, ok := places[at]; ok {
			at = now
		}
		if at < 0 {
			return fmt.Errorf("buffers that shared the bytes from %d on no longer do: what a check knows of one would be about the other", offsets[i])
		}
		regs[r] = s.B.Cast(llir.PtrToInt, s.SharedAt(at), llir.I64, 0)
	}
	s.Set(v.Result(), regs...)
	return nil
}

// addressesNow says where the buffers are, and parts of them along the first dimension, by
// where the module says that they were; -1 where several were that are apart now.
func addressesNow(s *lower.Site) (map[int64]int64, error) {
	places := make(map[int64]int64)
	var err error
	s.Allocs(func(alloc *ir.Operation, at int64) {
		said, ok := alloc.IntAttr(ttg.OffsetAttr)
		if !ok {
			err = fmt.Errorf("a buffer has no attribute %s; run the pass allocate-shared-memory-nv before the one that makes this operation", ttg.OffsetAttr)
			return
		}
		t := ttg.AsLocalAlloc(alloc).Result().Type().(*ttg.MemDescType)
		size := int64(ir.BitWidth(t.Elem))
		for _, n := range t.Shape[1:] {
			size *= n
		}
		for i := range t.Shape[0] {
			part := i * size / 8
			if now, ok := places[said+part]; ok && now != at+part {
				places[said+part] = -1
			} else {
				places[said+part] = at + part
			}
		}
	})
	return places, err
}

// bufferAddress makes the address of a buffer.
func bufferAddress(s *lower.Site, op *ir.Operation) error {
	v := tti.AsExperimentalMemdescToI64(op)
	buf, err := s.Buffer(v.Memdesc())
	if err != nil {
		return err
	}
	off, err := buf.Place(make([]int64, len(buf.Type.Shape)))
	if err != nil {
		return err
	}
	s.Set(v.Result(), s.B.Cast(llir.PtrToInt, s.B.PtrAdd(buf.Ptr, off), llir.I64, 0))
	return nil
}

// acquireLock has the first thread take the lock, for which all wait.
func acquireLock(s *lower.Site, op *ir.Operation) error {
	v := tti.AsExperimentalLockAcquire(op)
	var a assembly
	a.str("{\n\t.reg .pred taken;\n\t.reg .b32 old;\n\t@!")
	a.ref(a.in("b", where(s, isFirstThread(s), v.Pred())))
	a.str(" bra done;\n\ttry:\n\tatom.global.acquire.gpu.cas.b32 old, ")
	a.address("l", s.Value(v.Lock())[0], 0)
	a.str(", 0, 1;\n\tsetp.ne.b32 taken, old, 0;\n\t@taken bra try;\n\tdone:\n}")
	a.emit(s.B, nil)
	s.Barrier()
	return nil
}

// releaseLock has the first thread give the lock back when all are done.
func releaseLock(s *lower.Site, op *ir.Operation) error {
	v := tti.AsExperimentalLockRelease(op)
	s.Barrier()
	var a assembly
	a.str("{\n\t.reg .b32 old;\n\t")
	a.predicate(where(s, isFirstThread(s), v.Pred()))
	a.str("atom.global.acq_rel.gpu.exch.b32 old, ")
	a.address("l", s.Value(v.Lock())[0], 0)
	a.str(", 0;\n}")
	a.emit(s.B, nil)
	return nil
}

// where is cond where pred, an operand or nil, holds, too.
func where(s *lower.Site, cond llir.Value, pred *ir.Value) llir.Value {
	if pred == nil {
		return cond
	}
	return s.B.And(cond, s.Value(pred)[0])
}
