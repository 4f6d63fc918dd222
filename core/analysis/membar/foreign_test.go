package membar_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// effects are those of operations with an attribute "does", which stand for a
// target's.
var effects = map[string]membar.Effects{
	"init":   {Operands: []membar.Effect{membar.Writes | membar.Leader}},
	"expect": {Operands: []membar.Effect{membar.Writes | membar.Leader | membar.Sync}},
	"wait":   {Operands: []membar.Effect{membar.Reads | membar.Sync}},
	"in":     {Operands: []membar.Effect{membar.Writes | membar.Leader | membar.Async}},
	"out":    {Operands: []membar.Effect{membar.Reads | membar.Leader | membar.Async}},
	"copy":   {Operands: []membar.Effect{membar.Copies}},
	"ended":  {Waits: true},
	"fence":  {Fences: true},
	"drain":  {Drains: true},
	"map":    {Scratch: membar.Leader},
	"start":  {Operands: []membar.Effect{membar.Reads | membar.Async}},
	"run":    {Operands: []membar.Effect{membar.Reads | membar.Async}, Joins: true},
	"join":   {Joins: true},
	"join 1": {Joins: true, Pending: 1},
	"meet":   {Meets: true},
	"apart":  {Apart: true},
}

func foreign(op *ir.Operation) (membar.Effects, bool) {
	e, ok := effects[op.StringAttr("does")]
	return e, ok
}

