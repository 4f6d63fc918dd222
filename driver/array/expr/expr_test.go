package expr

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/array"
)

// numbers and integers are the inputs of testdata/reference.py.
func numbers(shape ...int) *array.Array {
	a := array.New(array.Named("fp64"), shape...)
	for i := range a.Len() {
		a.Set(i, float64((i*37+11)%101-50)/8)
	}
	return a
}

func integers(typ string, add int, shape ...int) *array.Array {
	a := array.New(array.Named(typ), shape...)
	for i := range a.Len() {
		a.SetInt(i, int64((i*29+5)%47-20+add))
	}
	return a
}

var inputs = func() map[string]any {
	m := array.New(array.Named("i1"), 5, 7)
	for i, n := range integers("i64", 0, 5, 7).Ints() {
		m.Set(i, float64(bit(n%3 == 0)))
	}
	w := array.New(array.Named("u64"), 4)
	for i, n := range []uint64{1, math.MaxUint64, 1<<63 + 1025, 12} {
		w.SetInt(i, int64(n))
	}
	return map[string]any{
		"a": numbers(5, 7), "b": numbers(7), "c": numbers(3, 1, 7), "d": numbers(2, 7, 3),
		"i": integers("i64", 0, 5, 7), "j": integers("i32", 21, 7), "m": m,
		"e": array.New(array.Named("fp32"), 0, 7), "w": w, "s": array.New(array.Named("fp16")).Fill(2.5), "n": int64(5),
	}
}()

func scope(name string) (any, bool, error) {
	if name == "broken" {
		return nil, false, errors.New("broken has no values before the run")
	}
	v, ok := inputs[name]
	return v, ok, nil
}

func eval(text string) (any, error) {
	e, err := Parse("--expect", text)
	if err != nil {
		return nil, err
	}
	return e.Eval(context.Background(), Env{Lookup: scope, Known: "the arguments are a, b"})
}

// near reports whether two floats are the same up to the last few bits.
func near(got, want float64) bool {
	if got == want || got != got && want != want {
		return true
	}
	return math.Abs(got-want) <= 1e-13*math.Abs(want)+1e-300
}

