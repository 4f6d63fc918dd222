package membar

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// Effect is what an operation of a target's dialect does to a buffer.
type Effect uint8

const (
	// Reads and Writes may appear together.
	Reads Effect = 1 << iota
	Writes
	// Leader: not all threads do it, but some that keep the order of all such
	// operations among themselves.
	Leader
	// Async: an engine does it after a leader asked for it, or, without Leader, all
	// threads did. It sees what threads wrote before a fence. When it has written is
	// told by a Sync access; when it has read, by an operation that drains or joins.
	Async
	// Sync: it is an access to an object that orders others, and needs no order
	// with a Sync access of leaders before it, which it may be waiting for.
	Sync
	// Copies: each thread copies there asynchronously, as ttg.async_copy_global_to_local
	// does. It comes alone.
	Copies
)

// Effects is what an operation of a target's dialect does to shared memory.
type Effects struct {
	// Operands has the effect on each operand; missing ones have none.
	Operands []Effect
	// Scratch is how the operation, which writes its scratch memory, does that. It
	// has no barrier of its own.
	Scratch Effect
	// Fences: what all threads wrote before is seen by what engines do after the
	// next barrier.
	Fences bool
	// Drains: leaders wait until engines have read what leaders asked them to.
	Drains bool
	// Joins: all threads wait, after what the operation itself starts, until engines
	// have read what all threads asked them to, but for the last Pending operations.
	Joins   bool
	Pending int
	// Meets: all threads wait for one another, as at gpu.barrier.
	Meets bool
	// Apart: some threads wait here at a barrier that the others do not reach. The next such
	// operation of the block has the others do so; in between each barrier that some wait at
	// is one further on for the others.
	Apart bool
	// Waits: each thread waits until its asynchronous copies have ended, so that a barrier
	// shows to all what they wrote.
	Waits bool
}

// Foreign tells what an operation does; false where it is none of a target's.
type Foreign func(op *ir.Operation) (Effects, bool)

// access is a range of bytes that was read or written.
type access struct {
	lo, hi int
	write  bool
	kind   kind
	Effect // Leader, Async, Sync
	// root is the buffer that was accessed; nil for scratch memory, a called
	// function's frame and what is not known.
	root *ir.Operation
	// counted marks an access that is ordered after the asynchronous copies into
	// the same buffer by tokens: another copy, or a load that waited for one.
	counted bool
	// waited marks a load that needs no order with copies but their wait.
	waited bool
	// age is how many operations have had engines read for all threads since this
	// one did, up to analysis.oldest; 0 for other accesses.
	age int
	// ring is the part of root that was accessed, in a pipelined loop.
	ring ring
	// half: a barrier came after it, where half of the threads are one late.
	half bool
}

// inFlight reports whether an engine reads for all threads.
func (x access) inFlight() bool {
	return x.kind == pending && !x.write && x.Effect&(Async|Leader) == Async
}

// plain reports whether all threads access the buffer themselves, without tokens.
func (x access) plain() bool { return x.Effect == 0 && !x.counted }

type kind uint8

const (
	// pending accesses may not be done by all threads.
	pending kind = iota
	// unfenced ranges were written by threads, without a fence since.
	unfenced
)

// state is the set of pending accesses and of unfenced ranges.
type state []access

// conflicts reports whether x must wait for a pending access.
func (s state) conflicts(x access) bool {
	for _, p := range s {
		if p.kind == pending && (p.write || x.write) && p.overlaps(x) && !p.ordered(x) {
			return true
		}
	}
	return false
}

func (x access) overlaps(y access) bool { return x.lo < y.hi && y.lo < x.hi }

// ordered reports whether the later access x comes after p without a barrier.
func (p access) ordered(x access) bool {
	same := p.root != nil && p.root == x.root
	switch {
	case p.Effect&x.Effect&Leader != 0:
		return true
	case same && (p.waited && x.write && x.counted || x.waited && p.write && p.counted):
		return true
	case same && p.ring.apart(x.ring) && (x.counted && p.Effect&Reads != 0 || p.plain() && x.plain()):
		return true
	case p.write && p.Effect&Async != 0:
		return same // x comes after the wait for it
	case p.inFlight():
		// A copy goes to another part of the buffer than what is still read: there is
		// one part for each copy ahead, and one more. What was joined is another access.
		return same && x.write && (x.counted || x.Effect&Async != 0)
	case p.Effect&Leader != 0 && p.Effect&x.Effect&Sync != 0:
		return same
	}
	// A copy after a load is not: other threads may still read.
	return p.write && p.counted && x.counted && same
}

// unfenced reports whether x may touch what threads wrote without a fence. Engines
// that read for all threads need none for asynchronous copies, whose data are in place
// after the wait for them and a barrier.
func (s state) unfenced(x access) bool {
	return slices.ContainsFunc(s, func(p access) bool {
		return p.kind == unfenced && p.overlaps(x) && (!p.counted || x.Effect&Leader != 0)
	})
}

// without is the state less what drop holds for.
func (s state) without(drop func(access) bool) state {
	if !slices.ContainsFunc(s, drop) {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), drop)
}

// met is the state after a barrier, which waits for no engine that reads.
func (s state) met() state {
	return s.without(access.metBy)
}

// metBy reports whether a barrier has threads wait for the access.
func (x access) metBy() bool {
	return x.kind == pending && (x.write || x.Effect&Async == 0)
}

// halfMet is the state after a barrier that some threads reach while the others are at the
// next one: what those did before it comes before what these do after that one.
func (s state) halfMet() state {
	var out state
	for _, p := range s {
		if p.metBy() {
			if p.half {
				continue
			}
			p.half = true
		}
		out = out.with(p)
	}
	return out
}

// together is the state when those who are ahead have waited for the others: a barrier more
// than these have, so that both have passed all but what came after the last one.
func (s state) together() state {
	return s.without(func(p access) bool { return p.half })
}

// fenced is the state after a fence of all threads.
func (s state) fenced() state {
	return s.without(func(p access) bool { return p.kind == unfenced })
}

// drained is the state when engines have read for leaders, who know.
func (s state) drained() state {
	var out state
	for _, p := range s {
		if !p.write && p.Effect&Leader != 0 {
			p.Effect &^= Async
		}
		out = out.with(p)
	}
	return out
}

// aged is the state when one more operation has engines read for all threads.
func (s state) aged(oldest int) state {
	var out state
	for _, p := range s {
		if p.inFlight() {
			p.age = min(p.age+1, oldest)
		}
		out = out.with(p)
	}
	return out
}

// joined is the state when engines have read for all threads but for the last
// pending operations: each thread knows of its own part.
func (s state) joined(pending int) state {
	var out state
	for _, p := range s {
		if p.inFlight() && p.age >= pending {
			p.Effect &^= Async
			p.age = 0
		}
		out = out.with(p)
	}
	return out
}

func (s state) with(x access) state {
	if x.lo == x.hi || slices.Contains(s, x) {
		return s
	}
	return append(slices.Clip(s), x)
}

func join(a, b state) state {
	for _, x := range b {
		a = a.with(x)
	}
	return a
}
