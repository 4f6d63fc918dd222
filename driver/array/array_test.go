package array

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestEncode holds values whose encodings the formats' standards give.
func TestEncode(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		typ   string
		value float64
		bits  uint64
	}{
		{"fp16", 0, 0},
		{"fp16", math.Copysign(0, -1), 0x8000},
		{"fp16", 1, 0x3c00},
		{"fp16", -2, 0xc000},
		{"fp16", 65504, 0x7bff},
		{"fp16", 65519.99, 0x7bff},
		{"fp16", 65520, 0x7c00},
		{"fp16", -inf, 0xfc00},
		{"fp16", 0x1p-24, 1},
		{"fp16", 0x1p-25, 0},                // a tie, to even
		{"fp16", 0x1.8p-24, 2},              // a tie, to even
		{"fp16", 1 + 0x1p-11, 0x3c00},       // a tie, to even
		{"fp16", 1 + 0x3p-11, 0x3c02},       // a tie, to even
		{"fp16", 1 + 0x1.00001p-11, 0x3c01}, // just above one
		{"bf16", 1, 0x3f80},
		{"bf16", 3.1415926, 0x4049},
		{"bf16", 3.4e38, 0x7f80},
		{"fp32", 0.1, 0x3dcccccd},
		{"fp64", 0.1, 0x3fb999999999999a},
		{"fp8e4nv", 1, 0x38},
		{"fp8e4nv", 448, 0x7e},
		{"fp8e4nv", 1000, 0x7f},
		{"fp8e4nv", 0x1p-9, 1},
		{"fp8e5", 1, 0x3c},
		{"fp8e5", 57344, 0x7b},
		{"fp8e5", 1e6, 0x7c},
		{"fp8e4b8", 1, 0x40},
		{"fp8e4b8", 240, 0x7f},
		{"fp8e4b8", math.Copysign(0, -1), 0},
		{"fp8e4b8", -1000, 0x80},
		{"fp8e5b16", 1, 0x40},
		{"fp8e4b15", 1, 0x78},
		{"fp8e4b15", -100, 0xff},
		{"i8", -3.7, 0xfd},
		{"u8", 255, 0xff},
		{"i64", -1, math.MaxUint64},
		{"u64", 1 << 63, 1 << 63},
		{"i1", 1, 1},
	} {
		if got := must(tt.typ).Bits(tt.value); got != tt.bits {
			t.Errorf("%s of %v is %#x, want %#x", tt.typ, tt.value, got, tt.bits)
		}
	}
}

// TestNarrowFloats: every value of the narrow formats is its own rounding, they
// ascend with their bits, and what lies between two goes to the nearer one.
func TestNarrowFloats(t *testing.T) {
	for _, d := range dtypes {
		if !d.Float() || d.Size > 2 {
			continue
		}
		last := math.Inf(-1)
		for bits := range d.maxFinite + 1 {
			v := d.decode(bits)
			if !(v > last) || d.Bits(v) != bits || d.decode(d.Bits(-v)) != -v {
				t.Fatalf("%s %#x is %v, which encodes as %#x; before it is %v", d, bits, v, d.Bits(v), last)
			}
			if bits > 0 {
				middle := last + (v-last)/2
				even := bits &^ 1
				if bits&1 == 1 {
					even = bits - 1
				}
				below, above := d.Bits(math.Nextafter(middle, last)), d.Bits(math.Nextafter(middle, v))
				if below != bits-1 || above != bits || d.Bits(middle) != even {
					t.Fatalf("%s: around %v, between %#x and %#x: %#x %#x %#x", d, middle, bits-1, bits, below, d.Bits(middle), above)
				}
			}
			last = v
		}
		nan := d.Round(math.NaN())
		if nan == nan && d.beyond != nothing {
			t.Errorf("%s: NaN becomes %v", d, nan)
		}
	}
}

func TestNames(t *testing.T) {
	for long, short := range map[string]string{"float16": "fp16", "bfloat16": "bf16", "int32": "i32", "fp32": "fp32", "float8e5": "fp8e5", "bool": "i1"} {
		if d := Named(long); d == nil || d.Name != short {
			t.Errorf("%s is %v, want %s", long, d, short)
		}
	}
	if d := Named("fp31"); d != nil {
		t.Errorf("fp31 is %v", d)
	}
}

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		typ       string
		in, want  int64
		asFloat64 float64
	}{
		{"i8", -128, -128, -128},
		{"i8", 128, -128, -128},
		{"u8", -1, 255, 255},
		{"i32", math.MinInt32, math.MinInt32, math.MinInt32},
		{"i64", math.MaxInt64, math.MaxInt64, 0x1p63},
		{"u64", -1, -1, 0x1p64},
		{"fp16", 7, 7, 7},
		{"i1", 3, 1, 1},
	} {
		a := New(must(tt.typ), 2)
		a.SetInt(1, tt.in)
		if a.Int(1) != tt.want || a.At(1) != tt.asFloat64 || a.At(0) != 0 {
			t.Errorf("%s of %d: %d, %v", tt.typ, tt.in, a.Int(1), a.At(1))
		}
	}
}

