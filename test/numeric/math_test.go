package numeric

import (
	"fmt"
	"math"
)

func mathGroups() []*group {
	var all []*group
	for _, typ := range []string{"fp32", "fp64"} {
		all = append(all, &group{name: "math/" + typ, build: func(b *builder) { mathOf(b, typ) }})
	}
	return all
}

// mathOf checks the functions of tl. In fp32 several are approximations of the
// hardware, whose bounds are those of the PTX manual, after a multiplication
// that rounds.
func mathOf(b *builder, typ string) {
	t := dtype(typ)
	f32 := typ == "fp32"
	one := func(name string, x *tensor, f func(v float64) float64, ulps float64, bound func(v, y float64) float64) {
		want, slack := make([]num, len(x.v)), make([]float64, len(x.v))
		for i, v := range x.v {
			y := f(v.f)
			want[i] = round(t, y)
			if f32 && bound != nil && !math.IsInf(y, 0) && y == y {
				slack[i] = bound(v.f, y)
			}
		}
		b.check(check{name: name, expr: fmt.Sprintf("tl.%s(%s)", name, x.name), out: typ, want: want, bound: slack, ulps: ulps})
	}
	plain := b.load(typ, num{f: 1}, func(int) num { return round(t, 4*b.r.NormFloat64()) })
	positive := b.load(typ, num{f: 1}, func(int) num { return round(t, math.Ldexp(1+b.r.Float64(), b.r.IntN(40)-20)) })
	any := b.load(typ, num{f: 1}, b.anyFloat(typ))
	relative := func(e float64) func(v, y float64) float64 {
		return func(_, y float64) float64 { return e * math.Abs(y) }
	}
	one("exp", plain, math.Exp, 2, func(v, y float64) float64 { return y * (0x1p-22 + math.Abs(v)*0x1p-23) })
	one("exp2", plain, math.Exp2, 2, relative(0x1p-22))
	one("log", positive, math.Log, 2, func(_, y float64) float64 { return 0x1p-22 + 0x1p-22*math.Abs(y) })
	// Go's Log2 loses its places near 1.
	one("log2", positive, func(v float64) float64 { return math.Log(v) / math.Ln2 }, 3, func(_, y float64) float64 { return 0x1p-22 + 0x1p-22*math.Abs(y) })
	one("sin", plain, math.Sin, 2, nil)
	one("cos", plain, math.Cos, 2, nil)
	one("erf", plain, math.Erf, 2, nil)
	one("sqrt", positive, math.Sqrt, 1, relative(0x1p-22))
	one("rsqrt", positive, func(v float64) float64 { return 1 / math.Sqrt(v) }, 1, relative(0x1p-22))
	one("sigmoid", plain, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }, 4, func(v, y float64) float64 {
		return y * (0x1p-21 + math.Abs(v)*0x1p-23)
	})
	one("abs", any, math.Abs, 0, nil)
	one("floor", any, math.Floor, 0, nil)
	one("ceil", any, math.Ceil, 0, nil)
	if f32 {
		one("sqrt_rn", any, math.Sqrt, 0, nil)
	}
}
