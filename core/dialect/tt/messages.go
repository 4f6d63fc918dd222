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
	msgAtomicCmp        = "failed to verify that ptr type matches cmp type"
	msgAtomicValue      = "failed to verify that ptr type matches value type"
	msgExpandRank       = "result must be of rank %d, one more than the source, not %d"
	msgRange1D          = "return type must be a 1D tensor"
	msgRangeElements    = "returned tensor must have i32 elements"
	msgDotK             = "expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand"
	msgDotEncodings     = "mismatching encoding between A and B operands"
	msgDotResult        = "miss encoding of C operand"
	msgGatherShapes     = "indices and output shapes must match"
	msgGatherEncodings  = "indices and output encodings must match"
	msgSameOperands     = "requires the same shape for all operands"
	msgCombined         = "operand types and result types do not fit"
	msgJoinShape        = "result shape must be (%s), but got %s"
	msgSplit            = "inferred type is incompatible with the result's: halves %s of %s; op failed to infer returned types"
	msgReducedLoad      = "ranked reduce load only allowed for unit dimension leading dim"
	msgRows2D           = "result must be a 2D tensor"
	msgRowsColumns      = "result tensor number of columns must match block (%d)"
	msgRowsIndices      = "result tensor must have as many rows as indices (%d)"
	msgRowsElements     = "result tensor element type must match block ('%s')"
	msgSameShape        = "requires the same shape for all operands and results"
	msgBroadcastRank    = "rank of source must be same as rank of result"
)

// verbatim is an error with one of the texts above.
type verbatim string

func (v verbatim) Error() string { return string(v) }

func message(format string, args ...any) error { return verbatim(fmt.Sprintf(format, args...)) }
