package kernel

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// ErrFreed is what the use of a buffer returns after Free.
var ErrFreed = errors.New("the buffer has been freed")

// Buffer is device memory with elements of one type. It may be used by several
// goroutines; what two of them do to the same elements at once is theirs to order.
type Buffer[T Element] struct{ memory }

// Memory is a *Buffer of whatever type.
type Memory interface {
	// Type of the elements, as signatures have it.
	Type() *array.DType
	// Len is the number of elements.
	Len() int
	// Addr is the address of the first one, as kernels see it.
	Addr() uint64
	// Room is how many bytes the allocation has of which it is a part.
	Room() int
	// Device that the memory is of.
	Device() driver.Device

	of() *memory
}

// IsNull reports whether v is a nil *Buffer: a null pointer.
func IsNull(v any) bool {
	m, ok := v.(Memory)
	return ok && m.of() == nil
}

// memory is a buffer without its type.
type memory struct {
	dtype *array.DType
	from  int // bytes into the allocation
	n     int // elements
	*allocation
}

// allocation is what buffers of the same memory share.
type allocation struct {
	device driver.Device
	buffer driver.Buffer
	freed  atomic.Bool
}

func (m *memory) Type() *array.DType    { return m.dtype }
func (m *memory) Len() int              { return m.n }
func (m *memory) Addr() uint64          { return m.buffer.Addr() + uint64(m.from) }
func (m *memory) Room() int             { return m.buffer.Size() }
func (m *memory) Device() driver.Device { return m.device }

// of is nil for a nil buffer.
func (b *Buffer[T]) of() *memory {
	if b == nil {
		return nil
	}
	return &b.memory
}

// Alloc makes a buffer of n elements, whose values are undefined.
func Alloc[T Element](dev driver.Device, n int) (*Buffer[T], error) {
	t := TypeOf[T]()
	if n < 0 || n > math.MaxInt/t.Size {
		return nil, fmt.Errorf("a buffer cannot have %s", diag.Count(n, "element"))
	}
	b, err := dev.Alloc(fmt.Sprintf("%s[%d]", t, n), n*t.Size)
	if err != nil {
		return nil, err
	}
	return &Buffer[T]{memory{t, 0, n, &allocation{device: dev, buffer: b}}}, nil
}

// From makes a buffer with the elements of values.
func From[T Element](dev driver.Device, values []T) (*Buffer[T], error) {
	b, err := Alloc[T](dev, len(values))
	if err != nil {
		return nil, err
	}
	if err := b.Write(values); err != nil {
		return nil, errors.Join(err, b.Free())
	}
	return b, nil
}

// Slice is the part of a buffer from element lo to hi-1, in the same memory: Free of one
// frees both. It panics as slices do.
func (b *Buffer[T]) Slice(lo, hi int) *Buffer[T] {
	if lo < 0 || hi < lo || hi > b.n {
		panic(fmt.Sprintf("kernel: elements %d to %d of a buffer of %d", lo, hi, b.n))
	}
	return &Buffer[T]{memory{b.dtype, b.from + lo*b.dtype.Size, hi - lo, b.allocation}}
}

// Write copies values, as many as the buffer has, to the device.
func (b *Buffer[T]) Write(values []T) error {
	if err := b.ready(len(values)); err != nil {
		return err
	}
	return b.buffer.Write(b.from, bytesOf(values))
}

// Read copies all elements from the device into values, which has as many.
func (b *Buffer[T]) Read(values []T) error {
	if err := b.ready(len(values)); err != nil {
		return err
	}
	return b.buffer.Read(b.from, bytesOf(values))
}

// Values returns all elements.
func (b *Buffer[T]) Values() ([]T, error) {
	values := make([]T, b.n)
	if err := b.Read(values); err != nil {
		return nil, err
	}
	return values, nil
}

// Free gives the memory back. It must not be in use by a launch.
func (b *Buffer[T]) Free() error {
	if b.freed.Swap(true) {
		return ErrFreed
	}
	return b.buffer.Free()
}

// ready checks a copy of n elements.
func (m *memory) ready(n int) error {
	switch {
	case m.freed.Load():
		return ErrFreed
	case n != m.n:
		return fmt.Errorf("the buffer has %s, and %d are copied", diag.Count(m.n, "element"), n)
	}
	return nil
}

// Fetch returns the elements of memory of any type.
func Fetch(m Memory) (*array.Array, error) {
	a := array.New(m.Type(), m.Len())
	if err := m.of().ready(m.Len()); err != nil {
		return nil, err
	}
	return a, m.of().buffer.Read(m.of().from, a.Data)
}

// Store writes elements, as many as memory of any type has, and of its type.
func Store(m Memory, a *array.Array) error {
	if a.Type != m.Type() {
		return fmt.Errorf("elements of type %s cannot be written to a buffer of %s", a.Type, m.Type())
	}
	if err := m.of().ready(a.Len()); err != nil {
		return err
	}
	return m.of().buffer.Write(m.of().from, a.Data)
}