func TestConvert(t *testing.T) {
	a := Of(must("i64"), int64(1)<<60+1, -5)
	if got := a.Convert(must("i64")).Ints(); !slices.Equal(got, a.Ints()) {
		t.Errorf("integers go by way of floats: %v", got)
	}
	if got := Of(must("fp32"), 1.5, -2.5).Convert(must("i32")).Ints(); !slices.Equal(got, []int64{1, -2}) {
		t.Errorf("got %v", got)
	}
}

func TestGenerators(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 20000
	for _, tt := range []struct {
		a              *Array
		low, high, avg float64
	}{
		{New(must("fp32"), n).Rand(r), 0, 1, 0.5},
		{New(must("fp64"), n/2, 2).Randn(r), -7, 7, 0},
		{New(must("i32"), n).Randint(r, -5, 6), -5, 5, 0},
		{New(must("i16"), n).Arange(), 0, n - 1, (n - 1) / 2.0},
		{New(must("fp16"), n).Fill(0.25), 0.25, 0.25, 0.25},
	} {
		v := tt.a.Floats()
		sum := 0.0
		for _, x := range v {
			sum += x / n
		}
		if lo, hi := slices.Min(v), slices.Max(v); lo < tt.low || hi > tt.high || math.Abs(sum-tt.avg) > 0.05*(tt.high-tt.low)+1e-9 || len(v) != n {
			t.Errorf("%v: from %v to %v, mean %v", tt.a, lo, hi, sum)
		}
	}
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	f32 := must("fp32")
	tests := []struct {
		name       string
		got, want  *Array
		rtol, atol float64
		says       []string // nil: no mismatch
	}{
		{"same", Of(f32, 1.0, nan, inf), Of(must("fp64"), 1, nan, inf), 0, 0, nil},
		{"rtol", Of(f32, 101.0), Of(f32, 100.0), 0.01, 0, nil},
		{"atol", Of(f32, 0.5), Of(f32, 0.0), 0, 0.5, nil},
		{"one", Of(f32, 1.0, 2, 4), Of(f32, 1.0, 2, 3), 0.1, 0, []string{"1 of 3 elements", "greatest error is 1, at [2]", "[2] is 4, expected 3"}},
		{"infinite", Of(f32, inf), Of(f32, 1.0), 1, 1, []string{"is +Inf, expected 1"}},
		{"wanted infinite", Of(f32, 1.0), Of(f32, inf), 1, 1, []string{"is 1, expected +Inf"}},
		{"nan", Of(f32, 3.0, nan), Of(f32, 1.0, 1), 0.1, 0, []string{"2 of 2", "greatest error is NaN, at [1]"}},
		{"int64", Of(must("i64"), int64(1)<<60+1), Of(must("i64"), int64(1)<<60), 0, 0, []string{"1 of 1"}},
		{"many", New(f32, 3, 4).Fill(1), New(f32, 3, 4), 0, 0, []string{"12 of 12", "[1, 0] is 1", "and 7 more"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Compare(tt.got, tt.want, tt.rtol, tt.atol)
			if err != nil {
				t.Fatal(err)
			}
			if (m == nil) != (tt.says == nil) {
				t.Fatalf("got %v", m)
			}
			for _, s := range tt.says {
				if !strings.Contains(m.String(), s) {
					t.Errorf("%q does not say %q", m, s)
				}
			}
		})
	}
	if _, err := Compare(New(f32, 3), New(f32, 2, 2), 0, 0); err == nil || !strings.Contains(err.Error(), "3 elements [3] where 4 [2 2] are expected") {
		t.Errorf("sizes: %v", err)
	}
}

// TestFloats: all elements at once are what they are one by one.
func TestFloats(t *testing.T) {
	for _, name := range strings.Fields(Names()) {
		a := New(Named(name), 3, 1<<15)
		for i := range a.Data {
			a.Data[i] = byte(i * 167 >> (i % 7))
		}
		for i, v := range a.Floats() {
			if want := a.At(i); v != want && (v == v || want == want) {
				t.Fatalf("%s: element %d is %v, want %v", name, i, v, want)
			}
		}
	}
}
