package numeric

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/tritonc/tritonc/driver/array"
)

var (
	intTypes   = []string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
	floatTypes = []string{"fp16", "bf16", "fp32", "fp64"}
	allTypes   = append(append([]string{}, intTypes...), floatTypes...)
)

// pyType is a type in Python.
func pyType(name string) string {
	for _, p := range [][2]string{{"i1", "tl.int1"}, {"fp16", "tl.float16"}, {"bf16", "tl.bfloat16"}, {"fp32", "tl.float32"}, {"fp64", "tl.float64"}} {
		if p[0] == name {
			return p[1]
		}
	}
	switch name[0] {
	case 'i':
		return "tl.int" + name[1:]
	case 'u':
		return "tl.uint" + name[1:]
	}
	return "tl.float8" + name[3:]
}

func isSigned(t *array.DType) bool { return t.Name[0] == 'i' && t.Name != "i1" }

// wrap is the low bits of v as an element of an integer type.
func wrap(t *array.DType, v int64) num {
	a := array.New(t, 1)
	a.SetInt(0, v)
	return num{i: a.Int(0)}
}

// round is v as an element of a float type.
func round(t *array.DType, v float64) num { return num{f: t.Round(v)} }

// anyInt draws small numbers, numbers of all lengths, and the extremes.
func (b *builder) anyInt(typ string) func(int) num {
	t := dtype(typ)
	return func(int) num {
		switch b.r.IntN(4) {
		case 0:
			return wrap(t, int64(b.r.IntN(7))-3)
		case 1:
			edge := []int64{0, -1, 1, 1 << (8*t.Size - 1), 1<<(8*t.Size-1) - 1}
			return wrap(t, edge[b.r.IntN(len(edge))])
		}
		return wrap(t, int64(b.r.Uint64()>>b.r.IntN(8*t.Size)))
	}
}

// anyFloat draws numbers of all magnitudes, zeros, infinities, NaNs.
func (b *builder) anyFloat(typ string) func(int) num {
	t := dtype(typ)
	man, least := precision(t)
	return func(int) num {
		switch b.r.IntN(8) {
		case 0:
			edge := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN()}
			return round(t, edge[b.r.IntN(len(edge))])
		case 1:
			return round(t, math.Ldexp(b.r.Float64()-0.5, least-b.r.IntN(man))) // subnormal
		case 2:
			return round(t, math.Ldexp(b.r.NormFloat64(), b.r.IntN(2-2*least)+least))
		}
		return round(t, b.r.NormFloat64())
	}
}

// plainFloat draws normal values.
func (b *builder) plainFloat(typ string) func(int) num {
	t := dtype(typ)
	return func(int) num { return round(t, b.r.NormFloat64()) }
}

func truth(v bool) num {
	if v {
		return num{i: 1}
	}
	return num{}
}

func arithGroups() []*group {
	var all []*group
	for _, typ := range intTypes {
		all = append(all, &group{name: "arith/" + typ, build: func(b *builder) { intArith(b, typ) }})
	}
	for _, typ := range floatTypes {
		all = append(all, &group{name: "arith/" + typ, build: func(b *builder) { floatArith(b, typ) }})
	}
	return append(all, &group{name: "arith/i1", build: boolArith},
		&group{name: "arith/fp8e5", build: func(b *builder) { narrowArith(b, "fp8e5") }},
		&group{name: "arith/fp8e4nv", min: 89, build: func(b *builder) { narrowArith(b, "fp8e4nv") }})
}

// less is the order of an integer type.
func less(t *array.DType, a, b int64) bool {
	if isSigned(t) {
		return a < b
	}
	return uint64(a) < uint64(b)
}

