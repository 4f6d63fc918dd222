// Package membar finds where a program must wait for all its threads so that
// accesses to the same bytes of shared memory happen in order.
//
// It is a forward data flow over each function. The state is the set of
// accesses, as byte ranges, that some thread may not have finished. Before an
// operation that would write what is pending, or read what is pending as
// written, a barrier is due, which empties the state. An operation with scratch
// memory writes it, waits for all threads itself, and reads it.
//
// The result is read-only: the lowering asks it before each operation.
package membar
