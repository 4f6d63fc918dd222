package text

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/internal/testseed"
)

// The expected texts are what mlir-opt prints.
func TestFloatText(t *testing.T) {
	for _, c := range []struct {
		kind ir.FloatKind
		bits uint64
		want string
	}{
		{ir.F32, 0, "0.000000e+00"},
		{ir.F32, 0x80000000, "-0.000000e+00"},
		{ir.F32, 0x3f800000, "1.000000e+00"},
		{ir.F32, 0xbf800000, "-1.000000e+00"},
		{ir.F32, 0x3fb8aa3b, "1.44269502"},
		{ir.F32, 0x40490fdb, "3.14159274"},
		{ir.F32, 0x3dcccccd, "1.000000e-01"},
		{ir.F32, 0x3eaaaaab, "0.333333343"},
		{ir.F32, 0x7f800000, "0x7F800000"},
		{ir.F32, 0xff800000, "0xFF800000"},
		{ir.F32, 0x7fc00000, "0x7FC00000"},
		{ir.F32, 0x4b800000, "0x4B800000"}, // 16777216: its digits would read as an integer
		{ir.F32, 0x501502f9, "1.000000e+10"},
		{ir.F32, 0x00000001, "1.401300e-45"},
		{ir.F32, 0x7f7fffff, "3.40282347E+38"},
		{ir.F32, 0x2edbe6ff, "1.000000e-10"},
		{ir.F32, 0x3727c5ac, "9.99999974E-6"},
		{ir.F32, 0x3a83126f, "1.000000e-03"},
		{ir.F64, 0x3ff71547652b82fe, "1.4426950408889634"},
		{ir.F64, 0x3fb999999999999a, "1.000000e-01"},
		{ir.F64, 0x400921fb54442d18, "3.1415926535897931"},
		{ir.F16, 0x3c00, "1.000000e+00"},
		{ir.F16, 0x2e66, "9.997550e-02"},
		{ir.F16, 0x7c00, "0x7C00"},
		{ir.BF16, 0x3fb9, "1.445310e+00"},
		{ir.F8E5M2, 0x3c, "1.000000e+00"},
		{ir.F8E4M3FN, 0x7f, "0x7F"},
		{ir.F8E4M3FN, 0x7e, "4.480000e+02"},
	} {
		ft := ir.NewContext().Float(c.kind)
		if got := string(appendFloat(nil, ft, c.bits)); got != c.want {
			t.Errorf("%v %#x: %s, want %s", c.kind, c.bits, got, c.want)
		}
	}
}

// Whatever is printed must read back as the same bits.
func TestFloatTextReadsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(testseed.Seed(), 7))
	ctx := ir.NewContext()
	for _, k := range []ir.FloatKind{ir.F16, ir.BF16, ir.F32, ir.F64, ir.F8E4M3FN, ir.F8E5M2, ir.F8E4M3FNUZ, ir.F8E5M2FNUZ, ir.F8E4M3B11FNUZ, ir.F4E2M1FN, ir.F8E8M0FNU} {
		ft := ctx.Float(k)
		for range 3000 {
			bits := rng.Uint64() >> (64 - k.Width())
			s := string(appendFloat(nil, ft, bits))
			a, err := ParseAttr(ctx, s+" : "+k.String())
			if err != nil {
				t.Fatalf("%v %#x: %s: %v", k, bits, s, err)
			}
			if got := a.(*ir.FloatAttr).Bits; got != bits {
				t.Fatalf("%v %#x: %s reads as %#x", k, bits, s, got)
			}
			if v := ir.BitsToFloat(k, bits); !math.IsNaN(v) && !math.IsInf(v, 0) && strings.Count(s, ".") != 1 && !strings.HasPrefix(s, "0x") {
				t.Fatalf("%v %#x: %s has no decimal point", k, bits, s)
			}
		}
	}
}

// A decimal just beside the middle of two f16 values must not be rounded twice.
func TestDecimalRoundsOnce(t *testing.T) {
	for _, c := range []struct {
		lit  string
		want uint64
	}{
		{"1.00048828125", 0x3c00},                   // the middle: to even
		{"1.00048828125000000000000000001", 0x3c01}, // just above
		{"1.00146484374999999999999999999", 0x3c01}, // just below a middle whose even side is above
		{"1.00146484375", 0x3c02},
	} {
		if got := decimalBits(ir.F16, c.lit, false); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.lit, got, c.want)
		}
	}
}