func intArith(b *builder, typ string) {
	t := dtype(typ)
	width := 8 * t.Size
	x, y := b.load(typ, num{i: 3}, b.anyInt(typ)), b.load(typ, num{i: 5}, b.anyInt(typ))
	least := wrap(t, 1<<(width-1)).i
	div := b.load(typ, num{i: 1}, func(i int) num {
		for {
			if v := b.anyInt(typ)(i); v.i != 0 && !(isSigned(t) && v.i == -1 && x.v[i].i == least) {
				return v
			}
		}
	})
	by := b.load(typ, num{}, func(int) num { return num{i: int64(b.r.IntN(width))} })

	op := func(name, format string, second *tensor, f func(a, b int64) int64) {
		b.exact(name, fmt.Sprintf(format, x.name, second.name), typ, func(i int) num { return wrap(t, f(x.v[i].i, second.v[i].i)) })
	}
	op("add", "%s + %s", y, func(a, b int64) int64 { return a + b })
	op("sub", "%s - %s", y, func(a, b int64) int64 { return a - b })
	op("mul", "%s * %s", y, func(a, b int64) int64 { return a * b })
	op("and", "%s & %s", y, func(a, b int64) int64 { return a & b })
	op("or", "%s | %s", y, func(a, b int64) int64 { return a | b })
	op("xor", "%s ^ %s", y, func(a, b int64) int64 { return a ^ b })
	op("floordiv", "%s // %s", div, func(a, b int64) int64 {
		if isSigned(t) {
			return a / b
		}
		return int64(uint64(a) / uint64(b))
	})
	op("mod", "%s %% %s", div, func(a, b int64) int64 {
		if isSigned(t) {
			return a % b
		}
		return int64(uint64(a) % uint64(b))
	})
	op("shl", "%s << %s", by, func(a, b int64) int64 { return a << b })
	op("shr", "%s >> %s", by, func(a, b int64) int64 {
		if isSigned(t) {
			return a >> b
		}
		return int64(uint64(a) >> b)
	})
	op("minimum", "tl.minimum(%s, %s)", y, func(a, b int64) int64 {
		if less(t, a, b) {
			return a
		}
		return b
	})
	op("maximum", "tl.maximum(%s, %s)", y, func(a, b int64) int64 {
		if less(t, a, b) {
			return b
		}
		return a
	})
	op("where", "tl.where("+x.name+" < "+y.name+", %s, %s)", y, func(p, q int64) int64 {
		if less(t, p, q) {
			return p
		}
		return q
	})
	one := func(name, format string, f func(a int64) int64) {
		b.exact(name, fmt.Sprintf(format, x.name), typ, func(i int) num { return wrap(t, f(x.v[i].i)) })
	}
	one("neg", "-%s", func(a int64) int64 { return -a })
	one("invert", "~%s", func(a int64) int64 { return ^a })
	one("add 7", "%s + 7", func(a int64) int64 { return a + 7 })
	one("mul 12", "12 * %s", func(a int64) int64 { return a * 12 })
	if isSigned(t) {
		// the least number has no magnitude
		b.exact("abs", fmt.Sprintf("tl.abs(tl.where(%s == %d, 1, %s))", x.name, least, x.name), typ, func(i int) num {
			if x.v[i].i == least {
				return num{i: 1}
			}
			return num{i: max(x.v[i].i, -x.v[i].i)}
		})
	}
	for _, k := range []int64{1, 2, 3, 7, 8, 10, 100} { // constants become shifts and multiplications
		one(fmt.Sprintf("floordiv %d", k), fmt.Sprintf("%%s // %d", k), func(a int64) int64 {
			if isSigned(t) {
				return a / k
			}
			return int64(uint64(a) / uint64(k))
		})
		one(fmt.Sprintf("mod %d", k), fmt.Sprintf("%%s %%%% %d", k), func(a int64) int64 {
			if isSigned(t) {
				return a % k
			}
			return int64(uint64(a) % uint64(k))
		})
	}
	if width >= 32 {
		b.exact("umulhi", fmt.Sprintf("tl.umulhi(%s, %s)", x.name, y.name), typ, func(i int) num {
			p, q := uint64(x.v[i].i), uint64(y.v[i].i)
			if width == 32 {
				return wrap(t, int64(uint64(uint32(p))*uint64(uint32(q))>>32))
			}
			hi, _ := bits.Mul64(p, q)
			return num{i: int64(hi)}
		})
	}
	compare := func(op string, f func(a, b int64) bool) {
		b.exact(op, x.name+" "+op+" "+y.name, "i1", func(i int) num { return truth(f(x.v[i].i, y.v[i].i)) })
	}
	compare("==", func(a, b int64) bool { return a == b })
	compare("!=", func(a, b int64) bool { return a != b })
	compare("<", func(a, b int64) bool { return less(t, a, b) })
	compare("<=", func(a, b int64) bool { return !less(t, b, a) })
	compare(">", func(a, b int64) bool { return less(t, b, a) })
	compare(">=", func(a, b int64) bool { return !less(t, a, b) })

	// True division is in fp32, where it has 2 ulps.
	f32 := dtype("fp32")
	b.near("truediv", x.name+" / "+div.name, "fp32", 2, func(i int) num {
		return round(f32, float64(toFloat32(t, x.v[i].i))/float64(toFloat32(t, div.v[i].i)))
	})
}

