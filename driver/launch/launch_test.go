package launch

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

var rules = sdk.Specialization{IntDivisor: 16, PointerDivisor: 16, IntOneIsConstexpr: true}

// TestSpecialize holds Triton's rules, value by value.
func TestSpecialize(t *testing.T) {
	x := array.New(array.Named("fp16"), 4)
	for _, tt := range []struct {
		param frontend.ParamInfo
		value any
		typ   string
		entry string
		types string // of what is passed, "" for memory, "-" for nothing
	}{
		{frontend.ParamInfo{}, x, "", "*fp16:16", ""},
		{frontend.ParamInfo{Annotation: `"*kfp16"`}, x, "", "*kfp16:16", ""},
		{frontend.ParamInfo{NoAlign: true}, x, "", "*fp16", ""},
		{frontend.ParamInfo{}, &View{x, 32}, "", "*fp16:16", ""},
		{frontend.ParamInfo{}, &View{x, 8}, "", "*fp16", ""},
		{frontend.ParamInfo{}, nil, "", "None", "-"},
		{frontend.ParamInfo{}, true, "", "u1", "u1"},
		{frontend.ParamInfo{}, 1.0, "", "fp32", "fp32"},
		{frontend.ParamInfo{}, 1.0, "fp64", "fp64", "fp64"},
		{frontend.ParamInfo{}, int64(0), "", "i32:16", "i32"},
		{frontend.ParamInfo{}, int64(1), "", "i32:1", "-"},
		{frontend.ParamInfo{}, int64(-16), "", "i32:16", "i32"},
		{frontend.ParamInfo{}, int64(7), "", "i32", "i32"},
		{frontend.ParamInfo{}, int64(7), "u8", "u8", "u8"},
		{frontend.ParamInfo{}, int64(1), "i64", "i64:1", "-"},
		{frontend.ParamInfo{}, int64(3), "fp16", "fp16", "fp16"},
		{frontend.ParamInfo{}, int64(math.MaxInt32), "", "i32", "i32"},
		{frontend.ParamInfo{}, int64(math.MaxInt32) + 1, "", "i64:16", "i64"},
		{frontend.ParamInfo{}, int64(math.MinInt32) - 1, "", "i64", "i64"},
		{frontend.ParamInfo{}, uint64(math.MaxUint64), "", "u64", "u64"},
		{frontend.ParamInfo{NoSpecialize: true, NoAlign: true}, int64(1), "", "i32", "i32"},
		{frontend.ParamInfo{NoAlign: true}, int64(32), "", "i32", "i32"},
		{frontend.ParamInfo{NoAlign: true}, int64(1), "", "i32:1", "-"},
		{frontend.ParamInfo{Annotation: "tl.int64"}, int64(32), "", "i64:16", "i64"},
		{frontend.ParamInfo{Annotation: "tl.int64"}, int64(1), "", "i64:1", "-"},
		{frontend.ParamInfo{Annotation: "tl.float16"}, int64(1), "", "fp16", "fp16"},
		{frontend.ParamInfo{Annotation: "bool"}, int64(1), "", "u1", "u1"},
		{frontend.ParamInfo{Annotation: "int"}, int64(5), "", "i32", "i32"},
		{frontend.ParamInfo{Annotation: "SomethingElse"}, int64(5), "", "i32", "i32"},
		{frontend.ParamInfo{}, Tuple{{Value: x}, {Value: int64(1)}, {Value: 2.0}}, "", "(*fp16:16, i32:1, fp32,)", " fp32"},
		{frontend.ParamInfo{Constexpr: true}, int64(64), "", "64", "-"},
		{frontend.ParamInfo{Constexpr: true}, 2.0, "", "2.0", "-"},
		{frontend.ParamInfo{Constexpr: true}, 1e30, "", "1e+30", "-"},
		{frontend.ParamInfo{Constexpr: true}, math.Inf(-1), "", "float('-Inf')", "-"},
		{frontend.ParamInfo{Constexpr: true}, true, "", "True", "-"},
		{frontend.ParamInfo{Constexpr: true}, nil, "", "None", "-"},
		{frontend.ParamInfo{Constexpr: true}, Expr("tl.float16"), "", "tl.float16", "-"},
		{frontend.ParamInfo{Constexpr: true}, Tuple{{Value: int64(1)}, {Value: false}}, "", "(1,False,)", "-"},
		{frontend.ParamInfo{}, Expr("helper"), "", "helper", "-"},
	} {
		tt.param.Name = "p"
		got, err := specialize(&rules, &tt.param, &Arg{Name: "p", Value: tt.value, Type: tt.typ})
		if err != nil {
			t.Errorf("%+v, %v: %v", tt.param, tt.value, err)
			continue
		}
		types := make([]string, len(got.passed))
		for i, p := range got.passed {
			types[i] = p.typ
		}
		text := strings.Join(types, " ")
		if len(got.passed) == 0 {
			text = "-"
		}
		if got.entry != tt.entry || text != tt.types {
			t.Errorf("%+v, %v: %s passing %q, want %s passing %q", tt.param, tt.value, got.entry, text, tt.entry, tt.types)
		}
	}
	// A backend that wants nothing of it.
	for _, v := range []any{int64(1), int64(16)} {
		if got, err := specialize(&sdk.Specialization{}, &frontend.ParamInfo{}, &Arg{Value: v}); err != nil || got.entry != "i32" {
			t.Errorf("%v without rules: %s, %v", v, got.entry, err)
		}
	}
}

