package native

import (
	"context"
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Session is an open device. It implements sdk.DeviceTimer. One call comes after the other.
type Session struct {
	// Device is what is known of the device, and Stream where launches run.
	Device *Device
	Stream Handle

	driver *Driver
	lib    Library
	number int

	buffers map[*buffer]bool
	regions map[string]*Region
	atClose []func() error
}

var _ sdk.DeviceTimer = (*Session)(nil)

// Properties implements sdk.Device.
func (s *Session) Properties() sdk.DeviceProperties { return s.Device.DeviceProperties }

// Explain makes an error of a status of the session's library.
func (s *Session) Explain(what string, code Status) error { return Explain(s.lib, what, code) }

// AtClose has f called when the session ends, after its memory was freed.
func (s *Session) AtClose(f func() error) { s.atClose = append(s.atClose, f) }

// Close implements sdk.Device. Of a lost device nothing is left to give back.
func (s *Session) Close() error {
	if s.driver.lost.Load() {
		return nil
	}
	return s.enter(func() error {
		var errs []error
		for _, r := range s.regions {
			errs = append(errs, r.free())
		}
		for b := range s.buffers {
			errs = append(errs, s.Explain("freeing "+b.name, s.lib.Free(b.address)))
		}
		for _, f := range s.atClose {
			errs = append(errs, f())
		}
		clear(s.buffers)
		s.atClose = nil
		return errors.Join(append(errs, s.Explain("a stream's end", s.lib.DestroyStream(s.Stream)))...)
	})
}

// buffer is memory of a session. It implements sdk.DeviceBuffer.
type buffer struct {
	session *Session
	name    string
	address Handle
}

// Alloc implements sdk.Device.
func (s *Session) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	b := &buffer{session: s, name: name}
	err := s.enter(func() (err error) {
		b.address, err = s.allocate(name, size)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.buffers[b] = true
	return b, nil
}

// allocate reserves memory, of which an error says what it was for. The caller has entered.
func (s *Session) allocate(name string, size int64) (Handle, error) {
	at, code := s.lib.Malloc(max(size, 1))
	switch {
	case code == Success:
		return at, nil
	case s.lib.OutOfMemory(code):
		status, _, _ := s.lib.Meaning(code)
		left := ""
		if n, code := s.lib.Left(); code == Success {
			left = fmt.Sprintf("; %d are free", n)
		}
		return 0, sdk.Errorf("%s: %s needs %s of the %s%s", status, name, diag.Count(size, "byte"), s.Device.Name, left)
	default:
		return 0, s.Explain("memory for "+name, code)
	}
}

// Addr implements sdk.DeviceBuffer.
func (b *buffer) Addr() uint64 { return uint64(b.address) }

// unusable says why a copy or a launch cannot use the buffer; it is empty where they can.
func (b *buffer) unusable() string {
	if !b.session.buffers[b] {
		return "memory " + b.name + " was freed"
	}
	return ""
}

// Write implements sdk.DeviceBuffer.
func (b *buffer) Write(_ context.Context, offset int64, p []byte) error {
	return b.copy("copying to ", p, func(l Library) Status { return l.Write(b.address+Handle(offset), p) })
}

// Read implements sdk.DeviceBuffer.
func (b *buffer) Read(_ context.Context, offset int64, p []byte) error {
	return b.copy("copying from ", p, func(l Library) Status { return l.Read(b.address+Handle(offset), p) })
}

func (b *buffer) copy(what string, p []byte, f func(Library) Status) error {
	if wrong := b.unusable(); wrong != "" {
		return sdk.Errorf("%s", wrong)
	}
	if len(p) == 0 {
		return nil
	}
	s := b.session
	return s.enter(func() error { return s.Explain(what+b.name, f(s.lib)) })
}

// Free implements sdk.DeviceBuffer.
func (b *buffer) Free() error {
	if wrong := b.unusable(); wrong != "" {
		return sdk.Errorf("%s", wrong)
	}
	s := b.session
	delete(s.buffers, b)
	if s.driver.lost.Load() {
		return nil // and the memory with it
	}
	return s.enter(func() error { return s.Explain("freeing "+b.name, s.lib.Free(b.address)) })
}

// Argument returns the bytes that a kernel gets for an argument, little-endian: an address,
// or a number of up to eight bytes. Otherwise it says what is wrong with it.
func (s *Session) Argument(a *sdk.DeviceArg) (value [8]byte, size int, wrong string) {
	put := func(address uint64) {
		for i := range value {
			value[i] = byte(address >> (8 * i))
		}
	}
	switch b, own := a.Buffer.(*buffer); {
	case a.Map != nil:
		return value, 0, fmt.Sprintf("it is a tensor map, and %s have none", s.driver.vendor.All)
	case own && b.session == s:
		if wrong := b.unusable(); wrong != "" {
			return value, 0, wrong
		}
		put(b.Addr())
	case a.Buffer != nil:
		return value, 0, "it is memory of another device"
	case a.Scalar != nil:
		if len(a.Scalar) > len(value) {
			return value, 0, "a number has " + diag.Count(len(a.Scalar), "byte")
		}
		copy(value[:], a.Scalar)
		return value, len(a.Scalar), ""
	}
	return value, len(value), ""
}

// Region is memory of a session for what its kernels need beside their arguments. It grows,
// and then has other contents.
type Region struct {
	At   Handle
	Size int64 // 0: none yet

	session *Session
}

// Region returns the one of that name.
func (s *Session) Region(name string) *Region {
	r := s.regions[name]
	if r == nil {
		r = &Region{session: s}
		s.regions[name] = r
	}
	return r
}

func (r *Region) free() error {
	if r.Size == 0 {
		return nil
	}
	r.Size = 0
	return r.session.Explain("freeing memory", r.session.lib.Free(r.At))
}

// Reserve sees to it that the region has size bytes; what says what they are for. The
// caller has entered: it is a method of a Launch or Load of a Library.
func (r *Region) Reserve(what string, size int64) error {
	if size <= r.Size {
		return nil
	}
	if err := r.free(); err != nil {
		return err
	}
	at, err := r.session.allocate(what, size)
	if err == nil {
		r.At, r.Size = at, size
	}
	return err
}
