package text_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Each mistake gives one diagnostic with its place and what was expected.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "ok"},
		{"module {", "1:8: error: this '{' is not closed"},
		{"module { ] }", "1:10: error: expected an operation, a block or '}', found ']'"},
		{"module {} }", "1:11: error: expected an operation, found '}'"},
		{"module { foo.bar }", "1:10: error: unknown operation 'foo.bar': dialect 'foo' is not loaded"},
		{"module { tt.bar }", "1:10: error: unknown operation 'tt.bar'"},
		{"module { bar }", "1:10: error: expected an operation, found 'bar'"},
		{"module { ` }", "1:10: error: unexpected character"},
		{"module { \"abc }", "1:10: error: string literal is not terminated on its line"},
		{"module { tt.reduce }", "1:10: error: 'tt.reduce' is written in generic form: \"tt.reduce\"(…)"},
		{"module { %0 = arith.addi %a, %b : i32 }", "1:26: error: use of undeclared value %a"},
		{"module { %0 = arith.constant 1 }", "ok"},
		{"module { %0 = arith.constant 1.5 : i32 }", "1:30: error: a floating point number cannot have an integer type"},
		{"module { %0 = arith.constant 256 : i8 }", "1:30: error: integer does not fit in 8 bits"},
		{"module { %0 = arith.constant 99999999999999999999 : i64 }", "1:30: error: integer is too large for 64 bits"},
		{"module { %0 = arith.constant 1 : f32 }", "1:30: error: expected a floating point number such as 1.0 or bits such as 0x00000000"},
		{"module { %0 = arith.constant 1 : i32 %0 = arith.constant 2 : i32 }", "1:38: error: %0 is defined twice"},
		{"module { %0, %1 = arith.constant 1 : i32 }", "1:19: error: 'arith.constant' has 1 result, but 2 are named"},
		{"module { %0 = arith.constant 1 : i33333333333 }", "error: integer type is wider than 16777215 bits"},
		{"module { %0 = arith.constant 1 : i32\n  %1 = arith.extsi %0 : i16 to i32 }", "2:20: error: use of value '%0' expects different type than prior uses: 'i16' vs 'i32'"},
		{"module { %0 = arith.constant 1 : i32\n  %1 = arith.extsi %0#1 : i32 to i64 }", "2:20: error: %0 has 1 result, there is no #1"},
		{"module { %0 = arith.constant 1 : i32\n  %1 = arith.extsi %0 : i32 i64 }", "2:29: error: expected 'to', found 'i64'"},
		{"module { %0 = tt.get_program_id w : i32 }", "1:33: error: expected one of x, y, z for 'axis', found 'w'"},
		{"module { %0 = tt.make_range {end = 1 : i32, end = 2 : i32} : tensor<1xi32> }", "1:45: error: attribute 'end' appears twice"},
		{"module { %0 = arith.constant dense<[1, [2]]> : tensor<2xi32> }", "1:41: error: lists of a dense literal must be of equal depth"},
		{"module { %0 = arith.constant dense<[[1, 2], [2]]> : tensor<2x2xi32> }", "error: lists of a dense literal must be of equal length"},
		{"module { %0 = arith.constant dense<[1, 2]> : tensor<3xi32> }", "1:36: error: dimension 0 has 2 elements, but the type says 3"},
		{"module { %0 = arith.constant dense<1> : i32 }", "1:36: error: dense elements need a tensor type"},
		{"module { %0 = arith.constant dense<1> : tensor<99999999999x99999999999xi32> }", "error: shape has too many elements to count"},
		{"module { %0 = arith.constant dense<\"0x00\"> : tensor<2xi32> }", "1:36: error: 1 byte for 2 elements of 4"},
		{"module { %0 = arith.constant dense_resource<x> : i32 }", "1:50: error: `dense_resource` expected a shaped type"},
		{"module { %0 = arith.constant dense_resource<> : tensor<2xi32> }", "error: expected the name of a resource, found '>'"},
		{"#a = #b\n#b = #a\nmodule attributes {x = #a} {}", "2:6: error: alias #a is defined by itself"},
		{"#a = 1 : i32\n#a = 2 : i32\nmodule {}", "2:1: error: alias #a is defined twice"},
		{"module attributes {x = #a} {}", "1:24: error: undefined alias #a"},
		{"module {} loc(#a)", "1:15: error: undefined alias #a"},
		{"#a = 1 : i32\nmodule {} loc(#a)", "2:15: error: expected a location, but the alias is an attribute"},
		{"#a = loc(unknown)\nmodule attributes {x = #a} {}", "2:24: error: #a is a location, expected an attribute"},
		{"#a = #ttg.foo<x>\nmodule {}", "1:6: error: dialect 'ttg' has no attribute 'foo'"},
		{"module attributes {x = !ttg.foo} {}", "1:24: error: dialect 'ttg' has no type 'foo'"},
		{"module attributes {x = foo} {}", "1:24: error: expected a type, found 'foo'"},
		{"module attributes {x = #ttg.blocked<{order = [0]}>} {}", "error: field 'sizePerThread' is missing"},
		{"module attributes {x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4, 1], order = [0]}>} {}", "error: encoding 'blocked': lists must be of one length"},
		{"module attributes {x = #ttg.blocked<{sizePerThread = [3], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>} {}", "error: encoding 'blocked': sizes must be powers of two"},
		{"module attributes {x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [1]}>} {}", "error: encoding 'blocked': order must be a permutation of 0..n-1"},
		{"module attributes {x = #ttg.dot_op<{opIdx = 0, parent = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]}>, kWidth = 2}>} {}", "error: encoding 'dot_op': ttg.dot_op kWidth parameter is not supported when the parent is a blocked layout"},
		{"module attributes {x = #ttg.dot_op<{opIdx = 1, parent = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 8, 16]}>, kWidth = 2}>} {}", "error: encoding 'dot_op': ttg.dot_op opIdx parameter must be 0 for Hopper MMA parent, since Hopper WGMMA only allows first operand to be in registers"},
		{"module attributes {x = #ttg.amd_mfma<{version = 5, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], isTransposed = false}>} {}", "error: encoding 'amd_mfma': version must be in the [0, 4] range"},
		{"module attributes {x = #ttg.linear<{register = [[1], [1]], lane = [[4], [8]], warp = [], block = []}>} {}", "error: encoding 'linear': basis vectors must reach every element between them"},
		{"module attributes {x = #ttg.linear<{register = [[1], [1, 0]], lane = [[4], [8]], warp = [], block = []}>} {}", "error: encoding 'linear': basis vectors must have one coordinate per dimension"},
		{"module attributes {x = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0], CGALayout = [[1, 1]]}>} {}", "error: encoding 'swizzled_shared': basis vectors must reach every element between them"},
		{"module attributes {x = #ttg.padded_shared<[4:+4, 4:+8] {order = [1, 0], shape = [8, 32]}>} {}", "error: encoding 'padded_shared': interval values cannot have duplicates"},
		{"module attributes {x = #ttg.shared_linear<{offset = [[1]]}, alignment = 12>} {}", "error: encoding 'shared_linear': alignment must be a positive power of two"},
		{"module attributes {x = #ttg.padded_shared<[4:+3] {order = [1, 0], shape = [8, 32]}>} {}", "error: encoding 'padded_shared': padding values must all be power of two"},
		{"module attributes {x = #ttg.padded_shared<[] {order = [1, 0], shape = [8, 32]}>} {}", "error: encoding 'padded_shared': there must be an interval and its padding"},
		{"module attributes {x = #ttg.blocked<{foo = [1]}>} {}", "1:38: error: Unexpected attribute \"foo\" found"},
		{"module attributes {x = #ttg.slice<{dim = 0, dim = 1}>} {}", "1:45: error: field 'dim' appears twice"},
		{"module attributes {x = #ttg.slice<{dim = 0, parent = #ttg.shared_memory}>} {}", "error: the parent must be an encoding"},
		{"module { tt.func @f() { cf.br ^bb1 } }", "1:31: error: undefined block ^bb1"},
		{"module { tt.func @f() { cf.br ^bb1\n ^bb1:\n tt.return\n ^bb1:\n tt.return } }", "4:2: error: block ^bb1 is defined twice"},
		{"module { tt.func @f(%x: i32) { tt.return }\n tt.func @g() { tt.return %x : i32 } }", "2:27: error: use of undeclared value %x"},
		{"module { tt.func @f(%x: i32, i32) { tt.return } }", "1:35: error: the arguments of a function with a body need names"},
		{"module { tt.func @f(%x: i32, %x: i32) { tt.return } }", "1:30: error: %x is defined twice"},
		{"module { tt.func f() { tt.return } }", "1:18: error: expected a symbol name such as @kernel, found 'f'"},
		{"module { tt.func @f(%c: i1) { scf.if %c { scf.yield } else } }", "1:60: error: expected '{', found '}'"},
		{"module { tt.func @f(%c: i32) { scf.if %c { } tt.return } }", "1:39: error: use of value '%c' expects different type than prior uses: 'i1' vs 'i32'"},
		{"module { tt.func @f(%p: !tt.ptr<f32>) { %v = tt.load %p cacheModifier = ca cacheModifier = cg : !tt.ptr<f32> tt.return } }", "1:76: error: clause 'cacheModifier' appears twice"},
		{"module { tt.func @f(%p: i32) { %v = tt.load %p : i32 tt.return } }", "error: 'tt.load' op needs a pointer"},
		{"module { \"a.b\"(%x) : () -> () }", "1:22: error: 1 operand, but 0 types"},
		{"module { \"a.b\"(%x) : (i32) -> () }", "1:16: error: use of undeclared value %x"},
		{"module { \"a.b\"(%x) : (i32) -> () %x = arith.constant 1 : i64 }", "1:16: error: use of value '%x' expects different type than prior uses: 'i32' vs 'i64'"},
		{"module { \"\"() : () -> () }", "1:10: error: an operation needs a name"},
		{"module attributes {a = \"\\x\"} {}", "1:24: error: string literal has a bad escape"},
		{"module attributes {a = array<index: 1>} {}", "error: the elements of an array must be integers or floats"},
		{"module attributes {a = other<1, {}", "1:29: error: this '<' has no matching '>'"},
		{"module attributes {a = other<(1>} {}", "error: expected the end of '(', found '>'"},
		{"module {} loc(\"a.py\":1)", "1:23: error: expected ':', found ')'"},
		{"module {} loc(\"a.py\":-1:0)", "error: line must be from 0 to 2147483647"},
	} {
		_, err := text.ParseFile(newContext(), "x.mlir", []byte(c.src))
		if c.want == "ok" {
			if err != nil {
				t.Errorf("%s\n  unexpected: %v", c.src, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s\n  parsed, want %s", c.src, c.want)
			continue
		}
		var d *diag.Diagnostic
		if !errors.As(err, &d) {
			t.Errorf("%s\n  %T is not a diagnostic", c.src, err)
			continue
		}
		if d.Line == "" && c.src != "" {
			t.Errorf("%s\n  the diagnostic has no source line", c.src)
		}
		if got := strings.TrimPrefix(err.Error(), "x.mlir:"); !strings.Contains(got, c.want) {
			t.Errorf("%s\n  got  %s\n  want %s", c.src, got, c.want)
		}
	}
}

// A text that nests or grows beyond reason ends in a diagnostic, not in a crash.
func TestHostileTexts(t *testing.T) {
	deep := func(open, closing string, n int) string {
		return strings.Repeat(open, n) + strings.Repeat(closing, n)
	}
	chain := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "#loc%d = loc(\"a\"(#loc%d))\n", i+1, i)
		}
		return "#loc0 = loc(unknown)\n" + b.String() + fmt.Sprintf("module {} loc(#loc%d)", n)
	}
	for name, src := range map[string]string{
		"regions":       deep("module {", "}", 100000),
		"arrays":        "module attributes {a = " + deep("[", "]", 100000) + "} {}",
		"dictionaries":  "module attributes {a = " + deep("{a = ", "}", 100000) + "} {}",
		"types":         "module attributes {a = " + deep("!tt.ptr<", ">", 100000) + "} {}",
		"function type": "module attributes {a = " + strings.Repeat("() -> (", 100000) + "} {}",
		"dense":         "module attributes {a = dense<" + deep("[", "]", 100000) + "> : tensor<1xi32>} {}",
		"locations":     "module {} loc(" + deep("callsite(", ")", 100000),
		"alias chain":   chain(100000),
		"alias chain backwards": func() string {
			lines := strings.Split(chain(100000), "\n")
			m := lines[len(lines)-1]
			for i, j := 0, len(lines)-2; i < j; i, j = i+1, j-1 {
				lines[i], lines[j] = lines[j], lines[i]
			}
			return strings.Join(lines[:len(lines)-1], "\n") + "\n" + m
		}(),
		"slices":     "module attributes {a = " + deep("#ttg.slice<{dim = 0, parent = ", "}>", 100000) + "} {}",
		"rank":       "module attributes {a = tensor<" + strings.Repeat("1x", 1000) + "f32>} {}",
		"elements":   "module { %0 = arith.constant dense<[1, 2]> : tensor<4000000000x2000000000xi32> }",
		"results":    "module { %0:99999999 = \"a.b\"() : () -> () }",
		"opaque":     "module attributes {a = #x.y<" + strings.Repeat("<", 100000) + "} {}",
		"attributes": "module attributes {" + strings.Repeat("a1 = 1, ", 10) + "} {}",
		"forward":    "module { " + forwardRefs(20000) + "}",
		"digits":     "module { %0 = arith.constant 1." + strings.Repeat("0", 100000) + " : f32 }",
		"exponent":   "module { %0 = arith.constant 1.0e999999999999 : f16 }",
	} {
		_, err := text.ParseFile(newContext(), name, []byte(src))
		if name == "exponent" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: parsed", name)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: a diagnostic of %d bytes", name, len(err.Error()))
		}
	}
}

func forwardRefs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\"a.b\"(%%x%d) : (i32) -> ()\n", i)
	}
	return b.String()
}
