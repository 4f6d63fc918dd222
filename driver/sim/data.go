package sim

import (
	"encoding/binary"
	"fmt"
)

// Number is an element type of buffers.
type Number interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// Bytes encodes a slice as device memory holds it, little-endian.
func Bytes[T Number](s []T) []byte {
	out, err := binary.Append(make([]byte, 0, binary.Size(s)), binary.LittleEndian, s)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return out
}

// Slice decodes device memory; len(b) must be a multiple of the element's size.
func Slice[T Number](b []byte) []T {
	var zero T
	out := make([]T, len(b)/binary.Size(zero))
	if _, err := binary.Decode(b, binary.LittleEndian, out); err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	return out
}

// Upload allocates a buffer and fills it with s.
func Upload[T Number](d *Device, name string, s []T) *Buffer {
	b := d.Alloc(name, binary.Size(s))
	b.Write(0, Bytes(s))
	return b
}

// Download returns a buffer's contents as a slice.
func Download[T Number](b *Buffer) []T { return Slice[T](b.b.Data) }
