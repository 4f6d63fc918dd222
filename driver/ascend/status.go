//go:build linux

package ascend

// Statuses with a meaning here.
const (
	repeatInitialize status = 100002
	memoryAllocation status = 207001
	noDevice         status = 207004
	deviceOOM        status = 207018
)

// meaning is what a status is called in the vendor's headers, and what it is.
type meaning struct {
	name, text string
	machine    bool // the machine's trouble, not a kernel's
}

// meanings are of those statuses that users may see. The library tells more of each.
var meanings = map[status]meaning{
	100000:           {name: "ACL_ERROR_INVALID_PARAM", text: "a parameter is invalid"},
	100001:           {name: "ACL_ERROR_UNINITIALIZE", text: "the library is not initialized", machine: true},
	107000:           {name: "ACL_ERROR_RT_PARAM_INVALID", text: "a parameter is invalid"},
	107001:           {name: "ACL_ERROR_RT_INVALID_DEVICEID", text: "there is no device of this number"},
	107002:           {name: "ACL_ERROR_RT_CONTEXT_NULL", text: "the thread has no device"},
	107003:           {name: "ACL_ERROR_RT_STREAM_CONTEXT", text: "the stream is another device's"},
	107017:           {name: "ACL_ERROR_RT_INVALID_HANDLE", text: "a handle is invalid"},
	107019:           {name: "ACL_ERROR_RT_WAIT_TIMEOUT", text: "waiting took too long"},
	107020:           {name: "ACL_ERROR_RT_TASK_TIMEOUT", text: "the kernel took too long"},
	207000:           {name: "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", text: "the chip does not have this"},
	memoryAllocation: {name: "ACL_ERROR_RT_MEMORY_ALLOCATION", text: "memory cannot be allocated"},
	noDevice:         {name: "ACL_ERROR_RT_NO_DEVICE", text: "there is no device", machine: true},
	207005:           {name: "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", text: "a resource is used up"},
	207006:           {name: "ACL_ERROR_RT_NO_PERMISSION", text: "permission denied", machine: true},
	deviceOOM:        {name: "ACL_ERROR_RT_DEVICE_OOM", text: "the device is out of memory"},
	507000:           {name: "ACL_ERROR_RT_INTERNAL_ERROR", text: "internal error"},
	507008:           {name: "ACL_ERROR_RT_SOC_VERSION", text: "the chip is another one"},
	507010:           {name: "ACL_ERROR_RT_LOST_HEARTBEAT", text: "the device no longer answers", machine: true},
	507014:           {name: "ACL_ERROR_RT_AICORE_TIMEOUT", text: "an AI core took too long"},
	507015:           {name: "ACL_ERROR_RT_AICORE_EXCEPTION", text: "an exception on an AI core"},
	507016:           {name: "ACL_ERROR_RT_AICORE_TRAP_EXCEPTION", text: "a trap on an AI core"},
	507027:           {name: "ACL_ERROR_RT_KERNEL_LOOKUP", text: "the code has no such kernel"},
	507033:           {name: "ACL_ERROR_RT_DEV_SETUP_ERROR", text: "the device cannot be set up", machine: true},
	507034:           {name: "ACL_ERROR_RT_VECTOR_CORE_TIMEOUT", text: "a vector core took too long"},
	507035:           {name: "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", text: "an exception on a vector core"},
	507036:           {name: "ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION", text: "a trap on a vector core"},
	507042:           {name: "ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW", text: "an AI core read out of bounds"},
	507043:           {name: "ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW", text: "an AI core wrote out of bounds"},
	507044:           {name: "ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW", text: "a vector core read out of bounds"},
	507045:           {name: "ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW", text: "a vector core wrote out of bounds"},
	507046:           {name: "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", text: "waiting for the stream took too long"},
	507053:           {name: "ACL_ERROR_RT_DEVICE_MEM_ERROR", text: "the device's memory has an error", machine: true},
	507899:           {name: "ACL_ERROR_RT_DRV_INTERNAL_ERROR", text: "the kernel driver has an error", machine: true},
}
