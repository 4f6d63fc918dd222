package devmath

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
	ref "github.com/tritonc/tritonc/internal/mathref"
	"github.com/tritonc/tritonc/internal/testseed"
)

// spec says where a function is measured and what error is allowed.
type spec struct {
	name string
	ref  func(x ...*big.Float) *big.Float
	// Arguments have exponents of base 2 within [lo, hi] for f32; those of f64 are
	// scaled by wide, 1 where it is zero.
	lo, hi, wide float64
	signed       bool
	// near are values around which more arguments lie.
	near []float64
	// second bounds the exponent of the other arguments; 0: like the first.
	second float64
	// most, where it is not zero, is up to where errors are relative to the result.
	most float64
	// cuda are CUDA's documented bounds of f32 and f64.
	cuda [2]float64
	// approx measures the code with a GPU's approximations.
	approx bool
}

// label names the row: short functions' with approximations are rows of their own.
func (s *spec) label() string {
	if s.approx {
		return s.name + "_approx"
	}
	return s.name
}

// shortOf are the rows of code with approximations.
func shortOf(list []*spec) []*spec {
	var out []*spec
	for _, s := range list {
		if short[s.name] != nil {
			c := *s
			c.approx = true
			out = append(out, &c)
		}
	}
	return out
}

// shorter are those whose code of f32 is another.
func shorter(list []*spec) []*spec {
	return slices.DeleteFunc(shortOf(list), func(s *spec) bool {
		text := func(f *Function) string {
			m := llir.NewModule("", "", "")
			emitInto(m, "f", f, llir.F32)
			return string(m.Print())
		}
		return text(named.Find(s.name)) == text(Find(s.name))
	})
}

// variant is a function's code in one of the forms that are measured.
type variant struct {
	f     *Function
	fused bool // products are fused into sums
}

// variants are the code as written and fused, or with approximations that all err
// upwards, or downwards, as far as they may.
func (s *spec) variants() [2]variant {
	if s.approx {
		return [2]variant{{erring(1).Find(s.name), false}, {erring(-1).Find(s.name), true}}
	}
	return [2]variant{{Find(s.name), false}, {Find(s.name), true}}
}

// named are approximations by calls that nobody runs.
var named = &Approx{Exp2: callOf("exp2"), Inverse: callOf("inverse"), InverseRoot: callOf("inverseroot")}

func callOf(name string) func(*llir.Builder, llir.Value) llir.Value {
	return func(b *llir.Builder, x llir.Value) llir.Value {
		return b.Call(b.M.Declare(name, llir.Pure, llir.F32, llir.F32), x)
	}
}

// erring are approximations that err as far as they may: what is computed in f64 and
// rounded, some units further from zero or nearer.
func erring(direction int) *Approx {
	moved := func(units int, f func(k kit, x llir.Value) llir.Value) func(*llir.Builder, llir.Value) llir.Value {
		return func(b *llir.Builder, x llir.Value) llir.Value {
			k := kitFor(b, x)
			y := widely(b, x, f)
			next := k.BitCast(k.Add(k.BitCast(y, k.bits), k.int(int64(direction*units))), k.t)
			ends := k.Or(k.equal(y, k.num(0)), k.FCmp(enum.FPredUEQ, k.abs(y), k.inf()))
			return k.Select(ends, y, next)
		}
	}
	return &Approx{
		Exp2:    moved(2, func(k kit, x llir.Value) llir.Value { return Exp2(k.Builder, x) }),
		Inverse: moved(1, func(k kit, x llir.Value) llir.Value { return k.div(k.num(1), x) }),
		InverseDouble: func(b *llir.Builder, x llir.Value) llir.Value { // off by 2^-19 of it
			k := kitFor(b, x)
			return k.mul(k.div(k.num(1), x), k.num(1+float64(direction)*0x1p-19))
		},
		InverseRoot: moved(2, func(k kit, x llir.Value) llir.Value {
			return k.div(k.num(1), k.sqrt(x))
		}),
	}
}

// bound is what the function may err by.
func (s *spec) bound(t llir.Type) float64 {
	if slices.ContainsFunc(remainders, func(o *spec) bool { return o.name == s.name }) {
		return 0
	}
	if t == llir.F32 {
		return max(2, s.cuda[0])
	}
	return max(2, s.cuda[1])
}

func of1(f func(*big.Float) *big.Float) func(...*big.Float) *big.Float {
	return func(x ...*big.Float) *big.Float { return f(x[0]) }
}

