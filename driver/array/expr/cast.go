package expr

import (
	"math"

	"github.com/tritonc/tritonc/driver/array"
)

// cast rounds the elements to a type. Floats become integers by losing their
// fraction, which then wrap around; a NaN becomes 0. What is not zero becomes True.
func cast(t *Tensor, d *array.DType) *Tensor {
	switch {
	case d.Float():
		if t.kind == floating {
			return mapFloats(t, d.Round)
		}
		out := &Tensor{shape: t.shape, kind: floating, f: make([]float64, len(t.i))}
		for i, v := range t.i {
			out.f[i] = d.Round(t.kind.float(v, d.Size < 8))
		}
		return out
	case d.Name == "i1":
		return t.as(boolean)
	case d.Name == "u64":
		return t.as(unsigned)
	}
	one := array.New(d, 1)
	return mapInts(t.as(signed), signed, func(v int64) int64 {
		one.SetInt(0, v)
		return one.Int(0)
	})
}

// float is an integer as a float64. With odd, what it has beyond 53 bits is kept in
// the last of them, so that rounding to a narrower type afterwards is right.
func (k kind) float(v int64, odd bool) float64 {
	negative := k != unsigned && v < 0
	m := uint64(v)
	if negative {
		m = -m
	}
	if lost := m >> 53; odd && lost != 0 {
		shift := uint(0)
		for m>>shift >= 1<<54 {
			shift++
		}
		sticky := uint64(0)
		if m&(1<<(shift+1)-1) != 0 {
			sticky = 1
		}
		m = (m>>(shift+1) | sticky)
		f := math.Ldexp(float64(m), int(shift)+1)
		if negative {
			f = -f
		}
		return f
	}
	if negative {
		return -float64(m)
	}
	return float64(m)
}
