package simt

// haveRows says whether mmaRows exists on this machine: it needs AVX2.
var haveRows = hasAVX2()

// hasAVX2 asks the processor and the operating system.
func hasAVX2() bool

// mmaRows computes the aligned sums of a 16×8 tile (see alignBits), a row of
// eight columns at a time; it is alignedSum and cut32 in vectors. Where a result
// is subnormal or overflows it sets bad, and the caller computes the tile anew.
// No operand may be infinite or a NaN.
//
//go:noescape
func mmaRows(args *mmaArgs)
