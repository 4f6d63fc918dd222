package buffers

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// reach says into what pointers point, as far as it is known.
type reach int

const (
	unseen reach = iota // no way leads here
	small               // into buffers of less than 2 GiB
	large               // into buffers that arguments point to
	opaque              // anywhere
)

// reaches are those of the pointers of a function.
type reaches struct {
	of map[*ir.Value]reach
	// root is the argument that pointers into a small buffer all come from, and
	// severalRoots where there is more than one.
	root    map[*ir.Value]*ir.Value
	blocks  map[*ir.Region][]*ir.Block
	changed bool
	slice   *ir.OpDef // amdg.extract_slice
}

// severalRoots stands for more than one argument.
var severalRoots = new(ir.Value)

func newReaches() reaches {
	return reaches{
		of: map[*ir.Value]reach{}, root: map[*ir.Value]*ir.Value{}, blocks: map[*ir.Region][]*ir.Block{},
		slice: amdg.Dialect().Op("amdg.extract_slice"),
	}
}

// argument says where an argument of the function points.
func (r *reaches) argument(v *ir.Value, to reach) { r.of[v], r.root[v] = to, v }

// find follows pointers from the arguments that of has, going round until loops and
// branches have agreed.
func (r *reaches) find(f *ir.Operation) {
	for r.changed = true; r.changed; {
		r.changed = false
		r.region(f.Body().Region())
	}
}

// ordered are the blocks of a region that can be reached, each after those that
// dominate it.
func (r *reaches) ordered(region *ir.Region) []*ir.Block {
	list, ok := r.blocks[region]
	if !ok && region.First() != nil {
		list = ir.ReversePostorder(region)
		r.blocks[region] = list
	}
	return list
}

func (r *reaches) region(region *ir.Region) {
	for _, b := range r.ordered(region) {
		for op := range b.Ops() {
			r.operation(op)
		}
	}
}

// meet notes that pointers v may be pointers with.
func (r *reaches) meet(v, with *ir.Value) {
	r.meetReach(v, r.of[with])
	if root, old := r.root[with], r.root[v]; root != nil && old != root && old != severalRoots {
		if old != nil {
			root = severalRoots
		}
		r.root[v] = root
		r.changed = true
	}
}

func (r *reaches) meetReach(v *ir.Value, with reach) {
	old := r.of[v]
	if with == unseen || old == with || old == opaque || !isPointer(v.Type()) {
		return
	}
	if old != unseen {
		with = opaque
	}
	r.of[v] = with
	r.changed = true
}

// isPointer reports whether t is a pointer to elements or a tensor of such pointers.
func isPointer(t ir.Type) bool { return tt.PointeeOf(t) != nil && !tt.IsBlockPtr(t) }

// operation tells where op's results point, and the arguments of blocks that it gives
// values.
func (r *reaches) operation(op *ir.Operation) {
	switch {
	case op.Is(scf.For):
		r.all(scf.IterArgs(op), scf.Inits(op))
		r.region(scf.AsFor(op).Region())
		r.all(scf.IterArgs(op), forloop.Yield(op).OperandValues())
		r.all(op.Results(), scf.IterArgs(op))
	case op.Is(scf.While):
		loop := scf.AsWhile(op)
		before, after := loop.Before().First(), loop.After().First()
		r.all(before.Args(), loop.Inits())
		r.region(loop.Before())
		r.all(after.Args(), scf.AsCondition(before.Terminator()).Args())
		r.region(loop.After())
		r.all(before.Args(), after.Terminator().OperandValues())
		r.all(op.Results(), after.Args())
	case op.Is(scf.If):
		for _, region := range op.Regions() {
			if region.First() != nil {
				r.region(region)
				r.all(op.Results(), region.First().Terminator().OperandValues())
			}
		}
	case op.Is(cf.Br):
		r.all(op.Successor(0).Args(), op.OperandValues())
	case op.Is(cf.CondBr):
		branch := cf.AsCondBr(op)
		r.all(op.Successor(0).Args(), branch.TrueDestOperands())
		r.all(op.Successor(1).Args(), branch.FalseDestOperands())
	case op.Is(arith.Select):
		s := arith.AsSelect(op)
		r.meet(s.Result(), s.TrueValue())
		r.meet(s.Result(), s.FalseValue())
		if isTensor(s.Condition()) && (r.of[s.Result()] == large || r.root[s.Result()] == severalRoots) {
			r.meetReach(s.Result(), opaque) // each element would have a base of its own
		}
	case r.source(op) != nil:
		r.meet(op.OneResult(), r.source(op))
	default:
		for _, v := range op.Results() {
			r.meetReach(v, opaque)
		}
		for _, region := range op.Regions() {
			for _, b := range r.ordered(region) {
				for _, v := range b.Args() {
					r.meetReach(v, opaque)
				}
			}
			r.region(region)
		}
	}
}

func (r *reaches) all(to, from []*ir.Value) {
	for i, v := range to {
		r.meet(v, from[i])
	}
}

// source is what op makes pointers into the same buffers of; nil for operations that make
// none.
func (r *reaches) source(op *ir.Operation) *ir.Value {
	if op.NumResults() != 1 || !isPointer(op.OneResult().Type()) {
		return nil
	}
	switch op.Def() {
	case tt.AddPtr, tt.Splat, tt.Broadcast, tt.ExpandDims, tt.Reshape, tt.Trans:
		return tt.PointsInto(op)
	case ttg.ConvertLayout:
		return ttg.AsConvertLayout(op).Src()
	case r.slice:
		return amdg.AsExtractSlice(op).Source()
	}
	return nil
}

// isFat reports whether pointers are carried as a base and an offset.
func (r *reaches) isFat(v *ir.Value) bool {
	k := r.of[v]
	return k == small || k == large
}
