package warpspec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// plan is how one function is divided.
type plan struct {
	f      *ir.Operation
	body   *ir.Block
	dots   []*ir.Operation
	groups []*group
	// groupOf has the loads that the producer does.
	groupOf  map[*ir.Operation]*group
	producer *task
	consumer *task
	// halves is how many partitions compute; dims are, if there are two, the
	// dimensions along which values are halved.
	halves int
	dims   map[*ir.Value]int
}

// group are loads of one block for the same dots, which share the barriers of a ring.
type group struct {
	loads []*ir.Operation
	// users are the dots that read them.
	users []*ir.Operation
	block *ir.Block
	// last is the last operation of the block that reads what was loaded.
	last *ir.Operation
	// buffers is how many of each load the ring has.
	buffers int
	// flies has the group's only dot run on into the next iteration.
	flies *ir.Operation

	rings       map[*ir.Operation]*ir.Value
	full, empty *ir.Value
}

// head is the first of the loads.
func (g *group) head() *ir.Operation { return g.loads[0] }

// most is how many accumulators a thread can have.
const mostAccumulators = 192

// newPlan decides how to divide f, or says why it cannot be divided.
func newPlan(f *ir.Operation, warps, ctas, stages, shared int) (*plan, error) {
	region := tt.AsFunc(f).Body()
	switch {
	case warps != warpgroup:
		return nil, fmt.Errorf("a kernel of %s (num_warps) is not divided, only one of %d", diag.Count(warps, "warp"), warpgroup)
	case ctas != 1:
		return nil, errors.New("a kernel of several CTAs (num_ctas) is not divided")
	case region.First() != region.Last():
		return nil, errors.New("the kernel returns early")
	}
	p := &plan{f: f, body: region.First(), groupOf: make(map[*ir.Operation]*group), halves: 1}
	if err := p.look(); err != nil {
		return nil, err
	}
	if err := p.findLoads(stages); err != nil {
		return nil, err
	}
	p.producer, p.consumer = newTask(p), newTask(p)
	p.consumer.consumes = true
	if err := p.divide(); err != nil {
		return nil, err
	}
	if dims := p.split(); dims != nil {
		p.halves, p.dims = 2, dims
	} else if n := p.accumulators(); n > mostAccumulators {
		return nil, fmt.Errorf("a thread of one warpgroup would hold %s of a result, and the rows cannot be divided between two", diag.Count(n, "element"))
	}
	p.findFlights(int64(shared))
	if err := p.fits(int64(shared)); err != nil {
		return nil, err
	}
	return p, nil
}

// line is the line of an operation in the source, for messages.
func line(op *ir.Operation) string {
	if at := ir.FileLocOf(op.Loc()); at != nil {
		return fmt.Sprintf(" in line %d", at.Line)
	}
	return ""
}

// look finds the dots, and what does not allow the function to be divided.
func (p *plan) look() (err error) {
	loops := 0
	ir.Walk(p.f, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(scf.For):
			loops++
		case op.Is(scf.If) && !scf.AsIf(op).ElseRegion().Empty():
			err = fmt.Errorf("the condition%s has two branches or results", line(op))
		case op.Is(tt.MakeTensorDesc) && (op.ParentOf(scf.For) != nil || op.ParentOf(scf.While) != nil):
			err = fmt.Errorf("the kernel makes a descriptor%s in a loop", line(op))
		case op.Is(tt.Call):
			err = fmt.Errorf("the kernel calls a function%s that is not inlined", line(op))
		case op.Is(ttg.WarpSpecialize):
			err = errors.New("the kernel is divided already")
		case ttng.Is(op, "warp_group_dot"):
			p.dots = append(p.dots, op)
		}
		if err != nil {
			return ir.Stop
		}
		return ir.Advance
	})
	switch {
	case err != nil:
	case len(p.dots) == 0:
		err = errors.New("the kernel has no dot by wgmma")
	case loops == 0:
		err = errors.New("the kernel has no loop")
	}
	return err
}

