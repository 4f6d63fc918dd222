package ranges_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/ranges"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// last is the range of what a function returns; its arguments are n, k and b.
func last(t *testing.T, ops, returned string) ranges.Range {
	t.Helper()
	src := "tt.func public @f(%n: i32, %k: i32, %b: i1) -> " + returned + " {\n" + ops + "\n  tt.return %v : " + returned + "\n}"
	m, err := text.Parse(dialect.NewContext(), "test.mlir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	var v *ir.Value
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.Name() == "tt.return" {
			v = op.Operand(0)
		}
		return ir.Advance
	})
	return ranges.Analyze(m).Of(v)
}

const (
	consts = "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%c5 = arith.constant 5 : i32\n%c8 = arith.constant 8 : i32\n%m3 = arith.constant -3 : i32\n"
	rows   = "%r = tt.make_range {end = 72 : i32, start = 8 : i32} : tensor<64xi32>\n"
	small  = "%low = arith.cmpi sge, %n, %m3 : i32\n%high = arith.cmpi sgt, %c8, %n : i32\n%lh = arith.andi %low, %high : i1\nllvm.intr.assume %lh : i1\n"
)

// TestRules: small assumes -3 <= n < 8.
func TestRules(t *testing.T) {
	whole := ranges.Range{Low: math.MinInt32, High: math.MaxInt32}
	const greatest = math.MaxInt32
	for _, c := range []struct {
		name, ops string
		want      ranges.Range
	}{
		{"argument", "%v = arith.addi %n, %c0 : i32", whole},
		{"assumed", small + "%v = arith.addi %n, %c0 : i32", ranges.Range{Low: -3, High: 7}},
		{"assumed equal", "%e = arith.cmpi eq, %n, %c5 : i32\nllvm.intr.assume %e : i1\n%v = arith.addi %n, %n : i32", ranges.Range{Low: 10, High: 10}},
		{"assumed unsigned", "%e = arith.cmpi ult, %n, %c5 : i32\nllvm.intr.assume %e : i1\n%v = arith.addi %n, %c0 : i32", ranges.Range{Low: 0, High: 4}},
		{"unsigned remainder of any", "%v = arith.remui %n, %c5 : i32", ranges.Range{Low: 0, High: 4}},
		{"decided choice", small + "%d = arith.cmpi slt, %n, %c8 : i32\n%v = arith.select %d, %n, %k : i32", ranges.Range{Low: -3, High: 7}},
		{"assumed in a branch", "scf.if %b {\n%e = arith.cmpi eq, %n, %c5 : i32\nllvm.intr.assume %e : i1\n}\n%v = arith.addi %n, %c0 : i32", whole},
		{"sum", small + "%v = arith.addi %n, %c5 : i32", ranges.Range{Low: 2, High: 12}},
		{"difference", small + "%v = arith.subi %c5, %n : i32", ranges.Range{Low: -2, High: 8}},
		{"product", small + "%v = arith.muli %n, %m3 : i32", ranges.Range{Low: -21, High: 9}},
		{"wrapping product", "%p = tt.get_program_id x : i32\n%v = arith.muli %p, %c5 : i32", whole},
		{"program", "%v = tt.get_program_id x : i32", ranges.Range{Low: 0, High: greatest - 1}},
		{"remainder", "%p = tt.get_program_id x : i32\n%v = arith.remsi %p, %n : i32", ranges.Range{Low: 0, High: greatest - 1}},
		{"remainder of any", "%v = arith.remsi %n, %m3 : i32", ranges.Range{Low: -2, High: 2}},
		{"quotient", small + "%v = arith.divsi %n, %c5 : i32", ranges.Range{Low: -1, High: 1}},
		{"quotient by any", small + "%v = arith.divsi %c5, %n : i32", whole},
		{"unsigned quotient of any", "%v = arith.divui %n, %c5 : i32", whole},
		{"minimum", small + "%v = arith.minsi %k, %n : i32", ranges.Range{Low: math.MinInt32, High: 7}},
		{"maximum", small + "%v = arith.maxsi %k, %n : i32", ranges.Range{Low: -3, High: greatest}},
		{"mask", "%v = arith.andi %n, %c5 : i32", ranges.Range{Low: 0, High: 5}},
		{"bits", "%p = arith.andi %n, %c5 : i32\n%v = arith.ori %p, %c8 : i32", ranges.Range{Low: 0, High: 15}},
		{"shift", small + "%v = arith.shli %n, %c5 : i32", ranges.Range{Low: -96, High: 224}},
		{"shift right", small + "%v = arith.shrsi %n, %c1 : i32", ranges.Range{Low: -2, High: 3}},
		{"choice", small + "%v = arith.select %b, %n, %c8 : i32", ranges.Range{Low: -3, High: 8}},
		{"branch", small + "%v = scf.if %b -> i32 {\nscf.yield %n : i32\n} else {\nscf.yield %c8 : i32\n}", ranges.Range{Low: -3, High: 8}},
		{"truncated", "%w = arith.extsi %n : i32 to i64\n%v = arith.trunci %w : i64 to i32", whole},
		{"extended", "%w = arith.extui %n : i32 to i64\n%c = arith.constant 33 : i64\n%s = arith.shrui %w, %c : i64\n%v = arith.trunci %s : i64 to i32", ranges.Range{}},
		{"count", "%v = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %c0) -> (i32) : i32 {\nscf.yield %i : i32\n}", ranges.Range{Low: 0, High: 7}},
		{"steps", "%v = scf.for %i = %c0 to %c8 step %c5 iter_args(%a = %c1) -> (i32) : i32 {\n%s = arith.addi %a, %c5 : i32\nscf.yield %s : i32\n}", ranges.Range{Low: 1, High: 11}},
		{"steps down", "%v = scf.for %i = %c0 to %c8 step %c5 iter_args(%a = %c1) -> (i32) : i32 {\n%s = arith.subi %a, %c5 : i32\nscf.yield %s : i32\n}", ranges.Range{Low: -9, High: 1}},
		{"steps of a loop", "%v = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %c1) -> (i32) : i32 {\n%s = scf.for %j = %c0 to %c5 step %c1 iter_args(%d = %a) -> (i32) : i32 {\n%t = arith.addi %d, %j : i32\nscf.yield %t : i32\n}\nscf.yield %s : i32\n}", ranges.Range{Low: 1, High: 161}},
		{"steps by a condition", "%v = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %c1) -> (i32) : i32 {\n%s = scf.if %b -> (i32) {\n%t = arith.addi %a, %c5 : i32\nscf.yield %t : i32\n} else {\n%t = arith.addi %a, %m3 : i32\nscf.yield %t : i32\n}\nscf.yield %s : i32\n}", ranges.Range{Low: -23, High: 41}},
		{"steps of a loop without end", "%v = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %c1) -> (i32) : i32 {\n%s = scf.for %j = %c0 to %n step %c1 iter_args(%d = %a) -> (i32) : i32 {\n%t = arith.addi %d, %c1 : i32\nscf.yield %t : i32\n}\nscf.yield %s : i32\n}", whole},
		{"steps without end", "%v = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c1) -> (i32) : i32 {\n%s = arith.addi %a, %c5 : i32\nscf.yield %s : i32\n}", whole},
		{"carried", "%v = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c1) -> (i32) : i32 {\n%s = arith.muli %a, %c5 : i32\n%w = arith.remui %s, %c8 : i32\n%x = arith.andi %w, %c5 : i32\nscf.yield %x : i32\n}", ranges.Range{Low: 0, High: 5}},
		{"unchanged", small + "%v = scf.for %i = %c0 to %k step %c1 iter_args(%a = %n) -> (i32) : i32 {\nscf.yield %a : i32\n}", ranges.Range{Low: -3, High: 7}},
		{"assumed of several", "%g = arith.cmpi sge, %n, %c0 : i32\nllvm.intr.assume %g : i1\n%h = arith.cmpi sge, %k, %c0 : i32\nllvm.intr.assume %h : i1\n%v = arith.minsi %n, %k : i32", ranges.Range{Low: 0, High: greatest}},
		{"tested", small + "%v = scf.while (%a = %n) : (i32) -> i32 {\n%m = arith.minsi %a, %c5 : i32\nscf.condition(%b) %m : i32\n} do {\n^bb0(%a: i32):\nscf.yield %c8 : i32\n}", ranges.Range{Low: -3, High: 5}},
		{"two that swap", "%v, %o = scf.for %i = %c0 to %k step %c1 iter_args(%a = %c1, %d = %c8) -> (i32, i32) : i32 {\nscf.yield %d, %a : i32, i32\n}", whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := last(t, consts+c.ops, "i32"); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestCompare: what is decided holds of all pairs of numbers of the ranges, or of none.
func TestCompare(t *testing.T) {
	for pred := arith.EQ; pred <= arith.UGE; pred++ {
		for _, x := range smallRanges() {
			for _, y := range smallRanges() {
				some, all := false, true
				for a := x.Low; a <= x.High; a++ {
					for b := y.Low; b <= y.High; b++ {
						c := arith.CompareInts(pred, uint64(a)&15, uint64(b)&15, 4)
						some, all = some || c, all && c
					}
				}
				holds, known := x.Compare(pred, y)
				if known != (all || !some) || known && holds != all {
					t.Errorf("predicate %d of %v and %v: %t, %t", pred, x, y, holds, known)
				}
			}
		}
	}
}

// smallRanges are all ranges of numbers of four bits.
func smallRanges() (list []ranges.Range) {
	for low := int64(-8); low < 8; low++ {
		for high := low; high < 8; high++ {
			list = append(list, ranges.Range{Low: low, High: high})
		}
	}
	return list
}

// TestDoublings: a value that is the sum of one with itself, many times over, takes no
// longer for it.
func TestDoublings(t *testing.T) {
	ops := consts + "%v = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %c1) -> (i32) : i32 {\n%s0 = arith.muli %n, %k : i32\n"
	for i := range 200 {
		ops += fmt.Sprintf("%%s%d = arith.addi %%s%d, %%s%d : i32\n", i+1, i, i)
	}
	ops += "%t = arith.addi %s200, %a : i32\nscf.yield %t : i32\n}"
	if got := last(t, ops, "i32"); got != (ranges.Range{Low: math.MinInt32, High: math.MaxInt32}) {
		t.Errorf("%+v", got)
	}
}

// TestBranches: arguments of blocks are what branches give them.
func TestBranches(t *testing.T) {
	ops := consts + `cf.cond_br %b, ^bb1(%c5, %c8 : i32, i32), ^bb1(%c1, %m3 : i32, i32)
^bb1(%x: i32, %y: i32):
  cf.br ^bb2(%c0, %y : i32, i32)
^bb2(%z: i32, %w: i32):
  cf.cond_br %b, ^bb2(%x, %w : i32, i32), ^bb3
^bb3:
  %v = arith.addi %x, %z : i32`
	if got := last(t, ops, "i32"); got != (ranges.Range{Low: 1, High: 10}) {
		t.Errorf("%+v", got)
	}
}

// TestTensors: what only moves elements keeps their range.
func TestTensors(t *testing.T) {
	ops := consts + rows + `%x = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
%y = tt.broadcast %x : tensor<1x64xi32> -> tensor<2x64xi32>
%s = tt.splat %m3 : i32 -> tensor<2x64xi32>
%v = arith.addi %y, %s : tensor<2x64xi32>`
	if got := last(t, ops, "tensor<2x64xi32>"); got != (ranges.Range{Low: 5, High: 68}) {
		t.Errorf("%+v", got)
	}
	if got := last(t, "%v = arith.constant dense<[-2, 7, 3]> : tensor<3xi32>", "tensor<3xi32>"); got != (ranges.Range{Low: -2, High: 7}) {
		t.Errorf("%+v", got)
	}
}