func TestNumPy(t *testing.T) {
	f, err := os.Open("testdata/numpy.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		n++
		part := strings.Split(lines.Text(), "\t")
		v, err := eval(part[0])
		if err != nil {
			t.Errorf("%s: %v", part[0], err)
			continue
		}
		got, err := tensorOf(v)
		if err != nil {
			t.Errorf("%s: %v", part[0], err)
			continue
		}
		if got.String() != part[1] {
			t.Errorf("%s is %s, want %s", part[0], got, part[1])
			continue
		}
		want := strings.Fields(part[2])
		if len(want) != got.len() {
			t.Fatalf("%s has %d elements, want %d", part[0], got.len(), len(want))
		}
		for i, text := range want {
			if got.kind == floating {
				x, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				if !near(got.f[i], x) {
					t.Errorf("%s: element %d is %v, want %v", part[0], i, got.f[i], x)
					break
				}
			} else if s := fmt.Sprint(got.i[i]); s != text && !(got.kind == unsigned && fmt.Sprint(uint64(got.i[i])) == text) {
				t.Errorf("%s: element %d is %s, want %s", part[0], i, s, text)
				break
			}
		}
	}
	if n < 200 {
		t.Errorf("%d cases", n)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		text, mark, message, help string
	}{
		{"a + 1 +", "", "unexpected end of line", ""},
		{"exp(a + i[:, :3])", "a + i[:, :3]", "shapes [5, 7] and [5, 3] do not broadcast: dimension -1 is 7 and 3", ""},
		{"where(m, a, d)", "where(m, a, d)", "shapes [5, 7], [5, 7] and [2, 7, 3] do not broadcast: dimension -2 is 5 and 7", ""},
		{"1 + foo(a)", "foo(a)", "there is no function foo", ""},
		{"softmx(a)", "softmx(a)", "there is no function softmx", "did you mean 'softmax'?"},
		{"1 + foo", "foo", "nothing is called 'foo'", "the arguments are a, b"},
		{"broken * 2", "broken", "has no values before the run", ""},
		{"sum(a, axis=2)", "2", "there is no dimension 2 of float[5, 7]", ""},
		{"sum(a, axis=-3)", "-3", "there is no dimension -3", ""},
		{"sum(a, axis=(0, -2))", "(0, -2)", "dimension 0 is given twice", ""},
		{"sum(a, axis=1.5)", "1.5", "1.5 is not an integer", ""},
		{"sum(a, axes=1)", "1", "sum has no parameter axes", "it is sum(x, axis=…, keepdims=…)"},
		{"sum(a, 0, axis=1)", "1", "axis is given twice", ""},
		{"sum()", "sum()", "sum lacks its argument x", ""},
		{"sum(a, 0, True, 1)", "sum(a, 0, True, 1)", "sum takes 3 arguments, given 4", ""},
		{"a @ b @ d", "a @ b @ d", "shapes [5] and [2, 7, 3] cannot be multiplied as matrices: 5 is not 7", ""},
		{"d @ d", "d @ d", "shapes [2, 7, 3] and [2, 7, 3] cannot be multiplied as matrices: 3 is not 7", ""},
		{"c @ ones((2, 7, 3))", "c @ ones((2, 7, 3))", "shapes [3] and [2] do not broadcast", ""},
		{"a @ 2", "a @ 2", "cannot be multiplied by a number", "* multiplies"},
		{"cumsum(a)", "cumsum(a)", "cumsum of float[5, 7] needs an axis=", ""},
		{"a.flip()", "a.flip()", "flip of float[5, 7] needs an axis=", ""},
		{"max(e, axis=0)", "max(e, axis=0)", "max of no elements is not defined: float[0, 7]", ""},
		{"argmin(e)", "argmin(e)", "argmin of no elements", ""},
		{"a.reshape(6, -1)", "a.reshape(6, -1)", "float[5, 7] cannot have the shape [6, -1]: 35 elements do not divide by 6", ""},
		{"a.reshape(-1, -1)", "a.reshape(-1, -1)", "two dimensions are open", ""},
		{"a.reshape(5, 8)", "a.reshape(5, 8)", "it has 35 elements, not 40", ""},
		{"a.reshape(-2, 5)", "a.reshape(-2, 5)", "cannot have the shape [-2, 5]", ""},
		{"a.reshape(1 << 62, 1 << 62)", "a.reshape(1 << 62, 1 << 62)", "cannot have the shape", ""},
		{"e.reshape(0, -1)", "e.reshape(0, -1)", "do not divide by 0", ""},
		{"a[5]", "a[5]", "index 5 is out of range for dimension 0 of float[5, 7]", ""},
		{"a[0, -8]", "a[0, -8]", "index -8 is out of range for dimension 1", ""},
		{"a[0, 0, 0]", "a[0, 0, 0]", "3 indices are too many for float[5, 7]", ""},
		{"a[j]", "a[j]", "is out of range for a dimension of 5", ""},
		{"a[..., 0, ...]", "a[..., 0, ...]", "one ... at most", ""},
		{"a[1.0]", "a[1.0]", "1.0 is not an integer", ""},
		{"a[a]", "a[a]", "float[5, 7] holds no indices", ""},
		{"a[m[:4]]", "a[m[:4]]", "the mask bool[4, 7] does not fit float[5, 7]", ""},
		{"a[::0]", "a[::0]", "a step of 0", ""},
		{"a[1.5:]", "1.5", "1.5 is not an integer", ""},
		{"a.shape[2]", "a.shape[2]", "index 2 is out of range for 2 values", ""},
		{"take_along_axis(a, i % 5, axis=1)[0] + a[:4, 0]", "", "do not broadcast", ""},
		{"take_along_axis(a, j, 0)", "take_along_axis(a, j, 0)", "indices of shape [7] do not fit float[5, 7] along dimension 0", ""},
		{"i // (i - i)", "i // (i - i)", "division by zero", ""},
		{"1 // 0", "1 // 0", "division by zero", ""},
		{"i << 64", "i << 64", "shifted by 0 to 63", ""},
		{"a | 1", "a | 1", "| is for integers, not for float[5, 7]", ""},
		{"~a", "~a", "~ is for integers and bools, not for float[5, 7]", ""},
		{"xor_sum(a)", "xor_sum(a)", "xor_sum is for integers and bools", ""},
		{"a and b", "a", "float[5, 7] is neither true nor false", "& | ~ and where"},
		{"1 if a else 2", "a", "neither true nor false", ""},
		{"not a", "not a", "not float[5, 7] is not defined", "~x and logical_not"},
		{"a in b", "a in b", "in is not known here", ""},
		{"a.foo", "a.foo", "arrays have no attribute foo", ""},
		{"a.foo(1)", "a.foo(1)", "arrays have no method foo", ""},
		{"a.zeros(3)", "a.zeros(3)", "zeros is not a method of arrays", "zeros(*shape)"},
		{"a.astype(fp31)", "fp31", "nothing is called 'fp31'", ""},
		{"a.astype(3)", "3", "3 is not a type", "types are i1 i8"},
		{"cast(a, 'x')", "'x'", "a text is not a type", ""},
		{"lambda: 1", "lambda: 1", "more Python than expressions know", ""},
		{"[x for x in a]", "[x for x in a]", "more Python", ""},
		{"sum(*a)", "*a", "* is not known", ""},
		{"f(1)(2)", "f(1)(2)", "only functions and methods", ""},
		{"sum + 1", "sum", "sum is a function", ""},
		{"fp16 + 1", "fp16 + 1", "the type fp16 is neither a number nor an array", ""},
		{"None + a", "None + a", "None is neither a number nor an array", ""},
		{"after(a + 1)", "after(a + 1)", "after takes the name of an argument alone", ""},
		{"after(a)", "after(a)", "nothing is known of what comes after", ""},
		{"99999999999999999999 + a", "99999999999999999999", "does not fit into 64 bits", ""},
		{"2 ** 63", "2 ** 63", "does not fit into 64 bits", ""},
		{"concatenate([a, b])", "concatenate([a, b])", "shapes [5, 7] and [7] cannot be joined along dimension 0", ""},
		{"concatenate([])", "[]", "there is nothing to join", ""},
		{"[[1, 2], [3]] + a", "[[1, 2], [3]] + a", "cannot be joined", ""},
		{"transpose(d, (0, 0, 1))", "transpose(d, (0, 0, 1))", "names a dimension twice", ""},
		{"transpose(d, (0, 1, 2, 0))", "transpose(d, (0, 1, 2, 0))", "does not name all dimensions", ""},
		{"squeeze(a, 0)", "0", "dimension 0 of float[5, 7] is not 1", ""},
		{"len(3)", "len(3)", "a number has no length", ""},
		{"tril(b)", "tril(b)", "float[7] is not a matrix", ""},
		{"arange(0, 1, 0)", "arange(0, 1, 0)", "a step of 0", ""},
		{"arange(0.5)", "arange(0.5)", "0.5 is not an integer", ""},
		// What would not fit into memory.
		{"zeros(1 << 40)", "zeros(1 << 40)", "an array of shape [1099511627776] has too many elements", ""},
		{"zeros((1 << 40, 1 << 40))", "zeros((1 << 40, 1 << 40))", "too many elements", ""},
		{"zeros(-1)", "zeros(-1)", "cannot have a negative dimension", ""},
		{"ones((1 << 40, 0, 1 << 40)).sum(1)", "ones((1 << 40, 0, 1 << 40)).sum(1)", "too many elements", ""},
		{"eye(1 << 31)", "1 << 31", "too many elements", ""},
		{"arange(1 << 62)", "arange(1 << 62)", "are too many", ""},
		{"arange(-(1 << 62), 1 << 62)", "arange(-(1 << 62), 1 << 62)", "are too many", ""},
		{"arange(1 << 16)[:, None] * arange(1 << 16)", "arange(1 << 16)[:, None] * arange(1 << 16)", "[65536, 65536] has too many elements", ""},
		{"broadcast_to(s, (1 << 20, 1 << 20))", "broadcast_to(s, (1 << 20, 1 << 20))", "too many elements", ""},
		{"zeros((1 << 17, 0)) @ zeros((0, 1 << 17))", "zeros((1 << 17, 0)) @ zeros((0, 1 << 17))", "too many elements", ""},
	} {
		v, err := eval(tt.text)
		var d *diag.Diagnostic
		if err == nil || !errors.As(err, &d) {
			t.Errorf("%s = %v, error %v", tt.text, Describe(v), err)
			continue
		}
		if !strings.Contains(d.Message, tt.message) || !strings.Contains(d.Help, tt.help) {
			t.Errorf("%s: %q, help %q; want %q, %q", tt.text, d.Message, d.Help, tt.message, tt.help)
		}
		if d.Line != tt.text || d.Pos.File != "--expect" {
			t.Errorf("%s: in %q, line %q", tt.text, d.Pos.File, d.Line)
		}
		if tt.mark != "" && d.EndCol <= len(tt.text)+1 && tt.text[d.Pos.Col-1:max(d.EndCol, d.Pos.Col)-1] != tt.mark {
			t.Errorf("%s: marked is %q, want %q", tt.text, tt.text[d.Pos.Col-1:d.EndCol-1], tt.mark)
		}
	}
}

