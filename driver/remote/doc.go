// Package remote reaches devices through driver plugins: programs named
// tritonc-device-<name> that serve the SDK's DeviceDriver, each in a process of
// its own, since what they link with (a vendor's driver library) is not on every
// machine, and a kernel that crashes may take the process with it.
//
//	host := remote.New(remote.Options{Dirs: dirs, Env: os.Environ()})
//	defer host.Close()
//	drv, err := host.Driver("cuda")
//	dev, err := drv.Open(ctx, 0, target, os.Stdout) // a driver.Device
//
// Main types: Host (the drivers of a session), Driver (one of them).
//
// Invariants: a driver has one process, started by the first call and shared by
// its devices, which several goroutines may open and use at the same time. A
// launch whose context ends, or after which the driver says that the device is
// lost, costs the process: its devices fail from then on, and the next Open
// starts another. Errors name CUDA's or whatever errors as the driver gave them.
//
// It imports package driver, the SDK and core/plugin/process; it must not
// import core's compiler or cmd.
package remote