func of2(f func(x, y *big.Float) *big.Float) func(...*big.Float) *big.Float {
	return func(x ...*big.Float) *big.Float { return f(x[0], x[1]) }
}

func reciprocal(f func(...*big.Float) *big.Float) func(...*big.Float) *big.Float {
	return func(x ...*big.Float) *big.Float { return ref.Inverse(f(x...)) }
}

func bessel(n int64) func(...*big.Float) *big.Float {
	return func(x ...*big.Float) *big.Float { return ref.BesselI(n, x[0]) }
}

func besselOrder(f func(int64, *big.Float) *big.Float, n int64) func(...*big.Float) *big.Float {
	return func(x ...*big.Float) *big.Float { return f(n, x[0]) }
}

var specs = []*spec{
	{name: "exp", ref: of1(ref.Exp), lo: -30, hi: 6.8, wide: 8, signed: true, cuda: [2]float64{2, 1}},
	{name: "exp2", ref: of1(ref.Exp2), lo: -30, hi: 7.3, wide: 8, signed: true, cuda: [2]float64{2, 1}},
	{name: "exp10", ref: of1(ref.Exp10), lo: -30, hi: 5.6, wide: 8, signed: true, cuda: [2]float64{2, 1}},
	{name: "expm1", ref: of1(ref.Expm1), lo: -60, hi: 6.8, wide: 8, signed: true, cuda: [2]float64{1, 1}},
	{name: "log", ref: of1(ref.Log), lo: -149, hi: 128, wide: 1, near: []float64{1}, cuda: [2]float64{1, 1}},
	{name: "log2", ref: of1(ref.Log2), lo: -149, hi: 128, near: []float64{1}, cuda: [2]float64{1, 1}},
	{name: "log10", ref: of1(ref.Log10), lo: -149, hi: 128, near: []float64{1}, cuda: [2]float64{2, 1}},
	{name: "log1p", ref: of1(ref.Log1p), lo: -60, hi: 128, near: []float64{1, -0.5}, cuda: [2]float64{1, 1}},
	{name: "sin", ref: of1(ref.Sin), lo: -30, hi: 128, wide: 8, signed: true, near: []float64{math.Pi, 2 * math.Pi, 710 * math.Pi}, cuda: [2]float64{2, 2}},
	{name: "cos", ref: of1(ref.Cos), lo: -30, hi: 128, wide: 8, signed: true, near: []float64{math.Pi / 2, 355.5 * math.Pi}, cuda: [2]float64{2, 2}},
	{name: "tan", ref: of1(ref.Tan), lo: -30, hi: 128, wide: 8, signed: true, near: []float64{math.Pi / 2, math.Pi}, cuda: [2]float64{4, 2}},
	{name: "sinpi", ref: of1(ref.Sinpi), lo: -30, hi: 24, wide: 2, signed: true, near: []float64{1, 7, 1000}, cuda: [2]float64{1, 2}},
	{name: "cospi", ref: of1(ref.Cospi), lo: -30, hi: 24, wide: 2, signed: true, near: []float64{0.5, 7.5}, cuda: [2]float64{1, 2}},
	{name: "asin", ref: of1(ref.Asin), lo: -30, hi: 0, signed: true, near: []float64{0.5, 0.999, 1}, cuda: [2]float64{2, 2}},
	{name: "acos", ref: of1(ref.Acos), lo: -30, hi: 0, signed: true, near: []float64{0.5, 0.999, 1, -1}, cuda: [2]float64{2, 2}},
	{name: "atan", ref: of1(ref.Atan), lo: -40, hi: 60, signed: true, near: []float64{1}, cuda: [2]float64{2, 2}},
	{name: "atan2", ref: of2(ref.Atan2), lo: -30, hi: 30, signed: true, cuda: [2]float64{3, 2}},
	{name: "sinh", ref: of1(ref.Sinh), lo: -30, hi: 6.5, wide: 8, signed: true, near: []float64{1}, cuda: [2]float64{3, 2}},
	{name: "cosh", ref: of1(ref.Cosh), lo: -30, hi: 6.5, wide: 8, signed: true, near: []float64{1}, cuda: [2]float64{2, 1}},
	{name: "tanh", ref: of1(ref.Tanh), lo: -40, hi: 5, signed: true, near: []float64{0.6}, cuda: [2]float64{2, 1}},
	{name: "asinh", ref: of1(ref.Asinh), lo: -40, hi: 128, wide: 8, signed: true, near: []float64{1}, cuda: [2]float64{3, 3}},
	{name: "acosh", ref: of1(ref.Acosh), lo: 0, hi: 128, wide: 8, near: []float64{1}, cuda: [2]float64{4, 3}},
	{name: "atanh", ref: of1(ref.Atanh), lo: -40, hi: 0, signed: true, near: []float64{0.5, 1}, cuda: [2]float64{3, 2}},
	{name: "erf", ref: of1(ref.Erf), lo: -40, hi: 3, signed: true, near: []float64{1}, cuda: [2]float64{2, 2}},
	{name: "erfc", ref: of1(ref.Erfc), lo: -20, hi: 3.4, wide: 1.4, signed: true, near: []float64{0.625, 1}, cuda: [2]float64{4, 5}},
	{name: "erfcx", ref: of1(ref.Erfcx), lo: -20, hi: 3.2, wide: 1.4, signed: true, near: []float64{4}, cuda: [2]float64{4, 4}},
	{name: "erfinv", ref: of1(ref.Erfinv), lo: -40, hi: 0, signed: true, near: []float64{0.5, 1}, cuda: [2]float64{2, 5}},
	{name: "erfcinv", ref: of1(ref.Erfcinv), lo: -120, hi: 1, wide: 8, near: []float64{1, 0.5}, cuda: [2]float64{4, 6}},
	{name: "normcdf", ref: of1(ref.Normcdf), lo: -20, hi: 3.8, wide: 1.4, signed: true, cuda: [2]float64{5, 5}},
	{name: "normcdfinv", ref: of1(ref.Normcdfinv), lo: -120, hi: 0, wide: 8, near: []float64{0.5}, cuda: [2]float64{5, 8}},
	{name: "tgamma", ref: of1(ref.Tgamma), lo: -30, hi: 5.1, wide: 1.45, signed: true, near: []float64{1, 8, -3}, cuda: [2]float64{5, 10}},
	{name: "lgamma", ref: of1(ref.Lgamma), lo: -30, hi: 122, wide: 8, near: []float64{1, 1.25, 1.5, 2, 3, 8, -1.2}, cuda: [2]float64{6, 4}},
	{name: "cyl_bessel_i0", ref: bessel(0), lo: -30, hi: 6.4, wide: 8, signed: true, near: []float64{8}, cuda: [2]float64{6, 6}},
	{name: "cyl_bessel_i1", ref: bessel(1), lo: -30, hi: 6.4, wide: 8, signed: true, near: []float64{8}, cuda: [2]float64{6, 6}},
	{name: "j0", ref: besselOrder(ref.BesselJ, 0), lo: -30, hi: 3, most: 8, signed: true, near: []float64{2.404825557695773, 4, 5.520078110286311}, cuda: [2]float64{9, 7}},
	{name: "j1", ref: besselOrder(ref.BesselJ, 1), lo: -30, hi: 3, most: 8, signed: true, near: []float64{2.5, 3.8317059702075125, 7.015586669815619}, cuda: [2]float64{9, 7}},
	{name: "y0", ref: besselOrder(ref.BesselY, 0), lo: -30, hi: 3, most: 8, near: []float64{0.6, 0.8935769662791675, 3.957678419314858, 7.086051060301773}, cuda: [2]float64{9, 7}},
	{name: "y1", ref: besselOrder(ref.BesselY, 1), lo: -30, hi: 3, most: 8, near: []float64{1.2, 2.197141326031017, 4.6, 5.429681040794135}, cuda: [2]float64{9, 7}},
	{name: "pow", ref: of2(ref.Pow), lo: -100, hi: 100, second: 6, near: []float64{1}, cuda: [2]float64{4, 2}},
	{name: "cbrt", ref: of1(ref.Cbrt), lo: -149, hi: 128, signed: true, cuda: [2]float64{1, 1}},
	{name: "rcbrt", ref: reciprocal(of1(ref.Cbrt)), lo: -149, hi: 128, signed: true, cuda: [2]float64{1, 1}},
	{name: "rsqrt", ref: reciprocal(of1(ref.Sqrt)), lo: -149, hi: 128, wide: 8, cuda: [2]float64{2, 1}},
	{name: "hypot", ref: ref.Hypot, lo: -126, hi: 126, wide: 8, signed: true, cuda: [2]float64{3, 2}},
	{name: "norm3d", ref: ref.Hypot, lo: -126, hi: 126, wide: 8, signed: true, cuda: [2]float64{3, 2}},
	{name: "norm4d", ref: ref.Hypot, lo: -126, hi: 126, wide: 8, signed: true, cuda: [2]float64{3, 2}},
	{name: "rhypot", ref: reciprocal(ref.Hypot), lo: -120, hi: 120, wide: 8, signed: true, cuda: [2]float64{2, 1}},
	{name: "rnorm3d", ref: reciprocal(ref.Hypot), lo: -120, hi: 120, wide: 8, signed: true, cuda: [2]float64{3, 2}},
	{name: "rnorm4d", ref: reciprocal(ref.Hypot), lo: -120, hi: 120, wide: 8, signed: true, cuda: [2]float64{3, 2}},
}