func TestCasts(t *testing.T) {
	for _, tt := range []struct {
		text string
		want float64
	}{
		// Of fp16, 11 bits: half way goes to the even neighbour, once.
		{"fp16(2049)", 2048},
		{"fp16(2051)", 2052},
		{"fp16(65519.9)", 65504},
		{"fp16(65520)", math.Inf(1)},
		{"fp16(2.0 ** -25)", 0},
		{"fp16(2.0 ** -25 * 1.0001)", 0x1p-24},
		// A float64 just above half way, which rounding to fp32 first would lose.
		{"fp16(2049.00000001)", 2050},
		{"bf16(257)", 256},
		{"bf16(259)", 260},
		{"bf16(1 / 3)", 0x1.56p-2},
		{"bf16(2.0 ** 128 - 2.0 ** 119)", math.Inf(1)},
		{"bf16(-0.1)", -0x1.9ap-4},
		{"fp8e4nv(17)", 16},
		{"fp8e4nv(19)", 20},
		{"fp8e4nv(448)", 448},
		{"fp8e4nv(463)", 448},
		{"fp8e4nv(480)", math.NaN()},
		{"fp8e4nv(2.0 ** -10)", 0},
		{"fp8e4nv(2.0 ** -10 * 1.1)", 0x1p-9},
		{"fp8e5(9)", 8},
		{"fp8e5(11)", 12},
		{"fp8e5(57344)", 57344},
		{"fp8e5(61440)", math.Inf(1)},
		{"float8_e5m2(1.125)", 1},
		{"fp32(16777217)", 16777216},
		{"fp32(16777219)", 16777220},
		// Integers round once, too: through float64 this one would be half way.
		{"fp32((1 << 62) + (1 << 38) + 1)", 0x1p62 + 0x1p39},
		{"fp32(-(1 << 62) - (1 << 38) - 1)", -0x1p62 - 0x1p39},
		{"fp32((1 << 62) + (1 << 38))", 0x1p62},
		{"fp16(array([(1 << 11) + 1])[0])", 2048},
		{"i8(200)", -56},
		{"u8(-1)", 255},
		{"i32(-2.9)", -2},
		{"i32(2.0 ** 40)", 0},
		{"i64(1e300)", math.MaxInt64},
		{"i32(nan)", 0},
		{"i1(0.25)", 1},
		{"u64(2.0 ** 63)", 0x1p63},
		{"torch.float16(2049) + tl.cast(0.1, tl.float16)", 2048 + 0x1.998p-4},
	} {
		v, err := eval(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got, _ := tensorOf(v)
		if f := got.floats(); len(f) != 1 || f[0] != tt.want && !(f[0] != f[0] && tt.want != tt.want) {
			t.Errorf("%s = %v, want %v", tt.text, f, tt.want)
		}
	}
}

// TestCastsBetween rounds what lies between each two neighbours of a narrow type, which
// are made here from the definition of its fields.
func TestCastsBetween(t *testing.T) {
	for _, f := range []struct {
		name                string
		mantissa, bias, max int
		last                float64
	}{
		{"fp16", 10, 15, 30, 65504},
		{"bf16", 7, 127, 254, 0x1.fep127},
		{"fp8e4nv", 3, 7, 15, 448},
		{"fp8e5", 2, 15, 30, 57344},
	} {
		var values []float64
		for e := 0; e <= f.max; e++ {
			for m := range 1 << f.mantissa {
				v := math.Ldexp(float64(m), 1-f.bias-f.mantissa) // subnormal
				if e > 0 {
					v = math.Ldexp(float64(1<<f.mantissa+m), e-f.bias-f.mantissa)
				}
				if v <= f.last {
					values = append(values, v)
				}
			}
		}
		if got := values[len(values)-1]; got != f.last {
			t.Fatalf("%s ends at %v", f.name, got)
		}
		d := array.Named(f.name)
		var in, want []float64
		for i, lo := range values[:len(values)-1] {
			hi := values[i+1]
			middle := (lo + hi) / 2
			even := lo
			if i%2 == 1 { // of the encoding, which counts up
				even = hi
			}
			in = append(in, lo, math.Nextafter(middle, lo), middle, math.Nextafter(middle, hi), hi)
			want = append(want, lo, lo, even, hi, hi)
		}
		for _, sign := range []float64{1, -1} {
			x := &Tensor{shape: []int{len(in)}, kind: floating, f: make([]float64, len(in))}
			for i := range in {
				x.f[i] = sign * in[i]
			}
			for i, got := range cast(x, d).f {
				if got != sign*want[i] {
					t.Fatalf("%s: %v becomes %v, want %v", f.name, x.f[i], got, sign*want[i])
				}
			}
		}
	}
}

// TestCastIntegers: integers beyond 53 bits are rounded once, as Go's own conversion to
// float32 and math/big do.
func TestCastIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		v := int64(r.Uint64() >> r.IntN(64))
		switch r.IntN(3) { // near the middle of two floats of 24 bits
		case 0:
			v = v&^(1<<39-1) | 1<<39 | r.Int64N(3) - 1
		case 1:
			v = -v
		}
		x := &Tensor{kind: signed, i: []int64{v}}
		if got := cast(x, array.Named("fp32")).f[0]; got != float64(float32(v)) {
			t.Fatalf("fp32(%d) = %v, want %v", v, got, float32(v))
		}
		x.kind = unsigned
		want, _ := new(big.Float).SetPrec(8).SetMode(big.ToNearestEven).SetUint64(uint64(v)).Float64()
		if got := cast(x, array.Named("bf16")).f[0]; got != want {
			t.Fatalf("bf16(%d) = %v, want %v", uint64(v), got, want)
		}
		if got := cast(x, array.Named("fp64")).f[0]; got != float64(uint64(v)) {
			t.Fatalf("fp64(%d) = %v", uint64(v), got)
		}
	}
}

