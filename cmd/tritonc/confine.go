package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/process"
)

// Variables that give the defaults of the flags of the same names.
const (
	backendMemoryVar  = "TRITONC_BACKEND_MEMORY"
	backendTimeoutVar = "TRITONC_BACKEND_TIMEOUT"
	backendSandboxVar = "TRITONC_BACKEND_SANDBOX"
	backendReadVar    = "TRITONC_BACKEND_READ"
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
	flags.StringVar(&f.memory, "backend-memory", "", "`MIB` of memory that a backend may have, and each of its tools")
	flags.StringVar(&f.timeout, "backend-timeout", "", "`TIME` that a call of a backend may take, such as 90s")
	flags.StringVar(&f.sandbox, "backend-sandbox", "", "run backends without network, writing and most of reading;\n`MODE` is on, try (a warning where the system lacks the means) or off")
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