// emit builds a function's code for one type.
func emit(t testing.TB, f *Function, typ llir.Type) *llir.Func {
	t.Helper()
	return emitInto(llir.NewModule("", "", ""), "f", f, typ)
}

// emitInto is emit into a module, under a name.
func emitInto(m *llir.Module, name string, f *Function, typ llir.Type) *llir.Func {
	params := make([]llir.Type, f.Args)
	for i := range params {
		params[i] = typ
	}
	fn := m.NewFunc(name, false, typ, params...)
	b := llir.NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	x := make([]llir.Value, f.Args)
	for i := range x {
		x[i] = fn.Param(i)
	}
	b.Ret(f.Build(b, x...))
	return fn
}

// code is a function's code for one type, run as written and with contraction.
func code(t testing.TB, f *Function, typ llir.Type) [2]*machine {
	t.Helper()
	fn := emit(t, f, typ)
	return [2]*machine{compile(fn, false), compile(fn, true)}
}

// code is the code of all variants.
func (s *spec) code(t testing.TB, typ llir.Type) []*machine {
	t.Helper()
	var out []*machine
	for _, v := range s.variants() {
		out = append(out, compile(emit(t, v.f, typ), v.fused))
	}
	return out
}

// size is the number of a function's instructions.
func size(t testing.TB, f *Function, typ llir.Type) int {
	n := 0
	for _, b := range emit(t, f, typ).IR.Blocks {
		n += len(b.Insts)
	}
	return n
}

