package tasks

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// operandDims is how the operands of op are divided so that each part makes the results
// divided along dim, or writes that part of memory; nil if op cannot be divided.
func (p *division) operandDims(op *ir.Operation, dim int) []int {
	dims := slices.Repeat([]int{dim}, op.NumOperands())
	set := func(u *ir.Use, d int) { dims[u.Index()] = d }
	switch {
	case dim == partial:
		for i, v := range op.Operands() {
			if d, ok := p.of[v]; !ok || d != partial {
				dims[i] = whole
			}
		}
		if ttng.Is(op, "warp_group_dot") {
			d := ttng.AsWarpGroupDot(op)
			set(d.AUse(), 1)
			set(d.BUse(), 0)
		}
	case ttng.Is(op, "warp_group_dot"):
		d := ttng.AsWarpGroupDot(op)
		if dim == 0 {
			set(d.BUse(), whole)
		} else {
			set(d.AUse(), whole)
		}
	case op.Is(tt.ExpandDims):
		if axis := int(tt.AsExpandDims(op).Axis()); axis == dim {
			return nil
		} else if axis < dim {
			dims[0]--
		}
	case op.Is(tt.Trans), op.Is(ttg.MemDescTrans):
		var order []int64
		if op.Is(tt.Trans) {
			order = tt.AsTrans(op).Order()
		} else {
			order = ttg.AsMemDescTrans(op).Order()
		}
		if dim >= len(order) {
			return nil
		}
		dims[0] = int(order[dim])
	case op.Is(tt.DescriptorLoad):
		load := tt.AsDescriptorLoad(op)
		if len(ttg.ShapeOf(load.Desc().Type())) != len(tensors.Type(load.Result()).Shape) {
			return nil
		}
		for i := range dims {
			dims[i] = whole
		}
		set(load.DescUse(), dim)
	case op.Is(tt.MakeRange), op.Is(tt.MakeTensorDesc), ttng.Is(op, "reinterpret_tensor_descriptor"):
		for i := range dims {
			dims[i] = whole
		}
	case op.Is(arith.Constant):
		_, splat := splatOf(op)
		if !splat {
			return nil
		}
	case op.Def().Has(ir.Elementwise) && op.NumRegions() == 0, op.Is(ttg.ConvertLayout), op.Is(tt.Splat), op.Is(tt.Broadcast),
		op.Is(tt.Load), op.Is(ttg.LocalAlloc), isSink(op):
	default:
		return nil
	}
	return dims
}

// splatOf is the constant of a tensor of equal elements.
func splatOf(op *ir.Operation) (*ir.DenseElementsAttr, bool) {
	a, ok := op.ConstantValue().(*ir.DenseElementsAttr)
	return a, ok && a.IsSplat()
}

// keepsSums reports whether op makes of parts of a sum parts of what it makes of the sum,
// apart from rounding.
func keepsSums(op *ir.Operation) bool {
	return op.Is(ttg.ConvertLayout) || op.Is(arith.TruncF) || op.Is(arith.ExtF)
}

// divider carries out a division.
type divider struct {
	*division
	b     *ir.Builder
	parts map[partKey]*ir.Value
	// places are the numbers, among what a loop carries, of parts of what it carries.
	places  map[partKey]int
	divided map[*ir.Operation]bool // operations with parts
}

type partKey struct {
	dividedValue
	part int
}

func newDivider(c *ir.Context, p *division) *divider {
	return &divider{
		division: p, b: ir.NewBuilder(c), parts: make(map[partKey]*ir.Value),
		places: make(map[partKey]int), divided: make(map[*ir.Operation]bool),
	}
}

// divide puts parts in the place of the sinks.
func (d *divider) divide() {
	for _, op := range d.sinks {
		for k := range d.n {
			d.clone(op, d.along[op], k)
		}
		op.Erase()
		delete(d.divided, op)
	}
}

// part is part k of v along dim; v itself where all parts are the same.
func (d *divider) part(v *ir.Value, dim, k int) *ir.Value {
	if dim == whole || dim != partial && !d.divides(v, dim) {
		return v
	}
	key := partKey{dividedValue{v, dim}, k}
	if v.IsArgument() {
		return d.carried(key)
	}
	op := v.Def()
	if op.Is(scf.For) {
		key.v = scf.IterArgs(op)[v.Index()]
		d.carried(key)
		return key.v.Block().Parent().Result(d.places[key])
	}
	if have := d.parts[key]; have != nil {
		return have
	}
	n := d.clone(op, dim, k)
	for i, r := range op.Results() {
		d.parts[partKey{dividedValue{r, dim}, k}] = n.Result(i)
	}
	return d.parts[key]
}

