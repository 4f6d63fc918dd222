package numeric

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tritonc/tritonc/driver/array"
)

func castGroups() []*group {
	var all []*group
	for _, typ := range append([]string{"i1", "fp8e5"}, allTypes...) {
		all = append(all, &group{name: "cast/" + typ, build: func(b *builder) { castsOf(b, typ) }})
	}
	return append(all, &group{name: "cast/fp8e4nv", min: 89, build: func(b *builder) { castsOf(b, "fp8e4nv") }})
}

// anyOf draws from all values of a type.
func (b *builder) anyOf(typ string) func(int) num {
	switch {
	case typ == "i1":
		return func(int) num { return num{i: int64(b.r.IntN(2))} }
	case dtype(typ).Float():
		return b.anyFloat(typ)
	}
	return b.anyInt(typ)
}

// fits reports whether v, without its fraction, is a value of an integer type.
func fits(t *array.DType, v float64) bool {
	v = math.Trunc(v)
	switch w := 8 * t.Size; {
	case t.Name == "i1":
		return true // whether it is zero
	case isSigned(t):
		return v >= -math.Ldexp(1, w-1) && v < math.Ldexp(1, w-1)
	default:
		return v >= 0 && v < math.Ldexp(1, w)
	}
}

// castsOf converts one type to all others.
func castsOf(b *builder, typ string) {
	t := dtype(typ)
	targets := append([]string{"i1", "fp8e5"}, allTypes...)
	if b.cc >= 89 {
		targets = append(targets, "fp8e4nv")
	}
	for _, to := range targets {
		d := dtype(to)
		if t.Float() && t.Size == 1 && !d.Float() || d.Float() && d.Size == 1 && !t.Float() {
			continue // the language takes these by way of a larger float only
		}
		gen := b.anyOf(typ)
		if any := gen; t.Float() && !d.Float() {
			gen = func(i int) num {
				for { // what does not fit has no defined result
					v := any(i)
					if b.r.IntN(2) == 0 {
						v = round(t, math.Ldexp(b.r.Float64()*2-1, b.r.IntN(8*d.Size+1)))
					}
					if fits(d, v.f) || d.Name == "i1" {
						return v
					}
				}
			}
		}
		x := b.load(typ, num{}, gen)
		b.exact("to "+to, fmt.Sprintf("%s.to(%s)", x.name, pyType(to)), to, func(i int) num {
			if to == "bf16" && !t.Float() && b.cc < 90 { // as in Triton, by way of f32
				return round(d, convert(t, dtype("fp32"), x.v[i]).f)
			}
			return convert(t, d, x.v[i])
		})
		if t.Size == d.Size && to != typ && to != "i1" && typ != "i1" {
			if t.Float() != d.Float() {
				b.exact("bitcast to "+to, fmt.Sprintf("%s.to(%s, bitcast=True)", x.name, pyType(to)), to, func(i int) num { return bitcast(t, d, x.v[i]) })
			}
		}
		if t.Float() && d.Float() && d.Size < t.Size && (d.Size > 1 || to == "fp8e5" && typ != "fp64") {
			b.exact("rtz to "+to, fmt.Sprintf("%s.to(%s, fp_downcast_rounding='rtz')", x.name, pyType(to)), to, func(i int) num {
				return truncate(d, x.v[i].f)
			})
		}
	}
}

func bitcast(from, to *array.DType, v num) num {
	a := array.New(from, 1)
	put(a, 0, v)
	a.Type = to
	return get(a, 0)
}

// greatest finite value of an 8-bit float, to which conversions saturate.
var greatest = map[string]float64{"fp8e5": 57344, "fp8e4nv": 448}

// narrow rounds to nearest even; 8-bit floats saturate.
func narrow(t *array.DType, v float64) num {
	r := t.Round(v)
	if top := greatest[t.Name]; top > 0 && v == v && !(math.Abs(r) <= top) {
		r = math.Copysign(top, v)
	}
	return num{f: r}
}

// truncate rounds toward zero.
func truncate(t *array.DType, v float64) num {
	r := narrow(t, v).f
	switch {
	case math.IsInf(r, 0) && !math.IsInf(v, 0):
		man, least := precision(t)
		return num{f: math.Copysign(math.Ldexp(2-math.Ldexp(1, -man), 1-least), v)}
	case math.Abs(r) > math.Abs(v):
		for step := ulp(t, r) / 2; ; step *= 2 { // below a power of two the distance is half
			if s := t.Round(r - math.Copysign(step, r)); s != r {
				return num{f: s}
			}
		}
	}
	return num{f: r}
}

// fromInt rounds an integer once.
func fromInt(t *array.DType, v *big.Int) float64 {
	switch t.Name {
	case "fp64":
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	case "fp32":
		f, _ := new(big.Float).SetInt(v).Float32()
		return float64(f)
	}
	// To odd at 53 bits, then to t: the last bit says that something was lost.
	x := new(big.Float).SetMode(big.ToZero).SetPrec(53).SetInt(v)
	f, _ := x.Float64()
	if x.Acc() != big.Exact {
		f = math.Float64frombits(math.Float64bits(f) | 1)
	}
	return t.Round(f)
}

// convert is Triton's conversion.
func convert(from, to *array.DType, v num) num {
	f32 := dtype("fp32")
	switch {
	case from == to:
		return v
	case !from.Float() && !to.Float():
		if to.Name == "i1" {
			return truth(v.i != 0)
		}
		return wrap(to, v.i)
	case !from.Float():
		n := big.NewInt(v.i)
		if !isSigned(from) {
			n.SetUint64(uint64(v.i))
		}
		if to.Size == 1 {
			return narrow(to, fromInt(f32, n)) // through fp32
		}
		return num{f: fromInt(to, n)}
	case to.Name == "i1":
		return truth(v.f != 0)
	case !to.Float():
		if w := math.Trunc(v.f); w >= 1<<63 {
			return num{i: int64(uint64(w))}
		}
		return wrap(to, int64(v.f))
	case from.Name == "fp64" && to.Size == 1:
		return narrow(to, f32.Round(v.f)) // through fp32
	}
	return narrow(to, v.f)
}