// call runs a machine on numbers.
func (m *machine) call(typ llir.Type, x ...float64) float64 {
	var bits [4]uint64
	for i, v := range x {
		bits[i] = toBits(typ, v)
	}
	return fromBits(typ, m.run(bits[:len(x)]...))
}

func toBits(typ llir.Type, x float64) uint64 {
	if typ == llir.F32 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

func fromBits(typ llir.Type, x uint64) float64 {
	if typ == llir.F32 {
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

// off is the distance of got from want in units of the last place of want.
// Infinity counts as the number after the greatest.
func off(typ llir.Type, got float64, want *big.Float) float64 {
	man, least, most := 52, -1074, 1024
	if typ == llir.F32 {
		man, least, most = 23, -149, 128
	}
	if got != got {
		return math.Inf(1)
	}
	g := ref.New(0)
	if math.IsInf(got, 0) {
		g.SetMantExp(ref.New(math.Copysign(1, got)), most)
	} else {
		g.SetFloat64(got)
	}
	w := want
	if want.IsInf() || want.MantExp(nil) > most {
		w = ref.New(0).SetMantExp(ref.New(float64(want.Sign())), most)
	}
	unit := max(min(w.MantExp(nil), most)-1-man, least)
	d := ref.New(0).Sub(g, w)
	f, _ := d.SetMantExp(d, -unit).Float64()
	return math.Abs(f)
}

// power is 2^x, linear between the powers, by operations that round alike on all
// machines.
func power(x float64) float64 {
	n := math.Floor(x)
	return math.Ldexp(1+(x-n), int(n))
}

// sample makes arguments.
func (s *spec) sample(r *rand.Rand, typ llir.Type, args int) []float64 {
	x := make([]float64, args)
	for i := range x {
		lo, hi := s.lo, s.hi
		if typ == llir.F64 && s.wide != 0 {
			if s.wide == 8 { // exponents' range; small arguments' ends stay
				if lo < -100 {
					lo *= 8
				}
				if hi > 100 {
					hi *= 7.9
				} else if hi > 5 {
					hi += 3
				}
			} else if s.wide < 2 {
				hi *= s.wide
			} else {
				hi += 27
			}
		}
		if i > 0 && s.second != 0 {
			lo, hi = -s.second, s.second
		}
		v := power(lo + float64(r.Float64()*(hi-lo)))
		if i > 0 && s.second == 0 && r.IntN(2) == 0 { // of comparable size
			v = math.Abs(x[0]) * power(float64(r.Float64()*8)-4)
		}
		if len(s.near) > 0 && r.IntN(2) == 0 && (i == 0) {
			v = s.near[r.IntN(len(s.near))] * (1 + math.Ldexp(r.Float64()-0.5, -r.IntN(24)))
		}
		if s.most != 0 && v > s.most {
			v = s.most * float64(r.Float64())
		}
		if s.signed && r.IntN(2) == 0 || i > 0 && s.second != 0 && r.IntN(2) == 0 {
			v = -v
		}
		if typ == llir.F32 {
			v = float64(float32(v))
		}
		x[i] = v
	}
	return x
}

// measure gives a function's greatest error over n samples, as written and with
// contraction, and the arguments of it.
func (s *spec) measure(t testing.TB, r *rand.Rand, typ llir.Type, n int) (worst float64, at []float64) {
	ms := s.code(t, typ)
	for range n {
		x := s.sample(r, typ, Find(s.name).Args)
		args := make([]*big.Float, len(x))
		for i, v := range x {
			if math.IsInf(v, 0) {
				v = math.MaxFloat32
				x[i] = v
			}
			args[i] = ref.New(v)
		}
		want := s.ref(args...)
		for _, m := range ms {
			got := m.call(typ, x...)
			if want == nil {
				if got == got {
					t.Errorf("%s %s%v = %v, want NaN", typ, s.name, x, got)
				}
				continue
			}
			if e := off(typ, got, want); e > worst || at == nil {
				worst, at = e, x
			}
		}
	}
	return worst, at
}

func TestAccuracy(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	for _, s := range append(shortOf(specs), specs...) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, typ := range types {
			n := 200
			if os.Getenv(everyEnv) == "1" {
				n = 20000
			}
			worst, at := s.measure(t, r, typ, n)
			if worst > s.bound(typ) {
				got := s.code(t, typ)[0].call(typ, at...)
				t.Errorf("%s %s%v = %v: off by %.2f units in the last place, more than %v", typ, s.name, at, got, worst, s.bound(typ))
			} else {
				t.Logf("%s %s: at most %.3f at %v", typ, s.name, worst, at)
			}
		}
	}
}

// hard are arguments where functions go wrong easily: next to multiples of π/2 (the
// worst of all floats and doubles), to ends of their domains, to overflow and
// underflow, to zeros. Those of f64 are rounded for f32.
var hard = map[string][][]float64{
	"sin":           {{16367173 * 0x1p72}, {6381956970095103 * 0x1p797}, {math.Pi}, {1e22}, {math.MaxFloat32}, {math.MaxFloat64}, {105615.5}, {1<<26 + 1}, {5e-324}},
	"cos":           {{16367173 * 0x1p72}, {6381956970095103 * 0x1p797}, {math.Pi / 2}, {1e22}, {math.MaxFloat64}, {1.5 * math.Pi}},
	"tan":           {{16367173 * 0x1p72}, {6381956970095103 * 0x1p797}, {math.Pi / 2}, {math.Pi}, {1e300}},
	"exp":           {{88.72283}, {-103.97}, {-87.4}, {709.782712893384}, {-745.13}, {-708.5}, {1e-300}},
	"exp2":          {{127.99999}, {-149}, {-148.9}, {1023.9999999999999}, {-1074}, {-1073.9}, {0.5}, {-0.5}},
	"exp10":         {{38.53}, {-45.1}, {308.25471555991674}, {-323.3}},
	"expm1":         {{88.7}, {709.78}, {-17.4}, {-37.5}, {1e-30}, {0.34657}, {-0.34658}},
	"log":           {{1 + 0x1p-23}, {1 - 0x1p-24}, {1 + 0x1p-52}, {1 - 0x1p-53}, {math.Sqrt2 / 2}, {5e-324}},
	"log2":          {{1 + 0x1p-23}, {1 - 0x1p-24}, {1 + 0x1p-52}, {1 - 0x1p-53}, {math.Sqrt2 / 2}, {5e-324}},
	"log10":         {{1 + 0x1p-23}, {1 - 0x1p-24}, {1 + 0x1p-52}, {1 - 0x1p-53}, {1e22}, {5e-324}},
	"log1p":         {{-1 + 0x1p-24}, {-1 + 0x1p-53}, {0x1p-24}, {0x1p-53}, {-0x1p-25}, {1e38}, {1e300}},
	"asin":          {{1 - 0x1p-24}, {1 - 0x1p-53}, {0.5 + 0x1p-24}, {1e-300}},
	"acos":          {{1 - 0x1p-24}, {1 - 0x1p-53}, {-1 + 0x1p-24}, {-1 + 0x1p-53}, {0.5 + 0x1p-24}, {-0.5}},
	"acosh":         {{1 + 0x1p-23}, {1 + 0x1p-52}, {0x1p61}, {0x1p509}, {math.MaxFloat64}},
	"asinh":         {{0x1p-15}, {0x1p-28}, {0x1p60}, {0x1p508}, {math.MaxFloat64}, {5e-324}},
	"atanh":         {{1 - 0x1p-24}, {1 - 0x1p-53}, {0x1p-15}, {0x1p-29}, {5e-324}},
	"sinh":          {{89.4}, {710.4758}, {1 - 0x1p-24}, {5e-324}},
	"cosh":          {{89.4}, {710.4758}},
	"tanh":          {{0.6}, {9.1}, {19.1}, {21.9}, {0x1p-28}, {5e-324}},
	"erf":           {{0.94}, {3.9}, {5.9}, {1e-300}},
	"erfc":          {{0.5}, {-0.5}, {10.05}, {9.2}, {26.5}, {27.2}, {-5.8}},
	"erfcx":         {{-9.38}, {-26.6}, {1e30}, {1e308}, {0.5}},
	"erfinv":        {{1 - 0x1p-24}, {1 - 0x1p-53}, {0.8}, {1e-9}, {1e-300}},
	"erfcinv":       {{1e-38}, {1e-307}, {2 - 0x1p-22}, {2 - 0x1p-52}, {1 + 0x1p-52}},
	"normcdf":       {{-14.1}, {-38.4}, {8.2}, {-0.7071}},
	"normcdfinv":    {{1e-38}, {1e-307}, {1 - 0x1p-24}, {1 - 0x1p-53}},
	"tgamma":        {{35.04}, {171.62}, {-36.5}, {-170.5}, {-177.5}, {1e-38}, {1e-300}, {8 - 0x1p-49}, {-1 + 0x1p-24}},
	"lgamma":        {{1 + 0x1p-23}, {1 - 0x1p-53}, {2 + 0x1p-22}, {2 - 0x1p-52}, {1.5}, {0.5}, {2.5e305}, {1e-300}, {-1e-300}, {-1.5}},
	"cyl_bessel_i0": {{91.8}, {713.9}, {8}, {0}, {5e-324}},
	"cyl_bessel_i1": {{91.8}, {713.9}, {8}, {5e-324}},
	"pow":           {{1.518586511950352e-10, 31.481673064781944}, {2.9942113862241317e-29, 1.3743330240249634}, {1 - 0x1p-24, -1e9}, {1 + 0x1p-23, 7e8}, {1 + 0x1p-52, 3e18}, {1 - 0x1p-53, 6e18}, {2, -149}, {2, 127}, {10, 38}, {5e-324, 0.5}, {0.999, 1e5}, {2, -1074}},
}

func TestHardCases(t *testing.T) {
	for _, s := range append(shortOf(specs), specs...) {
		for _, typ := range types {
			for _, m := range s.code(t, typ) {
				for _, x := range hard[s.name] {
					in := make([]float64, len(x))
					args := make([]*big.Float, len(x))
					fits := true
					for i, v := range x {
						in[i] = fromBits(typ, toBits(typ, v))
						fits = fits && !math.IsInf(in[i], 0)
						if fits {
							args[i] = ref.New(in[i])
						}
					}
					if !fits {
						continue
					}
					want := s.ref(args...)
					if want == nil || want.IsInf() {
						continue // by rounding on the end of a domain: see TestLimits
					}
					got := m.call(typ, in...)
					if e := off(typ, got, want); e > s.bound(typ) {
						t.Errorf("%s %s%v = %v, want %.17g: off by %.2f units in the last place", typ, s.name, in, got, want, e)
					}
				}
			}
		}
	}
}

// The tails of the constants continue them to twice the precision.
func TestConstants(t *testing.T) {
	rest := func(exact *big.Float, v float64) float64 {
		f, _ := ref.New(0).Sub(exact, ref.New(v)).Float64()
		return f
	}
	pi := ref.New(0).Set(ref.Pi())
	for _, c := range []struct {
		name       string
		exact      *big.Float
		head, tail float64
	}{
		{"ln2", ref.Ln2(), math.Ln2, ln2Minus(math.Ln2)},
		{"π", pi, math.Pi, piTail},
		{"π/2", ref.New(0).Quo(pi, ref.New(2)), math.Pi / 2, halfPiTail},
		{"1/ln 10", ref.Inverse(ref.Log(ref.New(10))), math.Log10E, log10eTail},
		{"ln 10", ref.Log(ref.New(10)), math.Ln10, ln10Tail},
		{"1/√2", ref.Sqrt(ref.New(0.5)), rootHalf, rootHalfTail},
		{"⅔", ref.New(0).Quo(ref.New(2), ref.New(3)), 2. / 3, twoThirdsTail},
		{"√π/2", ref.New(0).Quo(ref.Sqrt(pi), ref.New(2)), math.SqrtPi / 2, rootPiTail},
	} {
		if want := rest(c.exact, c.head); math.Abs(c.tail/want-1) > 1e-14 {
			t.Errorf("%s continues by %v, not %v", c.name, want, c.tail)
		}
	}
	if _, lo := inverseLn2(kit{t: llir.F64}); math.Abs(lo/rest(ref.Inverse(ref.Ln2()), math.Log2E)-1) > 1e-14 {
		t.Errorf("1/ln2 does not continue by %v", lo)
	}
}

// docPath is the table of errors; it is made by TestDocument.
const docPath = "../../../docs/results/devmath.md"

// docRest begins what test/math/instructions writes.
const docRest = "\n## Instructions on NVIDIA\n"

// TestDocument keeps docs/results/devmath.md true: the table holds what these samples,
// always the same, and the sweeps give. TRITONC_UPDATE=1 rewrites it.
func TestDocument(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(docHead)
	for _, s := range specs {
		r := rand.New(rand.NewPCG(1, 2))
		fmt.Fprintf(&out, "| `%s` |", s.name)
		for i, typ := range types {
			worst, _ := s.measure(t, r, typ, 400)
			fmt.Fprintf(&out, " %.2f |", worst)
			if typ == llir.F32 {
				fmt.Fprintf(&out, " %s |", s.everywhere(t))
			}
			fmt.Fprintf(&out, " %v | %d |", s.cuda[i], size(t, Find(s.name), typ))
			if worst > s.bound(typ) {
				t.Errorf("%s %s errs by %.2f units in the last place, more than %v", typ, s.name, worst, s.bound(typ))
			}
		}
		out.WriteString("\n")
	}
	out.WriteString(docShort)
	for _, s := range shorter(specs) {
		worst, _ := s.measure(t, rand.New(rand.NewPCG(1, 2)), llir.F32, 400)
		n := size(t, named.Find(s.name), llir.F32)
		fmt.Fprintf(&out, "| `%s` | %.2f | %s | %v | %d |\n", s.name, worst, s.everywhere(t), s.cuda[0], n)
		if worst > s.bound(llir.F32) {
			t.Errorf("%s errs by %.2f units in the last place, more than %v", s.label(), worst, s.bound(llir.F32))
		}
	}
	out.WriteString(docTail)
	have, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	have, rest, _ := bytes.Cut(have, []byte(docRest))
	if os.Getenv("TRITONC_UPDATE") == "1" {
		have = out.Bytes()
		if err := os.WriteFile(docPath, slices.Concat(have, []byte(docRest), rest), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(have, out.Bytes()) {
		t.Errorf("docs/results/devmath.md is not what the tests measure: run them with TRITONC_UPDATE=1")
	}
}

const docHead = `# Device math

Kernels need no vendor's bitcode: package core/lower/devmath builds these functions as LLVM IR, once for every GPU, and the results are the same on all. A backend may use an instruction of its hardware instead; where it does, a section below says so.

The errors are in units of the last place of the exact result, each computed as written and with every product fused into the sum that follows (as an optimiser may). The bounds are those that CUDA documents for its own functions; ours must stay within them, or within 2 where CUDA's is smaller. Instructions are those of the LLVM IR, rare branches included, before an optimiser sees them; negations and absolute values count, though they cost nothing on most hardware.

- "Samples" is the greatest error, against references of 200 bits (package mathref), over samples of all magnitudes with more around the places where a function's code changes.
- "All 2³²" is the greatest over every f32: the code is compiled for the CPU and run on all of them beside a function of doubles, which is C's, or made from C's (testdata/functions.c), or for ` + "`sinpi`, `cospi`, `erfcx` and `normcdf`" + ` ours; the error at the worst argument is then measured against 200 bits. Zeros' signs and NaNs must be right everywhere. For a function of several arguments it is the greatest over 2³² samples: the first argument is every f32, the others are made from its bits, mostly of a like size. ` + "`fmod` and `remainder`" + ` are swept like that, too, and have no error. The last section has the same of the code for NVIDIA, run on a GPU.
- Functions of f64 are held to their bounds on testdata/doubles.tsv, 4300 values of 128 bits that the tests write with package mathref, on random samples, and on the cases that are hard or special.

The table is made by the tests of the package, which fail when it is not true: TRITONC_UPDATE=1 rewrites it. TRITONC_ALL=1 sweeps every function of f32 that has changed since its last sweep, a minute or two each (go test -timeout 24h -run TestEverySingle), and notes the result in testdata/sweeps.tsv; "—" marks what has not been swept.

| function | f32: samples | all 2³² | CUDA's bound | instructions | f64: samples | CUDA's bound | instructions |
|---|---|---|---|---|---|---|---|
`

const docShort = `
With a GPU's own approximations of 2^x, 1/x and 1/√x (type Approx) some functions of f32 are shorter. Their errors here are the greatest with approximations that all err as far as their instructions' documents allow, once all upwards and once all downwards: 2 units in the last place for 2^x and 1/√x, 1 for 1/x. A GPU's are smaller. Those of f64 divide by way of an inverse that is right to 2⁻¹⁹; the same errors hold for them, and are tested.

| function | f32: samples | all 2³² | CUDA's bound | instructions |
|---|---|---|---|---|
`

const docTail = `
` + "`lgamma`" + ` below -2 is measured by no sample: near its zeros there the error is absolute, some 1e-15. ` + "`j0`, `j1`, `y0`, `y1`" + ` are measured up to 8; above, and ` + "`jn`, `yn`" + ` everywhere, the error is absolute: 1e-15 in f64 (CUDA: 5e-12), half a place more in f32 (CUDA: 2.2e-6). ` + "`powi`" + ` (` + "`pow`" + ` with an exponent n of type i32) squares again and again in pairs of numbers: its relative error grows by n·2⁻⁴⁵ in f32, which is less than half a place up to n = 2²⁰, and by n·2⁻¹⁰⁰ in f64; CUDA's, which squares single numbers, by n/2 places.

Exact, and tested for equality: ` + "`fmod`, `remainder`, `fdim`, `nextafter`, `ldexp`, `scalbn`, `ilogb`, `logb`, `copysign`, `rint`, `nearbyint`, `trunc`, `floor`, `ceil`, `round`" + `, the predicates, the conversions and the operations with a rounding mode in their names.

f16 and bf16 are computed in f32 and rounded: at most 0.501 units off on all their numbers, as the NVIDIA backend's tests find on the simulated GPU.

## Instructions in the place of functions
On NVIDIA, as Triton has it: ` + "`tl.exp`, `tl.exp2`, `tl.sqrt`, `tl.rsqrt`" + ` and division of f32 use the approximate instructions (2 units in the last place); so do libdevice's ` + "`rsqrt` and `exp2`" + ` of f32, which keep subnormal numbers, and so do all its ` + "`fast_`" + ` functions. Operations and conversions with a rounding mode are one instruction of PTX each. The functions of the second table take ` + "`ex2.approx.ftz`, `rcp.approx.ftz` and `rsqrt.approx.ftz`" + ` for their three approximations; on the GPU that docs/simulator.md tells of, those err by 2, 1 and 1 units at most.

On AMD, ` + "`tl.exp`, `tl.exp2`, `tl.sqrt` and `tl.rsqrt`" + ` of f32 are ` + "`v_exp_f32`, `v_sqrt_f32` and `v_rsq_f32`" + ` (1 unit), logarithms of f32 LLVM's, and ` + "`fast_`" + ` functions instructions without correction; the functions of the second table take ` + "`v_exp_f32`, `v_rcp_f32`, `v_rsq_f32` and `v_rcp_f64`" + `.

## Names
Kernels reach the functions as ` + "`tl.math.*`, `tl.extra.cuda.libdevice.*` or `triton.language.extra.libdevice`" + `, with Triton's overloads: the NVIDIA backend's module map has libdevice's 198 functions with their 313 symbols, and each has code here. test/math/census/testdata/functions.tsv lists which of them 5281 public kernels call, and how many. A symbol of another library is linked from the bitcode that option extern_libs names, or is a diagnostic. The AMD backend's module map has ` + "`tl.extra.hip.libdevice`" + `, with the functions that docs/amd.md lists.
`
