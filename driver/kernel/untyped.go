package kernel

import (
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// Untyped is memory for programs that do not know the type of its elements: an array of
// package array has it.
type Untyped struct{ memory }

func (u *Untyped) of() *memory { return &u.memory }

// Place allocates memory for an array and copies its elements there, unless they are
// unset. The name shows in reports.
func Place(dev driver.Device, name string, x *array.Array) (*Untyped, error) {
	b, err := dev.Alloc(name, len(x.Data))
	if err != nil {
		return nil, &ArgError{Name: name, Text: err.Error(), Err: err}
	}
	u := &Untyped{memory{x.Type, 0, x.Len(), &allocation{device: dev, buffer: b}}}
	if !x.Unset {
		if err := b.Write(0, x.Data); err != nil {
			b.Free()
			return nil, &ArgError{Name: name, Text: err.Error(), Err: err}
		}
	}
	return u, nil
}

// Fetch copies the elements back to an array of as many.
func (u *Untyped) Fetch(x *array.Array) error {
	if err := u.ready(x.Len()); err != nil {
		return err
	}
	if err := u.buffer.Read(0, x.Data); err != nil {
		return err
	}
	x.Unset = false
	return nil
}

// Free gives the memory back. It must not be in use by a launch.
func (u *Untyped) Free() error {
	if u.freed.Swap(true) {
		return ErrFreed
	}
	return u.buffer.Free()
}
