package text_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/testseed"
)

// TestAttrs: how an attribute is printed, or at which column and why it is
// refused.
func TestAttrs(t *testing.T) {
	for _, c := range []struct {
		src, want string
		col       int // of the mistake; 0 for none
	}{
		{"array<i2: 00002>", "array<i2: -2>", 0},
		{"array<i2: 2, -2, 3, 1, 0>", "array<i2: -2, -2, -1, 1, 0>", 0},
		{"array<i2: 4>", "does not fit in 2 bits", 11},
		{"array<i2: -3>", "does not fit in 2 bits", 11},
		{"array<i1: -1, 1, true, false, 0>", "array<i1: true, true, true, false, false>", 0},
		{"array<i8: true>", "true and false are of type i1", 11},
		{"array<ui8: 255>", "array<ui8: 255>", 0},
		{"array<ui8: -1>", "does not fit in 8 bits", 12},
		{"array<si8: 128>", "does not fit in 8 bits", 12},
		{"array<si8: -128>", "array<si8: -128>", 0},
		{"array<ui64: 18446744073709551615>", "array<ui64: 18446744073709551615>", 0},
		{"array<ui64: -1>", "does not fit in 64 bits", 13},
		{"array<si64: 9223372036854775808>", "does not fit in 64 bits", 13},
		{"array<i64: 18446744073709551615>", "array<i64: -1>", 0},
		{"array<i64: 18446744073709551616>", "too large for 64 bits", 12},
		{"array<i64: -9223372036854775809>", "too large for 64 bits", 12},
		{"array<i8: 1.0>", "expected an integer", 11},
		{"array<f32: 1>", "expected a floating point number such as 1.0", 12},
		{"array<f32: 1.0, -0.0, 0x7FC00001>", "array<f32: 1.000000e+00, -0.000000e+00, 0x7FC00001>", 0},
		{"array<f16: 0x10000>", "bits do not fit f16", 12},
		{"array<f16: -0x1>", "bits do not fit f16", 12},
		{"array<index: 1>", "must be integers or floats", 12},
		{"array<i8:>", "expected a number", 10},
		{"array<i8>", "array<i8>", 0},

		{"#0<a>", "invalid dialect namespace '0'", 1},
		{"[#0<\"a b\">]", "invalid dialect namespace '0'", 2},
		{"#-a.b", "invalid dialect namespace '-a'", 1},
		{"#a-b<c>", "invalid dialect namespace 'a-b'", 1},
		{"#.a<c>", "invalid dialect namespace ''", 1},
		{"!$a.b<c>", "invalid dialect namespace '$a'", 1},
		{"#_a$0<b>", "#_a$0.b", 0},
		{"!a0.b<c>", "!a0.b<c>", 0},

		{"2 : i2", "-2 : i2", 0},
		{"-1 : i1", "true", 0},
		{"2 : i1", "does not fit in 1 bit", 1},
		{"0x3 : i2", "-1 : i2", 0},
		{"0x0003 : si4", "3 : si4", 0},
		{"15 : si4", "does not fit in 4 bits", 1},
		{"-0 : ui3", "does not fit in 3 bits", 1},
		{"-1 : ui64", "does not fit in 64 bits", 1},
		{"-1 : ui128", "does not fit in 128 bits", 1},
		{"18446744073709551615 : ui64", "18446744073709551615 : ui64", 0},
		{"18446744073709551615 : ui128", "18446744073709551615 : ui128", 0},
		{"18446744073709551615 : i64", "-1 : i64", 0},
		{"18446744073709551615 : si64", "does not fit in 64 bits", 1},
		{"18446744073709551615 : i128", "too large for 64 bits", 1},
		{"18446744073709551615 : index", "does not fit an index", 1},
		{"-9223372036854775808 : i128", "-9223372036854775808 : i128", 0},
		{"-1 : index", "-1 : index", 0},
		{"1.0 : i32", "a floating point number cannot have an integer type", 1},
		{"1 : f32", "expected a floating point number such as 1.0", 1},
		{"0x7FC00001 : f32", "0x7FC00001 : f32", 0},
		{"0x7f800000 : f32", "0x7F800000 : f32", 0},
		{"0x1FFFFFFFF : f32", "bits do not fit f32", 1},
		{"1.0e400 : f64", "0x7FF0000000000000 : f64", 0},
		{"[0x7FF0000000000000 : f64, 1.5]", "[0x7FF0000000000000 : f64, 1.500000e+00]", 0},
		{"1.0 : tensor<4xf32>", "a number must have an integer, index or float type", 1},
		{"1 : ui1", "1 : ui1", 0},
		{"-1 : si1", "-1 : si1", 0},
		{"1 : si1", "does not fit in 1 bit", 1},
		{"[1 : ui64, 1 : si64, 1 : i64, -1 : index]", "[1 : ui64, 1 : si64, 1, -1 : index]", 0},
		{"true", "true", 0},
		{"1 : i1", "true", 0},

		{"dense<2> : tensor<4xi2>", "dense<-2> : tensor<4xi2>", 0},
		{"dense<[2, -2]> : tensor<2xi2>", "dense<-2> : tensor<2xi2>", 0},
		{"dense<\"0xFF\"> : tensor<4xi2>", "dense<-1> : tensor<4xi2>", 0},
		{"dense<\"0xFFFE\"> : tensor<2xi2>", "dense<[-1, -2]> : tensor<2xi2>", 0},
		{"dense<\"0xFF\"> : tensor<8xi1>", "dense<true> : tensor<8xi1>", 0},
		{"dense<\"0x0F\"> : tensor<8xi1>", "dense<[true, true, true, true, false, false, false, false]> : tensor<8xi1>", 0},
		{"dense<\"0xFF\"> : tensor<1xf4E2M1FN>", "bits do not fit f4E2M1FN", 7},
		{"dense<\"\"> : tensor<2xi8>", "expected a string of \"0x\" and hexadecimal digits", 7},
		{"dense<\"0x\"> : tensor<0xi8>", "dense<> : tensor<0xi8>", 0},
		{"dense<\"0x1\"> : tensor<1xi8>", "expected a string of \"0x\" and hexadecimal digits", 7},
		{"dense<\"0x0102\"> : tensor<3xi8>", "2 bytes for 3 elements of 1", 7},
		{"dense<[]> : tensor<0xi32>", "dense<> : tensor<0xi32>", 0},
		{"dense<[[], []]> : tensor<2x0xi32>", "dense<> : tensor<2x0xi32>", 0},
		{"dense<[]> : tensor<2xi32>", "dimension 0 has 0 elements, but the type says 2", 7},
		{"dense<[]> : tensor<i32>", "the literal has 1 dimension, but the type has 0", 7},
		{"dense<[1, 2]> : tensor<2x1xi32>", "the literal has 1 dimension, but the type has 2", 7},
		{"dense<[[1], 2]> : tensor<2x1xi32>", "lists of a dense literal must be of equal depth", 13},
		{"dense<1> : tensor<0xi32>", "dense<1> : tensor<0xi32>", 0},
		{"dense<true> : tensor<2xi8>", "'true' does not fit the element type", 7},
		{"dense<1.5> : tensor<2xi8>", "'1.5' does not fit the element type", 7},
		{"dense<1> : tensor<2xf32>", "expected a floating point number such as 1.0", 7},
		{"dense<0x7FC00001> : tensor<2xf32>", "dense<0x7FC00001> : tensor<2xf32>", 0},
		{"dense<256> : tensor<2xi8>", "does not fit in 8 bits", 7},
		{"dense<-1> : tensor<2xui8>", "does not fit in 8 bits", 8},
		{"dense<18446744073709551615> : tensor<2xindex>", "does not fit an index", 7},
		{"dense<-1> : tensor<2xi128>", "dense<-1> : tensor<2xi128>", 0},
		{"dense<" + list(101) + "> : tensor<101xi128>", "dense<" + list(101) + "> : tensor<101xi128>", 0},
		{`@"a\00b"`, `@"a\00b"`, 0},
		{`@a::@b::@"c d"`, `@a::@b::@"c d"`, 0},
		{`@a::@""`, "bad symbol name", 5},
	} {
		ctx := newContext()
		a, err := text.ParseAttr(ctx, c.src)
		if c.col == 0 {
			if err != nil {
				t.Errorf("%s is refused: %v", c.src, err)
				continue
			}
			if got := text.AttrString(ctx, a); got != c.want {
				t.Errorf("%s is printed as\n  %s, want\n  %s", c.src, got, c.want)
			}
			checkAttr(t, ctx, a)
			continue
		}
		var d *diag.Diagnostic
		switch {
		case err == nil:
			t.Errorf("%s is accepted as %s, want: %s", c.src, text.AttrString(ctx, a), c.want)
		case !errors.As(err, &d) || d.Pos.Line != 1 || d.Pos.Col != c.col || !strings.Contains(d.Message, c.want):
			t.Errorf("%s: got %v, want column %d: %s", c.src, err, c.col, c.want)
		}
	}
}

