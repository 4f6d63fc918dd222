package text_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir/text"
)

// halfLowered has what modules on the way to the LLVM dialect have, in canonical form.
const halfLowered = `module attributes {"ttg.num-warps" = 4 : i32} {
  llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal constant @text("a\0A")
  llvm.mlir.global internal constant @n(3 : i32) : i32
  llvm.func @declared(i32, !llvm.ptr {llvm.noundef}) -> i32
  llvm.func internal @f(%arg0: i64, %arg1: !llvm.ptr<1>) -> i32 attributes {nvvm.kernel = 1 : ui1} {
    %0 = llvm.mlir.addressof @smem : !llvm.ptr<3>
    %1 = llvm.mlir.constant(3 : i32) : i32
    %2 = llvm.mlir.constant(false) : i1
    %3 = llvm.getelementptr %0[%1, 2] {inbounds} : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %4 = llvm.load volatile %3 : !llvm.ptr<3> -> i32
    %5 = llvm.add %4, %1 : i32
    %6 = llvm.ptrtoint %arg1 : !llvm.ptr<1> to i64
    %7 = llvm.mlir.undef : !llvm.struct<(i32, i32)>
    llvm.store %5, %3 : i32, !llvm.ptr<3>
    %8 = builtin.unrealized_conversion_cast %arg1 : !llvm.ptr<1> to !tt.ptr<i32>
    %9:2 = builtin.unrealized_conversion_cast %1, %2 : i32, i1 to i32, i1 {tag}
    ttg.warp_specialize(%5)
    default {
      ttg.warp_yield
    }
    partition0(%arg2: i32) num_warps(1) {
      "use"(%arg2) : (i32) -> ()
      ttg.warp_return
    } : (i32) -> ()
    llvm.return %5 : i32
  }
  llvm.func @nothing() {
    llvm.return
  }
}
`

func TestHalfLowered(t *testing.T) {
	f := mustParse(t, halfLowered)
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, f.Op, text.Options{})); got != halfLowered {
		t.Errorf("got\n%swant\n%s", got, halfLowered)
	}
	generic := string(text.Append(nil, f.Op, text.Options{Generic: true}))
	for _, want := range []string{
		"function_type = !llvm.func<i32 (i64, ptr<1>)>", "function_type = !llvm.func<void ()>", "function_type = !llvm.func<i32 (i32, ptr)>",
		"linkage = #llvm.linkage<internal>", "linkage = #llvm.linkage<external>", "global_type = !llvm.array<2 x i8>",
	} {
		if !strings.Contains(generic, want) {
			t.Errorf("the generic form lacks %s:\n%s", want, generic)
		}
	}
	if got := string(text.Append(nil, mustParse(t, generic).Op, text.Options{})); !strings.Contains(got, "llvm.func internal @f(") {
		t.Errorf("by way of the generic form: got\n%s", got)
	}
}

func TestHalfLoweredMistakes(t *testing.T) {
	for src, want := range map[string]string{
		"llvm.func @f() -> (i32, i32)":                                               "a function of LLVM has at most one result",
		"llvm.mlir.global external @g()":                                             "expected ':' and the type of the global",
		"llvm.func @f(%a: i32) {\n llvm.return %b : i32\n}":                          "use of undeclared value %b",
		`"llvm.func"() <{sym_name = "f", function_type = () -> ()}> ({}) : () -> ()`: "function_type must be a function of LLVM",
		"\"llvm.func\"() <{sym_name = \"f\", function_type = !llvm.func<void (i32)>}> ({\n^bb0:\n llvm.return\n}) : () -> ()":                                                           "entry block must have 1 argument, but has 0",
		"\"llvm.func\"() <{sym_name = \"f\", function_type = !llvm.func<void (i32)>}> ({\n^bb0(%a: i64):\n llvm.return\n}) : () -> ()":                                                  "entry block argument #0 must have the type of the function's argument",
		"llvm.func @f(%p: !llvm.ptr) {\n %0 = \"llvm.getelementptr\"(%p) <{elem_type = i32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr) -> !llvm.ptr\n llvm.return\n}": "has 1 index for operands, and 0 operands",
	} {
		f, err := text.ParseFile(newContext(), "t", []byte(src))
		if err == nil {
			err = f.Verify()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
}

// TestOpaqueInOneLine: types that are kept as text are one type however they are
// written.
func TestOpaqueInOneLine(t *testing.T) {
	f := mustParse(t, "!s = !llvm.struct<(\n  f32, i32,\n  f16\n)>\nmodule {\n  tt.func private @f(!s, !llvm.struct<(f32, i32, f16)>)\n}\n")
	want := "module {\n  tt.func private @f(!llvm.struct<(f32, i32, f16)>, !llvm.struct<(f32, i32, f16)>)\n}\n"
	if got := string(text.Append(nil, f.Op, text.Options{})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestScopes: in a module inside of another one functions call those beside them, and
// layouts are for its warps, or for those that a function has of its own.
func TestScopes(t *testing.T) {
	const layouts = "#four = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n" +
		"#eight = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>\n"
	module := func(attrs, enc string) string {
		return "module attributes {\"ttg.num-warps\" = 4 : i32} {\n  tt.func @a() {\n    tt.return\n  }\n  tt.func @b() " + attrs + "{\n    tt.call @a() : () -> ()\n" +
			"    %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, " + enc + ">\n    tt.return\n  }\n}\n"
	}
	const own = `attributes {"ttg.num-warps" = 8 : i32} `
	for src, want := range map[string]string{
		module("", "#four"):                         "",
		module("", "#four") + module(own, "#eight"): "",
		module(own, "#four"):                        "Layout has 4 warps per CTA, but the context requires 8 warps per CTA",
		module("", "#four") + module("", "#eight"):  "Layout has 8 warps per CTA, but the context requires 4 warps per CTA",
		module("", "#four") + "tt.func @c() {\n  tt.call @a() : () -> ()\n  tt.return\n}\n": "'a' does not reference a valid function",
	} {
		f := mustParse(t, layouts+src)
		err := f.Verify()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
}
