//go:build linux

package hip

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"github.com/tritonc/tritonc/driver/native"
)

// handle is one of HIP's: a device pointer, a module, a function, a stream or an event.
type handle = native.Handle

// status is a hipError_t.
type status = native.Status

// library is HIP's functions, by their names without "hip".
type library struct {
	initialize     func(flags uint32) status
	driverVersion  func(version *int32) status
	errorName      func(status) string
	errorString    func(status) string
	deviceCount    func(n *int32) status
	setDevice      func(number int32) status
	properties     func(p unsafe.Pointer, number int32) status
	memGetInfo     func(free, total *uintptr) status
	malloc         func(p *handle, size uintptr) status
	free           func(handle) status
	memcpyHtoD     func(to handle, from unsafe.Pointer, size uintptr) status
	memcpyDtoH     func(to unsafe.Pointer, from handle, size uintptr) status
	memsetD8Async  func(to handle, value uint8, size uintptr, stream handle) status
	moduleLoadData func(m *handle, code unsafe.Pointer) status
	moduleUnload   func(handle) status
	moduleFunction func(f *handle, m handle, name string) status
	funcAttribute  func(value *int32, attribute int32, f handle) status
	launch         func(f handle, gx, gy, gz, bx, by, bz, shared uint32, stream handle, params, extra unsafe.Pointer) status
	launchAtOnce   func(f handle, gx, gy, gz, bx, by, bz, shared uint32, stream handle, params unsafe.Pointer) status
	streamCreate   func(s *handle, flags uint32) status
	streamSync     func(handle) status
	streamDestroy  func(handle) status
	eventCreate    func(e *handle) status
	eventRecord    func(e, stream handle) status
	eventElapsed   func(ms *float32, begin, end handle) status
	eventDestroy   func(handle) status
}

// functions are the library's, by name. hipGetDevicePropertiesR0600 is what
// hipGetDeviceProperties has meant since ROCm 6; before, its struct was another.
func (l *library) functions() map[string]any {
	return map[string]any{
		"hipInit":                          &l.initialize,
		"hipDriverGetVersion":              &l.driverVersion,
		"hipGetErrorName":                  &l.errorName,
		"hipGetErrorString":                &l.errorString,
		"hipGetDeviceCount":                &l.deviceCount,
		"hipSetDevice":                     &l.setDevice,
		"hipGetDevicePropertiesR0600":      &l.properties,
		"hipMemGetInfo":                    &l.memGetInfo,
		"hipMalloc":                        &l.malloc,
		"hipFree":                          &l.free,
		"hipMemcpyHtoD":                    &l.memcpyHtoD,
		"hipMemcpyDtoH":                    &l.memcpyDtoH,
		"hipMemsetD8Async":                 &l.memsetD8Async,
		"hipModuleLoadData":                &l.moduleLoadData,
		"hipModuleUnload":                  &l.moduleUnload,
		"hipModuleGetFunction":             &l.moduleFunction,
		"hipFuncGetAttribute":              &l.funcAttribute,
		"hipModuleLaunchKernel":            &l.launch,
		"hipModuleLaunchCooperativeKernel": &l.launchAtOnce,
		"hipStreamCreateWithFlags":         &l.streamCreate,
		"hipStreamSynchronize":             &l.streamSync,
		"hipStreamDestroy":                 &l.streamDestroy,
		"hipEventCreate":                   &l.eventCreate,
		"hipEventRecord":                   &l.eventRecord,
		"hipEventElapsedTime":              &l.eventElapsed,
		"hipEventDestroy":                  &l.eventDestroy,
	}
}

// places are where the library is looked for: in the folder that the user names, where the
// system's loader looks, LD_LIBRARY_PATH among others, and where ROCm installs it.
func places() []string {
	var folders []string
	if root := os.Getenv("ROCM_PATH"); root != "" {
		folders = append(folders, filepath.Join(root, "lib"))
	}
	return native.Files(append(folders, "", "/opt/rocm/lib"), "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so")
}

// openLibrary finds HIP's library and makes it ready.
func openLibrary() (native.Library, error) {
	l := &library{}
	link := native.Link{
		Name: "HIP's library", Places: places(), Functions: l.functions(), Needed: "ROCm 6 or later",
		Help: "install AMD's ROCm, 6 or later (https://rocm.docs.amd.com), or name its folder with ROCM_PATH",
	}
	if err := link.Open(); err != nil {
		return nil, err
	}
	return l, native.Explain(l, "HIP cannot be used: hipInit", l.initialize(0))
}

// Results of HIP with a meaning here.
const (
	outOfMemory status = 2
	noDevice    status = 100
)

// Meaning implements native.Library.
func (l *library) Meaning(code status) (name, text, more string) {
	return l.errorName(code), l.errorString(code), ""
}

// Help implements native.Library: it says what keeps HIP from seeing a GPU that is there.
func (l *library) Help(code status) string {
	if code != noDevice {
		return ""
	}
	return "where there is a GPU, the user must be allowed to open /dev/kfd and /dev/dri/renderD*: the groups render and video"
}

// OutOfMemory implements native.Library.
func (l *library) OutOfMemory(code status) bool { return code == outOfMemory }

// Version implements native.Library.
func (l *library) Version() string {
	var v int32
	if l.driverVersion(&v) != native.Success || v <= 0 {
		return ""
	}
	return fmt.Sprintf("HIP %d.%d", v/10_000_000, v%10_000_000/100_000)
}

// Malloc implements native.Memory. HIP aligns to a page.
func (l *library) Malloc(size int64) (at handle, code status) {
	code = l.malloc(&at, uintptr(size))
	return at, code
}

// Free implements native.Memory.
func (l *library) Free(at handle) status { return l.free(at) }

// Left implements native.Memory.
func (l *library) Left() (int64, status) {
	var free, total uintptr
	code := l.memGetInfo(&free, &total)
	return int64(free), code
}

// Write implements native.Memory.
func (l *library) Write(to handle, p []byte) status {
	return l.memcpyHtoD(to, unsafe.Pointer(&p[0]), uintptr(len(p)))
}

// Read implements native.Memory.
func (l *library) Read(from handle, p []byte) status {
	return l.memcpyDtoH(unsafe.Pointer(&p[0]), from, uintptr(len(p)))
}

// Clear implements native.Memory.
func (l *library) Clear(at handle, size int64, stream handle) status {
	return l.memsetD8Async(at, 0, uintptr(size), stream)
}

// nonBlocking streams do not wait for those of other sessions: hipStreamNonBlocking.
const nonBlocking = 1

// NewStream implements native.Streams.
func (l *library) NewStream() (stream handle, code status) {
	code = l.streamCreate(&stream, nonBlocking)
	return stream, code
}

// Wait implements native.Streams.
func (l *library) Wait(stream handle) status { return l.streamSync(stream) }

// DestroyStream implements native.Streams.
func (l *library) DestroyStream(stream handle) status { return l.streamDestroy(stream) }

// NewEvent implements native.Streams.
func (l *library) NewEvent() (event handle, code status) {
	code = l.eventCreate(&event)
	return event, code
}

// Record implements native.Streams.
func (l *library) Record(event, stream handle) status { return l.eventRecord(event, stream) }

// Elapsed implements native.Streams.
func (l *library) Elapsed(begin, end handle) (time.Duration, status) {
	var ms float32
	code := l.eventElapsed(&ms, begin, end)
	return time.Duration(float64(ms) * float64(time.Millisecond)), code
}

// DestroyEvent implements native.Streams.
func (l *library) DestroyEvent(event handle) status { return l.eventDestroy(event) }
