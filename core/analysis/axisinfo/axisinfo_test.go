package axisinfo_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

func parse(t *testing.T, src string) *ir.Operation {
	t.Helper()
	m, err := text.Parse(dialect.NewContext(), "test.mlir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// body puts operations into a function whose arguments are p and q (aligned to
// 16), u (not aligned), n (a multiple of 16), k and b.
func body(ops string) string {
	return `tt.func public @f(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %u: !tt.ptr<f32>, ` +
		`%n: i32 {tt.divisibility = 16 : i32}, %k: i32, %b: i1) {
` + ops + `
  tt.return
}`
}

const (
	r128 = "%r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>\n"
	ns   = "%ns = tt.splat %n : i32 -> tensor<128xi32>\n"
	ks   = "%ks = tt.splat %k : i32 -> tensor<128xi32>\n"
)

// The value named v, or the last operation's, has these numbers.
func TestRules(t *testing.T) {
	for _, tt := range []struct{ name, ops, want string }{
		{"range", "%v = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>", "contiguity = [128], divisibility = [1073741824], constancy = [1], constant_value = <none>"},
		{"range from 8", "%v = tt.make_range {end = 40 : i32, start = 8 : i32} : tensor<32xi32>", "contiguity = [32], divisibility = [8], constancy = [1], constant_value = <none>"},
		{"constant", "%v = arith.constant dense<24> : tensor<128xi32>", "contiguity = [1], divisibility = [8], constancy = [128], constant_value = 24"},
		{"scalar constant", "%v = arith.constant 24 : i32", "contiguity = [1], divisibility = [8], constancy = [1], constant_value = 24"},
		{"not a splat", "%v = arith.constant dense<[16, 32]> : tensor<2xi32>", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"splat", "%v = tt.splat %n : i32 -> tensor<128xi32>", "contiguity = [1], divisibility = [16], constancy = [128], constant_value = <none>"},
		{"sum", r128 + ns + "%v = arith.addi %ns, %r : tensor<128xi32>", "contiguity = [128], divisibility = [16], constancy = [1], constant_value = <none>"},
		{"difference", r128 + ns + "%v = arith.subi %r, %ns : tensor<128xi32>", "contiguity = [128], divisibility = [16], constancy = [1], constant_value = <none>"},
		{"difference the other way", r128 + ns + "%v = arith.subi %ns, %r : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"constant sum", "%a = arith.constant dense<2147483647> : tensor<4xi32>\n%v = arith.addi %a, %a : tensor<4xi32>", "contiguity = [1], divisibility = [2], constancy = [4], constant_value = -2"},
		{"pointer", r128 + "%s = tt.splat %q : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>\n%v = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32>", "contiguity = [128], divisibility = [16], constancy = [1], constant_value = <none>"},
		{"scaled offset", "%v = tt.addptr %q, %k : !tt.ptr<f32>, i32", "contiguity = [1], divisibility = [4], constancy = [1], constant_value = <none>"},
		{"product", r128 + ns + "%v = arith.muli %r, %ns : tensor<128xi32>", "contiguity = [1], divisibility = [16], constancy = [1], constant_value = <none>"},
		{"product with 1", r128 + "%o = arith.constant dense<1> : tensor<128xi32>\n%v = arith.muli %o, %r : tensor<128xi32>", "contiguity = [128], divisibility = [1073741824], constancy = [1], constant_value = <none>"},
		{"product with 0", "%z = arith.constant 0 : i32\n%v = arith.muli %k, %z : i32", "contiguity = [1], divisibility = [4611686018427387904], constancy = [1], constant_value = 0"},
		{"least", "%v = arith.constant -9223372036854775808 : i64", "contiguity = [1], divisibility = [4611686018427387904], constancy = [1], constant_value = -9223372036854775808"},
		{"quotient", r128 + "%c = arith.constant dense<16> : tensor<128xi32>\n%v = arith.divsi %r, %c : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [16], constant_value = <none>"},
		{"quotient of multiples", ns + "%c = arith.constant dense<4> : tensor<128xi32>\n%v = arith.divui %ns, %c : tensor<128xi32>", "contiguity = [1], divisibility = [4], constancy = [128], constant_value = <none>"},
		{"remainder", r128 + ns + "%v = arith.remsi %r, %ns : tensor<128xi32>", "contiguity = [16], divisibility = [16], constancy = [1], constant_value = <none>"},
		{"remainder by 1", "%o = arith.constant 1 : i32\n%v = arith.remui %k, %o : i32", "contiguity = [1], divisibility = [4611686018427387904], constancy = [1], constant_value = 0"},
		{"division by zero", "%o = arith.constant 1 : i32\n%z = arith.constant 0 : i32\n%v = arith.divsi %o, %z : i32", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"shift left", ns + "%c = arith.constant dense<3> : tensor<128xi32>\n%v = arith.shli %ns, %c : tensor<128xi32>", "contiguity = [1], divisibility = [128], constancy = [128], constant_value = <none>"},
		{"shift by what is unknown", ns + ks + "%v = arith.shli %ns, %ks : tensor<128xi32>", "contiguity = [1], divisibility = [16], constancy = [128], constant_value = <none>"},
		{"shift right", ns + "%c = arith.constant dense<3> : tensor<128xi32>\n%v = arith.shrsi %ns, %c : tensor<128xi32>", "contiguity = [1], divisibility = [2], constancy = [128], constant_value = <none>"},
		{"maximum", r128 + ns + "%v = arith.maxsi %r, %ns : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"mask", r128 + ns + "%v = arith.cmpi slt, %r, %ns : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [16], constant_value = <none>"},
		{"mask, the other side", r128 + ns + "%v = arith.cmpi sgt, %ns, %r : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [16], constant_value = <none>"},
		{"not a run", r128 + ns + "%v = arith.cmpi sle, %r, %ns : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"mask of an odd bound", r128 + ks + "%v = arith.cmpi slt, %r, %ks : tensor<128xi32>", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"both masks", r128 + ns + "%m = arith.cmpi slt, %r, %ns : tensor<128xi32>\n%v = arith.andi %m, %m : tensor<128xi1>", "contiguity = [1], divisibility = [1], constancy = [16], constant_value = <none>"},
		{"choice", r128 + ns + "%m = arith.cmpi slt, %r, %ns : tensor<128xi32>\n%s = arith.addi %r, %ns : tensor<128xi32>\n%v = arith.select %m, %r, %s : tensor<128xi1>, tensor<128xi32>", "contiguity = [16], divisibility = [16], constancy = [1], constant_value = <none>"},
		{"cast and back", r128 + "%s = builtin.unrealized_conversion_cast %r : tensor<128xi32> to !llvm.struct<(i32, i32)>\n%v = builtin.unrealized_conversion_cast %s : !llvm.struct<(i32, i32)> to tensor<128xi32>", "contiguity = [128], divisibility = [1073741824], constancy = [1], constant_value = <none>"},
		{"cast to other dimensions", r128 + "%v = builtin.unrealized_conversion_cast %r : tensor<128xi32> to tensor<8x16xi32>", "contiguity = [1, 1], divisibility = [1, 1], constancy = [1, 1], constant_value = <none>"},
		{"known choice", r128 + ns + "%m = arith.constant true\n%v = arith.select %m, %r, %ns : tensor<128xi32>", "contiguity = [128], divisibility = [1073741824], constancy = [1], constant_value = <none>"},
		{"equal choices", r128 + ks + "%a = arith.constant dense<42> : tensor<128xi32>\n%m = arith.cmpi slt, %r, %ks : tensor<128xi32>\n%v = arith.select %m, %a, %a : tensor<128xi1>, tensor<128xi32>", "contiguity = [1], divisibility = [2], constancy = [128], constant_value = 42"},
		{"true is all ones when extended by sign", "%m = arith.constant true\n%v = arith.extsi %m : i1 to i32", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = -1"},
		{"unsigned extension", "%m = arith.constant -1 : i8\n%v = arith.extui %m : i8 to i32", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = 255"},
		{"truncation", "%m = arith.constant 511 : i32\n%v = arith.trunci %m : i32 to i8", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = -1"},
		{"expand", r128 + "%v = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>", "contiguity = [128, 1], divisibility = [1073741824, 1], constancy = [1, 1], constant_value = <none>"},
		{"broadcast", r128 + "%e = tt.expand_dims %r {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>\n%v = tt.broadcast %e : tensor<1x128xi32> -> tensor<64x128xi32>", "contiguity = [1, 128], divisibility = [1, 1073741824], constancy = [64, 1], constant_value = <none>"},
		{"transposed", r128 + "%e = tt.expand_dims %r {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>\n%v = tt.trans %e {order = array<i32: 1, 0>} : tensor<1x128xi32> -> tensor<128x1xi32>", "contiguity = [128, 1], divisibility = [1073741824, 1], constancy = [1, 1], constant_value = <none>"},
		{"loaded", r128 + "%c = arith.constant dense<16> : tensor<128xi32>\n%o = arith.divsi %r, %c : tensor<128xi32>\n%s = tt.splat %u : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>\n%a = tt.addptr %s, %o : tensor<128x!tt.ptr<f32>>, tensor<128xi32>\n%i = tt.bitcast %a : tensor<128x!tt.ptr<f32>> -> tensor<128x!tt.ptr<i32>>\n%v = tt.load %i : tensor<128x!tt.ptr<i32>>", "contiguity = [1], divisibility = [1], constancy = [16], constant_value = <none>"},
		{"program", "%v = tt.get_program_id x : i32", "contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>"},
		{"hint", ks + "%v = arith.muli %ks, %ks {tt.constancy = dense<4> : tensor<1xi32>, tt.contiguity = dense<8> : tensor<1xi32>, tt.divisibility = dense<32> : tensor<1xi32>} : tensor<128xi32>", "contiguity = [8], divisibility = [32], constancy = [4], constant_value = <none>"},
		{"runs cut short lose alignment", r128 + "%h = arith.muli %ks, %ks {tt.constancy = dense<4> : tensor<1xi32>} : tensor<128xi32>\n%v = arith.addi %r, %h : tensor<128xi32>", "contiguity = [4], divisibility = [1], constancy = [1], constant_value = <none>"},
		{
			"carried by a loop", "%z = arith.constant 0 : i32\n" + r128 + ns +
				"%l = scf.for %i = %z to %k step %n iter_args(%a = %r) -> (tensor<128xi32>) : i32 {\n%v = arith.addi %a, %ns : tensor<128xi32>\nscf.yield %v : tensor<128xi32>\n}",
			"contiguity = [128], divisibility = [16], constancy = [1], constant_value = <none>",
		},
		{
			"induction variable", "%z = arith.constant 0 : i32\n%s = arith.constant 8 : i32\nscf.for %i = %z to %k step %s : i32 {\n%v = arith.muli %i, %n : i32\n}",
			"contiguity = [1], divisibility = [128], constancy = [1], constant_value = <none>",
		},
		{
			"a loop that spoils alignment", "%z = arith.constant 0 : i32\n%o = arith.constant 1 : i32\n%l = scf.for %i = %z to %k step %o iter_args(%a = %n) -> (i32) : i32 {\n%x = arith.addi %a, %o : i32\nscf.yield %x : i32\n}\n%v = arith.muli %l, %o : i32",
			"contiguity = [1], divisibility = [1], constancy = [1], constant_value = <none>",
		},
		{
			"either branch", "%c = arith.constant 24 : i32\n%w = scf.if %b -> (i32) {\nscf.yield %n : i32\n} else {\nscf.yield %c : i32\n}\n%o = arith.constant 1 : i32\n%v = arith.muli %w, %o : i32",
			"contiguity = [1], divisibility = [8], constancy = [1], constant_value = <none>",
		},
		{
			"while", "%c = arith.constant 4 : i32\n%w = scf.while (%a = %n) : (i32) -> i32 {\nscf.condition(%b) %a : i32\n} do {\n^bb0(%x: i32):\n%y = arith.addi %x, %c : i32\nscf.yield %y : i32\n}\n%o = arith.constant 1 : i32\n%v = arith.muli %w, %o : i32",
			"contiguity = [1], divisibility = [4], constancy = [1], constant_value = <none>",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := tt.ops
			if strings.Contains(src, "%ks,") && !strings.Contains(src, "%ks =") {
				src = ks + src
			}
			m := parse(t, body(src))
			report := axisinfo.Analyze(m).Report(m)
			for line := range strings.Lines(report) {
				if strings.HasPrefix(line, "%v ") {
					if _, got, _ := strings.Cut(strings.TrimSpace(line), "=> "); got != tt.want {
						t.Errorf("got  %s\nwant %s", got, tt.want)
					}
					return
				}
			}
			t.Errorf("nothing known of %%v:\n%s", report)
		})
	}
}

// A private function knows what its callers hand it; a recursive one does not.
func TestCalls(t *testing.T) {
	m := parse(t, `module {
tt.func private @callee(%x: i32, %y: i32) {
  %v = arith.addi %x, %y : i32
  tt.return
}
tt.func private @recursive(%x: i32) {
  %w = arith.addi %x, %x : i32
  tt.call @recursive(%w) : (i32) -> ()
  tt.return
}
tt.func public @f(%n: i32 {tt.divisibility = 16 : i32}) {
  %a = arith.constant 32 : i32
  %b = arith.constant 24 : i32
  tt.call @callee(%n, %a) : (i32, i32) -> ()
  tt.call @callee(%b, %n) : (i32, i32) -> ()
  tt.call @recursive(%n) : (i32) -> ()
  tt.return
}
}`)
	report := axisinfo.Analyze(m).Report(m)
	for _, want := range []string{
		"%v arith.addi => contiguity = [1], divisibility = [8]",
		"%w arith.addi => contiguity = [1], divisibility = [1]",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("no line %q in\n%s", want, report)
		}
	}
}

// Blocks join what their predecessors hand them, also around a loop.
func TestBlocks(t *testing.T) {
	m := parse(t, `
tt.func public @f(%n: i32 {tt.divisibility = 16 : i32}, %b: i1) {
  %c = arith.constant 8 : i32
  cf.cond_br %b, ^bb1(%n : i32), ^bb2(%n : i32)
^bb1(%x: i32):
  %v = arith.addi %x, %c : i32
  cf.cond_br %b, ^bb1(%v : i32), ^bb2(%c : i32)
^bb2(%y: i32):
  %w = arith.addi %y, %y : i32
  tt.return
}`)
	report := axisinfo.Analyze(m).Report(m)
	for _, want := range []string{"%v arith.addi => contiguity = [1], divisibility = [8]", "%w arith.addi => contiguity = [1], divisibility = [8]"} {
		if !strings.Contains(report, want) {
			t.Errorf("no line %q in\n%s", want, report)
		}
	}
}

// What the lowering asks: elements at once, and neighbours with one mask bit.
func TestQueries(t *testing.T) {
	m := parse(t, `
#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module {
tt.func public @f(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 2 : i32}) {
  %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #b>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<512x!tt.ptr<f16>, #b>
  %a = tt.addptr %s, %r : tensor<512x!tt.ptr<f16>, #b>, tensor<512xi32, #b>
  %ns = tt.splat %n : i32 -> tensor<512xi32, #b>
  %m = arith.cmpi slt, %r, %ns : tensor<512xi32, #b>
  %o = tt.addptr %s, %ns : tensor<512x!tt.ptr<f16>, #b>, tensor<512xi32, #b>
  %x = tt.load %a, %m : tensor<512x!tt.ptr<f16>, #b>
  tt.return
}
}`)
	r := axisinfo.Analyze(m)
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.NumResults() == 0 {
			return ir.Advance
		}
		v := op.Result(0)
		switch ir.NameOf(v.Loc()) {
		case "a":
			if a, b := r.Vector(v), r.Aligned(v, 0); a != 4 || b != 8 {
				t.Errorf("consecutive pointers: vector %d, aligned %d", a, b)
			}
		case "o":
			if a := r.Vector(v); a != 1 {
				t.Errorf("equal pointers: vector %d", a)
			}
		case "m":
			if a := r.MaskRun(v); a != 2 {
				t.Errorf("mask run %d", a)
			}
		}
		return ir.Advance
	})
}
