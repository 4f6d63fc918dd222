package native

import (
	"strings"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Handle is one of a library's: an address of a device's memory, a stream or an event.
type Handle = uintptr

// Status is what a function of a library returns.
type Status int32

// Success is the status of all libraries for a call that did what it should.
const Success Status = 0

// Library is a vendor's, opened and ready.
type Library interface {
	Devices
	Memory
	Streams
	// Load makes code ready to be launched. What it takes of the device beside the
	// session's own memory it gives back by Session.AtClose.
	Load(s *Session, b *sdk.DeviceBinary) (Code, error)
	// Version is for people, "HIP 6.2"; empty where the library does not tell.
	Version() string
	// Meaning is the name of a status, what it means, and what more the library tells of the
	// call. It is asked for once, by the thread whose call returned the status.
	Meaning(Status) (name, text, more string)
	// Help is the next step where a status is the machine's trouble, else empty.
	Help(Status) string
	// OutOfMemory reports whether a status of Malloc is for lack of memory.
	OutOfMemory(Status) bool
}

// Devices are found and chosen.
type Devices interface {
	// Count returns how many there are; where there are none, the status says so.
	Count() (int, Status)
	// Look finds out about a device.
	Look(number int) (*Device, error)
	// Choose makes a device the current one of the thread.
	Choose(number int) Status
}

// Memory is that of the current device. Copies wait.
type Memory interface {
	Malloc(size int64) (Handle, Status)
	Free(Handle) Status
	// Left returns how many bytes are free.
	Left() (int64, Status)
	// Write copies at least one byte to the device, Read from there.
	Write(to Handle, p []byte) Status
	Read(from Handle, p []byte) Status
	// Clear sets memory to zero, in a stream.
	Clear(at Handle, size int64, stream Handle) Status
}

// Streams run what is put into them one after the other. Events are places in them.
type Streams interface {
	NewStream() (Handle, Status)
	Wait(stream Handle) Status
	DestroyStream(stream Handle) Status
	NewEvent() (Handle, Status)
	Record(event, stream Handle) Status
	// Elapsed returns the time between two events, which have happened.
	Elapsed(begin, end Handle) (time.Duration, Status)
	DestroyEvent(event Handle) Status
}

// Device is what is known of a device.
type Device struct {
	sdk.DeviceProperties
	// Target is what to compile for.
	Target sdk.Target
	// Kind is what messages call it: "a gfx942 with warps of 64".
	Kind string
	// Runs reports whether it runs code for a target.
	Runs func(sdk.Target) bool
}

// Code is a kernel that a library has loaded.
type Code interface {
	// Name is the kernel's, for messages.
	Name() string
	// Prepare checks a launch and packs its arguments.
	Prepare(*sdk.DeviceLaunch) (Launch, error)
}

// Launch is a kernel with its arguments.
type Launch interface {
	// Reserve sees to it that memory of the kernel's own is there. It is called once,
	// before the others.
	Reserve() error
	// Ready puts into the session's stream what has to come before each start.
	Ready() error
	// Start puts the kernel into the session's stream.
	Start() error
}

// statusError is a call of a library that failed.
type statusError struct {
	what             string // failed
	name, text, more string // of the status
}

func (e *statusError) Error() string { return e.what + ": " + e.said() }

// said is what the library says: "hipErrorOutOfMemory (out of memory)".
func (e *statusError) said() string {
	s := e.name
	if e.text != "" {
		s += " (" + e.text + ")"
	}
	for line := range strings.Lines(e.more) {
		s += "\n    " + strings.TrimRight(line, "\n")
	}
	return s
}

// Explain makes an error of a status, which says what failed; nil of Success.
func Explain(l Library, what string, code Status) error {
	if code == Success {
		return nil
	}
	e := statusOf(l, what, code)
	if help := l.Help(code); help != "" {
		return (&sdk.Diagnostic{Kind: sdk.Environment, Message: e.Error()}).WithHelp("%s", help)
	}
	return e
}

func statusOf(l Library, what string, code Status) *statusError {
	name, text, more := l.Meaning(code)
	return &statusError{what, name, text, more}
}
