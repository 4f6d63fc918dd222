package gpu

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Operations are those of the dialects amdg and rocdl that are lowered: the exchange of
// registers within a thread, buffer accesses, barriers of warps that take turns, and hints
// to schedulers.
func (t *Target) Operations() map[string]*lower.VendorOp {
	return map[string]*lower.VendorOp{
		"amdg.in_thread_transpose": {Lower: func(s *lower.Site, op *ir.Operation) error {
			v := amdg.AsInThreadTranspose(op)
			return s.Rearrange(v.Result(), v.Src())
		}},
		"amdg.upcast_mxfp":                 {Lower: t.upcastMXFP},
		"amdg.scaled_upcast_fp8":           {Lower: t.scaledUpcast8},
		"amdg.scaled_upcast_fp4":           {Lower: t.scaledUpcast4},
		"amdg.local_load_packed_tranposed": {Lower: loadPackedTransposed, Effects: readsFirst},
		"amdg.buffer_load":                 {Lower: t.bufferLoad},
		"amdg.buffer_store":                {Lower: t.bufferStore},
		"amdg.buffer_atomic_rmw":           {Lower: t.bufferAtomic, Atomic: true},
		"amdg.buffer_atomic_cas":           {Lower: t.bufferCompare, Atomic: true},
		"amdg.buffer_load_to_local":        {Lower: t.bufferCopy, Effects: copiesFirst},
		"amdg.async_wait":                  {Lower: t.asyncWait, Effects: waits},
		"amdg.cond_barrier":                {Lower: t.condBarrier, Effects: apart},
		"amdg.memory_counter_wait":         {Lower: t.counterWait},
		"rocdl.s.barrier":                  {Lower: meet, Effects: meets},
		"rocdl.workitem.id.x":              {Lower: threadNumber},
		"rocdl.sched.group.barrier":        {Lower: groupHint},
		"rocdl.s.setprio":                  {Lower: hint("llvm.amdgcn.s.setprio", "priority", llir.I16)},
		"rocdl.sched.barrier":              {Lower: hint("llvm.amdgcn.sched.barrier", "mask", llir.I32)},
	}
}

// Effects tells what operations of Operations do to LDS; false of others.
func (t *Target) Effects() func(*ir.Operation) (membar.Effects, bool) {
	table := t.Operations()
	return func(op *ir.Operation) (membar.Effects, bool) {
		if v := table[op.Name()]; v != nil && v.Effects != nil {
			return v.Effects(op), true
		}
		return membar.Effects{}, false
	}
}

// copiesFirst is the effect of operations that copy to the buffer of their first operand.
func copiesFirst(*ir.Operation) membar.Effects {
	return membar.Effects{Operands: []membar.Effect{membar.Copies}}
}

// waits is the effect of a wait for copies.
func waits(*ir.Operation) membar.Effects { return membar.Effects{Waits: true} }

// hint calls an intrinsic with an attribute of the operation.
func hint(intrinsic, attr string, t llir.Type) func(*lower.Site, *ir.Operation) error {
	return func(s *lower.Site, op *ir.Operation) error {
		n, _ := op.IntAttr(attr)
		b := s.B
		b.Call(b.M.Declare(intrinsic, llir.HasEffects, llir.Void, t), b.Trunc(b.M.I64(n), t))
		return nil
	}
}

// FenceAsync does nothing: no engine but the threads reads LDS.
func (*Target) FenceAsync(*llir.Builder) {}
