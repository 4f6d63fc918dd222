package kernel

import (
	"math"
	"unsafe"

	"github.com/tritonc/tritonc/driver/array"
)

// Element is a type of the elements of device memory.
type Element interface {
	Bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | Float
}

// Float is a floating-point type that Go lacks. Round makes one of a float64.
type Float interface {
	Float16 | BFloat16 | Float8E4NV | Float8E4B8 | Float8E4B15 | Float8E5 | Float8E5B16
}

// Elements by their bits, under Triton's names for their types.
type (
	Bool        uint8  // i1: 0 or 1
	Float16     uint16 // fp16: IEEE's binary16
	BFloat16    uint16 // bf16: the upper half of a float32
	Float8E4NV  uint8  // fp8e4nv: 4 bits of exponent, no infinities (OCP's E4M3)
	Float8E4B8  uint8  // fp8e4b8: E4M3 with a bias of 8, no negative zero
	Float8E4B15 uint8  // fp8e4b15: E4M3 with a bias of 15, no NaN
	Float8E5    uint8  // fp8e5: 5 bits of exponent (OCP's E5M2)
	Float8E5B16 uint8  // fp8e5b16: E5M2 with a bias of 16, no negative zero
)

// Float64 is the element's value.
func (x Float16) Float64() float64     { return fp16.Value(uint64(x)) }
func (x BFloat16) Float64() float64    { return float64(math.Float32frombits(uint32(x) << 16)) }
func (x Float8E4NV) Float64() float64  { return fp8e4nv.Value(uint64(x)) }
func (x Float8E4B8) Float64() float64  { return fp8e4b8.Value(uint64(x)) }
func (x Float8E4B15) Float64() float64 { return fp8e4b15.Value(uint64(x)) }
func (x Float8E5) Float64() float64    { return fp8e5.Value(uint64(x)) }
func (x Float8E5B16) Float64() float64 { return fp8e5b16.Value(uint64(x)) }

var (
	fp16     = array.Named("fp16")
	bf16     = array.Named("bf16")
	fp8e4nv  = array.Named("fp8e4nv")
	fp8e4b8  = array.Named("fp8e4b8")
	fp8e4b15 = array.Named("fp8e4b15")
	fp8e5    = array.Named("fp8e5")
	fp8e5b16 = array.Named("fp8e5b16")
)

// Round returns the element that is nearest to v; of two, the even one.
func Round[T Float](v float64) T { return T(TypeOf[T]().Bits(v)) }

// TypeOf is the element type as signatures have it.
func TypeOf[T Element]() *array.DType {
	switch any(*new(T)).(type) {
	case Bool:
		return array.Named("i1")
	case int8:
		return array.Named("i8")
	case int16:
		return array.Named("i16")
	case int32:
		return array.Named("i32")
	case int64:
		return array.Named("i64")
	case uint8:
		return array.Named("u8")
	case uint16:
		return array.Named("u16")
	case uint32:
		return array.Named("u32")
	case uint64:
		return array.Named("u64")
	case float32:
		return array.Named("fp32")
	case float64:
		return array.Named("fp64")
	case Float16:
		return fp16
	case BFloat16:
		return bf16
	case Float8E4NV:
		return fp8e4nv
	case Float8E4B8:
		return fp8e4b8
	case Float8E4B15:
		return fp8e4b15
	case Float8E5:
		return fp8e5
	}
	return fp8e5b16
}

// bytesOf is the memory of elements. It is that of a device too, since both are
// little-endian: Go has no port to a big-endian machine with a GPU that we know.
func bytesOf[T Element](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}
