package npu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
)

// kindsOfIntegers are the types of the language with their types of MLIR and what they hold.
var kindsOfIntegers = []struct {
	name, elem  string
	least, most float64
}{
	{"int8", "i8", math.MinInt8, math.MaxInt8},
	{"uint8", "i8", 0, math.MaxUint8},
	{"int16", "i16", math.MinInt16, math.MaxInt16},
	{"uint16", "i16", 0, math.MaxUint16},
	{"int32", "i32", math.MinInt32, math.MaxInt32},
	{"uint32", "i32", 0, math.MaxUint32},
}

// TestSaturated: overflow_mode="saturate" gives what does not fit the number next to it
// that does, and "trunc" cuts off bits, as no mode does.
func TestSaturated(t *testing.T) {
	const n = 77
	tests := 0 // of which one in seven runs on the CPU, too
	for _, to := range kindsOfIntegers {
		for _, from := range []struct{ name, elem string }{{"*fp32", "f32"}, {"*fp16", "f16"}, {"*bf16", "bf16"}, {"*i8", "i8"}, {"*u8", "i8"}, {"*i16", "i16"}, {"*u16", "i16"}, {"*i32", "i32"}, {"*u32", "i32"}} {
			for _, mode := range []string{"saturate", "trunc"} {
				if mode == "trunc" && !strings.HasPrefix(from.elem, "i") {
					continue // Triton does not say what numbers become that do not fit
				}
				t.Run(from.name[1:]+" to "+to.name+" "+mode, func(t *testing.T) {
					r := newRand(t)
					x := &array{elem: from.elem, data: make([]float64, n)}
					values := make([]float64, n)
					for i := range values {
						values[i], x.data[i] = anyNumber(r, x, strings.HasPrefix(from.name, "*u"))
					}
					out := "*" + strings.NewReplacer("uint", "u", "int", "i").Replace(to.name)
					artifact := own(t, "casts", fmt.Sprintf("%s, %s, %s, %s, i32, TO=tl.%s, MODE=%q, B=32", from.name, out, out, out, to.name, mode))
					got := [3]*array{blank(to.elem, n), blank(to.elem, n), blank(to.elem, n)}
					if tests++; tests%7 == 0 {
						run(t, "casts", artifact, [3]int{3, 1, 1}, x, got[0], got[1], got[2], i32(n))
					} else {
						simulate(t, artifact, [3]int{3, 1, 1}, x, got[0], got[1], got[2], i32(n))
					}
					want := make([]float64, n)
					bits := ir.BitWidth(got[0].typ())
					for i, v := range values {
						switch {
						case mode == "trunc":
						case math.IsNaN(v):
							v = 0
						default:
							v = min(max(math.Trunc(v), to.least), to.most)
						}
						want[i] = float64(int64(v) << (64 - bits) >> (64 - bits)) // as the array reads it
					}
					for i := range got {
						near(t, fmt.Sprintf("result %d", i), got[i].data, want, 0)
					}
				})
			}
		}
	}
}

// anyNumber is a number of an array, often near the ends of what integers hold, and what the
// array has for it.
func anyNumber(r *rand.Rand, a *array, unsigned bool) (v, stored float64) {
	near := []float64{0, 127, 128, 255, 256, -128, -129, 32767, 32768, 65535, 65536, -32768, -32769, 2147483647, 2147483648, 4294967295, 4294967296, -2147483648, math.NaN(), math.Inf(1), math.Inf(-1)}
	if f, ok := a.typ().(*ir.FloatType); ok {
		v = near[r.IntN(len(near))] + 2*r.Float64() - 1
		v = ir.BitsToFloat(f.Kind, ir.FloatToBits(f.Kind, v))
		return v, v
	}
	bits := ir.BitWidth(a.typ())
	n := int64(near[r.IntN(18)]) + r.Int64N(3) - 1
	n = n << (64 - bits) >> (64 - bits)
	if unsigned {
		return float64(uint64(n) & (1<<bits - 1)), float64(n)
	}
	return float64(n), float64(n)
}

// TestOverflowMode: where no integer is made, the mode has no effect, and others than the two
// are refused.
func TestOverflowMode(t *testing.T) {
	const source = `import triton
import triton.language as tl


@triton.jit
def k(x, out, TO: tl.constexpr, MODE: tl.constexpr, BITCAST: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.load(x + i).cast(TO, bitcast=BITCAST, overflow_mode=MODE))


@triton.jit
def one(x, out, n):
    tl.store(out, tl.cast(tl.load(x), tl.int8, overflow_mode="saturate") + tl.cast(n, tl.int8, overflow_mode="saturate") // 2 + tl.cast(-300, tl.int8, overflow_mode="saturate") // 64)
`
	r := newRand(t)
	at := func(kernel, signature string) []byte {
		artifact, err := compile(t, "k.py", []byte(source), kernel, signature, nil)
		if err != nil {
			t.Fatal(err)
		}
		return artifact
	}
	one := [3]int{1, 1, 1}
	x, out := random(t, r, "f32", 32), blank("f16", 32)
	x.data[3] = 1e6
	want := make([]float64, 32)
	for i, v := range x.data {
		want[i] = ir.BitsToFloat(ir.F16, ir.FloatToBits(ir.F16, v))
	}
	simulate(t, at("k", "*fp32, *fp16, TO=tl.float16, MODE=\"saturate\", BITCAST=False"), one, x, out)
	near(t, "float16", out.data, want, 0)

	bits := blank("i32", 32)
	for i, v := range x.data {
		want[i] = float64(int32(math.Float32bits(float32(v))))
	}
	simulate(t, at("k", "*fp32, *i32, TO=tl.int32, MODE=\"saturate\", BITCAST=True"), one, x, bits)
	near(t, "the bits", bits.data, want, 0)

	scalar := blank("i8", 1)
	simulate(t, at("one", "*fp32, *i8, i32"), one, &array{elem: "f32", data: []float64{-7.9}}, scalar, i32(1000))
	near(t, "of scalars", scalar.data, []float64{-7 + 63 - 2}, 0)

	_, err := compile(t, "k.py", []byte(source), "k", "*fp32, *i8, TO=tl.int8, MODE=\"wrap\", BITCAST=False", nil)
	if err == nil || !strings.Contains(err.Error(), "cast(): the overflow_mode wrap is neither trunc nor saturate") {
		t.Errorf("another mode: %v", err)
	}
}
