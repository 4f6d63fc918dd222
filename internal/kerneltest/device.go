package kerneltest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/remote"
	"github.com/tritonc/tritonc/driver/simulated"
)

// Variables that let the tests run on another device than the simulated one.
const (
	// DeviceEnv names a driver's device, such as cuda or cuda:1.
	DeviceEnv = "TRITONC_DEVICE"
	// TargetEnv is the target of kernels that do not name one.
	TargetEnv = "TRITONC_TARGET"
	// OptionsEnv are options of kernels for that target that do not set them, such as
	// num_ctas=2,wgmma=never.
	OptionsEnv = "TRITONC_OPTIONS"
)

// defaultOptions reads OptionsEnv.
var defaultOptions = sync.OnceValue(func() Options {
	o := Options{}
	for _, s := range strings.FieldsFunc(os.Getenv(OptionsEnv), func(r rune) bool { return r == ',' }) {
		name, text, ok := strings.Cut(s, "=")
		if !ok {
			panic(fmt.Sprintf("%s=%s is not of the form name=value,…", OptionsEnv, os.Getenv(OptionsEnv)))
		}
		o[name] = text
		if n, err := strconv.Atoi(text); err == nil {
			o[name] = n
		}
	}
	return o
})

// options are the kernel's, and those of the environment that it does not set. Another
// target than the environment's may not have them.
func (k Kernel) options() Options {
	all := Options{}
	if k.CompiledFor() == defaultTarget() {
		maps.Copy(all, defaultOptions())
	}
	maps.Copy(all, k.Options)
	for _, name := range withoutOptions {
		delete(all, name)
	}
	return all
}

// Blocks is how many blocks a program of the kernel has, if it is compiled from Python.
func (k Kernel) Blocks() int {
	if n, ok := k.options()["num_ctas"].(int); ok {
		return n
	}
	return 1
}

// defaultTarget is what kernels are compiled for.
func defaultTarget() string { return firstOf(os.Getenv(TargetEnv), "cuda:80") }

// launchLimit bounds the time of a launch on a device: a kernel that does not
// end fails its own test alone. What else runs there meanwhile has to wait, too.
const launchLimit = 2 * time.Minute

// onDevice is the driver and the number of DeviceEnv's device; the driver is nil
// for the simulated one. The driver's process ends with this one.
var onDevice = sync.OnceValues(func() (*remote.Driver, int) {
	name, digits, numbered := strings.Cut(os.Getenv(DeviceEnv), ":")
	if name == "" || name == "sim" {
		return nil, 0
	}
	number := 0
	if numbered {
		var err error
		if number, err = strconv.Atoi(digits); err != nil {
			panic(fmt.Sprintf("%s=%s is not of the form cuda:1", DeviceEnv, os.Getenv(DeviceEnv)))
		}
	}
	dirs := append(filepath.SplitList(os.Getenv("TRITONC_BACKEND_PATH")), filepath.Join("..", "..", "bin"))
	d, err := remote.New(remote.Options{Dirs: dirs, Env: os.Environ()}).Driver(name)
	if err != nil {
		panic(DeviceEnv + ": " + Text(err))
	}
	return d, number
})

// OnDevice reports whether kernels run on another device than the simulated one.
func OnDevice() bool {
	d, _ := onDevice()
	return d != nil
}

// MachineCode reports whether an assembler, here or in another device's driver,
// makes more of kernels than what the simulated device takes.
func MachineCode() bool {
	return OnDevice() || os.Getenv(StoreEnv) != ""
}

// Simulated skips a test that is about the simulated device where the tests run
// on another one.
func Simulated(t testing.TB) {
	t.Helper()
	if OnDevice() {
		t.Skipf("it is about the simulated device, and %s is %s", DeviceEnv, os.Getenv(DeviceEnv))
	}
}

// OwnFiles skips a test whose kernels name files that it makes itself: on a
// machine that runs what another one compiled, nobody has compiled those.
func OwnFiles(t testing.TB) {
	t.Helper()
	if OnDevice() && os.Getenv(StoreEnv) != "" {
		t.Skipf("its kernels depend on files of its own, and are not in %s", StoreEnv)
	}
}

// Open makes a device ready: that of DeviceEnv, or of the target's platform, or the
// simulated one as the kernel wants it.
func (k *Kernel) Open(ctx context.Context, target core.Target, printed io.Writer) (driver.Device, error) {
	if d, number := onDevice(); d != nil {
		return d.Open(ctx, number, target, printed)
	}
	if p := platformOf(target); p.open != nil {
		return p.open(ctx, target, printed)
	}
	opts := k.Sim
	opts.Output = printed
	return simulated.New(target, opts)
}
