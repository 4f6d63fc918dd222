package simt

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
)

// Memory instructions of a wavefront end some time after they were issued. A counter
// has those that have not ended; the program waits until it is at most some number, and
// then knows that the older ones have ended, or all at zero. Here they end when they are
// issued; what they wrote may not be used until the program knows.

// WaitCounter is one of the counters of a wavefront.
type WaitCounter uint8

const (
	WaitLoad   WaitCounter = iota // vector memory
	WaitShared                    // shared memory, and scalar loads where these have no counter of their own
	WaitStore                     // stores of vector memory, where they have a counter of their own
	WaitScalar                    // scalar loads, where they have a counter of their own
	NumWaitCounters
)

// mostWaiting is how high a counter goes: a wavefront that issues more waits for the
// oldest.
const mostWaiting = 63

// waitOp is an instruction that has not been waited for.
type waitOp struct {
	regs      []int       // it writes
	unordered bool        // may end before older ones, or after younger
	publishes bool        // it stores to shared memory
	lands     []byteRange // of shared memory, which it copies to
}

type waitQueue struct{ ops []waitOp }

func (q *waitQueue) reset() { q.ops = q.ops[:0] }

// scalarRegister numbers a scalar register in pend: they come after the vector ones.
func (v *Wavefront) scalarRegister(r int) int { return len(v.V)/v.Lanes + r }

// Issue records an instruction that writes n registers from reg on when it ends; scalar
// ones with scalar. It ends the copies to shared memory since the last one, too.
func (v *Wavefront) Issue(c WaitCounter, scalar bool, reg, n int, unordered, publishes bool) {
	if scalar {
		reg = v.scalarRegister(reg)
	}
	q := &v.waits[c]
	if len(q.ops) == mostWaiting {
		v.retire(c, 0)
	}
	op := waitOp{unordered: unordered, publishes: publishes}
	if len(q.ops) < cap(q.ops) {
		old := &q.ops[:len(q.ops)+1][len(q.ops)]
		op.regs, op.lands = old.regs[:0], old.lands[:0]
	}
	op.lands = append(op.lands, v.landing...)
	v.landing = v.landing[:0]
	for r := reg; r < reg+n; r++ {
		op.regs = append(op.regs, r)
		v.pend[r] |= 1 << c
	}
	q.ops = append(q.ops, op)
	v.waiting++
}

// retire ends the i-th operation of a counter.
func (v *Wavefront) retire(c WaitCounter, i int) {
	q := &v.waits[c]
	op := q.ops[i]
	copy(q.ops[i:], q.ops[i+1:])
	q.ops[len(q.ops)-1] = op // its memory is used again
	q.ops = q.ops[:len(q.ops)-1]
	v.waiting--
	for _, r := range op.lands {
		v.w.cta.sharedChk.landed(v.w.id, r.at, r.size)
	}
	for _, r := range op.regs {
		if !slices.ContainsFunc(q.ops, func(o waitOp) bool { return slices.Contains(o.regs, r) }) {
			v.pend[r] &^= 1 << c
		}
	}
}

// Wait is until at most n operations of a counter have not ended. Unordered ones may be
// the first to end, so that nothing is known of them before all have.
func (v *Wavefront) Wait(c WaitCounter, n int) {
	q := &v.waits[c]
	if n == 0 {
		for len(q.ops) > 0 {
			v.retire(c, len(q.ops)-1)
		}
		return
	}
	ended := len(q.ops) - n
	for i := range q.ops {
		if q.ops[i].unordered {
			ended--
		}
	}
	for i := 0; i < len(q.ops) && ended > 0; {
		if q.ops[i].unordered {
			i++
			continue
		}
		v.retire(c, i)
		ended--
	}
}

// Waiting reports whether some operation has not been waited for.
func (v *Wavefront) Waiting() bool { return v.waiting > 0 }

// UseV looks at n vector registers from reg on that the instruction in hand reads or
// writes, UseS at scalar ones.
func (v *Wavefront) UseV(reg, n int) {
	if v.waiting > 0 {
		v.use(reg, n, "v", reg)
	}
}

// OverwriteV is UseV for registers that a load of counter c writes and does not read, where
// loads end in order: what older ones leave there does not last.
func (v *Wavefront) OverwriteV(c WaitCounter, reg, n int) {
	for r := reg; v.waiting > 0 && r < reg+n; r++ {
		if v.pend[r] != 1<<c || slices.ContainsFunc(v.waits[c].ops, func(o waitOp) bool { return o.unordered && slices.Contains(o.regs, r) }) {
			v.UseV(r, 1)
		}
	}
}

// UseS is UseV for scalar registers.
func (v *Wavefront) UseS(reg, n int) {
	if v.waiting > 0 {
		v.use(v.scalarRegister(reg), n, "s", reg)
	}
}

func (v *Wavefront) use(at, n int, file string, reg int) {
	for i := range n {
		if v.pend[at+i] == 0 {
			continue
		}
		for c := range NumWaitCounters {
			if v.pend[at+i]>>c&1 != 0 {
				younger := 0
				q := v.waits[c].ops
				for k := len(q) - 1; k >= 0 && !slices.Contains(q[k].regs, at+i); k-- {
					younger++
				}
				v.w.note(FindWait, 0, 0, "register %s%d is used while the instruction that loads it has not been waited for; %s %s was issued after it",
					file, reg+i, diag.Count(younger, "other"), c)
			}
		}
		v.pend[at+i] = 0 // one mistake is one report
	}
}

func (c WaitCounter) String() string {
	return [...]string{"of vector memory", "of shared or scalar memory", "of stores", "of scalar memory"}[c]
}
