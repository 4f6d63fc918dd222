//go:build linux

package hip

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// handle is one of HIP's: a device pointer, a module, a function, a stream or an event.
type handle = uintptr

// status is a hipError_t.
type status int32

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

// symbols are the names of the functions. hipGetDevicePropertiesR0600 is what
// hipGetDeviceProperties has meant since ROCm 6; before, its struct was another.
func (l *library) symbols() map[string]any {
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
	var list []string
	in := func(root string) {
		for _, name := range []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"} {
			list = append(list, filepath.Join(root, name))
		}
	}
	if root := os.Getenv("ROCM_PATH"); root != "" {
		in(filepath.Join(root, "lib"))
	}
	in("")
	in("/opt/rocm/lib")
	return list
}

// openLibrary finds HIP's library and makes it ready.
func openLibrary() (*library, error) {
	var said []string
	for _, path := range places() {
		lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			said = append(said, err.Error())
			continue
		}
		l := &library{}
		for name, f := range l.symbols() {
			address, err := purego.Dlsym(lib, name)
			if err != nil {
				return nil, fmt.Errorf("%s has no function %s: ROCm 6 or later is needed", path, name)
			}
			purego.RegisterFunc(f, address)
		}
		return l, l.explain("HIP cannot be used: hipInit", l.initialize(0))
	}
	return nil, (&sdk.Diagnostic{
		Kind: sdk.Environment, Message: "HIP's library cannot be opened:\n    " + strings.Join(said, "\n    "),
	}).WithHelp("install AMD's ROCm, 6 or later (https://rocm.docs.amd.com), or name its folder with ROCM_PATH")
}

// Results of HIP with a meaning here.
const (
	success     status = 0
	outOfMemory status = 2
	noDevice    status = 100
)

// libraryError is what a function of HIP's returned.
type libraryError struct {
	what string // failed
	code status
	text string
}

func (e *libraryError) Error() string { return e.what + ": " + e.text }

// explain makes an error of a result, which says what failed.
func (l *library) explain(what string, code status) error {
	if code == success {
		return nil
	}
	return &libraryError{what, code, l.codeText(code)}
}

// codeText names a result and explains it: "hipErrorOutOfMemory (out of memory)".
func (l *library) codeText(code status) string {
	return fmt.Sprintf("%s (%s)", l.errorName(code), l.errorString(code))
}

// version is that of the library, such as "7.1".
func (l *library) version() string {
	var v int32
	if l.driverVersion(&v) != success || v <= 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", v/10_000_000, v%10_000_000/100_000)
}
