package npu

import (
	"math"

	"github.com/tritonc/tritonc/backends/npu/chip"
)

// timing is when the events of a trace began and ended, in cycles.
type timing struct{ starts, ends []float64 }

// runner is a core whose trace is being timed.
type runner struct {
	t      *trace
	queues [numPipes][]int32 // events, in order
	next   [numPipes]int
	busy   [numPipes]bool
	left   [numPipes]left // of the event that the pipe runs
	timing
	done   int
	synced int32 // how often the core has waited for the others
}

// left is what is left of an event: cycles, then bytes between the core and L2, and at the
// same time those between L2 and HBM.
type left struct {
	cycles, bytes, far float64
	outward            bool
}

// moving reports whether bytes are under way.
func (w *left) moving() bool { return w.cycles <= 0 && (w.bytes > 0 || w.far > 0) }

func newRunner(t *trace) *runner {
	r := &runner{t: t, timing: timing{make([]float64, len(t.events)), make([]float64, len(t.events))}}
	for i := range t.events {
		r.ends[i] = math.Inf(1)
		p := t.events[i].pipe
		r.queues[p] = append(r.queues[p], int32(i))
	}
	return r
}

// group is the cores of one AI core, which share its bandwidth: transfers under way at a
// time have equal parts of it. Now is the time up to which it has run.
type group struct {
	cores []*runner
	now   float64
}

// simulate finds when the events of all cores happen: each group's by itself, up to where its
// cores wait for all others. They go on when the last one has come.
func simulate(groups []group, k *rates) {
	for {
		last, waiting := 0.0, false
		for i := range groups {
			groups[i].run(k)
			for _, r := range groups[i].cores {
				if r.waits() {
					waiting, last = true, max(last, groups[i].now)
				}
			}
		}
		if !waiting {
			return
		}
		for i := range groups {
			for _, r := range groups[i].cores {
				if r.waits() {
					r.synced++
					groups[i].now = last
				}
			}
		}
	}
}

// run finds when events happen until no more can.
func (g *group) run(k *rates) {
	for {
		for started := true; started; {
			started = false
			for _, r := range g.cores {
				for p := range numPipes {
					started = r.begin(k.costs, p, g.now) || started
				}
			}
		}
		flows := 0
		for _, r := range g.cores {
			flows += r.flows()
		}
		step := math.Inf(1)
		for _, r := range g.cores {
			step = min(step, r.soonest(k, flows))
		}
		if math.IsInf(step, 1) {
			return
		}
		g.now += step
		for _, r := range g.cores {
			r.advance(k, flows, step, g.now)
		}
	}
}

// waits reports whether all that a core can do before it waits for the others is done, and
// more is to come.
func (r *runner) waits() bool {
	return r.done < len(r.t.events) && r.t.events[r.done].sync > r.synced
}

// begin has a pipe begin its next event, if that can begin.
func (r *runner) begin(k *chip.Costs, p Pipe, now float64) bool {
	if r.busy[p] || r.next[p] == len(r.queues[p]) {
		return false
	}
	i := r.queues[p][r.next[p]]
	e := &r.t.events[i]
	if !r.ended(e.issued, now) || !r.ended(e.after, now) || e.fresh && r.done < int(i) || e.sync > r.synced {
		return false
	}
	r.busy[p], r.left[p], r.starts[i] = true, left{e.cycles(k), e.bytes, e.far, e.outward}, now
	return true
}

// ended reports whether the event before i has ended.
func (r *runner) ended(i int32, now float64) bool { return i == 0 || r.ends[i-1] <= now }

// flows is how many transfers of the core are under way.
func (r *runner) flows() int {
	n := 0
	for p := range numPipes {
		if r.busy[p] && r.left[p].moving() {
			n++
		}
	}
	return n
}

// rates are the costs, and the bytes a cycle that one transfer out may have at most: those
// of an AI core are divided among the transfers that are under way.
type rates struct {
	costs   *chip.Costs
	outMost float64
}

// of are the bytes a cycle that a transfer has: between the core and L2, and between L2
// and HBM.
func (k *rates) of(w *left, flows int) (near, far float64) {
	n := float64(flows)
	if w.outward {
		return min(k.costs.L2Write/n, k.outMost), k.costs.HBMWrite / n
	}
	return k.costs.L2Read / n, k.costs.HBMRead / n
}

// soonest is how long it takes until something changes.
func (r *runner) soonest(k *rates, flows int) float64 {
	step := math.Inf(1)
	for p := range numPipes {
		switch w := &r.left[p]; {
		case !r.busy[p]:
		case w.cycles > 0:
			step = min(step, w.cycles)
		case w.moving():
			near, far := k.of(w, flows)
			if w.bytes > 0 {
				step = min(step, w.bytes/near)
			}
			if w.far > 0 {
				step = min(step, w.far/far)
			}
		default:
			step = 0
		}
	}
	return step
}

// tiny is less than what any event takes, to which times are rounded.
const tiny = 1e-6

// less is a number less another, at least 0.
func less(x, by float64) float64 {
	if x -= by; x < tiny {
		return 0
	}
	return x
}

// advance lets time pass.
func (r *runner) advance(k *rates, flows int, step, now float64) {
	for p := range numPipes {
		if !r.busy[p] {
			continue
		}
		w := &r.left[p]
		switch {
		case w.cycles > 0:
			w.cycles = less(w.cycles, step)
		case w.moving():
			near, far := k.of(w, flows)
			w.bytes, w.far = less(w.bytes, step*near), less(w.far, step*far)
		}
		if w.cycles <= 0 && !w.moving() {
			r.busy[p] = false
			r.ends[r.queues[p][r.next[p]]] = now
			r.next[p]++
			r.done++
		}
	}
}
