package gpu

import (
	"errors"
	"strconv"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// An mbarrier is 8 bytes of shared memory that count arrivals of threads and
// bytes of copies, phase by phase.

// barrierAt is the address of a barrier.
func barrierAt(s *lower.Site, v *ir.Value) (llir.Value, error) {
	buf, err := s.Buffer(v)
	if err != nil {
		return nil, err
	}
	if buf.Bytes != 8 || len(buf.Type.Shape) != 1 || buf.Type.Shape[0] != 1 {
		return nil, errors.New("a barrier is a buffer of one integer of 64 bits")
	}
	off, err := buf.Place([]int64{0})
	if err != nil {
		return nil, err
	}
	return s.B.PtrAdd(buf.Ptr, off), nil
}

// onBarrier appends "op [barrier], more;" for the leader where pred, which may be
// nil, holds.
func onBarrier(s *lower.Site, barrier, pred *ir.Value, op, more string) error {
	at, err := barrierAt(s, barrier)
	if err != nil {
		return err
	}
	var a assembly
	a.predicate(leaderWhere(s, pred))
	a.str(op + " ")
	a.address("r", at, 0)
	a.str(more + ";")
	a.emit(s.B, nil)
	return nil
}

// leaderWhere is isLeader where pred holds, too; nil is always.
func leaderWhere(s *lower.Site, pred *ir.Value) llir.Value {
	leader := isLeader(s)
	if pred != nil {
		leader = s.B.And(leader, s.Value(pred)[0])
	}
	return leader
}

func initBarrier(s *lower.Site, op ttng.InitBarrierOp) error {
	return onBarrier(s, op.Alloc(), nil, "mbarrier.init.shared::cta.b64", ", "+strconv.FormatInt(op.Count(), 10))
}

func invalBarrier(s *lower.Site, op ttng.InvalBarrierOp) error {
	return onBarrier(s, op.Alloc(), nil, "mbarrier.inval.shared::cta.b64", "")
}

// expectBytes is an arrival that has the phase also wait for bytes.
func expectBytes(s *lower.Site, op ttng.BarrierExpectOp) error {
	return onBarrier(s, op.Alloc(), op.Pred(), "mbarrier.arrive.expect_tx.shared::cta.b64 _,", ", "+strconv.FormatInt(op.Size(), 10))
}

// arrive counts arrivals for what all threads did before. Each warp arrives for itself if
// the arrivals can be shared out, so that no warp waits for another: a phase is then
// complete when all of them have come. Otherwise the leader arrives once all are there.
// The object counts, so that arrivals need no order among themselves or with waits; to
// package membar they are reads.
func arrive(s *lower.Site, op ttng.ArriveBarrierOp) error {
	at, err := barrierAt(s, op.Alloc())
	if err != nil {
		return err
	}
	count, warps := op.Count(), int64(s.Warps())
	var who llir.Value
	if count%warps == 0 {
		count /= warps
		(*Target)(nil).GroupBarrier(s.B, 0, lanes) // of the warp
		who = isElected(s)
	} else {
		s.Barrier()
		who = isLeader(s)
	}
	if pred := op.Pred(); pred != nil {
		who = s.B.And(who, s.Value(pred)[0])
	}
	var a assembly
	a.predicate(who)
	a.str("mbarrier.arrive.shared::cta.b64 _, ")
	a.address("r", at, 0)
	a.str(", " + strconv.FormatInt(count, 10) + ";")
	a.emit(s.B, nil)
	return nil
}

// arriveWithCopies has every thread arrive once its copies are done. An arrival that is not
// counted among those that the barrier was made for adds one to them first.
func arriveWithCopies(s *lower.Site, op ttng.AsyncCopyMbarrierArriveOp) error {
	at, err := barrierAt(s, op.Barrier())
	if err != nil {
		return err
	}
	var a assembly
	a.str("cp.async.mbarrier.arrive")
	if op.NoIncrement() {
		a.str(".noinc")
	}
	a.str(".shared::cta.b64 ")
	a.address("r", at, 0)
	a.str(";")
	a.emit(s.B, nil)
	return nil
}

// waitBarrier has every thread wait until the phase of the parity is complete,
// unless the predicate is false. The instruction gives up after a while, so there
// is a loop.
func waitBarrier(s *lower.Site, op ttng.WaitBarrierOp) error {
	at, err := barrierAt(s, op.Alloc())
	if err != nil {
		return err
	}
	var a assembly
	a.str("{\n\t.reg .pred complete;\n\t")
	if pred := op.Pred(); pred != nil {
		a.str("@!")
		a.ref(a.in("b", s.Value(pred)[0]))
		a.str(" bra done;\n\t")
	}
	a.str("wait:\n\tmbarrier.try_wait.parity.shared::cta.b64 complete, ")
	a.address("r", at, 0)
	a.str(", ")
	a.ref(a.in("r", s.Value(op.Phase())[0]))
	a.str(";\n\t@!complete bra wait;\n\tdone:\n}")
	a.emit(s.B, nil)
	return nil
}
