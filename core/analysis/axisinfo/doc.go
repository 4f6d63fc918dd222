// Package axisinfo finds, for every integer and pointer value, what is known of
// its elements along each dimension:
//
//	contiguity    the elements come in runs of this length, each one more than
//	              the one before; runs start at multiples of the length
//	divisibility  the first element of each run is a multiple of this number
//	              (for pointers: of this many bytes)
//	constancy     the elements come in runs of this length of equal elements
//	constant      all elements are this number, when it is known
//
// Like Triton's, the analysis takes the dividends of signed divisions for not negative.
// Accesses to memory rely on that; where one value is to stand for others, EqualRuns
// leaves out what depends on it (Presumed), unless the dividend is made of
// program numbers, ranges and the like (NonNegative).
//
// So a pointer tensor with contiguity 8 and divisibility 16 of f16 elements can
// be read sixteen bytes at a time. A scalar counts as a tensor of one dimension
// of size 1.
//
// The analysis is a sparse forward data flow over one module: block arguments
// join what flows in, loops go round until nothing changes, and calls hand
// their operands to the callee. What a user states with tl.multiple_of,
// tl.max_contiguous and tl.max_constancy, or by the specialization of an
// argument (attributes tt.divisibility, tt.contiguity, tt.constancy), replaces
// what was computed. All numbers are powers of two times what the program's
// constants force; anything unknown is 1.
//
// A Result is read-only and describes the module as it was; a pass that changes
// the IR runs the analysis again. The package imports core/ir, core/dialect and
// core/layout, and knows no vendor.
package axisinfo
