// Package allocation places what a program keeps in shared memory: the buffers
// of ttg.local_alloc, the scratch memory that some operations need while they
// run (reductions, layout conversions), and the frames of called functions.
//
// Two things may share bytes when their lifetimes do not meet. A lifetime is an
// interval of operation numbers in program order. That of a buffer lasts from
// its operation to the last use of any view of it; a use inside a loop or
// condition that the buffer was made outside of lasts to the end of that
// operation. A buffer is followed through loops and conditions that carry it; one
// that a loop makes for its next iteration lives through all of the loop. The lifetime
// of a scratch area is its operation. Small scratch areas are
// given a longer one, to the next scratch area: neighbours then use different
// bytes, and the second need not wait until all threads are done with the first.
//
// As far as the caller has room for it, areas of the same innermost loop are kept apart,
// too. An iteration needs a barrier before it writes what another area of the same bytes
// was read for.
//
// The result is read-only. The package imports core/ir and the dialects; sizes
// of scratch areas are told by the caller, who knows how it lowers.
package allocation