// findLoads groups the loads of the dots' operands.
func (p *plan) findLoads(stages int) error {
	users := make(map[*ir.Operation][]*ir.Operation)
	var loads []*ir.Operation
	for _, d := range p.dots {
		seen := make(map[*ir.Operation]bool)
		var visit func(v *ir.Value) error
		visit = func(v *ir.Value) error {
			op := v.Def()
			switch {
			case op == nil || seen[op] || op.NumRegions() > 0 || ttng.Is(op, "warp_group_dot"):
				return nil
			case op.Is(tt.Load) && tt.AsLoad(op).Ptr().Type() != nil && ir.ShapeOf(v.Type()) != nil:
				return fmt.Errorf("an operand of the dot%s is %s, and the warps that copy do so through descriptors", line(d), LoadedByPointers)
			}
			seen[op] = true
			if op.Is(tt.DescriptorLoad) {
				if users[op] == nil {
					loads = append(loads, op)
				}
				users[op] = append(users[op], d)
				return nil
			}
			for _, o := range op.OperandValues() {
				if err := visit(o); err != nil {
					return err
				}
			}
			return nil
		}
		dot := ttng.AsWarpGroupDot(d)
		for _, v := range []*ir.Value{dot.A(), dot.B()} {
			if err := visit(v); err != nil {
				return err
			}
		}
	}
	if len(loads) == 0 {
		return errors.New("no operand of a dot is loaded through a descriptor")
	}
	for _, l := range loads {
		for a := l.Parent(); a != p.f; a = a.Parent() {
			if !a.Is(scf.For) {
				return fmt.Errorf("the load%s is in a condition or a while loop", line(l))
			}
		}
		for u := range l.OneResult().Users() {
			if u.IsTerminator() || u.NumRegions() > 0 {
				return fmt.Errorf("what is loaded%s is carried over to the next iteration", line(l))
			}
		}
		p.join(l, users[l], stages)
	}
	for _, g := range p.groups {
		slices.SortFunc(g.loads, func(a, b *ir.Operation) int {
			if a.IsBeforeInBlock(b) {
				return -1
			}
			return 1
		})
		if g.buffers < 1 {
			return errors.New("there are no stages (num_stages) for a ring of buffers")
		}
		g.last = g.loads[len(g.loads)-1]
		for _, l := range g.loads {
			g.read(l.OneResult())
		}
	}
	return nil
}

// join puts a load into a group.
func (p *plan) join(l *ir.Operation, users []*ir.Operation, stages int) {
	for _, g := range p.groups {
		if g.block == l.Block() && slices.Equal(g.users, users) {
			g.loads = append(g.loads, l)
			p.groupOf[l] = g
			return
		}
	}
	g := &group{loads: []*ir.Operation{l}, users: users, block: l.Block(), buffers: 1, rings: make(map[*ir.Operation]*ir.Value)}
	if loop := l.Parent(); loop != p.f {
		g.buffers = stages
		if n, ok := loop.IntAttr(tt.NumStagesAttr); ok {
			g.buffers = int(n)
		}
	}
	p.groups, p.groupOf[l] = append(p.groups, g), g
}

// read notes who reads a loaded value, through its views.
func (g *group) read(v *ir.Value) {
	for u := range v.Users() {
		if at := forloop.AncestorIn(g.block, u); at != nil && g.last.IsBeforeInBlock(at) {
			g.last = at
		}
		if u.Is(ttg.LocalAlloc) || ttg.Viewed(u) != nil {
			g.read(u.OneResult())
		}
	}
}