// TestSameAsElsewhere has each way to write a thing give the same.
func TestSameAsElsewhere(t *testing.T) {
	for _, tt := range [][]string{
		{"sum(a, axis=1)", "a.sum(1)", "torch.sum(a, dim=1)", "tl.sum(a, axis=1)", "np.sum(a, -1)"},
		{"amax(a, axis=1)", "max(a, axis=1)", "a.max(1)", "torch.max(a, 1)", "a.amax(dim=-1)"},
		{"maximum(a, 1)", "max(a, 1)", "clamp(a, min=1)", "where(a > 1, a, 1)"},
		{"max(a, b, 2)", "maximum(maximum(a, b), 2)"},
		{"softmax(a)", "a.softmax(-1)", "torch.nn.functional.softmax(a, dim=1)", "exp(a) / exp(a).sum(1, keepdims=True)", "exp(log_softmax(a))"},
		{"a.T", "a.transpose(0, 1)", "a.mT", "transpose(a)", "a.permute(1, 0)", "permute(a, (1, 0))", "swapaxes(a, 0, 1)", "tl.trans(a)"},
		{"d.mT", "d.transpose(1, 2)", "d.transpose(-1, -2)", "d.permute(0, 2, 1)"},
		{"sort(a, descending=True)", "flip(sort(a), 1)", "-sort(-a)", "gather(a, argsort(a, descending=True), 1)"},
		{"cumsum(a, axis=1, reverse=True)", "flip(cumsum(flip(a, 1), axis=1), 1)", "a @ tril(ones((7, 7)))"},
		{"a.astype(fp16)", "a.to(fp16)", "fp16(a)", "cast(a, torch.float16)", "a.cast(float16)", "a.to(tl.float16)"},
	} {
		var first *Tensor
		for _, text := range tt {
			v, err := eval(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			got, err := tensorOf(v)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			if got.String() != first.String() {
				t.Errorf("%s is %s, %s is %s", tt[0], first, text, got)
				continue
			}
			for i := range got.f {
				if math.Abs(got.f[i]-first.f[i]) > 1e-12*(1+math.Abs(first.f[i])) {
					t.Errorf("%s and %s differ: %v and %v", tt[0], text, first.f[i], got.f[i])
					break
				}
			}
		}
	}
}

// TestNaN holds what NumPy does where numbers are missing.
func TestNaN(t *testing.T) {
	for text, want := range map[string]string{
		"max(array([1, nan, 3]))":                       "[NaN]",
		"min(array([1, nan, 3]))":                       "[NaN]",
		"argmax(array([1, nan, 3, nan]))":               "[1]",
		"argmin(array([1, nan, 3]))":                    "[1]",
		"sort(array([nan, 2, -inf, inf]))":              "[-Inf 2 +Inf NaN]",
		"sort(array([nan, 2, inf]), descending=True)":   "[NaN +Inf 2]",
		"argsort(array([nan, 2, 1]))":                   "[2 1 0]",
		"argsort(array([2, 1, 2, 1]))":                  "[1 3 0 2]",
		"argsort(array([2, 1, 2, 1]), descending=True)": "[0 2 1 3]",
		"maximum(nan, 1)":                               "[NaN]",
		"array([nan]) == array([nan])":                  "[0]",
		"array([nan]) != array([nan])":                  "[1]",
		"softmax(array([-inf, 0, 0]))":                  "[0 0.5 0.5]",
		"logsumexp(array([-inf, -inf]))":                "[-Inf]",
		"array([0.0]) @ array([inf])":                   "[NaN]",
		"where(array([True, False]), nan, 1)":           "[NaN 1]",
		"i8(array([nan, 3]))":                           "[0 3]",
		"sum(zeros(0))":                                 "[0]",
		"mean(zeros(0))":                                "[NaN]",
		"var(array([3.0]), ddof=1)":                     "[NaN]",
	} {
		v, err := eval(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := tensorOf(v)
		if err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprint(got.floats()); s != want {
			t.Errorf("%s = %s, want %s", text, s, want)
		}
	}
}

// TestContext ends an evaluation that would take a minute.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := Parse("--expect", "ones((4096, 4096)) @ ones((4096, 4096))")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Eval(ctx, Env{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAfter(t *testing.T) {
	e, err := Parse("--expect", "after(a) - a + b")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	e.Names(func(name string, after bool) { names = append(names, fmt.Sprint(name, after)) })
	if s := strings.Join(names, " "); s != "atrue afalse bfalse" {
		t.Errorf("names %s", s)
	}
	v, err := e.Eval(context.Background(), Env{
		Lookup: func(string) (any, bool, error) { return array.Of(array.Named("fp32"), 1, 2.5), true, nil },
		After:  func(string) (any, bool, error) { return array.Of(array.Named("fp32"), 5.0, 6), true, nil },
	})
	if err != nil || fmt.Sprint(Array(v).Floats()) != "[5 6]" {
		t.Errorf("got %v, %v", v, err)
	}
}

// TestCheck: names alone are looked at.
func TestCheck(t *testing.T) {
	env := Env{Lookup: scope, After: scope, Known: "the arguments are a, b"}
	for text, want := range map[string]string{
		"a @ zeros(3) + tl.exp(pi) + after(i)[newaxis].to(fp16)": "",
		"a + nope":                 ":1:5: error: nothing is called 'nope'",
		"exp(after(nope) + nope2)": ":1:5: error: nothing is called 'nope'",
		"broken + nope":            ":1:1: error: broken has no values before the run",
		"sum(a, axis=k)":           ":1:13: error: nothing is called 'k'",
		"after(a + b) + c":         "",
	} {
		e, err := Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := e.Check(env); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	for text, want := range map[string]string{"a > 0": "i1[5 7]", "i": "i64[5 7]", "w": "u64[4]", "a": "fp64[5 7]", "3": "i64[]", "(1, 2)": "i64[2]"} {
		v, err := eval(text)
		if err != nil || Array(v).String() != want {
			t.Errorf("%s is %v, %v; want %s", text, Array(v), err, want)
		}
	}
	for _, text := range []string{"None", "fp16", "'x'"} {
		if v, err := eval(text); err != nil || Array(v) != nil {
			t.Errorf("%s is %v, %v", text, v, err)
		}
	}
}

func FuzzEval(f *testing.F) {
	for _, s := range []string{"softmax(a @ a.T)", "a[1:, None, ::-1]", "d[:, [1, 2]]", "sum(a, axis=(0, 1))", "sort(i, descending=True)[m]", "a.reshape(7, -1).to(fp16)", "where(m, a, e)", "tril(d, -1)", "concatenate([a, i], 1)", "zeros((1 << 40, 0)).T", "fp8e5(a) % 0.3 // b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := eval(text)
		var d *diag.Diagnostic
		if err != nil && !errors.As(err, &d) {
			t.Errorf("%q: %v", text, err)
		}
		if x, ok := v.(*Tensor); ok && err == nil {
			if n, err := elements(x.shape); err != nil || n != x.len() {
				t.Errorf("%q: %s has %d elements", text, x, x.len())
			}
		}
	})
}