// toFloat32 rounds an integer once.
func toFloat32(t *array.DType, v int64) float32 {
	if isSigned(t) {
		return float32(v)
	}
	return float32(uint64(v))
}

func boolArith(b *builder) {
	coin := func(int) num { return num{i: int64(b.r.IntN(2))} }
	x, y := b.load("i1", num{}, coin), b.load("i1", num{i: 1}, coin)
	op := func(name, expr string, f func(a, b int64) int64) {
		b.exact(name, expr, "i1", func(i int) num { return num{i: f(x.v[i].i, y.v[i].i) & 1} })
	}
	op("and", x.name+" & "+y.name, func(a, b int64) int64 { return a & b })
	op("or", x.name+" | "+y.name, func(a, b int64) int64 { return a | b })
	op("xor", x.name+" ^ "+y.name, func(a, b int64) int64 { return a ^ b })
	op("invert", "~"+x.name, func(a, _ int64) int64 { return ^a })
	op("not", "not "+x.name, func(a, _ int64) int64 { return 1 - a })
	op("logical and", x.name+" and "+y.name, func(a, b int64) int64 { return a & b })
	op("logical or", x.name+" or "+y.name, func(a, b int64) int64 { return a | b })
	op("==", x.name+" == "+y.name, func(a, b int64) int64 { return ^(a ^ b) })
	op("!=", x.name+" != "+y.name, func(a, b int64) int64 { return a ^ b })
	op("where", fmt.Sprintf("tl.where(%s, %s, ~%s)", x.name, y.name, y.name), func(a, b int64) int64 {
		if a == 1 {
			return b
		}
		return 1 - b
	})
}

func floatArith(b *builder, typ string) {
	t := dtype(typ)
	x, y, z := b.load(typ, num{f: 1}, b.anyFloat(typ)), b.load(typ, num{f: 2}, b.anyFloat(typ)), b.load(typ, num{f: -1}, b.anyFloat(typ))
	op := func(name, expr string, f func(a, b float64) float64) {
		b.exact(name, expr, typ, func(i int) num { return round(t, f(x.v[i].f, y.v[i].f)) })
	}
	// A double's rounding before t's does no harm: it has more than twice the
	// bits (Figueroa, "When is double rounding innocuous?", 1995).
	op("add", x.name+" + "+y.name, func(a, b float64) float64 { return a + b })
	op("sub", x.name+" - "+y.name, func(a, b float64) float64 { return a - b })
	op("mul", x.name+" * "+y.name, func(a, b float64) float64 { return a * b })
	op("neg", "-"+x.name, func(a, _ float64) float64 { return -a })
	op("where", fmt.Sprintf("tl.where(%s > %s, %s, %s)", x.name, y.name, x.name, y.name), func(a, b float64) float64 {
		if a > b {
			return a
		}
		return b
	})
	op("abs", fmt.Sprintf("tl.abs(%s)", x.name), func(a, _ float64) float64 { return math.Abs(a) })
	b.exact("fma", fmt.Sprintf("tl.fma(%s, %s, %s)", x.name, y.name, z.name), typ, func(i int) num {
		if typ == "bf16" && onAMD() { // LLVM has it computed in f32, as it has Triton's
			return round(t, fma(dtype("fp32"), x.v[i].f, y.v[i].f, z.v[i].f).f)
		}
		return fma(t, x.v[i].f, y.v[i].f, z.v[i].f)
	})
	compare := func(op string, f func(a, b float64) bool) {
		b.exact(op, x.name+" "+op+" "+y.name, "i1", func(i int) num { return truth(f(x.v[i].f, y.v[i].f)) })
	}
	compare("==", func(a, b float64) bool { return a == b })
	compare("!=", func(a, b float64) bool { return a != b })
	compare("<", func(a, b float64) bool { return a < b })
	compare("<=", func(a, b float64) bool { return a <= b })
	compare(">", func(a, b float64) bool { return a > b })
	compare(">=", func(a, b float64) bool { return a >= b })
	for _, rule := range []struct {
		arg string
		nan bool // a NaN stays one
	}{{"", false}, {", propagate_nan=tl.PropagateNan.NONE", false}, {", propagate_nan=tl.PropagateNan.ALL", true}} {
		pick := func(a, b float64, take bool) float64 {
			switch {
			case rule.nan && (a != a || b != b):
				return math.NaN()
			case a != a:
				return b
			case b != b || take:
				return a
			}
			return b
		}
		op("minimum"+rule.arg, fmt.Sprintf("tl.minimum(%s, %s%s)", x.name, y.name, rule.arg), func(a, b float64) float64 { return pick(a, b, a < b) })
		op("maximum"+rule.arg, fmt.Sprintf("tl.maximum(%s, %s%s)", x.name, y.name, rule.arg), func(a, b float64) float64 { return pick(a, b, a > b) })
		op("clamp"+rule.arg, fmt.Sprintf("tl.clamp(%s, -0.5, 0.75%s)", x.name, rule.arg), func(a, _ float64) float64 {
			if a != a {
				return pick(a, -0.5, false)
			}
			return max(-0.5, min(a, 0.75))
		})
	}
	// Division is in fp32 at least, where it has 2 ulps unless it is asked to
	// round; beyond 2^126 div.full.f32 may give 0.
	out, ulps := typ, 0.0
	if typ != "fp64" {
		out, ulps = "fp32", 2
	}
	ot := dtype(out)
	q := b.load(typ, num{f: 1}, func(int) num {
		return round(t, math.Copysign(math.Ldexp(1+b.r.Float64(), b.r.IntN(20)-10), b.r.Float64()-0.5))
	})
	divide := func(i int) num { return round(ot, x.v[i].f/q.v[i].f) }
	b.near("truediv", x.name+" / "+q.name, out, ulps, divide)
	if typ == "fp32" || typ == "fp64" {
		b.near("fdiv", fmt.Sprintf("tl.fdiv(%s, %s)", x.name, q.name), typ, ulps, divide)
	}
	if typ == "fp32" {
		b.exact("div_rn", fmt.Sprintf("tl.div_rn(%s, %s)", x.name, y.name), typ, func(i int) num { return round(t, x.v[i].f/y.v[i].f) })
	}
	small := b.load(typ, num{f: 1}, b.plainFloat(typ))
	// NVPTX's expansion of frem rounds the quotient: where that is a whole number that the true
	// one is just below, the remainder is a little beyond 0. LLVM's for AMD's GPUs is exact.
	b.exact("mod", fmt.Sprintf("%s %% %s", small.name, q.name), out, func(i int) num {
		x, y := small.v[i].f, q.v[i].f
		if onAMD() {
			return round(ot, math.Mod(x, y))
		}
		return round(ot, math.FMA(-math.Trunc(round(ot, x/y).f), y, x))
	})
}