// divide finds what each task needs.
func (p *plan) divide() (err error) {
	for _, g := range p.groups {
		for _, l := range g.loads {
			p.producer.op(l)
			p.consumer.around(l)
		}
	}
	ir.Walk(p.f, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op == p.f, op.Is(scf.For), op.Is(scf.If):
			return ir.Advance
		case ir.HasEffect(op, ir.Effects.Writes) && !op.IsTerminator() && p.groupOf[op] == nil:
			p.consumer.op(op)
		}
		return ir.Skip
	})
	stores := false
	for op := range p.consumer.needed {
		stores = stores || op.Is(tt.Store) || op.Is(tt.AtomicRMW) || op.Is(tt.AtomicCAS)
	}
	for op := range p.producer.needed {
		if op.Is(scf.For) || op.Is(scf.If) || p.groupOf[op] != nil {
			continue
		}
		switch {
		case ttng.Is(op, "warp_group_dot"), ir.HasEffect(op, ir.Effects.Writes):
			return fmt.Errorf("what is loaded where depends on %s%s, which is for the warps that compute", op.Name(), line(op))
		case ir.HasEffect(op, func(e ir.Effects) bool { return e.Read }) && stores && op.Parent() != p.f:
			return fmt.Errorf("what is loaded where depends on %s%s, and the kernel stores to memory meanwhile", op.Name(), line(op))
		}
		for _, v := range op.OperandValues() {
			if v.Def() != nil && p.groupOf[v.Def()] != nil {
				return fmt.Errorf("what is loaded where depends on the load%s", line(v.Def()))
			}
		}
	}
	return nil
}

// fewestInFlight is how many buffers a ring has whose dots run on.
const fewestInFlight = 4

// findFlights finds the dots that run on while the next iteration starts: the only one of
// a loop, which accumulates to what the loop carries, and reads nothing but what other
// warps copy. A dot that runs on gives its buffers back once those of the next iteration
// have been filled, so it pays where nothing else would multiply meanwhile, neither another
// partition nor another block in as much shared memory, and the ring is long enough
// (docs/results/h200.md).
func (p *plan) findFlights(shared int64) {
	if p.halves > 1 || 2*p.ringBytes() <= shared {
		return
	}
	for _, g := range p.groups {
		loop := g.block.Parent()
		if loop == p.f || len(g.users) != 1 || g.buffers < fewestInFlight {
			continue
		}
		d := g.users[0]
		if d.Block() == g.block && p.fliesIn(loop, d) && forloop.AncestorIn(g.block, g.last) == d {
			g.flies = d
		}
	}
	// All groups of a dot fly, or none.
	for _, g := range p.groups {
		for _, o := range p.groups {
			if g.flies == nil && o.flies != nil && slices.Contains(g.users, o.flies) {
				o.flies = nil
			}
		}
	}
}

// fliesIn reports whether dot d of a loop's body may run on.
func (p *plan) fliesIn(loop, d *ir.Operation) bool {
	for _, o := range p.dots {
		if o != d && loop.IsAncestorOf(o) {
			return false
		}
	}
	v := ttng.AsWarpGroupDot(d)
	acc := v.C()
	if ir.BitWidth(ir.ElemOf(v.D().Type())) != 32 || !acc.IsArgument() || acc.Block() != loop.Body() || scf.CarriedIndex(acc) < 0 {
		return false
	}
	for _, x := range []*ir.Value{v.A(), v.B()} {
		if !p.copied(x) {
			return false
		}
	}
	once := func(v *ir.Value) bool {
		n := 0
		for range v.Uses() {
			n++
		}
		return n == 1
	}
	return once(acc) && once(v.D()) && forloop.Yield(loop).Operand(scf.CarriedIndex(acc)) == v.D()
}

// copied reports whether v is shared memory that other warps fill.
func (p *plan) copied(v *ir.Value) bool {
	for op := v.Def(); op != nil; op = v.Def() {
		switch {
		case op.Is(ttg.LocalAlloc):
			src := ttg.AsLocalAlloc(op).Src()
			return src != nil && src.Def() != nil && p.groupOf[src.Def()] != nil && sameBuffer(op, src.Def())
		case ttg.Viewed(op) != nil:
			v = ttg.Viewed(op)
		default:
			return false
		}
	}
	return false
}

// accumulators is the most elements of a result that a thread of one warpgroup holds.
func (p *plan) accumulators() int64 {
	n := int64(0)
	for _, d := range p.dots {
		t := d.OneResult().Type().(*ir.TensorType)
		n = max(n, t.NumElements()*int64(ir.BitWidth(t.Elem))/32/(warpgroup*32))
	}
	return n
}
