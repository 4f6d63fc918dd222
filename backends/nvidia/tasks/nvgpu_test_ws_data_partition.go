package tasks

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// DataPartition divides dots that several tasks have among these, by rows of the result,
// or by columns, and with them what uses the results and what they are computed from:
//
//	%d = ttng.warp_group_dot %a, %b, %c {async_task_id = array<i32: 1, 2>} : … -> tensor<128x256xf32>
//	tt.store %p, %d                     {async_task_id = array<i32: 1, 2>}
//
// becomes
//
//	%d = ttng.warp_group_dot %a0, %b, %c0 {async_task_id = array<i32: 1>} : … -> tensor<64x256xf32>
//	%e = ttng.warp_group_dot %a1, %b, %c1 {async_task_id = array<i32: 2>} : … -> tensor<64x256xf32>
//	tt.store %p0, %d                      {async_task_id = array<i32: 1>}
//	tt.store %p1, %e                      {async_task_id = array<i32: 2>}
//
// A dot that multiplies divided results along its K becomes partial sums, if all that
// becomes of them is added to memory atomically. Functions of which something cannot be
// divided stay as they are, and so do all with fewer than three warp groups: one that
// loads, two that multiply.
var DataPartition = &pass.Pass{
	Name:    "nvgpu-test-ws-data-partition",
	Doc:     "divide dots of several tasks among these",
	Example: dataPartitionExample,
	Options: []pass.Option{warpGroups},
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		if r.Int("num-warp-groups") <= 2 {
			return nil
		}
		for f := range r.Module.Body().Ops() {
			if !f.Is(tt.Func) {
				continue
			}
			if p := planDivision(f); p != nil {
				d := newDivider(r.Module.Context(), p)
				d.divide()
				d.sweep(f)
				r.Count("divided", len(p.sinks))
			}
		}
		return nil
	},
}

// Least rows and columns of a part: what one instruction of a warpgroup computes, and what
// makes B worth loading twice.
const (
	leastRows    = 64
	leastColumns = 128
)

// How a value is divided, instead of a dimension.
const (
	whole   = -1 // each part has all of it
	partial = -2 // the parts add up to it
)

// division says how values are divided among n parts.
type division struct {
	n     int
	of    map[*ir.Value]int     // values that come of divided dots
	sinks []*ir.Operation       // what writes them to memory
	along map[*ir.Operation]int // how sinks and dots are divided
	known map[dividedValue]bool // values that can be divided
}

// dividedValue is a value and the dimension along which it is divided.
type dividedValue struct {
	v   *ir.Value
	dim int
}

// planDivision finds how to divide the dots of several tasks in a function; nil if there
// are none, or one cannot be divided.
func planDivision(f *ir.Operation) *division {
	p := &division{of: make(map[*ir.Value]int), along: make(map[*ir.Operation]int), known: make(map[dividedValue]bool)}
	dot := ttng.Def("warp_group_dot")
	failed := ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		ids := idsOf(op)
		if !op.Is(dot) || len(ids) <= 1 {
			return ir.Advance
		}
		if _, ok := p.along[op]; ok {
			return ir.Advance
		}
		if p.n != 0 && p.n != len(ids) {
			return ir.Stop
		}
		p.n = len(ids)
		part := tensors.PerCTA(tensors.Type(ttng.AsWarpGroupDot(op).D()))
		for dim, least := range []int64{leastRows, leastColumns} {
			if len(part) != 2 || part[dim]/int64(p.n) < least {
				continue
			}
			if trial := p.clone(); trial.divideDot(op, dim) {
				*p = *trial
				return ir.Advance
			}
		}
		return ir.Stop
	})
	if failed || len(p.sinks) == 0 {
		return nil
	}
	return p
}

func (p *division) clone() *division {
	c := &division{n: p.n, of: make(map[*ir.Value]int), along: make(map[*ir.Operation]int), known: make(map[dividedValue]bool)}
	for k, v := range p.of {
		c.of[k] = v
	}
	for k, v := range p.along {
		c.along[k] = v
	}
	c.sinks = append(c.sinks, p.sinks...)
	return c
}

