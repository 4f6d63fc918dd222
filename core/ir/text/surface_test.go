package text_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir/text"
)

// TestSurface: what people write by hand, and what it is in canonical form.
func TestSurface(t *testing.T) {
	for _, c := range []struct{ name, in, out string }{
		{
			"an operation without a module", "tt.func @f() {\n  tt.return\n}\n",
			"module {\n  tt.func @f() {\n    tt.return\n  }\n}\n",
		},
		{"an empty file", "", "module {\n}\n"},
		{"aliases alone", "#a = 1 : i32\n// nothing else\n", "module {\n}\n"},
		{
			"several operations", "tt.func private @f()\n#a = loc(\"x\")\ntt.func private @g()",
			"module {\n  tt.func private @f()\n  tt.func private @g()\n}\n",
		},
		{
			"several modules", "module @a {}\nmodule @b {}",
			"module {\n  module @a {\n  }\n  module @b {\n  }\n}\n",
		},
		{
			"aliases of types and attributes, wherever they are",
			"!ty = tensor<16xf32, #l>\nmodule {\n  tt.func private @f(!ty, !late) -> !ty\n}\n" +
				"#l = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n!late = i32",
			"#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n" +
				"module {\n  tt.func private @f(tensor<16xf32, #blocked>, i32) -> tensor<16xf32, #blocked>\n}\n",
		},
		{
			"one result type without parentheses",
			"module {\n  tt.func @f(%c: i1, %n: i32) {\n" +
				"    %0 = scf.if %c -> i32 {\n      scf.yield %n : i32\n    } else {\n      scf.yield %n : i32\n    }\n" +
				"    %1 = scf.for %i = %n to %n step %n iter_args(%a = %n) -> i32 : i32 {\n      scf.yield %a : i32\n    }\n    tt.return\n  }\n}\n",
			"module {\n  tt.func @f(%c: i1, %n: i32) {\n" +
				"    %0 = scf.if %c -> (i32) {\n      scf.yield %n : i32\n    } else {\n      scf.yield %n : i32\n    }\n" +
				"    %1 = scf.for %i = %n to %n step %n iter_args(%a = %n) -> (i32)  : i32 {\n      scf.yield %a : i32\n    }\n    tt.return\n  }\n}\n",
		},
		{
			"enumerations in quotes", "module {\n  tt.func @f(%n: i32) {\n    %0 = arith.cmpi \"slt\", %n, %n : i32\n    tt.return\n  }\n}\n",
			"module {\n  tt.func @f(%n: i32) {\n    %0 = arith.cmpi slt, %n, %n : i32\n    tt.return\n  }\n}\n",
		},
		{
			"types in full where they may be short",
			"module {\n  tt.func @f(%p: !tt.ptr<f16>, %n: i64, %o: i32) {\n" +
				"    %0 = tt.make_tensor_ptr %p, [%n], [%n], [%o] {order = array<i32: 0>} : !tt.ptr<tensor<16xf16>>\n    tt.return\n  }\n}\n",
			"module {\n  tt.func @f(%p: !tt.ptr<f16>, %n: i64, %o: i32) {\n" +
				"    %0 = tt.make_tensor_ptr %p, [%n], [%n], [%o] {order = array<i32: 0>} : <tensor<16xf16>>\n    tt.return\n  }\n}\n",
		},
		{
			"elements in a resource",
			"tt.func @f() {\n  %0 = arith.constant dense_resource<\"a\"> : tensor<4xi32, #l>\n  %1 = \"x.y\"() {b = dense_resource<\"b c\"> : vector<4xf32>} : () -> f32\n  tt.return\n}\n" +
				"#l = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n",
			"#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n" +
				"module {\n  tt.func @f() {\n    %cst = arith.constant dense_resource<a> : tensor<4xi32, #blocked>\n    %0 = \"x.y\"() {b = dense_resource<\"b c\"> : vector<4xf32>} : () -> f32\n    tt.return\n  }\n}\n",
		},
		{
			"contents of resources", "{-#\n  external_resources: { x: { y: \"#\" } }\n#-}\nmodule {\n}\n", "module {\n}\n",
		},
	} {
		f := mustParse(t, c.in)
		if err := f.Verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := string(text.Append(nil, f.Op, text.Options{})); got != c.out {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.out)
		}
	}
}

