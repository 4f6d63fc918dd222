package gpu

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/internal/mathref"
)

// library is a kernel that stores symbol(x) of f32s, or symbol(x, y).
func library(t *testing.T, symbol, result string, args int) *kernel {
	t.Helper()
	operands, types := "%v", "tensor<512xf32, ENC>"
	if args == 2 {
		operands, types = "%v, %u", types+", "+types
	}
	return build(t, "library.ttgir", moduleOf(strings.NewReplacer("SYMBOL", symbol, "OPERANDS", operands, "RESULT", result,
		"ENC", "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %o: !tt.ptr<RESULT>) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %xp = tt.addptr %xs, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %v = tt.load %xp : tensor<512x!tt.ptr<f32>, ENC>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %yp = tt.addptr %ys, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %u = tt.load %yp : tensor<512x!tt.ptr<f32>, ENC>
    %w = tt.extern_elementwise OPERANDS {libname = "", libpath = "", pure = true, symbol = "SYMBOL"} : (`+types+`) -> tensor<512xRESULT, ENC>
    %os = tt.splat %o : !tt.ptr<RESULT> -> tensor<512x!tt.ptr<RESULT>, ENC>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<RESULT>, ENC>, tensor<512xi32, ENC>
    tt.store %op, %w : tensor<512x!tt.ptr<RESULT>, ENC>
    tt.return
  }
`)), 80)
}

func TestLibrary(t *testing.T) {
	r := newRand(t)
	for symbol, ref := range map[string]func(float64) float64{
		"__nv_tanhf": math.Tanh, "__nv_log1pf": math.Log1p, "__nv_expm1f": math.Expm1, "__nv_asinf": math.Asin,
		"__nv_roundf": math.Round, "__nv_rintf": math.RoundToEven, "__nv_exp10f": func(x float64) float64 { return math.Pow(10, x) },
		"__nv_atanf": math.Atan, "__nv_tanf": math.Tan, "__nv_acosf": math.Acos, "__nv_logf": math.Log, "__nv_log2f": math.Log2,
		"__nv_log10f": math.Log10, "__nv_expf": math.Exp, "__nv_erff": math.Erf, "__nv_erfcf": math.Erfc, "__nv_sinhf": math.Sinh,
		"__nv_coshf": math.Cosh, "__nv_asinhf": math.Asinh, "__nv_atanhf": math.Atanh, "__nv_j0f": math.J0, "__nv_j1f": math.J1,
	} {
		k := library(t, symbol, "f32", 1)
		x, want := randn(r, 512), make([]float64, 512)
		for i := range x {
			switch symbol {
			case "__nv_asinf", "__nv_acosf", "__nv_atanhf", "__nv_log1pf":
				x[i] = float32(math.Mod(float64(x[i]), 1))
			case "__nv_logf", "__nv_log2f", "__nv_log10f":
				x[i] = float32(math.Abs(float64(x[i])))
			}
			want[i] = ref(float64(x[i]))
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*512)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", x), o)
		near(t, symbol, sim.Download[float32](o), want, 1e-6, 1e-7)
	}
}

// nearest reports whether got is want, or its neighbour where that is neither
// zero nor infinite nor NaN.
func nearest(got, want float32) bool {
	w := float64(want)
	switch {
	case want != want:
		return got != got
	case want == 0, math.IsInf(w, 0):
		return math.Float32bits(got) == math.Float32bits(want)
	}
	return got == want || got == math.Nextafter32(want, got) && !math.IsInf(float64(got), 0)
}

func TestLibraryPower(t *testing.T) {
	k := library(t, "__nv_powf", "f32", 2)
	special := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.5, 1e30, 1e-30,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	}
	x, y := make([]float32, 512), make([]float32, 512)
	for i := range x {
		x[i], y[i] = special[i%16], special[i/16%16]
	}
	d := sim.New(sim.Options{})
	o := d.Alloc("o", 4*512)
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", y), o)
	for i, got := range sim.Download[float32](o) {
		want := float32(math.Pow(float64(x[i]), float64(y[i])))
		if !nearest(got, want) {
			t.Errorf("%v^%v = %v, want %v", x[i], y[i], got, want)
		}
	}
}

// Powers of two keep subnormal numbers.
func TestLibraryExp2(t *testing.T) {
	k := library(t, "__nv_exp2f", "f32", 1)
	x := make([]float32, 512)
	for i := range x {
		x[i] = -152 + float32(i)*0.0625 // to -120
	}
	inf := float32(math.Inf(1))
	copy(x, []float32{inf, -inf, float32(math.NaN()), 0, 1, 127, 127.9375, 128, 1000, -1000, 1e-42, -1e-42})
	d := sim.New(sim.Options{})
	o := d.Alloc("o", 4*512)
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", x), o)
	for i, got := range sim.Download[float32](o) {
		if want := float32(math.Exp2(float64(x[i]))); !nearest(got, want) {
			t.Errorf("2^%v = %v, want %v", x[i], got, want)
		}
	}
}

func TestLibraryPredicates(t *testing.T) {
	values := []float64{0, 1, -2, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}
	for symbol, ref := range map[string]func(float64) bool{
		"__nv_isnanf": math.IsNaN, "__nv_isinff": func(x float64) bool { return math.IsInf(x, 0) },
		"__nv_finitef": func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }, "__nv_signbitf": math.Signbit,
	} {
		k := library(t, symbol, "i32", 1)
		x := make([]float32, 512)
		for i := range x {
			x[i] = float32(values[i%len(values)])
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*512)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", x), o)
		for i, got := range sim.Download[int32](o) {
			if want := ref(float64(x[i])); got != 0 != want {
				t.Errorf("%s(%v) = %d, want %v", symbol, x[i], got, want)
			}
		}
	}
}

// externKernel stores symbol(x[0], x[1], …) for 256 elements of the given types.
func externKernel(t *testing.T, symbol, result string, args ...string) *kernel {
	t.Helper()
	const enc = "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
	tensor := func(elem string) string { return "tensor<256x" + elem + ", " + enc + ">" }
	var params, operands, types []string
	var body strings.Builder
	for i, a := range args {
		name := fmt.Sprintf("x%d", i)
		params = append(params, "%"+name+": !tt.ptr<"+a+">")
		body.WriteString(pointers(name, name, "r", "256", a, enc))
		fmt.Fprintf(&body, "    %%v%d = tt.load %%%s_p : %s\n", i, name, tensor("!tt.ptr<"+a+">"))
		operands, types = append(operands, fmt.Sprintf("%%v%d", i)), append(types, tensor(a))
	}
	params = append(params, "%o: !tt.ptr<"+result+">")
	return build(t, "extern.ttgir", moduleOf("  tt.func public @k("+strings.Join(params, ", ")+") {\n"+
		"    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : "+tensor("i32")+"\n"+body.String()+
		"    %y = tt.extern_elementwise "+strings.Join(operands, ", ")+
		" {libname = \"\", libpath = \"\", pure = true, symbol = \""+symbol+"\"} : ("+strings.Join(types, ", ")+") -> "+tensor(result)+"\n"+
		pointers("o", "o", "r", "256", result, enc)+
		"    tt.store %o_p, %y : "+tensor("!tt.ptr<"+result+">")+"\n    tt.return\n  }\n"), 80)
}

// externs runs symbol on operands of 256 elements.
func externs[R sim.Number](t *testing.T, symbol, result string, args []string, x ...any) []R {
	t.Helper()
	k := externKernel(t, symbol, result, args...)
	d := sim.New(sim.Options{})
	o := d.Alloc("o", 256*8)
	var buffers []any
	for _, v := range x {
		switch v := v.(type) {
		case []float32:
			buffers = append(buffers, sim.Upload(d, "x", v))
		case []float64:
			buffers = append(buffers, sim.Upload(d, "x", v))
		case []int32:
			buffers = append(buffers, sim.Upload(d, "x", v))
		case []int64:
			buffers = append(buffers, sim.Upload(d, "x", v))
		}
	}
	k.run(t, d, sim.Dim(1), append(buffers, o)...)
	return sim.Download[R](o)[:256]
}

func normals(r *rand.Rand, scale float64) []float64 {
	out := make([]float64, 256)
	for i := range out {
		out[i] = r.NormFloat64() * scale
	}
	return out
}

// Functions of doubles, through every tool.
func TestLibraryDouble(t *testing.T) {
	r := newRand(t)
	for _, c := range []struct {
		symbol string
		scale  float64
		ref    func(float64) float64
	}{
		{"sin", 1e9, func(x float64) float64 { // Go's errs by an absolute 1e-16
			y, _ := mathref.Sin(mathref.New(x)).Float64()
			return y
		}},
		{"tan", 3, math.Tan},
		{"tanh", 1, math.Tanh},
		{"erf", 1, math.Erf},
		{"asinh", 100, math.Asinh},
		{"cbrt", 1e6, math.Cbrt},
		{"tgamma", 10, math.Gamma},
		{"exp10", 50, func(x float64) float64 { return math.Pow(10, x) }},
		{"log1p", 0.2, math.Log1p},
	} {
		x := normals(r, c.scale)
		for i, got := range externs[float64](t, "__nv_"+c.symbol, "f64", []string{"f64"}, x) {
			// Go's own functions err a little as well.
			if want := c.ref(x[i]); math.Abs(got-want) > 1e-13*math.Abs(want) && (got == got || want == want) {
				t.Errorf("%s(%v) = %v, want %v", c.symbol, x[i], got, want)
			}
		}
	}
	x, y := normals(r, 1e12), normals(r, 3)
	two := []string{"f64", "f64"}
	for i, got := range externs[float64](t, "__nv_fmod", "f64", two, x, y) {
		if want := math.Mod(x[i], y[i]); got != want {
			t.Errorf("fmod(%v, %v) = %v, want %v", x[i], y[i], got, want)
		}
	}
	for i, got := range externs[float64](t, "__nv_atan2", "f64", two, x, y) {
		if want := math.Atan2(x[i], y[i]); math.Abs(got-want) > 1e-14 {
			t.Errorf("atan2(%v, %v) = %v, want %v", x[i], y[i], got, want)
		}
	}
}

// directed is the number of a format nearest to an exact result in a direction.
func directed(v *big.Float, mode string, single bool) float64 {
	prec := uint(53)
	if single {
		prec = 24
	}
	rounding := map[string]big.RoundingMode{"rn": big.ToNearestEven, "rz": big.ToZero, "rd": big.ToNegativeInf, "ru": big.ToPositiveInf}[mode]
	f, _ := new(big.Float).SetPrec(prec).SetMode(rounding).Set(v).Float64()
	return f
}

// Operations with a rounding mode give the one right number.
func TestLibraryRounding(t *testing.T) {
	r := newRand(t)
	x, y, z := normals(r, 100), normals(r, 3), normals(r, 1)
	var x32, y32, z32 []float32
	for i := range x {
		x32, y32, z32 = append(x32, float32(x[i])), append(y32, float32(y[i])), append(z32, float32(z[i]))
	}
	exact := func() *big.Float { return new(big.Float).SetPrec(3000) }
	for _, c := range []struct {
		op   string
		args int
		f    func(x, y, z *big.Float) *big.Float
	}{
		{"add", 2, func(x, y, _ *big.Float) *big.Float { return exact().Add(x, y) }},
		{"sub", 2, func(x, y, _ *big.Float) *big.Float { return exact().Sub(x, y) }},
		{"mul", 2, func(x, y, _ *big.Float) *big.Float { return exact().Mul(x, y) }},
		{"div", 2, func(x, y, _ *big.Float) *big.Float { return exact().Quo(x, y) }},
		{"fma", 3, func(x, y, z *big.Float) *big.Float { return exact().Add(exact().Mul(x, y), z) }},
	} {
		for _, mode := range []string{"rn", "rz", "rd", "ru"} {
			single, double := "__nv_f"+c.op+"_"+mode, "__nv_d"+c.op+"_"+mode
			if c.op == "fma" {
				single, double = "__nv_fmaf_"+mode, "__nv_fma_"+mode
			}
			got := externs[float64](t, double, "f64", []string{"f64", "f64", "f64"}[:c.args], []any{x, y, z}[:c.args]...)
			got32 := externs[float32](t, single, "f32", []string{"f32", "f32", "f32"}[:c.args], []any{x32, y32, z32}[:c.args]...)
			for i := range x {
				in := func(v float64) *big.Float { return exact().SetFloat64(v) }
				if want := directed(c.f(in(x[i]), in(y[i]), in(z[i])), mode, false); got[i] != want {
					t.Fatalf("%s(%v, %v, %v) = %v, want %v", double, x[i], y[i], z[i], got[i], want)
				}
				v := c.f(in(float64(x32[i])), in(float64(y32[i])), in(float64(z32[i])))
				if want := directed(v, mode, true); float64(got32[i]) != want {
					t.Fatalf("%s(%v, %v, %v) = %v, want %v", single, x32[i], y32[i], z32[i], got32[i], want)
				}
			}
		}
	}
}

// Conversions round as they say.
func TestLibraryConversions(t *testing.T) {
	r := newRand(t)
	x := normals(r, 1e6)
	long, short := make([]int64, 256), make([]float32, 256)
	for i := range long {
		long[i], short[i] = r.Int64()>>r.IntN(60), float32(x[i])
	}
	whole := map[string]func(float64) float64{"rn": math.RoundToEven, "rz": math.Trunc, "rd": math.Floor, "ru": math.Ceil}
	for _, mode := range []string{"rn", "rz", "rd", "ru"} {
		for i, got := range externs[int32](t, "__nv_double2int_"+mode, "i32", []string{"f64"}, x) {
			if want := int32(whole[mode](x[i])); got != want {
				t.Errorf("double2int_%s(%v) = %d, want %d", mode, x[i], got, want)
			}
		}
		for i, got := range externs[int64](t, "__nv_float2ll_"+mode, "i64", []string{"f32"}, short) {
			if want := int64(whole[mode](float64(short[i]))); got != want {
				t.Errorf("float2ll_%s(%v) = %d, want %d", mode, short[i], got, want)
			}
		}
		for i, got := range externs[float32](t, "__nv_ll2float_"+mode, "f32", []string{"i64"}, long) {
			if want := directed(new(big.Float).SetInt64(long[i]), mode, true); float64(got) != want {
				t.Errorf("ll2float_%s(%d) = %v, want %v", mode, long[i], got, want)
			}
		}
		for i, got := range externs[float32](t, "__nv_double2float_"+mode, "f32", []string{"f64"}, x) {
			if want := directed(new(big.Float).SetFloat64(x[i]), mode, true); float64(got) != want {
				t.Errorf("double2float_%s(%v) = %v, want %v", mode, x[i], got, want)
			}
		}
	}
}

// Integers, bit for bit.
func TestLibraryIntegers(t *testing.T) {
	r := newRand(t)
	x, y, z := make([]int32, 256), make([]int32, 256), make([]int32, 256)
	for i := range x {
		x[i], y[i], z[i] = int32(r.Uint32()), int32(r.Uint32())>>r.IntN(32), int32(r.Uint32())
		if i%8 == 0 {
			x[i] = int32(1) << r.IntN(32) * int32(r.IntN(2))
		}
	}
	for _, c := range []struct {
		symbol string
		args   int
		f      func(x, y, z int32) int32
	}{
		{"abs", 1, func(x, _, _ int32) int32 { return max(x, -x) }},
		{"clz", 1, func(x, _, _ int32) int32 { return int32(bits.LeadingZeros32(uint32(x))) }},
		{"popc", 1, func(x, _, _ int32) int32 { return int32(bits.OnesCount32(uint32(x))) }},
		{"ffs", 1, func(x, _, _ int32) int32 { return int32(bits.TrailingZeros32(uint32(x))+1) % 33 }},
		{"brev", 1, func(x, _, _ int32) int32 { return int32(bits.Reverse32(uint32(x))) }},
		{"mulhi", 2, func(x, y, _ int32) int32 { return int32(int64(x) * int64(y) >> 32) }},
		{"umulhi", 2, func(x, y, _ int32) int32 { return int32(uint64(uint32(x)) * uint64(uint32(y)) >> 32) }},
		{"mul24", 2, func(x, y, _ int32) int32 { return (x << 8 >> 8) * (y << 8 >> 8) }},
		{"umul24", 2, func(x, y, _ int32) int32 { return (x & 0xFFFFFF) * (y & 0xFFFFFF) }},
		{"hadd", 2, func(x, y, _ int32) int32 { return int32((int64(x) + int64(y)) >> 1) }},
		{"uhadd", 2, func(x, y, _ int32) int32 { return int32((uint64(uint32(x)) + uint64(uint32(y))) >> 1) }},
		{"rhadd", 2, func(x, y, _ int32) int32 { return int32((int64(x) + int64(y) + 1) >> 1) }},
		{"urhadd", 2, func(x, y, _ int32) int32 { return int32((uint64(uint32(x)) + uint64(uint32(y)) + 1) >> 1) }},
		{"sad", 3, func(x, y, z int32) int32 { return max(x, y) - min(x, y) + z }},
		{"usad", 3, func(x, y, z int32) int32 {
			return int32(max(uint32(x), uint32(y)) - min(uint32(x), uint32(y)) + uint32(z))
		}},
		{"byte_perm", 3, func(x, y, z int32) int32 {
			all := uint64(uint32(y))<<32 | uint64(uint32(x))
			var out uint32
			for i := range 4 {
				s := uint32(z) >> (4 * i) & 15
				b := uint8(all >> (8 * (s & 7)))
				if s&8 != 0 { // the sign, eight times
					b = uint8(int8(b) >> 7)
				}
				out |= uint32(b) << (8 * i)
			}
			return int32(out)
		}},
	} {
		args := []string{"i32", "i32", "i32"}[:c.args]
		for i, got := range externs[int32](t, "__nv_"+c.symbol, "i32", args, []any{x, y, z}[:c.args]...) {
			if want := c.f(x[i], y[i], z[i]); got != want {
				t.Fatalf("%s(%#x, %#x, %#x) = %#x, want %#x", c.symbol, x[i], y[i], z[i], got, want)
			}
		}
	}
}
