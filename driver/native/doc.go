// Package native is what drivers have in common that open their vendor's library when they
// run: sessions, memory by name, launches between events, measurements, and what is said
// of a call that failed. A vendor's package (driver/hip, driver/ascend) has what differs:
// where its library is, which functions that has, what a device is, and how code is loaded
// and given its arguments.
//
// Main types: Driver implements sdk.DeviceDriver for a Vendor, over its Library. The
// devices that it opens are Sessions, which implement sdk.DeviceTimer. A Library loads
// Code; that checks a launch and makes a Launch of it.
//
// Invariants: every call of a library is made by a goroutine that keeps its thread, and all
// but the first ones by a thread whose current device is the session's. A session's launches
// run on a stream of its own and are waited for, so that nothing runs when memory is copied
// or freed. What the library reports after a kernel began is the kernel's fault, and the
// device is then lost to the process.
//
// It imports core/diag and the SDK, and knows no vendor.
package native