func list(n int) string {
	b := []byte("[")
	for i := range n {
		b = fmt.Appendf(b, "%d, ", i-50)
	}
	return string(b[:len(b)-2]) + "]"
}

// TestSymbolsDiffer: names that look alike when they are joined.
func TestSymbolsDiffer(t *testing.T) {
	ctx := newContext()
	seen := map[ir.Attribute]string{}
	for _, src := range []string{`@"a\00b"`, `@a::@b`, `@a::@b::@"\00"`, `@"a\00b\00"`, `@"a\00b"::@"\00"`, `@a::@"b\00"`, `@a`, `@"1:ab"`, `@a::@"1:b"`} {
		a, err := text.ParseAttr(ctx, src)
		if err != nil {
			t.Fatal(err)
		}
		if seen[a] != "" {
			t.Errorf("%s is %s", src, seen[a])
		}
		seen[a] = src
	}
}

// checkAttr: what is printed reads back as the same attribute.
func checkAttr(t *testing.T, ctx *ir.Context, a ir.Attribute) {
	t.Helper()
	s := text.AttrString(ctx, a)
	b, err := text.ParseAttr(ctx, s)
	switch {
	case err != nil:
		t.Errorf("printed %s, which does not read back: %v", s, err)
	case a != b:
		t.Errorf("printed %s, which reads back as %s", s, text.AttrString(ctx, b))
	}
}

