package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// Multibuffer gives loops two of each buffer of a transfer, so that one is copied while the
// units compute on the other. They are made before the loop, and so alive throughout.
var Multibuffer = &pass.Pass{
	Name:    "npuir-multibuffer",
	Doc:     "double the buffers of loops that fit, one for every second iteration",
	Example: multibufferExample,
	Options: capacities,
	Run: func(r *pass.Run) error {
		var functions []*ir.Operation
		for op := range r.Module.Body().Ops() {
			if op.Is(linalg.Func) {
				functions = append(functions, op)
			}
		}
		for _, f := range functions {
			for loop := transferLoop(f); loop != nil; loop = transferLoop(f) {
				loop.SetAttr(MultibufferAttr, f.Context().I64Attr(1))
				made, err := fitting(r, f, loop)
				if err != nil {
					return err
				}
				if made != nil {
					f.Erase()
					f = made
				}
			}
		}
		return nil
	},
}

// fitting is a function with the buffers of a loop doubled, or where not all fit, those
// that are copied from or to global memory; nil if they do not fit either.
func fitting(r *pass.Run, f, loop *ir.Operation) (*ir.Operation, error) {
	all := transferred(loop)
	global := slices.DeleteFunc(slices.Clone(all), func(op *ir.Operation) bool { return !global(op) })
	for _, buffers := range [][]*ir.Operation{all, global} {
		m := ir.NewMapping()
		made := f.Clone(m)
		f.Block().InsertBefore(made, f)
		in := make([]*ir.Operation, len(buffers))
		for i, op := range buffers {
			in[i] = m.Lookup(op.OneResult()).Def()
		}
		doubled(m.Lookup(scf.InductionVar(loop)).Block().Parent(), in)
		fits, err := fitsIn(r, made)
		if fits || err != nil {
			return made, err
		}
		made.Erase()
		if len(global) == len(all) {
			break
		}
	}
	return nil, nil
}

// fitsIn reports whether the buffers of a function fit in the memories.
func fitsIn(r *pass.Run, f *ir.Operation) (bool, error) {
	buffers, err := lives(r, f)
	if err != nil {
		return false, err
	}
	for _, space := range []Space{UB, L1, L0A, L0B, L0C} {
		if place(r, space, buffers) != nil {
			return false, nil //nolint:nilerr // what place has to say is that they do not fit
		}
	}
	return true, nil
}

// MultibufferAttr is the attribute of a loop that npuir-multibuffer has seen: how many
// there are of its buffers.
const MultibufferAttr = "npuir.multibuffer"

// GuardAttr is the attribute of a conditional of a loop that runs in all iterations but
// the last ones. Its number is that of the condition. Where it does not run, its other block
// accesses nothing.
const GuardAttr = "npuir.guard"

// transferLoop is the first of the innermost loops whose bodies copy between buffers of
// their own and global memory that was not seen yet; nil if there is none.
func transferLoop(f *ir.Operation) (found *ir.Operation) {
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(scf.For) && len(transferred(op)) > 0 && !op.HasAttr(MultibufferAttr) && !slices.ContainsFunc(nested(op), func(in *ir.Operation) bool {
			return in.HasAttr(MultibufferAttr) || len(transferred(in)) > 0
		}) {
			found = op
			return ir.Stop
		}
		return ir.Advance
	})
	return found
}

// nested are the loops in a loop.
func nested(loop *ir.Operation) []*ir.Operation {
	var out []*ir.Operation
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op != loop && (op.Is(scf.For) || op.Is(scf.While)) {
			out = append(out, op)
		}
		return ir.Advance
	})
	return out
}

// transferred are the buffers of a loop's body that are doubled: those that are copied
// from or to global memory, and those of l0a and l0b. There are none where nothing is copied
// from or to global memory.
func transferred(loop *ir.Operation) []*ir.Operation {
	if !loop.Is(scf.For) {
		return nil
	}
	var out []*ir.Operation
	copies := false
	for op := range loop.Body().Ops() {
		if !op.Is(linalg.Alloc) {
			continue
		}
		space, _ := SpaceOf(op.Context(), op.OneResult().Type())
		if global(op) || space == L0A || space == L0B {
			out = append(out, op)
		}
		copies = copies || global(op)
	}
	if !copies {
		return nil
	}
	return out
}

