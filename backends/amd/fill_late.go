package amd

import (
	_ "embed" // the example is an archive of the tests, too

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

//go:embed testdata/tritonamdgpu-fill-late/example.txtar
var fillLateExample string

// fillLate has buffers that are filled outside of loops share memory where a program takes more
// LDS than its part, so that more programs run at once: a buffer is filled where it is first
// read, when those before it may have been read for the last time. Until then its values wait
// in registers, so it is done where they take few. It costs a barrier or two for each buffer,
// which a loop would have in every iteration.
var fillLate = &pass.Pass{
	Name: "tritonamdgpu-fill-late",
	Doc:  "fill buffers where they are read, if the program takes more LDS than its part",
	Options: []pass.Option{
		{Name: "part", Doc: "bytes of LDS that a program has while as many run at once as threads allow", Default: 0},
		{Name: "most", Doc: "bytes of LDS that a program may have: where it takes more, values wait in any number of registers, in loops, too; 0: no bound", Default: 0},
		lowered,
	},
	Example: fillLateExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts, facts.NoDescriptors, facts.NoTensorPointers},
	Run: func(r *pass.Run) error {
		c := chip.Of(r.Module.StringAttr(ttg.TargetAttr))
		if c == nil {
			c = &chip.GFX942
		}
		for _, m := range builtin.Modules(r.Module) {
			scratch, err := scratchOf(r, m, c)
			if err != nil {
				return err
			}
			before, err := allocation.Analyze(m, scratch, 0)
			if err != nil {
				return err
			}
			if before.Size() <= r.Int("part") {
				continue
			}
			fills, undo := moveFills(m, false)
			after, err := allocation.Analyze(m, scratch, 0)
			if err != nil {
				return err
			}
			if most := r.Int("most"); most > 0 && after.Size() > most {
				undo()
				fills, undo = moveFills(m, true)
				if after, err = allocation.Analyze(m, scratch, 0); err != nil {
					return err
				}
			}
			if after.Size() >= before.Size() {
				undo()
				continue
			}
			r.Count("moved", fills)
		}
		return nil
	},
}

// moveFills moves what fills buffers outside of loops to where these are first used, if it
// takes few words of each thread; or all that does. It returns how many it moved, and how to
// move them back.
func moveFills(m *ir.Operation, all bool) (moved int, undo func()) {
	var fills, next []*ir.Operation
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if !all && (op.Is(scf.For) || op.Is(scf.While)) {
			return ir.Skip
		}
		if user := firstUser(op); user != nil && user != op.Next() && (all || wordsIn(op) <= mostWaiting) {
			fills = append(fills, op)
		}
		return ir.Advance
	})
	for _, op := range fills {
		next = append(next, op.Next())
		op.MoveBefore(firstUser(op))
	}
	return len(fills), func() {
		for i := len(fills) - 1; i >= 0; i-- {
			fills[i].MoveBefore(next[i])
		}
	}
}

// mostWaiting is how many words of each thread may wait for a buffer: with 32 of them the dot
// of 64x64 f64 takes 132 registers instead of 89.
const mostWaiting = 8

// wordsIn is how many words of 32 bits of each thread op fills a buffer with.
func wordsIn(op *ir.Operation) int {
	t := tensors.Type(ttg.AsLocalAlloc(op).Src())
	return (tensors.Registers(t.Shape, encoding.AttrOf(t))*ir.BitWidth(t.Elem) + 31) / 32
}

// firstUser is the first operation of the block of op, which fills a buffer, that uses the
// buffer, or has one that does; nil of other operations, and if there is none.
func firstUser(op *ir.Operation) *ir.Operation {
	if !op.Is(ttg.LocalAlloc) || ttg.AsLocalAlloc(op).Src() == nil {
		return nil
	}
	var first *ir.Operation
	for u := range op.OneResult().Users() {
		u = forloop.AncestorIn(op.Block(), u)
		if u != nil && (first == nil || u.IsBeforeInBlock(first)) {
			first = u
		}
	}
	return first
}
