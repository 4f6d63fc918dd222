package array

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Array is a dense array in row-major order.
type Array struct {
	Type  *DType
	Shape []int // empty for a single element
	// Data holds the elements, little-endian.
	Data []byte
	// Unset says that nobody has written the array yet: a device keeps the
	// contents of its own fresh memory, so that it can tell who reads it.
	Unset bool
}

// New makes an array of zeros. The shape's product times the element size must
// fit in memory, and no dimension may be negative.
func New(t *DType, shape ...int) *Array {
	return &Array{Type: t, Shape: slices.Clone(shape), Data: make([]byte, Count(shape)*t.Size)}
}

// Empty makes an array that is Unset.
func Empty(t *DType, shape ...int) *Array {
	a := New(t, shape...)
	a.Unset = true
	return a
}

// Count is the product of a shape's dimensions.
func Count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Of makes an array of one dimension from values, rounded to the type.
func Of[T ~int | ~int32 | ~int64 | ~float32 | ~float64](t *DType, values ...T) *Array {
	a := New(t, len(values))
	for i, v := range values {
		if f := float64(v); t.Float() || f != float64(int64(v)) {
			a.Set(i, f)
		} else {
			a.SetInt(i, int64(v))
		}
	}
	return a
}

// Len is the number of elements.
func (a *Array) Len() int { return Count(a.Shape) }

func (a *Array) at(i int) []byte { return a.Data[i*a.Type.Size : (i+1)*a.Type.Size] }

// At returns element i, counted row by row.
func (a *Array) At(i int) float64 { return a.Type.get(a.at(i)) }

// Set writes element i, rounded to the type.
func (a *Array) Set(i int, v float64) { a.Type.put(a.at(i), v) }

// Int returns element i as an integer; a float loses its fraction.
func (a *Array) Int(i int) int64 { return a.Type.getInt(a.at(i)) }

// SetInt writes element i; integers wrap around.
func (a *Array) SetInt(i int, v int64) { a.Type.putInt(a.at(i), v) }

// Floats returns all elements.
func (a *Array) Floats() []float64 {
	out := make([]float64, a.Len())
	switch {
	case a.Type.kind == float && a.Type.Size == 4:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:])))
		}
	case a.Type.kind == float && a.Type.Size == 2 && len(out) >= 1<<16:
		// Decoded once each.
		table := make([]float64, 1<<16)
		for bits := range table {
			table[bits] = a.Type.decode(uint64(bits))
		}
		for i := range out {
			out[i] = table[binary.LittleEndian.Uint16(a.Data[2*i:])]
		}
	default:
		for i := range out {
			out[i] = a.At(i)
		}
	}
	return out
}

// Ints returns all elements as integers.
func (a *Array) Ints() []int64 {
	out := make([]int64, a.Len())
	for i := range out {
		out[i] = a.Int(i)
	}
	return out
}

// Clone returns a copy.
func (a *Array) Clone() *Array {
	b := *a
	b.Shape, b.Data = slices.Clone(a.Shape), slices.Clone(a.Data)
	return &b
}

// Convert returns the array with another element type.
func (a *Array) Convert(t *DType) *Array {
	b := New(t, a.Shape...)
	for i := range b.Len() {
		if a.Type.Float() || t.Float() {
			b.Set(i, a.At(i))
		} else {
			b.SetInt(i, a.Int(i))
		}
	}
	return b
}

// Fill sets every element and returns the array.
func (a *Array) Fill(v float64) *Array {
	for i := range a.Len() {
		a.Set(i, v)
	}
	return a
}

// Arange counts up from 0 and returns the array.
func (a *Array) Arange() *Array {
	for i := range a.Len() {
		a.SetInt(i, int64(i))
	}
	return a
}

// Rand draws from [0, 1). A narrow type may round up to 1.
func (a *Array) Rand(r *rand.Rand) *Array {
	for i := range a.Len() {
		a.Set(i, r.Float64())
	}
	return a
}

// Randn draws from the standard normal distribution.
func (a *Array) Randn(r *rand.Rand) *Array {
	for i := range a.Len() {
		a.Set(i, r.NormFloat64())
	}
	return a
}

// Randint draws integers from lo to hi-1; lo < hi is required.
func (a *Array) Randint(r *rand.Rand, lo, hi int64) *Array {
	for i := range a.Len() {
		a.SetInt(i, lo+int64(r.Uint64N(uint64(hi-lo))))
	}
	return a
}

func (a *Array) String() string { return fmt.Sprintf("%s%v", a.Type, a.Shape) }
