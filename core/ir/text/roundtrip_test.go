package text_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

func mustParse(t *testing.T, src string) *text.File {
	t.Helper()
	f, err := text.ParseFile(newContext(), "test.mlir", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return f
}

// The generic form must hold all that the custom forms do: printed in it and
// read back, a text comes out as it was.
func TestGenericFormHoldsAll(t *testing.T) {
	for _, path := range irFiles(t, "testdata/law") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range sections(path, src) {
			f, err := text.ParseFile(newContext(), p.name, p.src)
			if err != nil {
				t.Fatal(err)
			}
			opt := p.opt
			opt.Generic, opt.Locations = true, true
			generic := text.Append(nil, f.Op, opt)
			if bytes.Contains(generic, []byte("= arith.")) {
				t.Errorf("%s: a custom form in the generic print", p.name)
			}
			back, err := text.ParseFile(newContext(), p.name, generic)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if err := back.Verify(); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if err := sameBytes(p.src, text.Append(nil, back.Op, p.opt)); err != nil {
				t.Errorf("%s: through the generic form: %v", p.name, err)
			}
		}
	}
}

// A text printed without locations keeps its names.
func TestNamesSurviveWithoutLocations(t *testing.T) {
	for _, path := range irFiles(t, "testdata/law") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range sections(path, src) {
			f := mustParse(t, string(p.src))
			bare := text.Append(nil, f.Op, text.Options{})
			again := mustParse(t, string(bare))
			if err := sameBytes(bare, text.Append(nil, again.Op, text.Options{})); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

// survivors must come out as they are, locations included.
var survivors = map[string]string{
	"unknown operation": `module {
  %0:2 = "other.op"() : () -> (i32, !other.type<"a", [1, 2]>) loc(#loc)
  "other.two"(%0#1, %0#0) <{inner = 1 : i32, unit}> {outer = #other.attr<{x = ">"}>} : (!other.type<"a", [1, 2]>, i32) -> () loc(#loc)
} loc(#loc)
#loc = loc(unknown)
`,
	"unknown operation with regions and successors": `module {
  "other.func"() ({
    %true = arith.constant true loc(#loc)
    "other.br"(%true)[^bb1, ^bb2] : (i1) -> () loc(#loc)
  ^bb1:  // pred: ^bb0
    "other.br"()[^bb2] : () -> () loc(#loc)
  ^bb2:  // 2 preds: ^bb0, ^bb1
    "other.return"() : () -> () loc(#loc)
  ^bb3:  // no predecessors
    "other.return"() : () -> () loc(#loc)
  }, {
  }) : () -> () loc(#loc)
} loc(#loc)
#loc = loc(unknown)
`,
	"attributes of every kind": `module attributes {a = 1 : i64, arr = [1, 2.500000e+00, "s", i32, 3 : i8, unit], "b c" = true, d = {x = 1 : i32, y}, e = @f::@g, f = @"g h", h = array<i32>, i = array<i1: true, false>, j = array<f32: 1.000000e+00>, k = -1 : index, l = 255 : ui8, m = -1 : si8, n = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, o = dense<true> : tensor<4xi1>, p = dense<> : tensor<0xi32>, q = 0x7FC00000 : f32, r = () -> (), s = (i32) -> (i32, f32), t = () -> i1, u = "\09\0A\22\\\7F\C3\A9", v = tensor<f32>, w = vector<4x[8]xf32>, x = affine_map<(d0) -> (d0 * 2)>, y = -0.000000e+00 : f64, z} {
} loc(#loc)
#loc = loc(unknown)
`,
	"locations": `#loc2 = loc("x")
#loc3 = loc(unknown)
module {
  tt.func @f(%x: i32 loc("x"), %arg1: f32 loc(unknown)) {
    %y = "a.b"() : () -> i32 loc(#loc9)
    %y_0 = "a.b"() : () -> i32 loc(#loc10)
    %0 = "a.b"() : () -> i32 loc(#loc5)
    %1 = "a.b"() : () -> i32 loc(#loc7)
    tt.return loc(#loc3)
  } loc(#loc1)
} loc(#loc)
#loc = loc("m.py":0:0)
#loc1 = loc("a b.py":7:0)
#loc4 = loc("a \22b\22.py":1:2)
#loc5 = loc("a.py":1:2 to :5)
#loc6 = loc("a.py":1:2 to 3:4)
#loc7 = loc(fused<"meta">[])
#loc8 = loc("y"(#loc4))
#loc9 = loc(callsite(#loc8 at #loc5))
#loc10 = loc(fused[#loc6, #loc8])
`,
	"function declarations and results": `module {
  tt.func private @a(i32 {tt.divisibility = 16 : i32}, f32) loc(#loc)
  tt.func private @"b c"() -> (i32 {x.y}, f32) loc(#loc)
  tt.func @d(!tt.ptr<f32, 3>) -> (() -> ()) loc(#loc)
  tt.func @e() -> i32 attributes {noinline = true} loc(#loc)
} loc(#loc)
#loc = loc(unknown)
`,
}

func TestSurvivors(t *testing.T) {
	for name, src := range survivors {
		f, err := text.ParseFile(newContext(), name, []byte(src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := f.Verify(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := sameBytes([]byte(src), []byte(text.String(f.Op))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// normal forms: what the parser also takes, and how it is printed.
func TestNormalForms(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"1", "1 : i64"},
		{"0x10 : i32", "16 : i32"},
		{"1.0", "1.000000e+00 : f64"},
		{"0x3F800000 : f32", "1.000000e+00 : f32"},
		{"-128 : i8", "-128 : i8"},
		{"200 : i8", "-56 : i8"},
		{`dense<"0x0100000002000000"> : tensor<2xi32>`, "dense<[1, 2]> : tensor<2xi32>"},
		{`dense<"0x05"> : tensor<3xi1>`, "dense<[true, false, true]> : tensor<3xi1>"},
		{"dense<[7, 7]> : tensor<2xi32>", "dense<7> : tensor<2xi32>"},
		{"dense<[-1, 255]> : tensor<2xi8>", "dense<-1> : tensor<2xi8>"},
		{"dense<0x7F800000> : tensor<2xf32>", "dense<0x7F800000> : tensor<2xf32>"},
		{"{b = 1 : i32, a}", "{a, b = 1 : i32}"},
		{"[]", "[]"},
		{"(i32) -> i32", "(i32) -> i32"},
		{"(i32) -> ()", "(i32) -> ()"},
		{"#ttg.blocked<{order = [0], warpsPerCTA = [4], threadsPerWarp = [32], sizePerThread = [1]}>", "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"},
		{"#ttg.slice<{dim = 0, parent = #ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>}>", "#ttg.slice<{dim = 0, parent = #ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>}>"},
		{"#ttg.padded_shared<[64:+8, 512:+16] {order = [1, 0], shape = [64, 64]}>", "#ttg.padded_shared<[64:+8, 512:+16] {order = [1, 0], shape = [64, 64]}>"},
		{"#ttg.padded_shared<[64:+8] {offset = [[0, 1]], block = []}>", "#ttg.padded_shared<[64:+8] {offset = [[0, 1]], block = []}>"},
		{"#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 16>", "#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 16>"},
		{"#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8, fp4Padded = true, rank = 3}>", "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8, fp4Padded = true, rank = 3}>"},
		{"#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 32], isTransposed = false, tilesPerWarp = [2, 2], elementBitWidth = 64}>", "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 32], isTransposed = false, tilesPerWarp = [2, 2], elementBitWidth = 64}>"},
		{"#ttg.amd_wmma<{version = 2, isTranspose = true, warpsPerCTA = [2, 2], instrShape = [16, 16, 32]}>", "#ttg.amd_wmma<{version = 2, isTranspose = true, warpsPerCTA = [2, 2], instrShape = [16, 16, 32]}>"},
		{"#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], CGALayout = [[0, 1]]}>", "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], CGALayout = [[0, 1]]}>"},
		{"#ttng.tensor_memory_scales_encoding<>", "#ttng.tensor_memory_scales_encoding<>"},
		{"#ttng.tensor_memory_scales_encoding<CTASplitM = 2>", "#ttng.tensor_memory_scales_encoding<CTASplitM = 2>"},
		{"#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 1, twoCTAs = true>", "#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 1, twoCTAs = true>"},
		{"!ttg.memdesc<2x4xf16, #ttg.shared_memory, #ttg.shared_memory, mutable, 3x2x4>", "!ttg.memdesc<2x4xf16, #ttg.shared_memory, #ttg.shared_memory, mutable, 3x2x4>"},
		{"!ttg.memdesc<2xf16, #ttg.shared_memory, #ttg.shared_memory, 4>", "!ttg.memdesc<2xf16, #ttg.shared_memory, #ttg.shared_memory, 4>"},
		{"!tt.tensordesc<tensor<8x8xsi8>>", "!tt.tensordesc<tensor<8x8xsi8>>"},
	} {
		ctx := newContext()
		a, err := text.ParseAttr(ctx, c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		got := text.AttrString(ctx, a)
		if got != c.want {
			t.Errorf("%s: printed as %s, want %s", c.in, got, c.want)
		}
		if b, err := text.ParseAttr(ctx, got); err != nil || b != a {
			t.Errorf("%s: %s reads as another attribute (%v)", c.in, got, err)
		}
	}
}

// A long list prints as hexadecimal and reads back as the same attribute.
func TestDenseHex(t *testing.T) {
	ctx := newContext()
	for _, elem := range []ir.Type{ctx.I1(), ctx.I8(), ctx.I32(), ctx.I64(), ctx.F16(), ctx.Index()} {
		values := make([]uint64, 128)
		for i := range values {
			values[i] = uint64(i*i) & 1
			if w := ir.BitWidth(elem); w > 1 {
				values[i] = uint64(i * 37 & 0xff)
			}
		}
		a := ctx.DenseElements(ctx.Tensor([]int64{2, 64}, elem, nil), values)
		s := text.AttrString(ctx, a)
		if !strings.HasPrefix(s, `dense<"0x`) {
			t.Errorf("%s: not hexadecimal: %.40s", text.TypeString(ctx, elem), s)
		}
		b, err := text.ParseAttr(ctx, s)
		if err != nil || b != ir.Attribute(a) {
			t.Errorf("%s: reads back as another attribute: %v", text.TypeString(ctx, elem), err)
		}
	}
}

// Texts are read and printed at the same time, each in its own context, from
// tables that they share.
func TestConcurrentTexts(t *testing.T) {
	for _, path := range irFiles(t, "testdata/law") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range sections(path, src) {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				if err := law(p); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A part of a module is printed with the names that it has in the whole.
func TestPrintPart(t *testing.T) {
	f := mustParse(t, "module {\n  tt.func @f(%x: i32) {\n    %0 = arith.addi %x, %x : i32\n    %1 = arith.muli %0, %x : i32\n    tt.return\n  }\n}\n")
	mul := f.Op.Body().First().Body().First().Next()
	if got := string(text.Append(nil, mul, text.Options{})); got != "%1 = arith.muli %0, %x : i32\n" {
		t.Errorf("got %q", got)
	}
}

// Blocks made without a location for their arguments print as unknown.
func TestMissingLocations(t *testing.T) {
	f := mustParse(t, "module {\n  tt.func @f() {\n    tt.return\n  }\n}\n")
	fn := f.Op.Body().First()
	fn.Body().AddArg(f.Op.Context().I32(), nil)
	fn.SetAttr("function_type", f.Op.Context().TypeAttr(f.Op.Context().Func([]ir.Type{f.Op.Context().I32()}, nil)))
	if got := text.String(f.Op); !strings.Contains(got, "@f(%arg0: i32 loc(unknown))") || strings.Count(got, "= loc(unknown)") != 1 {
		t.Errorf("got\n%s", got)
	}
}

// What the text says of no location gets its own; what it says stays.
func TestLocate(t *testing.T) {
	f := mustParse(t, `module {
  tt.func @f(%a: i32) -> i32 {
    %sum = arith.addi %a, %a : i32
    %1 = arith.muli %sum, %a : i32 loc(unknown)
      %2 = arith.subi %1, %a : i32 loc("k.py":5:6)
    tt.return %2 : i32
  }
}
`)
	before := text.String(f.Op)
	f.Locate()
	want := map[string]string{
		"builtin.module": "1:0", "tt.func": "2:2", "arith.addi": "3:11", "arith.muli": "", "arith.subi": "k.py:5:6", "tt.return": "6:4",
	}
	seen := 0
	ir.Walk(f.Op, func(op *ir.Operation) ir.WalkResult {
		got := ""
		if l := ir.FileLocOf(op.Loc()); l != nil {
			got = fmt.Sprintf("%d:%d", l.Line, l.Col)
			if l.File == "k.py" {
				got = "k.py:" + got
			}
		}
		if w, ok := want[op.Name()]; !ok || got != w {
			t.Errorf("%s is at %q, want %q", op.Name(), got, w)
		}
		seen++
		return ir.Advance
	})
	if seen != len(want) {
		t.Errorf("%d operations", seen)
	}
	if after := text.String(f.Op); strings.Count(after, "%sum") != strings.Count(before, "%sum") {
		t.Errorf("names are lost:\n%s", after)
	}
}
