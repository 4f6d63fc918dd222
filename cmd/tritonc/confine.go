package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/driver/remote"
)

// Variables that give the defaults of the flags of the same names, and lists for drivers.
const (
	backendMemoryVar  = "TRITONC_BACKEND_MEMORY"
	backendTimeoutVar = "TRITONC_BACKEND_TIMEOUT"
	backendSandboxVar = "TRITONC_BACKEND_SANDBOX"
	backendReadVar    = "TRITONC_BACKEND_READ"
	deviceFilesVar    = "TRITONC_DEVICE_FILES"
	deviceEnvVar      = "TRITONC_DEVICE_ENV"
)

// Values of --backend-sandbox.
const (
	sandboxOn  = "on"
	sandboxTry = "try"
	sandboxOff = "off"
)

// leastBackendMemory, in MiB: below it a program with gRPC does not even start.
const leastBackendMemory = 64

// confineFlags say under which limits backends run. They are texts until settle.
type confineFlags struct {
	memory, timeout, sandbox string
	read                     []string

	confine process.Confine
	limit   time.Duration
}

// add adds the flags, for all verbs.
func (f *confineFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.memory, "backend-memory", "", "`MIB` of memory that a backend or device driver may have, and each of its tools")
	flags.StringVar(&f.timeout, "backend-timeout", "", "`TIME` that a call of a backend or device driver may take, such as 90s")
	flags.StringVar(&f.sandbox, "backend-sandbox", "", "run backends and device drivers without network, writing and\nmost of reading;\n`MODE` is on, try (a warning where the system lacks the means) or off")
	flags.Lookup("backend-sandbox").NoOptDefVal = sandboxOn
	flags.StringArrayVar(&f.read, "backend-read", nil, "a file or folder that backends in a sandbox may read, as `PATH`;\nmay be repeated")
}

// settle reads the flags and, where one is not given, its variable.
func (f *confineFlags) settle(cmd *cobra.Command, env *environment) error {
	value := func(flag, variable, text string) (name, val string) {
		if cmd.Flags().Changed(flag) {
			return "--" + flag, text
		}
		val, _ = env.lookupEnv(variable)
		return variable, val
	}
	if name, text := value("backend-memory", backendMemoryVar, f.memory); text != "" {
		mib, err := strconv.ParseInt(text, 10, 64)
		if err != nil || mib != 0 && mib < leastBackendMemory || mib > mostMemory {
			return usagef("%s %s is not a number of MiB between %d and %d, nor 0 for no limit", name, text, leastBackendMemory, int64(mostMemory))
		}
		f.confine.Memory = mib << 20
	}
	if name, text := value("backend-timeout", backendTimeoutVar, f.timeout); text != "" {
		var err error
		if f.limit, err = time.ParseDuration(text); err != nil || f.limit < 0 {
			return usagef("%s %s is not a time such as 90s or 5m, nor 0 for no limit", name, text)
		}
	}
	switch name, text := value("backend-sandbox", backendSandboxVar, f.sandbox); text {
	case "", sandboxOff:
		return nil
	case sandboxOn, "1":
	case sandboxTry:
		f.confine.Try = true
	default:
		return usagef("%s %s is none of on, try and off", name, text)
	}
	list, _ := env.lookupEnv(backendReadVar)
	f.confine.Sandbox = &process.Sandbox{Read: append(filepath.SplitList(list), f.read...)}
	f.readLibraries(cmd)
	return nil
}

// readLibraries lets a sandbox read the libraries of --extern-lib. All else of the
// input reaches a backend through its connection.
func (f *confineFlags) readLibraries(cmd *cobra.Command) {
	flag := cmd.Flags().Lookup("extern-lib")
	if flag == nil {
		return
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		for _, text := range list.GetSlice() {
			if _, path, ok := strings.Cut(text, "="); ok {
				f.confine.Sandbox.Read = append(f.confine.Sandbox.Read, path)
			}
		}
	}
}

// apply puts the limits into a host's options.
func (f *confineFlags) apply(opts *plugin.Options) {
	opts.Confine, opts.CallTimeout = f.confine, f.limit
}

// deviceFiles are what drivers in a sandbox use of /dev, unless deviceFilesVar lists
// others: NVIDIA's, AMD's, Ascend's, and those of the kernel's common interfaces.
var deviceFiles = []string{"/dev/nvidia*", "/dev/kfd", "/dev/davinci*", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/dri", "/dev/accel"}

// driverReads are what vendors' libraries read of the system besides what every
// program does: which devices there are, where, and by which driver of the kernel.
var driverReads = []string{"/sys", "/proc/devices", "/proc/modules", "/proc/driver", "/etc/OpenCL", "/opt/rocm", "/usr/local/Ascend"}

// driverRoots are variables that name the folders of vendors' software.
var driverRoots = []string{"ROCM_PATH", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}

// applyToDrivers puts the limits into the options of a host of drivers. In a sandbox
// a driver has of the environment what a backend has, the variables of driverEnv, and
// those that deviceEnvVar names.
func (f *confineFlags) applyToDrivers(opts *remote.Options, env *environment) {
	opts.Confine, opts.CallTimeout = f.confine, f.limit
	if f.confine.Sandbox == nil {
		return
	}
	list := func(variable string) []string {
		text, _ := env.lookupEnv(variable)
		return filepath.SplitList(text)
	}
	box := process.Sandbox{Read: slices.Concat(f.confine.Sandbox.Read, driverReads)}
	for _, dir := range list("PATH") {
		if filepath.IsAbs(dir) {
			box.Read = append(box.Read, process.ToolFolders(dir)...)
		}
	}
	for _, variable := range slices.Concat([]string{"LD_LIBRARY_PATH"}, driverRoots) {
		for _, dir := range list(variable) {
			if filepath.IsAbs(dir) {
				box.Read = append(box.Read, dir)
			}
		}
	}
	patterns := list(deviceFilesVar)
	if len(patterns) == 0 {
		patterns = deviceFiles
	}
	for _, pattern := range patterns {
		there, _ := filepath.Glob(pattern) // one that is wrong matches nothing
		box.Devices = append(box.Devices, there...)
	}
	opts.Confine.Sandbox = &box
	opts.Env = driverEnv(env.environ, list(deviceEnvVar))
}

// driverEnv is what a driver in a sandbox has of an environment: what every program
// needs, what says where libraries are and which devices to use, and what names list.
func driverEnv(environ, names []string) (kept []string) {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case slices.Contains([]string{"PATH", "HOME", "LD_LIBRARY_PATH"}, name), slices.Contains(driverRoots, name),
			strings.HasSuffix(name, "_VISIBLE_DEVICES"), strings.HasSuffix(name, "_DEVICE_ORDER"), slices.Contains(names, name):
			kept = append(kept, kv)
		}
	}
	return kept
}
