package tt

import "github.com/tritonc/tritonc/core/ir"

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