// attrs makes random attributes.
type attrs struct {
	*rand.Rand
	ctx *ir.Context
}

func (r attrs) bits() uint64 {
	switch v := r.Uint64(); r.IntN(4) {
	case 0:
		return v
	case 1:
		return v >> r.IntN(64)
	case 2:
		return ^(v >> r.IntN(64))
	default:
		return 1 << r.IntN(64)
	}
}

func (r attrs) integer() *ir.IntegerType {
	widths := []int{1, 2, 3, 4, 7, 8, 9, 16, 24, 32, 63, 64, 65, 128}
	return r.ctx.IntSigned(widths[r.IntN(len(widths))], []ir.Signedness{ir.Signless, ir.Signed, ir.Unsigned}[r.IntN(3)])
}

func (r attrs) float() *ir.FloatType {
	for {
		if t := r.ctx.Float(ir.FloatKind(r.IntN(int(ir.F128) + 1))); t.Width() <= 64 {
			return t
		}
	}
}

func (r attrs) number() ir.Type {
	if r.IntN(2) == 0 {
		return r.float()
	}
	return r.integer()
}

// fit cuts bits down to the width of t.
func fit(t ir.Type, bits uint64) uint64 {
	if w := ir.BitWidth(t); w < 64 {
		return bits & (1<<w - 1)
	}
	return bits
}

func (r attrs) name() string {
	b := make([]byte, r.IntN(4))
	for i := range b {
		b[i] = "ab_.$-0 \"\\\n\x00\xff\xc3\xa9"[r.IntN(15)]
	}
	return string(b)
}