func TestSpecializeMistakes(t *testing.T) {
	x := array.New(array.Named("fp16"), 4)
	for _, tt := range []struct {
		param frontend.ParamInfo
		value any
		typ   string
		says  string
	}{
		{frontend.ParamInfo{Constexpr: true}, x, "", "it is a constant of the kernel"},
		{frontend.ParamInfo{Annotation: "tl.int32"}, x, "", "it is an array, and the kernel says p: tl.int32"},
		{frontend.ParamInfo{Annotation: "*fp32"}, int64(5), "", "5 (int64) is not a buffer, and the kernel takes *fp32"},
		{frontend.ParamInfo{Annotation: "*fp32"}, array.New(array.Named("fp16"), 4), "", "it is a buffer of fp16, and the kernel says p: *fp32"},
		{frontend.ParamInfo{}, int64(5), "fp31", "its type fp31 is none of a number"},
		{frontend.ParamInfo{}, int64(-1), "u32", "-1 does not fit into u32"},
		{frontend.ParamInfo{}, int64(1) << 31, "i32", "2147483648 does not fit into i32"},
		{frontend.ParamInfo{}, uint64(1) << 63, "i64", "9223372036854775808 does not fit into i64"},
		{frontend.ParamInfo{}, 0.5, "i32", "0.5 is not a value of type i32"},
		{frontend.ParamInfo{}, "text", "", "a string is nothing that a kernel takes"},
		{frontend.ParamInfo{}, Tuple{{Value: int64(1)}, {Value: "text"}}, "", "argument p[1]: a string"},
	} {
		tt.param.Name = "p"
		_, err := specialize(&rules, &tt.param, &Arg{Name: "p", Value: tt.value, Type: tt.typ})
		var arg *ArgError
		if !errors.As(err, &arg) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v of %+v: %v", tt.value, tt.param, err)
		}
	}
}