// carried is a part of what a loop carries, which it then carries, too.
func (d *divider) carried(key partKey) *ir.Value {
	if have := d.parts[key]; have != nil {
		return have
	}
	loop, i := key.v.Block().Parent(), scf.CarriedIndex(key.v)
	init := d.part(scf.Inits(loop)[i], key.dim, key.part)
	loop = key.v.Block().Parent() // which may have been made again
	loop, args := forloop.AddCarried(d.b, loop, init)
	d.parts[key], d.places[key] = args[0], loop.NumResults()-1
	// The yield gets its operands in the order of what is carried, though parts of others
	// are added meanwhile.
	yield := forloop.Yield(loop)
	yield.AppendOperand(args[0])
	next := d.part(yield.Operand(i), key.dim, key.part)
	yield.OperandUse(d.places[key]).Set(next)
	return args[0]
}

// clone makes part k of op along dim.
func (d *divider) clone(op *ir.Operation, dim, k int) *ir.Operation {
	operands := op.OperandValues()
	for i, to := range d.operandDims(op, dim) {
		operands[i] = d.part(operands[i], to, k)
	}
	b, c := d.b, d.b.Context()
	b.At(op)
	n := op.Clone(ir.NewMapping())
	for i, v := range operands {
		n.SetOperand(i, v)
	}
	b.Insert(n)
	ids := idsOf(op)
	switch {
	case len(ids) == d.n:
		ids = []int64{ids[k]}
	case len(ids) > d.n: // the first is the task that loads
		ids = []int64{ids[0], ids[k+1]}
	}
	if len(ids) > 0 {
		mark(n, ids)
	}
	d.divided[op] = true
	if dim == partial || op.NumResults() == 0 {
		return n
	}
	var t ir.Type
	for _, r := range n.Results() {
		t = ttg.Part(c, r.Type(), dim, d.n)
		r.SetType(t)
	}
	size := ttg.ShapeOf(t)[dim]
	switch {
	case op.Is(arith.Constant):
		a, _ := splatOf(op)
		arith.AsConstant(n).SetValue(c.DenseSplat(t, a.Values[0]))
	case op.Is(tt.MakeRange):
		r := tt.AsMakeRange(n)
		r.SetStart(r.Start() + int64(k)*size)
		r.SetEnd(r.Start() + size)
	case op.Is(tt.DescriptorLoad) && k > 0:
		load := tt.AsDescriptorLoad(n)
		index := load.IndicesAt(dim)
		b.SetBefore(n)
		b.OnInsert = func(o *ir.Operation) { mark(o, ids) }
		load.SetIndicesAt(dim, arith.Binary(b, arith.AddI, index, arith.Int(b, index.Type(), int64(k)*size)))
		b.OnInsert = nil
	}
	return n
}

// sweep erases what was divided and is used no more.
func (d *divider) sweep(f *ir.Operation) {
	for {
		for _, loop := range forloop.All(f) {
			d.cutCarried(loop)
		}
		var dead []*ir.Operation
		ir.WalkPost(f, func(op *ir.Operation) {
			if d.divided[op] && !slices.ContainsFunc(op.Results(), (*ir.Value).HasUses) {
				dead = append(dead, op)
			}
		})
		for _, op := range slices.Backward(dead) {
			delete(d.divided, op)
			op.Erase()
		}
		dropped := false
		for _, loop := range forloop.All(f) {
			dropped = d.dropCarried(loop) || dropped
		}
		if len(dead) == 0 && !dropped {
			return
		}
	}
}

// cutCarried has loop carry values on unchanged of which only what was divided makes the
// next ones.
func (d *divider) cutCarried(loop *ir.Operation) {
	yield := forloop.Yield(loop)
	for i, arg := range scf.IterArgs(loop) {
		if loop.Result(i).HasUses() || yield.Operand(i) == arg || !d.onlyFor(arg, yield, i, make(map[*ir.Value]bool)) {
			continue
		}
		yield.OperandUse(i).Set(arg)
	}
}

// onlyFor reports whether v is used by divided operations alone, and of what these make
// only operand i of yield.
func (d *divider) onlyFor(v *ir.Value, yield *ir.Operation, i int, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	for u := range v.Uses() {
		op := u.Owner()
		if op == yield && u.Index() == i {
			continue
		}
		if !d.divided[op] {
			return false
		}
		for _, r := range op.Results() {
			if !d.onlyFor(r, yield, i, seen) {
				return false
			}
		}
	}
	return true
}

// dropCarried has loop no longer carry what cutCarried left.
func (d *divider) dropCarried(loop *ir.Operation) bool {
	yield, found := forloop.Yield(loop), false
	drop := make([]bool, loop.NumResults())
	for i, arg := range scf.IterArgs(loop) {
		drop[i] = !loop.Result(i).HasUses() && yield.Operand(i) == arg && arg.HasOneUse()
		found = found || drop[i]
	}
	if found {
		forloop.DropCarried(d.b, loop, drop)
	}
	return found
}
