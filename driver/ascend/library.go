//go:build linux

package ascend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tritonc/tritonc/driver/native"
)

// handle is one of the libraries': a device pointer, a binary, a stream or an event.
type handle = native.Handle

// status is an aclError or an rtError_t.
type status = native.Status

// library is the functions of the two libraries, by their names without "acl", "aclrt" and
// "rt".
type library struct {
	initialize     func(config unsafe.Pointer) status
	recentErrMsg   func() string
	getVersion     func(major, minor, patch *int32) status
	getSocName     func() string
	getDeviceCount func(n *uint32) status
	getDeviceInfo  func(number uint32, attribute int32, value *int64) status
	setDevice      func(number int32) status
	malloc         func(p *handle, size uintptr, policy int32) status
	free           func(handle) status
	getMemInfo     func(kind int32, free, total *uintptr) status
	memcpy         func(to unsafe.Pointer, room uintptr, from unsafe.Pointer, size uintptr, kind int32) status
	memcpyAsync    func(to handle, room uintptr, from handle, size uintptr, kind int32, stream handle) status
	memsetAsync    func(at handle, room uintptr, value int32, size uintptr, stream handle) status
	createStream   func(s *handle) status
	syncStream     func(handle) status
	destroyStream  func(handle) status
	createEvent    func(e *handle, flags uint32) status
	recordEvent    func(e, stream handle) status
	elapsedTime    func(ms *float32, begin, end handle) status
	destroyEvent   func(handle) status
	devBinary      func(b *devBinary, h *handle) status
	devBinaryEnd   func(handle) status
	functionOf     func(binary handle, stub unsafe.Pointer, stubName string, kernel string, mode uint32) status
	kernelLaunch   func(stub unsafe.Pointer, blocks uint32, args unsafe.Pointer, size uint32, shared unsafe.Pointer, stream handle) status
	getC2cCtrlAddr func(at *uint64, size *uint32) status

	mu    sync.Mutex
	bases map[handle]handle // what Malloc returned: what aclrtMalloc did
	codes map[handle][]byte // of the binaries that are registered
}

// aclFunctions are those of libascendcl.so, by name.
func (l *library) aclFunctions() map[string]any {
	return map[string]any{
		"aclInit":                  &l.initialize,
		"aclGetRecentErrMsg":       &l.recentErrMsg,
		"aclrtGetVersion":          &l.getVersion,
		"aclrtGetSocName":          &l.getSocName,
		"aclrtGetDeviceCount":      &l.getDeviceCount,
		"aclrtGetDeviceInfo":       &l.getDeviceInfo,
		"aclrtSetDevice":           &l.setDevice,
		"aclrtMalloc":              &l.malloc,
		"aclrtFree":                &l.free,
		"aclrtGetMemInfo":          &l.getMemInfo,
		"aclrtMemcpy":              &l.memcpy,
		"aclrtMemcpyAsync":         &l.memcpyAsync,
		"aclrtMemsetAsync":         &l.memsetAsync,
		"aclrtCreateStream":        &l.createStream,
		"aclrtSynchronizeStream":   &l.syncStream,
		"aclrtDestroyStream":       &l.destroyStream,
		"aclrtCreateEventWithFlag": &l.createEvent,
		"aclrtRecordEvent":         &l.recordEvent,
		"aclrtEventElapsedTime":    &l.elapsedTime,
		"aclrtDestroyEvent":        &l.destroyEvent,
	}
}

// rtFunctions are those of libruntime.so, by name.
func (l *library) rtFunctions() map[string]any {
	return map[string]any{
		"rtDevBinaryRegister":   &l.devBinary,
		"rtDevBinaryUnRegister": &l.devBinaryEnd,
		"rtFunctionRegister":    &l.functionOf,
		"rtKernelLaunch":        &l.kernelLaunch,
		"rtGetC2cCtrlAddr":      &l.getC2cCtrlAddr,
	}
}

// needed is the software that has the functions.
const needed = "CANN 8 or later"

// places are where a library is looked for: in the folders that CANN's set_env.sh names,
// where the system's loader looks, LD_LIBRARY_PATH among others, and where CANN is installed.
func places(name string) []string {
	var folders []string
	for _, variable := range []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} {
		if root := os.Getenv(variable); root != "" {
			folders = append(folders, filepath.Join(root, "lib64"))
		}
	}
	return native.Files(append(folders, "", "/usr/local/Ascend/ascend-toolkit/latest/lib64", "/usr/local/Ascend/cann/lib64"), name)
}

// openLibrary finds the two libraries and makes them ready.
func openLibrary() (native.Library, error) {
	l := &library{bases: map[handle]handle{}, codes: map[handle][]byte{}}
	for _, file := range []struct {
		name      string
		functions map[string]any
	}{{"libascendcl.so", l.aclFunctions()}, {"libruntime.so", l.rtFunctions()}} {
		link := native.Link{
			Name: "CANN's library " + file.name, Places: places(file.name), Functions: file.functions, Needed: needed,
			Help: "install Ascend's " + needed + " (https://www.hiascend.com/cann) and source its set_env.sh, or name its folder with ASCEND_HOME_PATH",
		}
		if err := link.Open(); err != nil {
			return nil, err
		}
	}
	code := l.initialize(nil)
	if code == repeatInitialize {
		code = native.Success
	}
	return l, native.Explain(l, "CANN cannot be used: aclInit", code)
}

