package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// session is what one user of a GPU made on it. It implements sdk.Device.
type session struct {
	gpu        *gpu
	out        *stdout
	properties sdk.DeviceProperties
	buffers    map[*buffer]bool
	kernels    map[*kernel]bool

	flush     cu.DevicePtr // memory that measurements overwrite to empty the L2 cache
	flushSize int64        // 0: none yet
}

// Properties implements sdk.Device.
func (s *session) Properties() sdk.DeviceProperties { return s.properties }

// Close implements sdk.Device.
func (s *session) Close() error {
	return s.gpu.do(func() error {
		var errs []error
		for b := range s.buffers {
			errs = append(errs, explain("freeing "+b.name, cu.MemFree(b.base)))
		}
		for k := range s.kernels {
			errs = append(errs, explain("unloading "+k.name, k.module.Unload()))
		}
		if s.flushSize > 0 {
			errs = append(errs, explain("freeing memory for the flush of the cache", cu.MemFree(s.flush)))
			s.flushSize = 0
		}
		clear(s.buffers)
		clear(s.kernels)
		return errors.Join(errs...)
	})
}

const (
	// guardBytes lie before and after a buffer. CUDA's own alignment divides
	// them.
	guardBytes = 512
	guardByte  = 0xA5
	// unwritten is what memory holds at first.
	unwritten = 0xFF
)

// buffer is memory between two guard zones. It implements sdk.DeviceBuffer.
type buffer struct {
	session *session
	name    string
	base    cu.DevicePtr // of the first zone
	size    int64
}

func (b *buffer) start() cu.DevicePtr { return b.base + guardBytes }

// Addr implements sdk.DeviceBuffer.
func (b *buffer) Addr() uint64 { return uint64(b.start()) }

// Alloc implements sdk.Device.
func (s *session) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	b := &buffer{session: s, name: name, size: size}
	err := s.gpu.do(func() error {
		if size > s.gpu.properties.Memory {
			return s.tooLarge(name, size)
		}
		err := explain("memory for "+name, allocate(&b.base, size+2*guardBytes))
		var cudaErr *Error
		if errors.As(err, &cudaErr) && cudaErr.has(cu.OutOfMemory) {
			return s.tooLarge(name, size)
		}
		if err != nil {
			return err
		}
		if err := b.clear(); err != nil {
			return errors.Join(err, cu.MemFree(b.base))
		}
		s.buffers[b] = true
		return nil
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

func (s *session) tooLarge(name string, size int64) error {
	free := ""
	if n, _, err := cu.MemInfo(); err == nil {
		free = fmt.Sprintf("; %d are free", n)
	}
	return sdk.Errorf("CUDA_ERROR_OUT_OF_MEMORY: %s needs %d bytes of the %s%s", name, size, s.properties.Name, free)
}

// clear fills a new buffer and its zones.
func (b *buffer) clear() error {
	for _, z := range []struct {
		at    cu.DevicePtr
		value byte
		n     int64
	}{
		{b.base, guardByte, guardBytes},
		{b.start(), unwritten, b.size},
		{b.start() + cu.DevicePtr(b.size), guardByte, guardBytes},
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

// Write implements sdk.DeviceBuffer.
func (b *buffer) Write(_ context.Context, offset int64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	return b.session.gpu.do(func() error {
		return explain("copying to "+b.name, cu.MemcpyHtoD(b.start()+cu.DevicePtr(offset), unsafe.Pointer(&p[0]), int64(len(p))))
	})
}

// Read implements sdk.DeviceBuffer.
func (b *buffer) Read(_ context.Context, offset int64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	return b.session.gpu.do(func() error {
		return explain("copying from "+b.name, cu.MemcpyDtoH(unsafe.Pointer(&p[0]), b.start()+cu.DevicePtr(offset), int64(len(p))))
	})
}

// Free implements sdk.DeviceBuffer.
func (b *buffer) Free() error {
	return b.session.gpu.do(func() error {
		delete(b.session.buffers, b)
		return explain("freeing "+b.name, cu.MemFree(b.base))
	})
}

// damage says where somebody wrote into the guard zones, "" if nobody did. The
// zones are mended, so that each launch is blamed for its own.
func (b *buffer) damage() (string, error) {
	zone := make([]byte, guardBytes)
	intact := bytes.Repeat([]byte{guardByte}, guardBytes)
	said := ""
	for _, behind := range []bool{false, true} {
		at := b.base
		if behind {
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
		switch {
		case said != "":
			said += ", and "
		default:
			said = b.name + " was written "
		}
		if behind {
			said += fmt.Sprintf("after its end: at byte %d, and it has %d", b.size+int64(first), b.size)
		} else {
			said += fmt.Sprintf("before its start: %d bytes before it", guardBytes-last)
		}
		if err := cu.MemsetD8(at, guardByte, guardBytes); err != nil {
			return "", explain("mending around "+b.name, err)
		}
	}
	return said, nil
}
