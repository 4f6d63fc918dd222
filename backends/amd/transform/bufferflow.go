package transform

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// bufferFlow is all that a buffer in LDS is known as.
type bufferFlow struct {
	buffers []*ir.Value // the buffer, parts of it, what loops and conditions carry
	filled  []*ir.Use   // the tensors that are stored
}

// flowOf follows a buffer both ways, to where it is made and to all that uses it; nil if
// something else than loads and stores of registers accesses it.
func flowOf(buffer *ir.Value) *bufferFlow {
	f, seen := &bufferFlow{}, map[*ir.Value]bool{}
	for list := []*ir.Value{buffer}; len(list) > 0; {
		v := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		f.buffers = append(f.buffers, v)
		from, ok := f.from(v)
		if !ok {
			return nil
		}
		list = append(list, from...)
		for u := range v.Uses() {
			to, ok := f.to(u)
			if !ok {
				return nil
			}
			list = append(list, to...)
		}
	}
	return f
}

// from are the buffers that v is, or is part of.
func (f *bufferFlow) from(v *ir.Value) ([]*ir.Value, bool) {
	if from, carried := carriedFrom(v); carried {
		return from, true
	}
	def := v.Def()
	switch {
	case def == nil:
		return nil, false
	case def.Is(ttg.MemDescIndex):
		return []*ir.Value{ttg.AsMemDescIndex(def).Src()}, true
	case def.Is(ttg.LocalAlloc):
		if src := ttg.AsLocalAlloc(def).Src(); src != nil {
			for u := range src.Uses() {
				if u.Owner() == def {
					f.filled = append(f.filled, u)
				}
			}
		}
		return nil, true
	}
	return nil, false
}

// to are the buffers that a use makes of one.
func (f *bufferFlow) to(u *ir.Use) ([]*ir.Value, bool) {
	op := u.Owner()
	switch {
	case op.Is(ttg.LocalLoad), op.Is(ttg.LocalDealloc):
		return nil, true
	case op.Is(ttg.LocalStore):
		f.filled = append(f.filled, ttg.AsLocalStore(op).SrcUse())
		return nil, true
	case op.Is(ttg.MemDescIndex):
		return []*ir.Value{op.OneResult()}, true
	case op.Is(scf.For):
		return []*ir.Value{scf.IterArg(op, scf.AsFor(op).InitArgsIndex(u))}, true
	case op.Is(scf.While):
		return []*ir.Value{scf.AsWhile(op).Before().First().Arg(u.Index())}, true
	case op.Is(scf.Condition):
		i, loop := scf.AsCondition(op).ArgsIndex(u), op.Parent()
		return []*ir.Value{scf.AsWhile(loop).After().First().Arg(i), loop.Result(i)}, true
	case op.Is(scf.Yield):
		i, parent := u.Index(), op.Parent()
		switch {
		case parent.Is(scf.For):
			return []*ir.Value{parent.Result(i), scf.IterArg(parent, i)}, true
		case parent.Is(scf.While):
			return []*ir.Value{scf.AsWhile(parent).Before().First().Arg(i)}, true
		case parent.Is(scf.If):
			return []*ir.Value{parent.Result(i)}, true
		}
	}
	return nil, false
}

// carriedFrom are the values that a loop or condition carries as v, and whether one does.
func carriedFrom(v *ir.Value) ([]*ir.Value, bool) {
	if def := v.Def(); def != nil {
		i := v.Index()
		switch {
		case def.Is(scf.If):
			var from []*ir.Value
			for _, r := range def.Regions() {
				if r.First() != nil {
					from = append(from, r.First().Terminator().OperandValues()[i])
				}
			}
			return from, true
		case def.Is(scf.For):
			return []*ir.Value{forloop.Yield(def).OperandValues()[i], scf.Inits(def)[i]}, true
		case def.Is(scf.While):
			return []*ir.Value{scf.AsCondition(scf.AsWhile(def).Before().First().Terminator()).Args()[i]}, true
		}
		return nil, false
	}
	block := v.Block()
	parent := block.Parent()
	switch {
	case parent.Is(scf.For) && v.Index() > 0:
		i := scf.CarriedIndex(v)
		return []*ir.Value{forloop.Yield(parent).OperandValues()[i], scf.Inits(parent)[i]}, true
	case parent.Is(scf.While):
		loop := scf.AsWhile(parent)
		if block == loop.Before().First() {
			return []*ir.Value{loop.After().First().Terminator().OperandValues()[v.Index()], loop.Inits()[v.Index()]}, true
		}
		return []*ir.Value{scf.AsCondition(loop.Before().First().Terminator()).Args()[v.Index()]}, true
	}
	return nil, false
}
