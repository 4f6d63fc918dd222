package calc

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
)

func scope(name string) (any, bool, error) {
	f32 := array.Named("fp32")
	switch name {
	case "n":
		return int64(1000), true, nil
	case "B":
		return int64(256), true, nil
	case "half":
		return 0.5, true, nil
	case "yes":
		return true, true, nil
	case "x":
		return array.Of(f32, 1.0, 4, 9), true, nil
	case "y":
		return array.Of(f32, 2.0, 3, -1), true, nil
	case "broken":
		return nil, false, errors.New("it is broken")
	}
	return nil, false, nil
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
	}{
		{"1 + 2 * 3", int64(7)},
		{"(1 + 2) * 3", int64(9)},
		{"cdiv(n, B)", int64(4)},
		{"triton.cdiv(1024, B)", int64(4)},
		{"cdiv(-5, 2)", int64(-2)},
		{"next_power_of_2(n)", int64(1024)},
		{"next_power_of_2(1024)", int64(1024)},
		{"next_power_of_2(0)", int64(1)},
		{"-7 // 2", int64(-4)},
		{"-7 % 3", int64(2)},
		{"7 % -3", int64(-2)},
		{"7 // 2", int64(3)},
		{"2 ** 10", int64(1024)},
		{"(-1) ** 1000000001", int64(-1)},
		{"(-1) ** 1000000000 + 0 ** 7 + 0 ** 0 + 1 ** 999999999999", int64(3)},
		{"2 ** -1", 0.5},
		{"1 / 4", 0.25},
		{"4 / 2", 2.0},
		{"n >> 3", int64(125)},
		{"1 << 20 | 5 & 4 ^ 1", int64(1<<20 | (4 ^ 1))},
		{"~5", int64(-6)},
		{"-n", int64(-1000)},
		{"+half", 0.5},
		{"yes + 1", int64(2)},
		{"min(n, B, 300)", int64(256)},
		{"max(1, half)", 1.0},
		{"abs(-3)", int64(3)},
		{"abs(-half)", 0.5},
		{"int(2.9)", int64(2)},
		{"float(2)", 2.0},
		{"math.sqrt(2 * half + 15)", 4.0},
		{"exp(0) + cos(0) + sigmoid(0)", 2.5},
		{"rsqrt(4) * 2 ** half", math.Sqrt2 / 2},
		{"7.5 // 2", 3.0},
		{"-7.5 % 2", 0.5},
		{"pi", math.Pi},
		{"-inf", math.Inf(-1)},
		{"9223372036854775807", int64(math.MaxInt64)},
	} {
		got, err := Eval(tt.text, scope)
		if err != nil || got != tt.want {
			t.Errorf("%s = %v (%v), want %v", tt.text, got, err, tt.want)
		}
	}
}

// TestArrays: a name may be memory.
func TestArrays(t *testing.T) {
	v, err := Eval("x", scope)
	if a, ok := v.(*array.Array); err != nil || !ok || a.Len() != 3 {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"m + 1":                      "nothing is called 'm'",
		"broken":                     "it is broken",
		"1 +":                        "'1 +' is not an expression",
		"n // 0":                     "division by zero",
		"n % (B - 256)":              "division by zero",
		"2 ** 63":                    "does not fit into 64 bits",
		"9223372036854775807 + 1":    "does not fit into 64 bits",
		"-9223372036854775807 - 2":   "does not fit into 64 bits",
		"4611686018427387904 * 2":    "does not fit into 64 bits",
		"1 << 64":                    "does not fit into 64 bits",
		"1 << -1":                    "does not fit into 64 bits",
		"99999999999999999999":       "is more than the arithmetic",
		"x + y":                      "an array fp32[3], and arithmetic here is on numbers",
		"-x":                         "-an array fp32[3] is not defined",
		"exp(x)":                     "an array fp32[3], and arithmetic",
		"max(1, x)":                  "an array fp32[3], and arithmetic",
		"half | 1":                   "| is for integers",
		"~half":                      "~0.5 is not defined",
		"cdiv(n)":                    "cdiv takes 2 arguments, given 1",
		"cdiv(n, 0)":                 "cdiv(1000, 0) is not defined",
		"cdiv(x, 2)":                 "cdiv(an array fp32[3], 2) is not defined",
		"min(1)":                     "min takes 2 arguments, given 1",
		"int(inf)":                   "int(+Inf) is not defined",
		"len(x)":                     "'len(x)' is more than the arithmetic",
		"exp(1, x=2)":                "takes no arguments by name",
		"'tf32'":                     "is more than the arithmetic",
		"[1, 2]":                     "is more than the arithmetic",
		"n if n else 0":              "is more than the arithmetic",
		"half @ 2":                   "@ is for integers",
		"next_power_of_2(2 ** 62+1)": "is not defined",
	} {
		got, err := Eval(text, scope)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, error %v; want %q", text, got, err, want)
		}
	}
	var unknown *UnknownName
	if _, err := Eval("2 * (m + n)", scope); !errors.As(err, &unknown) || unknown.Name != "m" {
		t.Errorf("got %v", err)
	}
	if _, err := EvalInt("n / 2", scope); err == nil || !strings.Contains(err.Error(), "'n / 2' is 500, not an integer") {
		t.Errorf("got %v", err)
	}
	if n, err := EvalInt("n // 2", scope); n != 500 || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
}

func FuzzEval(f *testing.F) {
	for _, s := range []string{"cdiv(n, B)", "x + y * 2", "2 ** -1", "min(1, half)", "~n << 3", "(1, 2)", "sqrt(x) // 3 % y", "exp(1e9)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := Eval(text, scope); err == nil && v == nil {
			t.Errorf("%q has no value and no error", text)
		}
	})
}
