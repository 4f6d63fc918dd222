package launch

import (
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
)

// Placed is a kernel with its arguments in the device's memory, where it may be
// launched any number of times.
type Placed struct {
	Kernel driver.Kernel
	Launch driver.Launch

	own map[*array.Array]driver.Buffer
}

// Place copies the arrays to the device, less those that at finds there: it returns
// the buffer of an array, or nil. A nil at finds none. The caller frees what is
// placed.
func (k *Kernel) Place(grid [3]int, at func(x *array.Array) driver.Buffer) (*Placed, error) {
	p := &Placed{
		Kernel: k.loaded, Launch: driver.Launch{Grid: grid, Args: make([]any, len(k.args))},
		own: map[*array.Array]driver.Buffer{},
	}
	for i := range k.args {
		v, err := p.place(k, &k.args[i], at)
		if err != nil {
			p.Free()
			return nil, err
		}
		p.Launch.Args[i] = v
	}
	return p, nil
}

// place returns an argument as the device takes it.
func (p *Placed) place(k *Kernel, a *passed, at func(x *array.Array) driver.Buffer) (any, error) {
	x := a.arrayOf()
	if x == nil {
		return kernel.Scalar(a.name, a.typ, a.value)
	}
	b := p.own[x]
	if b == nil && at != nil {
		b = at(x)
	}
	if b == nil {
		var err error
		if b, err = k.early.take(k.device, a.name, x); err != nil {
			return nil, &ArgError{Name: a.name, Text: err.Error(), Err: err}
		}
		p.own[x] = b
		if !x.Unset {
			if err := b.Write(0, x.Data); err != nil {
				return nil, &ArgError{Name: a.name, Text: err.Error(), Err: err}
			}
		}
	}
	switch v := a.value.(type) {
	case *View:
		if v.Offset != 0 {
			return b.Addr() + uint64(v.Offset), nil
		}
	case mapped:
		m := *v.m
		m.Buffer = b
		if err := m.Check(); err != nil {
			return nil, wrongArg(a.name, "", "%v", err)
		}
		return &m, nil
	}
	return b, nil
}

// Fetch copies the arrays back that Place has copied: all or none, for whoever lost
// the device may want to try again.
func (p *Placed) Fetch() error {
	left := make(map[*array.Array][]byte, len(p.own))
	for x, b := range p.own {
		left[x] = make([]byte, len(x.Data))
		if err := b.Read(0, left[x]); err != nil {
			return err
		}
	}
	for x, data := range left {
		copy(x.Data, data)
		x.Unset = false
	}
	return nil
}

// Free gives the memory back that Place has taken.
func (p *Placed) Free() {
	for _, b := range p.own {
		b.Free()
	}
	clear(p.own)
}
