package std_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/testseed"
)

// predicates of floats, and whether each holds for less, equal, greater and
// unordered.
var predicates = map[string]string{
	"oeq": "e", "ogt": "g", "oge": "ge", "olt": "l", "ole": "le", "one": "lg", "ord": "leg",
	"ueq": "eu", "ugt": "gu", "uge": "geu", "ult": "lu", "ule": "leu", "une": "lgu", "uno": "u",
}

func relation(x, c float64) string {
	switch {
	case x < c:
		return "l"
	case x > c:
		return "g"
	case x == c:
		return "e"
	}
	return "u"
}

// A comparison of a converted integer with a constant says for every integer
// what it said before, whether it became one of integers or not.
func TestCompareConverted(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	became := 0
	for _, width := range []int{8, 16, 32, 64} {
		for _, kind := range []ir.FloatKind{ir.F16, ir.BF16, ir.F32} {
			for _, conv := range []string{"sitofp", "uitofp"} {
				became += compareConverted(t, r, width, kind, conv)
			}
		}
	}
	if became < 1000 {
		t.Errorf("only %d comparisons became others", became)
	}
}

func compareConverted(t *testing.T, r *rand.Rand, width int, kind ir.FloatKind, conv string) int {
	ctx := dialect.NewContext()
	float, name := ctx.Float(kind), kind.String()
	ints := integersOf(r, width)
	value := func(n uint64) float64 {
		if conv == "sitofp" {
			return float64(int64(n) << (64 - width) >> (64 - width))
		}
		return float64(n)
	}
	var src strings.Builder
	fmt.Fprintf(&src, "module {\ntt.func public @f(%%n: i%d, %%p: !tt.ptr<i1>) {\n%%x = arith.%s %%n : i%[1]d to %[3]s\n", width, conv, name)
	special := []float64{
		math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0,
		math.Ldexp(1, width), math.Ldexp(1, width-1), -math.Ldexp(1, width-1), -math.Ldexp(1, width),
	}
	var constants []float64
	var asked []string
	for i := range 40 {
		c := value(ints[r.IntN(len(ints))]) + []float64{0, 0.5, -0.5, 0.25, -1, 1}[r.IntN(6)]
		if i < len(special) {
			c = special[i]
		}
		bits := ir.FloatToBits(kind, c)
		fmt.Fprintf(&src, "%%c%d = arith.constant 0x%0*X : %s\n", i, float.Width()/4, bits, name)
		for p := range predicates {
			fmt.Fprintf(&src, "%%r%d_%s = arith.cmpf %[2]s, %%x, %%c%[1]d : %[3]s\ntt.store %%p, %%r%[1]d_%[2]s : !tt.ptr<i1>\n", i, p, name)
			constants = append(constants, ir.BitsToFloat(kind, bits))
			asked = append(asked, p)
		}
	}
	src.WriteString("tt.return\n}\n}\n")
	m, err := text.Parse(ctx, "cmpf.mlir", []byte(src.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, src.String())
	}
	if _, err := (&pass.Runner{VerifyEach: true}).Run(m, []pass.Row{{Pass: std.Canonicalize}}, nil); err != nil {
		t.Fatal(err)
	}
	became, i := 0, 0
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if !op.Is(tt.Store) {
			return ir.Advance
		}
		def := op.Operand(1).Def()
		if !def.Is(arith.CmpF) {
			became++
		}
		for _, n := range ints {
			rounded := ir.BitsToFloat(kind, ir.FloatToBits(kind, value(n)))
			want := strings.Contains(predicates[asked[i]], relation(rounded, constants[i]))
			var got bool
			switch {
			case def.Is(arith.Constant):
				got = def.Attr("value").(*ir.IntegerAttr).Value&1 == 1
			case def.Is(arith.CmpI):
				pred, _ := def.IntAttr("predicate")
				c := arith.ConstantValue(def.Operand(1)).(*ir.IntegerAttr)
				got = arith.CompareInts(pred, n, uint64(c.Value)&(math.MaxUint64>>(64-width)), width)
			default:
				got = want
			}
			if got != want {
				t.Fatalf("%s i%d to %s: %d %s %v: got %v, want %v, as %s", conv, width, name, n, asked[i], constants[i], got, want, text.String(def))
			}
		}
		i++
		return ir.Advance
	})
	if i != len(asked) {
		t.Fatalf("%d stores of %d are left", i, len(asked))
	}
	return became
}

// integersOf are all numbers of few bits, or those near powers of two.
func integersOf(r *rand.Rand, width int) []uint64 {
	var ints []uint64
	if width == 8 {
		for n := range uint64(256) {
			ints = append(ints, n)
		}
		return ints
	}
	for e := range width + 1 {
		for d := range uint64(5) {
			n := uint64(1)<<e + d - 2
			ints = append(ints, n, -n, n+uint64(1)<<e/2)
		}
		ints = append(ints, r.Uint64()>>(64-width))
	}
	for i := range ints {
		ints[i] &= math.MaxUint64 >> (64 - width)
	}
	return ints
}
