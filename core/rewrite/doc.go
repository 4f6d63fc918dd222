// Package rewrite applies local patterns until none applies: folding, erasing
// what is dead, and the patterns of a Set, each at the operations it is rooted
// at. A constant operand of a commutative operation comes second. Constants that folding makes are kept once, at the start of the function.
//
// The driver visits operations from the top and revisits what a change may
// have made rewritable: users of replaced values, and definitions that lost a
// use. It runs until nothing changes; a bound stops patterns that undo one
// another, which is a bug.
package rewrite
