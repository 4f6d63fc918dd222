package npu

import (
	"math"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// Type is the type of a scalar or of an element of memory.
type Type uint8

// The types. A value of any of them is its bits, in the low end of a uint64.
const (
	NoType Type = iota
	I1
	I8
	I16
	I32
	I64
	Index
	F8E4M3
	F8E5M2
	F16
	BF16
	F32
	F64
)

var typeNames = [...]string{
	I1: "i1", I8: "i8", I16: "i16", I32: "i32", I64: "i64", Index: "index",
	F8E4M3: "f8E4M3FN", F8E5M2: "f8E5M2", F16: "f16", BF16: "bf16", F32: "f32", F64: "f64",
}

var typeBits = [...]uint{I1: 1, I8: 8, I16: 16, I32: 32, I64: 64, Index: 64, F8E4M3: 8, F8E5M2: 8, F16: 16, BF16: 16, F32: 32, F64: 64}

// typeNamed returns the type of a name, or NoType.
func typeNamed(name string) Type {
	for t, n := range typeNames {
		if n == name && name != "" {
			return Type(t)
		}
	}
	return NoType
}

func (t Type) String() string {
	if t == NoType {
		return "no type"
	}
	return typeNames[t]
}

// Size is how many bytes an element has in memory.
func (t Type) Size() int { return int(max(typeBits[t], 8)) / 8 }

func (t Type) float() bool { return t >= F8E4M3 }

// mask has the bits that a value of the type may have.
func (t Type) mask() uint64 { return math.MaxUint64 >> (64 - typeBits[t]) }

// signed is the value of an integer with its sign.
func (t Type) signed(v uint64) int64 {
	shift := 64 - typeBits[t]
	return int64(v<<shift) >> shift
}

// formats are the narrow floats as package simt has them.
var formats = [...]simt.Type{F8E4M3: simt.E4M3, F8E5M2: simt.E5M2, F16: simt.F16, BF16: simt.BF16}

// value is the number that the bits of a float stand for.
func (t Type) value(v uint64) float64 {
	switch t {
	case F32:
		return float64(math.Float32frombits(uint32(v)))
	case F64:
		return math.Float64frombits(v)
	}
	return simt.FloatOf(uint32(v), formats[t])
}

// round is the bits of the float that is nearest to x, of two the even one.
func (t Type) round(x float64) uint64 {
	switch t {
	case F32:
		return uint64(math.Float32bits(float32(x)))
	case F64:
		return math.Float64bits(x)
	}
	return uint64(simt.RoundFloat(x, formats[t], simt.RoundNearest))
}