func TestPassedValue(t *testing.T) {
	for _, tt := range []struct {
		typ   string
		value any
		want  any
	}{
		{"u1", true, true},
		{"i32", true, int32(1)},
		{"i8", int64(-1), int8(-1)},
		{"u16", int64(65535), uint16(65535)},
		{"u64", uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{"i64", int64(-5), int64(-5)},
		{"fp32", 0.1, float32(0.1)},
		{"fp32", int64(3), float32(3)},
		{"fp64", 0.1, 0.1},
		{"fp16", 1.0, uint16(0x3c00)},
		{"bf16", -2.0, uint16(0xc000)},
	} {
		if got, err := kernel.Scalar("p", tt.typ, tt.value); err != nil || got != tt.want {
			t.Errorf("%v as %s: %v (%T), %v", tt.value, tt.typ, got, got, err)
		}
	}
	if _, err := kernel.Scalar("p", "fp8e5", 1.0); err == nil {
		t.Error("an fp8 number is passed")
	}
}

const twoKernels = `import triton
import triton.language as tl

@triton.jit
def helper(x):
    return x

@triton.jit
def a(x, n, B: tl.constexpr, D: tl.constexpr = 4):
    tl.store(x + tl.arange(0, B), helper(n) + D)

@triton.heuristics({"B": lambda args: 16})
@triton.jit(do_not_specialize=["n", 2])
def b(x, n, m, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n + m)
`

func TestInfo(t *testing.T) {
	src := &core.Source{Path: "k.py", Text: []byte(twoKernels)}
	k, err := Info(t.Context(), src, core.Target{}, &core.Options{}, "b")
	if err != nil {
		t.Fatal(err)
	}
	var skip, computed []string
	for _, p := range k.Params {
		if p.NoSpecialize {
			skip = append(skip, p.Name)
		}
		if p.Computed {
			computed = append(computed, p.Name)
		}
	}
	if !slices.Equal(skip, []string{"n", "m"}) || !slices.Equal(computed, []string{"B"}) {
		t.Errorf("not specialized %v, computed %v", skip, computed)
	}
	if byName, err := match(k, []Arg{{Name: "m"}, {Name: "x"}, {Name: "n"}}, false); err != nil || byName[0].Name != "x" || byName[3] != nil {
		t.Errorf("%v, %v", byName, err)
	}
	for name, want := range map[string]string{"": "several kernels", "c": `no kernel "c"`} {
		if _, err := Info(t.Context(), src, core.Target{}, &core.Options{}, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if k, err = Info(t.Context(), src, core.Target{}, &core.Options{}, "a"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []Arg
		says string
	}{
		{nil, "a lacks arguments: x, n, B"},
		{[]Arg{{Name: "x"}, {Name: "n"}}, "a lacks arguments: B"},
		{[]Arg{{Name: "x"}, {Name: "n"}, {Name: "B"}, {Name: "z"}}, "argument z: a has no such parameter"},
		{[]Arg{{Name: "x"}, {Name: "x"}}, "argument x: it is given twice"},
	} {
		if _, err := match(k, tt.args, false); err == nil || err.Error() != tt.says {
			t.Errorf("%v, want %s", err, tt.says)
		}
	}
	if _, err := match(k, []Arg{{Name: "x"}, {Name: "n"}}, true); err != nil {
		t.Errorf("a configuration gives B, and yet: %v", err)
	}
}

// TestSmallMemory: backends whose addresses may have 32 bits learn which buffers are of
// less than 2 GiB, by what was allocated and not by the part that is passed.
func TestSmallMemory(t *testing.T) {
	wide := sdk.Specialization{PointerDivisor: 16, Attributes: []sdk.ArgAttribute{{Key: "S", Name: "tt.pointer_range", Value: 32}}}
	x := array.New(array.Named("fp16"), 4)
	for _, tt := range []struct {
		rules *sdk.Specialization
		param frontend.ParamInfo
		value any
		entry string
	}{
		{&wide, frontend.ParamInfo{}, x, "*fp16:16:S"},
		{&wide, frontend.ParamInfo{NoAlign: true}, x, "*fp16:S"},
		{&wide, frontend.ParamInfo{NoAlign: true, NoSpecialize: true}, x, "*fp16"},
		{&wide, frontend.ParamInfo{}, &View{x, 8}, "*fp16:S"},
		{&wide, frontend.ParamInfo{}, &View{x, 1<<31 - 16}, "*fp16:16:S"},
		{&wide, frontend.ParamInfo{}, &View{x, 1 << 31}, "*fp16:16"},
		{&rules, frontend.ParamInfo{}, x, "*fp16:16"},
	} {
		got, err := specialize(tt.rules, &tt.param, &Arg{Name: "x", Value: tt.value})
		if err != nil || got.entry != tt.entry {
			t.Errorf("%+v of %v: %q, %v; want %q", tt.param, tt.value, got.entry, err, tt.entry)
		}
	}
}