// Version implements native.Library: the version of the interface, not of CANN.
func (l *library) Version() string {
	var major, minor, patch int32
	if l.getVersion(&major, &minor, &patch) != native.Success {
		return ""
	}
	return fmt.Sprintf("ACL %d.%d.%d", major, minor, patch)
}

// Meaning implements native.Library.
func (l *library) Meaning(code status) (name, text, more string) {
	name, text = fmt.Sprintf("error %d", code), ""
	if m, ok := meanings[code]; ok {
		name, text = m.name, m.text
	}
	return name, text, strings.TrimSpace(l.recentErrMsg())
}

// Help implements native.Library.
func (l *library) Help(code status) string {
	if m := meanings[code]; m.machine {
		return "npu-smi info lists the NPUs that the driver sees; the user must be allowed to open /dev/davinci*"
	}
	return ""
}

// OutOfMemory implements native.Library.
func (l *library) OutOfMemory(code status) bool { return code == memoryAllocation || code == deviceOOM }

// aclrtMalloc aligns to 64 bytes, and devices have to align to 256. The policy is
// ACL_MEM_MALLOC_HUGE_FIRST.
const (
	aligned   = 64
	align     = 256
	hugeFirst = 0
)

// Malloc implements native.Memory.
func (l *library) Malloc(size int64) (at handle, code status) {
	var base handle
	if code := l.malloc(&base, uintptr(size)+align-aligned, hugeFirst); code != native.Success {
		return 0, code
	}
	at = (base + align - 1) / align * align
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bases[at] = base
	return at, native.Success
}

// Free implements native.Memory.
func (l *library) Free(at handle) status {
	l.mu.Lock()
	base := l.bases[at]
	delete(l.bases, at)
	l.mu.Unlock()
	return l.free(base)
}

// keep keeps a binary's code in memory, which the library may read as long as it is
// registered; nil no longer.
func (l *library) keep(binary handle, code []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if code == nil {
		delete(l.codes, binary)
		return
	}
	l.codes[binary] = code
}

// Kinds of memory: ACL_DDR_MEM, ACL_HBM_MEM.
const (
	ddrMem = 0
	hbmMem = 1
)

// Left implements native.Memory. Chips without HBM have DDR.
func (l *library) Left() (int64, status) {
	var free, total uintptr
	code := l.getMemInfo(hbmMem, &free, &total)
	if code != native.Success || total == 0 {
		code = l.getMemInfo(ddrMem, &free, &total)
	}
	return int64(free), code
}

// Kinds of copies: ACL_MEMCPY_HOST_TO_DEVICE and so on.
const (
	hostToDevice   = 1
	deviceToHost   = 2
	deviceToDevice = 3
)

// Write implements native.Memory.
func (l *library) Write(to handle, p []byte) status {
	return l.memcpy(address(to), uintptr(len(p)), unsafe.Pointer(&p[0]), uintptr(len(p)), hostToDevice)
}

// Read implements native.Memory.
func (l *library) Read(from handle, p []byte) status {
	return l.memcpy(unsafe.Pointer(&p[0]), uintptr(len(p)), address(from), uintptr(len(p)), deviceToHost)
}

// address is a device's address as the parameter of a copy, which may be the host's, too.
func address(at handle) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// Clear implements native.Memory.
func (l *library) Clear(at handle, size int64, stream handle) status {
	return l.memsetAsync(at, uintptr(size), 0, uintptr(size), stream)
}

// NewStream implements native.Streams.
func (l *library) NewStream() (stream handle, code status) {
	code = l.createStream(&stream)
	return stream, code
}

// Wait implements native.Streams.
func (l *library) Wait(stream handle) status { return l.syncStream(stream) }

// DestroyStream implements native.Streams.
func (l *library) DestroyStream(stream handle) status { return l.destroyStream(stream) }

// timeLine has an event note the time: ACL_EVENT_TIME_LINE.
const timeLine = 8

// NewEvent implements native.Streams.
func (l *library) NewEvent() (event handle, code status) {
	code = l.createEvent(&event, timeLine)
	return event, code
}

// Record implements native.Streams.
func (l *library) Record(event, stream handle) status { return l.recordEvent(event, stream) }

// Elapsed implements native.Streams.
func (l *library) Elapsed(begin, end handle) (time.Duration, status) {
	var ms float32
	code := l.elapsedTime(&ms, begin, end)
	return time.Duration(float64(ms) * float64(time.Millisecond)), code
}

// DestroyEvent implements native.Streams.
func (l *library) DestroyEvent(event handle) status { return l.destroyEvent(event) }
