// Package membar finds where a program must wait for all its threads so that
// accesses to the same bytes of shared memory happen in order.
//
// It is a forward data flow over each function. The state is the set of
// accesses, as byte ranges, that some thread may not have finished. Before an
// operation that would write what is pending, or read what is pending as
// written, a barrier is due, which empties the state. An operation with scratch
// memory writes it, waits for all threads itself, and reads it.
//
// Operations of a target's dialect are told by Foreign. Some of them are done by
// a few leading threads, which need no barrier among one another, or by engines
// that a leader starts: then a fence must lie between what threads wrote and what
// an engine reads or writes of it. What threads have read needs none, for at the
// barrier they have it.
//
// Other engines read for all threads, as matrix units do, and no barrier ends that:
// all threads join what they asked for, each for its own part, and a barrier after
// that lets them overwrite it. Operations may be left in flight while copies go to
// other parts of the buffer. Asynchronous copies of threads need no fence for them:
// PTX asks for one, but NVIDIA's own kernels have none, and it costs 1 to 2 % of the
// time of a matmul on an H200.
//
// A copy of a pipelined loop goes to the part of a buffer that its counter names. Where
// that of a dot differs, by the counters, the copy needs no barrier after the dot: what
// read the copy's part was joined before the barrier that began the iteration. The same
// goes for stores of threads to a part and loads from another one, whose view the loop may
// carry from an earlier iteration.
//
// What a loop's first iteration alone would wait for, or fence, since it was done before
// the loop, is waited for and fenced before the loop: an iteration then has no more
// barriers than the one before it makes due.
//
// A schedule may keep half of the threads a barrier after the others, from an operation
// at which these alone wait to one at which those do. The hardware counts arrivals: when
// the first half is at its n-th barrier, the other one is at the barrier before that. What
// a thread does then comes after what others did before the last barrier but one. A barrier
// that is due there is two in a row, which the lowering makes of it; so is the one of an
// operation with scratch memory.
//
// The result is read-only: the lowering asks it before each operation.
package membar
