package membar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// A copy of a pipelined loop needs a barrier after the dot that was joined last if it goes to the part that
// this dot has read, or to one that is not known.
func TestRings(t *testing.T) {
	for _, c := range []struct {
		name string
		// read and copied are the counters before the loop, parts where they begin anew.
		read, copied, parts int
		// pending dots run on, less of which the copy's iteration starts.
		pending int
		step    int // of the counter of copies
		bar     bool
	}{
		{"another part", -1, 1, 3, 0, 1, false},
		{"two parts", -1, 0, 2, 0, 1, false},
		{"the same part", -1, 2, 3, 0, 1, true},
		{"the same part, in the first place", 1, 1, 3, 0, 1, true},
		{"the dot before has read it", -1, 1, 3, 1, 1, true},
		{"the dot before has not", -1, 1, 4, 1, 1, false},
		{"what runs on is two iterations old", -1, 1, 5, 2, 1, true},
		{"other steps", -1, 1, 3, 0, 2, true},
		{"begins elsewhere", -1, 7, 3, 0, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			join, bar := "join", ""
			if c.pending > 0 {
				join = fmt.Sprintf("join %d", c.pending)
			}
			if c.bar {
				bar = " {bar}"
			}
			next := func(name, carried, step string) string {
				return fmt.Sprintf(`%%%[1]s0 = arith.addi %%%[2]s, %[3]s : i32
				%%%[1]s1 = arith.cmpi sge, %%%[1]s0, %%parts : i32
				%%%[1]s = arith.select %%%[1]s1, %%zero, %%%[1]s0 : i32
				`, name, carried, step)
			}
			body := fmt.Sprintf("%%zero = arith.constant 0 : i32\n%%one = arith.constant 1 : i32\n%%step = arith.constant %d : i32\n"+
				"%%parts = arith.constant %d : i32\n%%e = arith.constant %d : i32\n%%w = arith.constant %d : i32\n", c.step, c.parts, c.read, c.copied) +
				"%a = ttg.local_alloc : () -> R\n" +
				"%r:2 = scf.for %i = %n to %n step %n iter_args(%e0 = %e, %w0 = %w) -> (i32, i32) : i32 {\n" +
				"ttg.async_wait {num = 0 : i32, after}\n" +
				next("read", "e0", "%one") + next("copied", "w0", "%step") +
				"%from = ttg.memdesc_index %a[%read] : R -> M256\n%to = ttg.memdesc_index %a[%copied] : R -> M256\n" +
				"ttg.local_dealloc %from {does = \"start\"} : M256\n" +
				"ttg.async_commit_group {does = \"" + join + "\"}\n" +
				"ttg.async_copy_global_to_local %p, %to" + bar + " : P256 -> <256xf32, #s, #smem, mutable>\n" +
				"scf.yield %read, %copied : i32, i32\n}\n"
			body = strings.ReplaceAll(body, "R ", fmt.Sprintf("!ttg.memdesc<%dx256xf32, #s, #smem, mutable> ", c.parts))
			body = strings.ReplaceAll(body, "R\n", fmt.Sprintf("!ttg.memdesc<%dx256xf32, #s, #smem, mutable>\n", c.parts))
			src := header + names.Replace("tt.func public @k(%x: T256, %p: P256, %n: i32) {\n"+body) + "tt.return\n}\n}\n"
			mod, err := text.Parse(dialect.NewContext(), "t.ttgir", []byte(src))
			if err != nil {
				t.Fatal(err, src)
			}
			alloc, err := allocation.Analyze(mod, scratch, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := membar.Analyze(mod, alloc, func(op *ir.Operation) (membar.Effects, bool) {
				if does := op.StringAttr("does"); does == "join 2" {
					return membar.Effects{Joins: true, Pending: 2}, true
				}
				return foreign(op)
			})
			ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
				if r.Before(op) != op.HasAttr("bar") || r.After(op) != op.HasAttr("after") {
					t.Errorf("%s: barrier before it %v, after it %v\n%s", op.Name(), r.Before(op), r.After(op), src)
				}
				return ir.Advance
			})
		})
	}
}

// A loop that stores to one part of a buffer what a later iteration reads needs one barrier in
// each, before the part that was read last is written, or before the part that was written
// last is read; two where a part is not known.
func TestCarriedRings(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts int
		// start is the counter before the loop, first and second the parts that it begins with.
		start, first, second int
		// read is the view that is read, and store says before what it is.
		read        string
		load, store bool
	}{
		{"two parts, the older is read", 2, 1, 0, 1, "%v", false, true},
		{"two parts, the newer is read", 2, 1, 0, 1, "%w", true, false},
		{"three parts, the oldest is read", 3, 1, 0, 1, "%v", false, true},
		{"one part", 1, 0, 0, 0, "%v", true, true},
		{"begins with another part", 2, 1, 1, 1, "%v", true, true},
		{"begins with parts changed", 2, 1, 1, 0, "%v", true, true},
		{"a counter that begins elsewhere", 2, 2, 0, 1, "%v", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			mark := map[bool]string{true: " {bar}"}
			body := fmt.Sprintf("%%zero = arith.constant 0 : i32\n%%one = arith.constant 1 : i32\n%%parts = arith.constant %d : i32\n%%s = arith.constant %d : i32\n", c.parts, c.start) +
				fmt.Sprintf("%%f = arith.constant %d : i32\n%%g = arith.constant %d : i32\n", c.first, c.second) +
				"%a = ttg.local_alloc : () -> R\n%v0 = ttg.memdesc_index %a[%f] : R -> M256\n%w0 = ttg.memdesc_index %a[%g] : R -> M256\n" +
				"%r:3 = scf.for %i = %n to %n step %n iter_args(%c = %s, %v = %v0, %w = %w0) -> (i32, M256, M256) : i32 {\n" +
				"%l = ttg.local_load " + c.read + mark[c.load] + " : M256 -> T256\n" +
				"%next = arith.addi %c, %one : i32\n%less = arith.cmpi slt, %next, %parts : i32\n%at = arith.select %less, %next, %zero : i32\n" +
				"%x1 = ttg.memdesc_index %a[%at] : R -> M256\n" +
				"ttg.local_store %x, %x1" + mark[c.store] + " : T256 -> M256\n" +
				"scf.yield %at, %w, %x1 : i32, M256, M256\n}\n"
			body = strings.ReplaceAll(body, "R ", fmt.Sprintf("!ttg.memdesc<%dx256xf32, #s, #smem, mutable> ", c.parts))
			body = strings.ReplaceAll(body, "R\n", fmt.Sprintf("!ttg.memdesc<%dx256xf32, #s, #smem, mutable>\n", c.parts))
			src := header + names.Replace("tt.func public @k(%x: T256, %n: i32) {\n"+body) + "tt.return\n}\n}\n"
			mod, err := text.Parse(dialect.NewContext(), "t.ttgir", []byte(src))
			if err != nil {
				t.Fatal(err, src)
			}
			alloc, err := allocation.Analyze(mod, scratch, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := membar.Analyze(mod, alloc, nil)
			ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
				if r.Before(op) != op.HasAttr("bar") {
					t.Errorf("%s: barrier before it %v\n%s", op.Name(), r.Before(op), src)
				}
				return ir.Advance
			})
		})
	}
}
