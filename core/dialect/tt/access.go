package tt

import "github.com/tritonc/tritonc/core/ir"

// PointsInto is the operand that points into the same memory as what op makes, a
// pointer, tensor of pointers or descriptor; nil for operations that make none of
// another.
func PointsInto(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case AddPtr:
		return AsAddPtr(op).Ptr()
	case MakeTensorDesc:
		return AsMakeTensorDesc(op).Base()
	case Splat, Broadcast, ExpandDims, Reshape, Trans, Bitcast:
		return AsUnary(op).Src()
	}
	return nil
}

// Address is what op accesses memory through: pointers, a block pointer or a
// descriptor; nil for operations that access none.
func Address(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case Load:
		return AsLoad(op).Ptr()
	case Store:
		return AsStore(op).Ptr()
	case AtomicRMW:
		return AsAtomicRMW(op).Ptr()
	case AtomicCAS:
		return AsAtomicCAS(op).Ptr()
	case DescriptorLoad:
		return AsDescriptorLoad(op).Desc()
	case DescriptorStore:
		return AsDescriptorStore(op).Desc()
	case DescriptorReduce:
		return AsDescriptorReduce(op).Desc()
	case DescriptorGather:
		return AsDescriptorGather(op).Desc()
	case DescriptorScatter:
		return AsDescriptorScatter(op).Desc()
	}
	return nil
}