// divideDot divides a dot, and what depends on it; false if it cannot be.
func (p *division) divideDot(dot *ir.Operation, dim int) bool {
	p.along[dot] = dim
	if !p.forward(ttng.AsWarpGroupDot(dot).D(), dim) {
		return false
	}
	for op, dim := range p.along {
		for i, d := range p.operandDims(op, dim) {
			if !p.divisible(op.OperandUse(i).Value(), d) {
				return false
			}
		}
	}
	return true
}

// forward divides v, and what its users make of it.
func (p *division) forward(v *ir.Value, dim int) bool {
	if have, ok := p.of[v]; ok {
		return have == dim
	}
	p.of[v] = dim
	for u := range v.Uses() {
		op := u.Owner()
		to, ok := p.resultDim(op, u.Index(), dim)
		if !ok {
			return false
		}
		if have, ok := p.along[op]; ok && have != to {
			return false
		}
		switch {
		case op.Is(scf.Yield) && op.Parent().Is(scf.For):
			loop := op.Parent()
			if !p.forward(scf.IterArgs(loop)[u.Index()], dim) || !p.forward(loop.Result(u.Index()), dim) {
				return false
			}
			continue
		case isSink(op):
			if _, ok := p.along[op]; !ok {
				p.sinks = append(p.sinks, op)
			}
			p.along[op] = to
			continue
		case ttng.Is(op, "warp_group_dot"):
			p.along[op] = to
		}
		for _, r := range op.Results() {
			if !p.forward(r, to) {
				return false
			}
		}
	}
	return true
}

// isSink reports whether op writes a divided tensor to memory.
func isSink(op *ir.Operation) bool {
	return op.Is(tt.Store) || op.Is(tt.AtomicRMW) && !tt.AsAtomicRMW(op).Result().HasUses()
}

// resultDim is how the results of op are divided, of which operand i is divided along dim;
// ok is false if they cannot be.
func (p *division) resultDim(op *ir.Operation, i, dim int) (to int, ok bool) {
	if dim == partial {
		switch {
		case op.Is(tt.AtomicRMW):
			add := tt.AsAtomicRMW(op)
			return partial, isSink(op) && i == add.ValUse().Index() && add.AtomicRmwOp() == tt.RMWFAdd
		case keepsSums(op):
			return partial, true
		}
		return 0, false
	}
	switch {
	case ttng.Is(op, "warp_group_dot"):
		d := ttng.AsWarpGroupDot(op)
		switch v := op.OperandUse(i).Value(); {
		case v == d.C(), v == d.A() && dim == 0, v == d.B() && dim == 1:
			return dim, true
		}
		return partial, arith.IsZero(d.C())
	case op.Is(scf.Yield):
		return dim, op.Parent().Is(scf.For)
	case isSink(op):
		return dim, true
	}
	for to := range 2 {
		if dims := p.operandDims(op, to); i < len(dims) && dims[i] == dim {
			return to, true
		}
	}
	return 0, false
}

// divisible reports whether v can be divided along dim.
func (p *division) divisible(v *ir.Value, dim int) bool {
	key := dividedValue{v, dim}
	if dim == whole || dim == partial || !p.divides(v, dim) {
		return true
	}
	if ok, known := p.known[key]; known {
		return ok
	}
	p.known[key] = true // as part of a loop
	p.known[key] = p.isDivisible(v, dim)
	return p.known[key]
}

// divides reports whether the parts of v differ: it has more along dim than one for all.
func (p *division) divides(v *ir.Value, dim int) bool {
	shape := ttg.ShapeOf(v.Type())
	return dim < len(shape) && shape[dim] > 1
}

func (p *division) isDivisible(v *ir.Value, dim int) bool {
	if have, ok := p.of[v]; ok && have == partial || ttg.ShapeOf(v.Type())[dim]%int64(p.n) != 0 {
		return false
	}
	op := v.Def()
	if op == nil {
		loop := v.Block().Parent()
		i := -1
		if loop.Is(scf.For) {
			i = scf.CarriedIndex(v)
		}
		return i >= 0 && p.divisible(scf.Inits(loop)[i], dim) && p.divisible(forloop.Yield(loop).Operand(i), dim)
	}
	if op.Is(scf.For) {
		return p.divisible(scf.IterArgs(op)[v.Index()], dim)
	}
	dims := p.operandDims(op, dim)
	if dims == nil {
		return false
	}
	for i, d := range dims {
		if !p.divisible(op.OperandUse(i).Value(), d) {
			return false
		}
	}
	return true
}