// TestDefaults: fields of encodings that need not be written, and the form in which
// they are printed.
func TestDefaults(t *testing.T) {
	for in, out := range map[string]string{
		"nvidia_mma<{versionMajor = 2, warpsPerCTA = [4, 1], instrShape = [16, 8]}>":                                                                "nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>",
		"amd_wmma<{version = 1, warpsPerCTA = [1, 1]}>":                                                                                             "amd_wmma<{version = 1, isTranspose = false, warpsPerCTA = [1, 1]}>",
		"amd_wmma<{version = 2, warpsPerCTA = [1, 1], tilesPerWarp = [1, 1], instrShape = [16, 16, 16]}>":                                           "amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [1, 1]}>",
		"amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = true, tilesPerWarp = [1, 1], elementBitWidth = 32}>": "amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = true}>",
		"amd_mfma<{warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTranspose = true}>":                                                            "amd_mfma<{version = 0, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = true}>",
		"nvmma_shared<{swizzlingByteWidth = 64, rank = 2}>":                                                                                         "nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>",
		"shared_linear<{offset = [[1], [2]], block = []}, alignment = 16>":                                                                          "shared_linear<{offset = [[1], [2]]}, alignment = 16>",
	} {
		f := mustParse(t, "module attributes {ttg.x = #ttg."+in+"} {\n}\n")
		same := mustParse(t, "module attributes {ttg.x = #ttg."+out+"} {\n}\n")
		got, want := text.String(f.Op), text.String(same.Op)
		if got != want {
			t.Errorf("%s: got\n%swant\n%s", in, got, want)
		}
	}
}

// TestWholeAttributes: attributes that begin with the dialect alone.
func TestWholeAttributes(t *testing.T) {
	for in, out := range map[string]string{
		"#foo<bar<1>>":          "#foo.bar<1>",
		"#foo<bar>":             "#foo.bar",
		"#foo<bar baz>":         "#foo<bar baz>",
		"#foo<bar<1>, <2>>":     "#foo<bar<1>, <2>>",
		"#foo.baz<#foo<a b>>":   "#foo.baz<#foo<a b>>",
		"#foo<>":                "#foo<>",
		"[#foo.bar, #foo<a b>]": "[#foo.bar, #foo<a b>]",
	} {
		f := mustParse(t, "module attributes {a = "+in+"} {\n}\n")
		if got, want := string(text.Append(nil, f.Op, text.Options{})), "module attributes {a = "+out+"} {\n}\n"; got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := text.String(mustParse(t, "module attributes {a = #ttg<shared_memory>} {\n}\n").Op); !strings.Contains(got, "#smem = #ttg.shared_memory") {
		t.Errorf("got %s", got)
	}
	for in, want := range map[string]string{
		"#foo<bar":      "<",
		"#ttg<nothing>": "dialect 'ttg' has no attribute 'nothing'",
		"#ttg<>":        "expected the name of an attribute",
		"#foo":          "undefined alias #foo",
	} {
		if _, err := text.ParseFile(newContext(), "t", []byte("module attributes {a = "+in+"} {\n}\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// TestBadAliases: mistakes in aliases of types.
func TestBadAliases(t *testing.T) {
	for in, want := range map[string]string{
		"!a = i32\n!a = i64\nmodule {}":                   "t:2:1: error: alias !a is defined twice",
		"!a = i32 !b = i32 !a = i64 module {}":            "t:1:19: error: expected an operation, found '!a'",
		"!a = !b\n!b = !a\nmodule {}":                     "t:2:6: error: alias !a is defined by itself",
		"module { tt.func private @f(!none) }":            "t:1:29: error: undefined type alias !none",
		"module {}\n{-# no end":                           "t:2:1: error: this '{-#' has no matching '#-}'",
		"!a = i32\nmodule { tt.func private @f(i32 !a) }": "t:2:33: error: expected ',' or ')', found '!a'",
		"module {}\n#a = 3 : i32\n!b = tensor<4xf33>\n":   "t:3:15: error: expected a type, found 'f33'",
	} {
		if _, err := text.ParseFile(newContext(), "t", []byte(in)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}
