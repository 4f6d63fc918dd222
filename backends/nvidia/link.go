package nvidia

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/lower"
)

// libdeviceName is the name that an option or a setting knows CUDA's library by.
const libdeviceName = "libdevice"

// libraries are those to link, in order: the user's by name, then libdevice,
// which the others may call.
func (j *job) libraries(c *backend.Compilation) []llvm.Library {
	var list []llvm.Library
	for _, name := range slices.Sorted(maps.Keys(j.opts.ExternLibs)) {
		if name != libdeviceName {
			list = append(list, llvm.Library{Name: name, Path: j.opts.ExternLibs[name]})
		}
	}
	path := j.opts.ExternLibs[libdeviceName]
	if path == "" {
		path = findLibdevice(c)
	}
	if path != "" {
		list = append(list, llvm.Library{Name: libdeviceName, Path: path})
	}
	return list
}

// findLibdevice looks for libdevice.10.bc: the one that the user names, that of
// a CUDA toolkit, that beside ptxas. It returns "" where there is none.
func findLibdevice(c *backend.Compilation) string {
	if path := c.Request.Settings[settingLibdevice.Name]; path != "" {
		return path
	}
	places := libdevicesOf(c.Request.Settings)
	dirs := []string{"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"}
	if ptxas, err := c.Find(ptxasKind); err == nil {
		if real, err := filepath.EvalSymlinks(ptxas.Path); err == nil {
			dirs = append(dirs, filepath.Dir(filepath.Dir(real)))
		}
	}
	for _, dir := range dirs {
		places = append(places, libdevicesIn(dir)...)
	}
	for _, path := range places {
		c.LookAt(path)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// libdevicesOf are the places where the toolkit that the user names may have libdevice.
// They come before places that all machines look at, so that a machine could else take for
// its own what another compiled without such a setting.
func libdevicesOf(settings map[string]string) []string {
	if dir := settings[settingCUDA.Name]; dir != "" {
		return libdevicesIn(dir)
	}
	return nil
}

// libdevicesIn are the places where a toolkit may have it.
func libdevicesIn(dir string) []string {
	var list []string
	for _, sub := range []string{"nvvm/libdevice", "libdevice"} {
		list = append(list, filepath.Join(dir, sub, "libdevice.10.bc"))
	}
	return list
}

// deviceFunctions are those that no library defines: ptxas knows them.
var deviceFunctions = []string{"vprintf", "__assertfail", "malloc", "free", "__nvvm_reflect"}

// libraryHelp says how to give a function's library, of which the kernel may say
// the name, beside those that there are.
func libraryHelp(function, name string, have []llvm.Library) string {
	given := func(name string) bool {
		return slices.ContainsFunc(have, func(l llvm.Library) bool { return l.Name == name })
	}
	if strings.HasPrefix(function, "__nv_") && !given(libdeviceName) {
		return "name CUDA's libdevice.10.bc with --extern-lib libdevice=PATH or TRITON_LIBDEVICE_PATH; tl.math and Triton's own libdevice need none"
	}
	if name == "" || given(name) {
		name = "NAME"
	}
	return "give a library of LLVM IR that defines it with --extern-lib " + name + "=PATH (option extern_libs)"
}

// readHelp is the next step for a library that cannot be read.
func readHelp(l llvm.Library) string {
	if l.Name == libdeviceName {
		return "see " + strings.Join(settingLibdevice.Env, ", ") + " and --extern-lib " + libdeviceName + "=PATH"
	}
	return "see --extern-lib " + l.Name + "=PATH (option extern_libs)"
}

// link defines the kernel's external functions: with those of option extern_libs,
// and CUDA's libdevice where one is found.
func (j *job) link(c *backend.Compilation, externs []lower.Extern) error {
	libs := j.libraries(c)
	return llvm.Link(c, externs, "nvvm-reflect,", &llvm.Linking{
		Libraries: libs,
		Defined:   deviceFunctions,
		OptArgs:   []string{"-nvvm-reflect-add=__CUDA_ARCH=" + strconv.Itoa(10*j.early.cc)},
		ReadHelp:  readHelp,
		Help:      func(function, library string) string { return libraryHelp(function, library, libs) },
	})
}
