package gpu

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Elementary functions, element by element; large angles take a branch in some
// lanes only.
func TestMath(t *testing.T) {
	r := newRand(t)
	for name, ref := range map[string]func(float64) float64{
		"math.tan": math.Tan, "math.expm1": math.Expm1, "math.log10": math.Log10, "math.log1p": math.Log1p,
		"math.sin": math.Sin, "math.cos": math.Cos, "math.erf": math.Erf, "math.tanh": math.Tanh,
		"math.exp": math.Exp, "math.exp2": math.Exp2, "math.log": math.Log, "math.log2": math.Log2,
		"math.sqrt": math.Sqrt, "math.rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
		"math.floor": math.Floor, "math.ceil": math.Ceil, "math.absf": math.Abs,
	} {
		k := build(t, "math.ttgir", moduleOf(strings.NewReplacer("OP", name,
			"ENC", "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %xp = tt.addptr %xs, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %v = tt.load %xp : tensor<512x!tt.ptr<f32>, ENC>
    %y = OP %v : tensor<512xf32, ENC>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    tt.store %op, %y : tensor<512x!tt.ptr<f32>, ENC>
    tt.return
  }
`)), 80)
		x := randn(r, 512)
		want := make([]float64, len(x))
		for i := range x {
			x[i] *= 10
			switch name {
			case "math.sin", "math.cos":
				x[i] *= float32(math.Exp2(float64(r.IntN(60))))
			case "math.log", "math.log2", "math.log10", "math.log1p", "math.sqrt", "math.rsqrt":
				x[i] = float32(math.Abs(float64(x[i]))) + 1e-3
			}
			want[i] = ref(float64(x[i]))
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*len(x))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		near(t, name, sim.Download[float32](o), want, 3e-6, 1e-6)
	}
}

// narrow is a format of 16 bits.
type narrow struct {
	name       string
	man, least int // bits of the stored significand, least exponent of a normal number
}

func (n *narrow) value(b uint16) float64 {
	sign := math.Copysign(1, -float64(b>>15)+0.5)
	e, m := int(b&0x7fff)>>n.man, float64(int(b)&(1<<n.man-1))
	switch {
	case e == 0x7fff>>n.man && m != 0:
		return math.NaN()
	case e == 0x7fff>>n.man:
		return sign * math.Inf(1)
	case e == 0:
		return sign * math.Ldexp(m, n.least-n.man)
	}
	return sign * math.Ldexp(m+float64(int(1)<<n.man), n.least-n.man+e-1)
}

// off is the distance of got from want in units of the last place of want; infinity is
// the number after the greatest.
func (n *narrow) off(got, want float64) float64 {
	end := math.Ldexp(1, 2-n.least)
	switch {
	case got != got || want != want:
		if got != got && want != want {
			return 0
		}
		return math.Inf(1)
	case math.Signbit(got) != math.Signbit(want) && want == 0:
		return math.Inf(1)
	}
	got, want = max(min(got, end), -end), max(min(want, end), -end)
	_, e := math.Frexp(want)
	return math.Ldexp(math.Abs(got-want), n.man-max(min(e-1, 1-n.least), n.least))
}

// Functions of f16 and bf16 are those of f32, rounded: all numbers.
func TestMathNarrow(t *testing.T) {
	functions := []struct {
		name string
		ref  func(float64) float64
	}{
		{"math.exp", math.Exp},
		{"math.exp2", math.Exp2},
		{"math.log", math.Log},
		{"math.log2", math.Log2},
		{"math.sin", math.Sin},
		{"math.cos", math.Cos},
		{"math.erf", math.Erf},
		{"math.tanh", math.Tanh},
		{"math.expm1", math.Expm1},
		{"math.log1p", math.Log1p},
		{"math.sqrt", math.Sqrt},
		{"math.rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }},
		{"math.floor", math.Floor},
		{"math.ceil", math.Ceil},
	}
	const all, block = 1 << 16, 1024
	for _, typ := range []*narrow{{"f16", 10, -14}, {"bf16", 7, -126}} {
		var ops strings.Builder
		for i, f := range functions {
			fmt.Fprintf(&ops, `
    %%y%[1]d = %[2]s %%v : tensor<1024xTYPE, ENC>
    %%at%[1]d = arith.constant %[3]d : i32
    %%to%[1]d = tt.addptr %%o, %%at%[1]d : !tt.ptr<TYPE>, i32
    %%os%[1]d = tt.splat %%to%[1]d : !tt.ptr<TYPE> -> tensor<1024x!tt.ptr<TYPE>, ENC>
    %%op%[1]d = tt.addptr %%os%[1]d, %%i : tensor<1024x!tt.ptr<TYPE>, ENC>, tensor<1024xi32, ENC>
    tt.store %%op%[1]d, %%y%[1]d : tensor<1024x!tt.ptr<TYPE>, ENC>`, i, f.name, i*all)
		}
		k := build(t, "narrow.ttgir", moduleOf(strings.NewReplacer("TYPE", typ.name,
			"ENC", "#ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<TYPE>, %o: !tt.ptr<TYPE>) {
    %pid = tt.get_program_id x : i32
    %size = arith.constant 1024 : i32
    %start = arith.muli %pid, %size : i32
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, ENC>
    %first = tt.splat %start : i32 -> tensor<1024xi32, ENC>
    %i = arith.addi %r, %first : tensor<1024xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<TYPE> -> tensor<1024x!tt.ptr<TYPE>, ENC>
    %xp = tt.addptr %xs, %i : tensor<1024x!tt.ptr<TYPE>, ENC>, tensor<1024xi32, ENC>
    %v = tt.load %xp : tensor<1024x!tt.ptr<TYPE>, ENC>`+ops.String()+`
    tt.return
  }
`)), 80)
		x := make([]uint16, all)
		for i := range x {
			x[i] = uint16(i)
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 2*all*len(functions))
		k.run(t, d, sim.Dim(all/block), sim.Upload(d, "x", x), o)
		got := sim.Download[uint16](o)
		for i, f := range functions {
			worst, at, bits := 0.0, 0.0, uint16(0)
			for _, b := range x {
				in := typ.value(b)
				want := f.ref(in)
				// The approximate instructions flush f32's subnormal numbers, which bf16 has.
				if math.Abs(in) < 0x1p-126 || math.Abs(want) < 0x1p-126 && want != 0 {
					continue
				}
				if e := typ.off(typ.value(got[i*all+int(b)]), want); e > worst {
					worst, at, bits = e, in, got[i*all+int(b)]
				}
			}
			t.Logf("%s %s: at most %.4f at %v", typ.name, f.name, worst, at)
			if worst > 0.501 { // the error of f32 counts little here
				t.Errorf("%s %s(%v) = %v, want %v: off by %.3f units in the last place", typ.name, f.name, at, typ.value(bits), f.ref(at), worst)
			}
		}
	}
}