// global reports whether a buffer is copied from or to global memory.
func global(buffer *ir.Operation) bool {
	return slices.ContainsFunc(accesses(buffer.OneResult()), func(user *ir.Operation) bool {
		p := PipeOf(user)
		return p == PipeMTE2 || p == PipeMTE3
	})
}

// The numbers of guards: the second half of a doubled iteration, and what is done early for
// the first half of the next one.
const (
	guardSecond = 1
	guardNext   = 2
)

// doubled makes a loop anew that does two iterations in one, the second where there is one,
// each with its own buffers of a list. What can be done early is: the buffers of an iteration are
// filled before the one before it computes.
func doubled(loop *ir.Operation, buffers []*ir.Operation) {
	b := ir.NewBuilder(loop.Context())
	b.At(loop)
	step := scf.Step(loop)
	twice := arith.Binary(b, arith.AddI, step, step)
	halves := make(map[*ir.Operation][2]*ir.Value)
	for _, op := range buffers {
		t := op.OneResult().Type()
		halves[op] = [2]*ir.Value{b.Op(linalg.Alloc, nil, t).OneResult(), b.Op(linalg.Alloc, nil, t).OneResult()}
	}
	early := newAhead(loop, buffers)
	// guarded runs f in a conditional that holds where an iteration is one of the loop.
	guarded := func(induction *ir.Value, guard int64, f func()) {
		is := scf.NewIf(b, arith.Compare(b, arith.CmpI, arith.SLT, induction, scf.UpperBound(loop)), guard > 0)
		if guard > 0 {
			is.SetAttr(GuardAttr, loop.Context().I64Attr(guard))
		}
		at := b.Save()
		b.SetToEnd(scf.AsIf(is).ThenRegion().First())
		f()
		scf.NewYield(b)
		if guard > 0 {
			b.SetToEnd(scf.AsIf(is).ElseRegion().First())
			scf.NewYield(b)
		}
		b.Restore(at)
	}
	if early != nil {
		guarded(scf.LowerBound(loop), 0, func() {
			early.at(b, scf.LowerBound(loop), scf.Inits(loop)).fill(halves, 0)
		})
	}
	made := scf.NewFor(b, scf.LowerBound(loop), scf.UpperBound(loop), twice, scf.Inits(loop)...)
	for _, a := range loop.Attrs() {
		made.SetAttr(a.Name, a.Attr)
	}
	made.SetAttr(MultibufferAttr, loop.Context().I64Attr(2))

	// body clones the body with one of the two of each buffer, and returns what it yields.
	body := func(half int, args []*ir.Value) []*ir.Value {
		m := ir.NewMapping()
		for i, v := range loop.Body().Args() {
			m.Map(v, args[i])
		}
		end := loop.Body().Terminator()
		for op := range loop.Body().Ops() {
			if buffers, ok := halves[op]; ok {
				m.Map(op.OneResult(), buffers[half])
			} else if op != end && (early == nil || !slices.Contains(early.roots, op)) {
				b.Insert(op.Clone(m))
			}
		}
		out := make([]*ir.Value, end.NumOperands())
		for i, v := range end.Operands() {
			out[i] = m.Lookup(v)
		}
		b.Loc = end.Loc()
		return out
	}
	b.SetToEnd(made.Body())
	induction, args := scf.InductionVar(made), scf.IterArgs(made)
	next := arith.Binary(b, arith.AddI, induction, step)
	if early != nil {
		guarded(next, guardSecond, func() {
			early.at(b, next, early.at(b, induction, args).next()).fill(halves, 1)
		})
	}
	first := body(0, made.Body().Args())
	if early != nil {
		after := arith.Binary(b, arith.AddI, next, step)
		guarded(after, guardNext, func() {
			second := early.at(b, next, early.at(b, induction, args).next())
			early.at(b, after, second.next()).fill(halves, 0)
		})
	}
	more := arith.Compare(b, arith.CmpI, arith.SLT, next, scf.UpperBound(made))
	second := scf.NewIf(b, more, true, types(first)...)
	second.SetAttr(GuardAttr, loop.Context().I64Attr(guardSecond))
	v := scf.AsIf(second)
	b.SetToEnd(v.ThenRegion().First())
	scf.NewYield(b, body(1, append([]*ir.Value{next}, first...))...)
	b.SetToEnd(v.ElseRegion().First())
	scf.NewYield(b, first...)
	b.SetToEnd(made.Body())
	scf.NewYield(b, second.Results()...)
	loop.ReplaceAllUsesWith(made.Results()...)
	loop.Erase()
}