// Each case is a body in which the operations before which a barrier is due
// carry {bar}, those before which a fence is, too, {fence}, those after which a
// barrier is {after}, and no others.
func TestForeign(t *testing.T) {
	const (
		barrier = "%b = ttg.local_alloc : () -> M1\n"
		buffer  = "%a = ttg.local_alloc : () -> M256\n"
	)
	on := func(does, buf, marks string) string {
		typ := "M256"
		if buf == "%b" {
			typ = "M1"
		}
		return "ttg.local_dealloc " + buf + " {does = \"" + does + "\"" + marks + "} : " + typ + "\n"
	}
	alone := func(does string) string { return "ttg.async_commit_group {does = \"" + does + "\"}\n" }
	load := func(marks string) string { return "ttg.local_load %a {" + marks + "} : M256 -> T256\n" }
	store := func(marks string) string { return "ttg.local_store %x, %a {" + marks + "} : T256 -> M256\n" }
	copyIn := func(marks string) string {
		return "ttg.async_copy_global_to_local %p, %a {" + marks + "} : P256 -> <256xf32, #s, #smem, mutable>\n"
	}
	// A wait, and a fence after it if that has marks.
	wait := func(marks, fence string) string {
		w := "ttg.async_wait {num = 0 : i32, " + marks + "}\n"
		if marks == "" {
			w = "ttg.async_wait {num = 0 : i32}\n"
		}
		if fence != "" {
			w += "ttg.async_commit_group {does = \"fence\", " + fence + "}\n"
		}
		return w
	}
	for name, body := range map[string]string{
		"threads copy": buffer + on("copy", "%a", "") + on("copy", "%a", "") +
			"ttg.async_commit_group {does = \"ended\", after}\n" + load("") + on("copy", "%a", ", bar"),
		"threads copy what was stored": buffer + store("") + on("copy", "%a", ", bar"),
		"a copy comes in": barrier + buffer +
			on("init", "%b", "") + on("expect", "%b", "") + on("in", "%a", "") + on("wait", "%b", ", bar") + load("") + on("init", "%b", ", bar"),
		"the barrier is known to the engine after a fence": barrier + buffer +
			on("init", "%b", "") + on("in", "%b", ", bar, fence") + on("wait", "%b", ""),
		"who waits needs no order with who is waited for": barrier + on("init", "%b", "") + "gpu.barrier\n" +
			on("expect", "%b", "") + on("wait", "%b", "") + on("wait", "%b", ""),
		"what was loaded is replaced": buffer + on("in", "%a", "") + load("") + on("in", "%a", ", bar"),
		"what was stored is replaced": buffer + store("") + on("in", "%a", ", bar, fence") + on("in", "%a", ""),
		"a fence of its own":          buffer + store("") + alone("fence") + on("out", "%a", ", bar"),
		"no fence":                    buffer + store("") + load("bar") + on("out", "%a", ", bar, fence"),
		"a barrier is not an end of reading": buffer + store("") + alone("fence") + on("out", "%a", ", bar") +
			"gpu.barrier\n" + alone("drain") + store("bar"),
		"drained after a barrier": buffer + on("out", "%a", "") + alone("drain") + "gpu.barrier\n" + store(""),
		"not drained":             buffer + on("out", "%a", "") + "gpu.barrier\n" + store("bar") + store("bar"),
		"the phase is seen by all before the next": barrier + on("init", "%b", "") +
			"scf.for %i = %n to %n step %n : i32 {\n" + on("expect", "%b", ", bar") + on("wait", "%b", "") + "} {bar}\n",
		"what all read is replaced":                  buffer + on("run", "%a", "") + store("bar"),
		"what all are reading is not to be replaced": buffer + on("start", "%a", "") + "gpu.barrier\n" + store("bar") + alone("join") + store("bar") + store("bar"),
		"all know only of their own part":            buffer + on("start", "%a", "") + alone("join") + store("bar") + store("bar"),
		"a barrier, then others know":                buffer + on("start", "%a", "") + alone("join") + "gpu.barrier\n" + store(""),
		"what all read was stored":                   buffer + store("") + on("start", "%a", ", bar, fence"),
		"a copy goes to another part": buffer + on("start", "%a", "") + on("in", "%a", "") + copyIn("") +
			alone("join") + copyIn("bar"),
		"one is left in flight": buffer + on("start", "%a", "") + on("start", "%a", "") + alone("join 1") + copyIn("bar") + copyIn("") +
			"gpu.barrier\n" + copyIn("") + alone("join") + copyIn("bar"),
		"copies in a loop follow the dot before": buffer + "scf.for %i = %n to %n step %n : i32 {\n" +
			wait("", "after") + on("start", "%a", "") + alone("join 1") + copyIn("bar") + copyIn("") + "}\n" +
			alone("join") + store("bar"),
		"a loop joins before it starts": buffer + "%t = ttg.async_commit_group\nscf.for %i = %n to %n step %n : i32 {\n" +
			wait("", "after") + alone("join") + on("start", "%a", "") + copyIn("bar") + "}\n",
		"what was stored before a loop is fenced before it": buffer + store("") +
			"scf.for %i = %n to %n step %n : i32 {\n" + on("run", "%a", "") + "} {bar, fence}\n",
		"what a loop stores is fenced in it": buffer + store("") +
			"scf.for %i = %n to %n step %n : i32 {\n" + on("run", "%a", ", bar, fence") + store("bar") + "}\n",
		"bulk copies and dots end apart": buffer + on("out", "%a", "") + on("start", "%a", "") + alone("join") + "gpu.barrier\n" +
			copyIn("bar") + alone("drain") + "gpu.barrier\n" + store(""),
		"the end of a store ends nothing else": buffer + on("start", "%a", "") + alone("drain") + "gpu.barrier\n" + store("bar"),
		"one barrier after a wait and its fence": buffer + copyIn("") + wait("", "after") + on("start", "%a", "") + alone("join") + copyIn("bar") +
			wait("after", "") + on("start", "%a", "") + alone("join") + copyIn("bar") +
			wait("after", "") + store("") + on("start", "%a", ", bar, fence"),
		"what is copied is fenced from bulk copies": buffer + copyIn("") + wait("after", "") + on("out", "%a", ", bar, fence"),
		"two maps": "ttg.async_commit_group {does = \"map\", scratch = 128 : i32}\nttg.async_commit_group {does = \"map\", scratch = 128 : i32}\n",
		"a map lies where a copy goes": "ttg.async_commit_group {does = \"map\", scratch = 128 : i32}\n" + buffer +
			on("in", "%a", ", bar, fence"),
		"a barrier of the target's":             buffer + store("") + alone("meet") + load("") + alone("meet") + store(""),
		"apart, one barrier is not enough":      buffer + alone("apart") + store("") + "gpu.barrier\n" + load("bar") + alone("apart"),
		"apart, two are":                        buffer + alone("apart") + store("") + "gpu.barrier\n" + alone("meet") + load("") + alone("apart"),
		"apart, one that is due counts for two": buffer + alone("apart") + store("") + load("bar") + store("bar") + alone("apart"),
		"together again after a barrier":        buffer + alone("apart") + store("") + "gpu.barrier\n" + alone("apart") + load(""),
		"together again after none":             buffer + alone("apart") + store("") + alone("apart") + load("bar"),
		"what was stored before going apart":    buffer + store("") + alone("apart") + "gpu.barrier\n" + load("bar") + alone("apart"),
		"met before going apart":                buffer + store("") + "gpu.barrier\n" + alone("apart") + load("") + "gpu.barrier\n" + alone("apart") + store(""),
		"a loop of four clusters": buffer + alone("apart") + "scf.for %i = %n to %n step %n : i32 {\n" +
			load("") + alone("meet") + "gpu.barrier\n" + store("") + "gpu.barrier\n" + "gpu.barrier\n" + "}\n" + alone("apart") + load(""),
		"a loop of three clusters": buffer + alone("apart") + "scf.for %i = %n to %n step %n : i32 {\n" +
			load("bar") + "gpu.barrier\n" + "gpu.barrier\n" + store("") + "gpu.barrier\n" + "}\n" + alone("apart") + load(""),
		"scratch memory, apart": alone("apart") + "%q = ttg.convert_layout %x {scratch = 2048 : i32} : T256 -> T256\n" +
			"%r = ttg.convert_layout %x {scratch = 2048 : i32, bar} : T256 -> T256\n" + alone("apart"),
		"scratch memory lies where a copy goes": "%q = ttg.convert_layout %x {scratch = 2048 : i32} : T256 -> T256\n" + buffer +
			on("in", "%a", ", bar, fence"),
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.ReplaceAll(names.Replace(body), "M1", "!ttg.memdesc<1xi64, #s, #smem, mutable>")
			src := header + names.Replace("tt.func public @k(%x: T256, %p: P256, %n: i32) {\n") + body + "tt.return\n}\n}\n"
			mod, err := text.Parse(dialect.NewContext(), "t.ttgir", []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			alloc, err := allocation.Analyze(mod, scratch, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := membar.Analyze(mod, alloc, foreign)
			ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
				if r.Before(op) != op.HasAttr("bar") || r.Fence(op) != op.HasAttr("fence") || r.After(op) != op.HasAttr("after") {
					t.Errorf("%s at %v: barrier %v, fence %v, after %v, want %v, %v and %v\n%s", op.Name(), ir.FileLocOf(op.Loc()),
						r.Before(op), r.Fence(op), r.After(op), op.HasAttr("bar"), op.HasAttr("fence"), op.HasAttr("after"), src)
				}
				return ir.Advance
			})
		})
	}
}