// narrowArith is what the language has for floats of eight bits: results are
// rounded once, since f32 has more than twice the bits.
func narrowArith(b *builder, typ string) {
	t := dtype(typ)
	x, y := b.load(typ, num{f: 1}, b.plainFloat(typ)), b.load(typ, num{f: 2}, b.plainFloat(typ))
	op := func(name, expr string, f func(a, b float64) float64) {
		b.exact(name, expr, typ, func(i int) num { return round(t, f(x.v[i].f, y.v[i].f)) })
	}
	op("add", x.name+" + "+y.name, func(a, b float64) float64 { return a + b })
	op("sub", x.name+" - "+y.name, func(a, b float64) float64 { return a - b })
	op("mul", x.name+" * "+y.name, func(a, b float64) float64 { return a * b })
	op("neg", "-"+x.name, func(a, _ float64) float64 { return -a })
	op("abs", fmt.Sprintf("tl.abs(%s)", x.name), func(a, _ float64) float64 { return math.Abs(a) })
	op("maximum", fmt.Sprintf("tl.maximum(%s, %s)", x.name, y.name), math.Max)
	op("minimum", fmt.Sprintf("tl.minimum(%s, %s)", x.name, y.name), math.Min)
	op("where", fmt.Sprintf("tl.where(%s < %s, %s, %s)", x.name, y.name, x.name, y.name), math.Min)
	b.exact("==", x.name+" == "+y.name, "i1", func(i int) num { return truth(x.v[i].f == y.v[i].f) })
}

// fma rounds once.
func fma(t *array.DType, a, b, c float64) num {
	if s := a*b + c; s != s || math.IsInf(s, 0) || t.Name == "fp64" {
		return round(t, math.FMA(a, b, c))
	}
	exact := new(big.Float).SetPrec(4000).SetFloat64(a)
	exact.Mul(exact, new(big.Float).SetFloat64(b))
	exact.Add(exact, new(big.Float).SetFloat64(c))
	// To odd at 53 bits first: what was lost stays in the last bit, so that the
	// rounding to t sees it.
	f, _ := exact.SetMode(big.ToZero).SetPrec(53).Float64()
	if exact.Acc() != big.Exact {
		f = math.Float64frombits(math.Float64bits(f) | 1)
	}
	return round(t, f)
}
