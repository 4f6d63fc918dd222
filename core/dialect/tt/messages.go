package tt

import "fmt"

// Messages that users of Triton search for, word for word: its verifier's
// (lib/Dialect/Triton/IR/Ops.cpp and lib/Dialect/TritonGPU/IR/Dialect.cpp, release 3.6).
const (
	msgBitcastPointer   = "Cannot bitcast pointer to non-pointer type"
	msgBitcastSize      = "Cannot bitcast data-type of size %d to data-type of size %d"
	msgRoundingRequired = "Rounding mode is required for FP downcast"
	msgBroadcastDims    = "Different dimensions at index %d between source and result.  Broadcast requires the source dimension to be 1."
	msgOrder            = "order must be a permutation of 0..n-1"
	msgReshapeElements  = "number of src and dst elements of reshape must be the same"
	msgUnsplat          = "source tensor must have exactly one element"
	msgJoinEncoding     = "result encoding must be specified"
	msgJoinLayout       = "incompatible join layout"
	msgInferred         = "inferred type is another than the result's, whose layout is not that of the source: failed to infer returned types"
	msgScales           = "scales K dimension must match the operand K divided by the scale factor"
	msgMapArguments     = "region has wrong number of arguments"
	msgMapTypes         = "argument types did not match"
	msgMapReturn        = "region return does not match map_elementwise result"
	msgMapStore         = "Stores are not supported inside map_elementwise"
	msgDotVersion       = "unsupported MMA version"
	msgDotKWidth        = "mismatching kWidth between A and B operands"
	msgSameShape        = "requires the same shape for all operands and results"
	msgBroadcastRank    = "rank of source must be same as rank of result"
)

// verbatim is an error with one of the texts above.
type verbatim string

func (v verbatim) Error() string { return string(v) }

func message(format string, args ...any) error { return verbatim(fmt.Sprintf(format, args...)) }
