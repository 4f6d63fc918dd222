package launch

import (
	"sync"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// early is memory of the device that is taken before the launch, since a function of the
// file asks for the address of an array.
type early struct {
	device driver.Device // or nil
	at     func(x *array.Array) driver.Buffer

	mu      sync.Mutex
	buffers map[*array.Array]driver.Buffer
}

// address returns what finds the address of an array's byte.
func (e *early) address(x *array.Array, offset int) func() (uint64, bool) {
	return func() (uint64, bool) {
		b := e.buffer(x)
		if b == nil {
			return 0, false
		}
		return b.Addr() + uint64(offset), true
	}
}

func (e *early) buffer(x *array.Array) driver.Buffer {
	if e.at != nil {
		if b := e.at(x); b != nil {
			return b
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.buffers[x]; b != nil || e.device == nil {
		return b
	}
	b, err := e.device.Alloc("argument", len(x.Data))
	if err != nil {
		return nil // the launch tries it, too, and says why not
	}
	if e.buffers == nil {
		e.buffers = map[*array.Array]driver.Buffer{}
	}
	e.buffers[x] = b
	return b
}

// take hands over the memory of an array, or allocates it.
func (e *early) take(dev driver.Device, name string, x *array.Array) (driver.Buffer, error) {
	if e != nil && e.device == dev {
		e.mu.Lock()
		defer e.mu.Unlock()
		if b := e.buffers[x]; b != nil {
			delete(e.buffers, x)
			return b, nil
		}
	}
	return dev.Alloc(name, len(x.Data))
}

// Release gives back the memory that functions of the file had taken, and that no launch
// has taken over. It may be called at any time.
func (p *Prepared) Release() {
	e := p.kernel.early
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range e.buffers {
		b.Free()
	}
	e.buffers = nil
}
