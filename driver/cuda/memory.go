package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
)

const (
	// guardBytes lie before and after a buffer of a Device with Options.Guard. CUDA's
	// own alignment divides them.
	guardBytes = 512
	guardByte  = 0xA5
	// unwritten is what memory holds at first.
	unwritten = 0xFF
)

// Buffer is memory of a Device. It implements driver.Buffer.
type Buffer struct {
	dev   *Device
	name  string
	base  cu.DevicePtr // of the first guard zone, where there are such zones
	zone  int64        // bytes of each guard zone
	size  int
	freed atomic.Bool
}

var _ driver.Buffer = (*Buffer)(nil)

// Alloc implements driver.Device.
func (d *Device) Alloc(name string, size int) (driver.Buffer, error) { return d.alloc(name, size) }

func (d *Device) alloc(name string, size int) (*Buffer, error) {
	b := &Buffer{dev: d, name: name, size: size}
	if d.guard {
		b.zone = guardBytes
	}
	err := d.gpu.enter(func() error {
		switch {
		case size < 0:
			return fmt.Errorf("memory for %s has a negative size, %d", name, size)
		case int64(size) > d.gpu.properties.Memory:
			return d.tooLarge(name, int64(size))
		}
		err := explain("memory for "+name, allocate(&b.base, max(int64(size)+2*b.zone, 1)))
		var cudaErr *Error
		if errors.As(err, &cudaErr) && cudaErr.has(cu.OutOfMemory) {
			return d.tooLarge(name, int64(size))
		}
		if err != nil {
			return err
		}
		if err := b.clear(); err != nil {
			return errors.Join(err, b.end())
		}
		return d.own(b)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func allocate(p *cu.DevicePtr, size int64) (err error) {
	*p, err = cu.MemAlloc(size)
	return err
}

func (d *Device) tooLarge(name string, size int64) error {
	free := ""
	if n, _, err := cu.MemInfo(); err == nil {
		free = fmt.Sprintf("; %d are free", n)
	}
	return diag.Errorf(diag.Pos{}, "CUDA_ERROR_OUT_OF_MEMORY: %s needs %s of the %s%s", name, diag.Count(size, "byte"), d.gpu.properties.Name, free)
}

// FreeMemory is how many bytes of the GPU's memory are free, for all processes.
func (d *Device) FreeMemory() (n int64, err error) {
	err = d.gpu.enter(func() (err error) {
		n, _, err = cu.MemInfo()
		return explain("asking for free memory", err)
	})
	return n, err
}

func (b *Buffer) start() cu.DevicePtr { return b.base + cu.DevicePtr(b.zone) }

// Addr implements driver.Buffer.
func (b *Buffer) Addr() uint64 { return uint64(b.start()) }

// Size implements driver.Buffer.
func (b *Buffer) Size() int { return b.size }

// usable says why a kernel or a copy cannot use the buffer.
func (b *Buffer) usable() error {
	if b.freed.Load() {
		return diag.Errorf(diag.Pos{}, "memory %s was freed", b.name)
	}
	return nil
}

// inside keeps an access of n bytes inside the buffer.
func (b *Buffer) inside(off, n int) error {
	if err := b.usable(); err != nil {
		return err
	}
	if off < 0 || off > b.size || n > b.size-off {
		return diag.Errorf(diag.Pos{}, "bytes %d to %d of %s, which has %d", off, off+n, b.name, b.size)
	}
	return nil
}

// Write implements driver.Buffer. It waits for what was launched.
func (b *Buffer) Write(off int, p []byte) error {
	if err := b.inside(off, len(p)); err != nil || len(p) == 0 {
		return err
	}
	return b.dev.gpu.enter(func() error {
		return explain("copying to "+b.name, cu.MemcpyHtoD(b.start()+cu.DevicePtr(off), unsafe.Pointer(&p[0]), int64(len(p))))
	})
}

// Read implements driver.Buffer. It waits for what was launched.
func (b *Buffer) Read(off int, p []byte) error {
	if err := b.inside(off, len(p)); err != nil || len(p) == 0 {
		return err
	}
	return b.dev.gpu.enter(func() error {
		return explain("copying from "+b.name, cu.MemcpyDtoH(unsafe.Pointer(&p[0]), b.start()+cu.DevicePtr(off), int64(len(p))))
	})
}

// Free implements driver.Buffer. It waits for what was launched.
func (b *Buffer) Free() error {
	if b.freed.Swap(true) {
		return diag.Errorf(diag.Pos{}, "memory %s was freed before", b.name)
	}
	return b.dev.giveBack(b)
}

func (b *Buffer) end() error {
	b.freed.Store(true)
	return explain("freeing "+b.name, cu.MemFree(b.base))
}

// clear fills a new buffer and its zones, where it has such.
func (b *Buffer) clear() error {
	if b.zone == 0 {
		return nil
	}
	for _, z := range []struct {
		at    cu.DevicePtr
		value byte
		n     int64
	}{
		{b.base, guardByte, b.zone},
		{b.start(), unwritten, int64(b.size)},
		{b.start() + cu.DevicePtr(b.size), guardByte, b.zone},
	} {
		if z.n == 0 {
			continue // CUDA takes no empty range
		}
		if err := cu.MemsetD8(z.at, z.value, z.n); err != nil {
			return explain("filling "+b.name, err)
		}
	}
	return nil
}

// guards looks at the memory around the device's buffers after a launch. A *driver.Fault
// says where somebody wrote into it.
func (d *Device) guards(kernel string) error {
	if !d.guard {
		return nil
	}
	var said []string
	for _, b := range d.buffers() {
		text, err := b.damage()
		if err != nil {
			return err
		}
		if text != "" {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return nil
	}
	slices.Sort(said) // a map has no order
	fault := &driver.Fault{Kernel: kernel}
	for _, text := range said {
		fault.Findings = append(fault.Findings, diag.Errorf(diag.Pos{}, "%s", text).WithHelp("%s", simulate))
	}
	return fault
}

func (d *Device) buffers() (all []*Buffer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.owned {
		if b, ok := c.(*Buffer); ok {
			all = append(all, b)
		}
	}
	return all
}

// damage says where somebody wrote into the guard zones, "" if nobody did. The
// zones are mended, so that each launch is blamed for its own.
func (b *Buffer) damage() (string, error) {
	zone := make([]byte, guardBytes)
	intact := bytes.Repeat([]byte{guardByte}, guardBytes)
	var said []string
	for _, after := range []bool{false, true} {
		at := b.base
		if after {
			at = b.start() + cu.DevicePtr(b.size)
		}
		if err := cu.MemcpyDtoH(unsafe.Pointer(&zone[0]), at, guardBytes); err != nil {
			return "", explain("reading around "+b.name, err)
		}
		if bytes.Equal(zone, intact) {
			continue
		}
		first, last := guardBytes, 0
		for i, v := range zone {
			if v != guardByte {
				first, last = min(first, i), i
			}
		}
		if after {
			said = append(said, fmt.Sprintf("after its end: at byte %d, and it has %d", b.size+first, b.size))
		} else {
			said = append(said, fmt.Sprintf("before its start: %s before it", diag.Count(guardBytes-last, "byte")))
		}
		if err := cu.MemsetD8(at, guardByte, guardBytes); err != nil {
			return "", explain("mending around "+b.name, err)
		}
	}
	if said == nil {
		return "", nil
	}
	return b.name + " was written " + strings.Join(said, ", and "), nil
}