func (r attrs) any(depth int) ir.Attribute {
	c := r.ctx
	n := 10
	if depth == 0 {
		n = 8
	}
	switch r.IntN(n) {
	case 0:
		if r.IntN(6) == 0 {
			return c.IntAttr(c.Index(), int64(r.bits()))
		}
		return c.IntAttr(r.integer(), int64(r.bits()))
	case 1:
		t := r.float()
		return c.FloatBits(t, fit(t, r.bits()))
	case 2:
		t := r.number()
		vs := make([]int64, r.IntN(5))
		for i := range vs {
			vs[i] = int64(fit(t, r.bits()))
		}
		return c.DenseArray(t, vs...)
	case 3, 4:
		t := r.number()
		var shape []int64
		size := int64(1)
		for range r.IntN(4) {
			d := int64(r.IntN(6))
			shape, size = append(shape, d), size*d
		}
		if r.IntN(8) == 0 {
			shape, size = []int64{128}, 128
		}
		typ := c.Tensor(shape, t, nil)
		if r.IntN(3) == 0 && size > 0 {
			return c.DenseSplat(typ, fit(t, r.bits()))
		}
		vs := make([]uint64, size)
		for i := range vs {
			vs[i] = fit(t, r.bits())
		}
		return c.DenseElements(typ, vs)
	case 5:
		return c.StringAttr(r.name())
	case 6:
		nested := make([]string, r.IntN(3))
		for i := range nested {
			nested[i] = "s" + r.name()
		}
		return c.SymbolRef("s"+r.name(), nested...)
	case 7:
		return [...]ir.Attribute{c.Unit(), c.BoolAttr(r.IntN(2) == 0), c.TypeAttr(r.number())}[r.IntN(3)]
	case 8:
		elems := make([]ir.Attribute, r.IntN(4))
		for i := range elems {
			elems[i] = r.any(depth - 1)
		}
		return c.ArrayAttr(elems...)
	default:
		var entries []ir.NamedAttr
		for i := range r.IntN(4) {
			entries = append(entries, ir.NamedAttr{Name: fmt.Sprint(i, r.name()), Attr: r.any(depth - 1)})
		}
		return c.DictAttr(entries...)
	}
}

// TestRandomAttrs prints and reads random attributes.
func TestRandomAttrs(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := attrs{rand.New(rand.NewPCG(seed, 1)), newContext()}
	for range 50000 {
		if checkAttr(t, r.ctx, r.any(3)); t.Failed() {
			return
		}
	}
}

// TestRandomIntegers: an integer in any spelling is refused, or has its type's
// bits of what the spelling says and is in the type's range.
func TestRandomIntegers(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := attrs{rand.New(rand.NewPCG(seed, 2)), newContext()}
	accepted := 0
	for range 50000 {
		v := new(big.Int).SetUint64(r.bits())
		if r.IntN(4) == 0 {
			v.SetUint64(uint64(r.IntN(300)))
		}
		format := []string{"%d", "0x%x", "0x%X", "000%d"}[r.IntN(4)]
		lit := fmt.Sprintf(format, v)
		if r.IntN(2) == 0 {
			lit = "-" + lit
			v.Neg(v)
		}
		typ := r.integer()
		w := uint(typ.Width)
		lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), w) // [lo, hi)
		half := new(big.Int).Rsh(hi, 1)
		if typ.Sign != ir.Unsigned {
			lo.Neg(half)
		}
		if typ.Sign == ir.Signed {
			hi = half
		}
		fits := v.Cmp(lo) >= 0 && v.Cmp(hi) < 0 && !(typ.Sign == ir.Unsigned && lit[0] == '-')
		if w > 64 && typ.Sign != ir.Unsigned {
			fits = fits && v.IsInt64() // what an attribute holds
		}
		src := fmt.Sprintf("%s : %s", lit, text.TypeString(r.ctx, typ))
		a, err := text.ParseAttr(r.ctx, src)
		if (err == nil) != fits {
			t.Fatalf("%s: error %v, but in range: %v", src, err, fits)
		}
		if err != nil {
			continue
		}
		accepted++
		got := new(big.Int).SetInt64(a.(*ir.IntegerAttr).Value)
		all := new(big.Int).Lsh(big.NewInt(1), min(w, 64))
		if d := new(big.Int).Sub(got, v); d.Mod(d, all).Sign() != 0 {
			t.Fatalf("%s became %v", src, got)
		}
		dense, err := text.ParseAttr(r.ctx, fmt.Sprintf("dense<%s> : tensor<2x%s>", lit, text.TypeString(r.ctx, typ)))
		if err != nil {
			t.Fatalf("dense %s: %v", src, err)
		}
		if e := new(big.Int).SetUint64(dense.(*ir.DenseElementsAttr).Values[0]); e.Sub(e, v).Mod(e, all).Sign() != 0 {
			t.Fatalf("dense %s became %v", src, dense.(*ir.DenseElementsAttr).Values)
		}
		array, err := text.ParseAttr(r.ctx, fmt.Sprintf("array<%s: %s>", text.TypeString(r.ctx, typ), lit))
		if err != nil || array.(*ir.DenseArrayAttr).Values[0] != a.(*ir.IntegerAttr).Value {
			t.Fatalf("array of %s became %v, %v", src, array, err)
		}
	}
	if accepted < 1000 {
		t.Fatalf("only %d were accepted", accepted)
	}
}
