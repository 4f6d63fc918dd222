package partition

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// The marks of partitions.
const (
	idsAttr     = "ttg.partition"
	outputsAttr = "ttg.partition.outputs"
	stagesAttr  = "ttg.partition.stages"
	tagAttr     = "ttg.warp_specialize.tag"
)

// PartitionLoops divides loops whose operations say their partitions:
//
//	scf.for … {
//	  %x = "a"() {ttg.partition = array<i32: 0>}
//	  "b"() {ttg.partition = array<i32: 1>}
//	} {ttg.partition.stages = [0, 0], …}
//
// becomes
//
//	nvws.warp_group
//	partition0 num_warps(4) { scf.for … { %x = "a"() } … }
//	partition1 num_warps(4) { scf.for … { "b"() } … }
//
// Operations before and after the loop that have its tag go with it. A result of the
// loop is that of the first partition; a tensor that another one computes comes back
// through shared memory. Values do not pass between partitions in other ways: a loop in
// which a partition uses a value that it does not compute stays whole, with a warning.
var PartitionLoops = &pass.Pass{
	Name:    "tritongpu-partition-loops",
	Doc:     "divide loops by the partitions of their operations",
	Example: partitionLoopsExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var loops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(scf.For) && op.HasAttr(stagesAttr) {
				loops = append(loops, op)
				return ir.Skip
			}
			return ir.Advance
		})
		for _, l := range loops {
			n, err := partitionLoop(b, l)
			var c *crossing
			if errors.As(err, &c) {
				r.Warn(c.def, "%v", c).WithNote(r.Place(c.user), "use at distance %d in partition #%d here", c.distance, c.to)
				continue
			}
			if err != nil {
				return err
			}
			r.Count("partitions", n)
		}
		return nil
	},
}

// idsOf are the partitions that op runs in; ok is false where it does not say.
func idsOf(op *ir.Operation) (ids []int64, ok bool) {
	a, ok := op.Attr(idsAttr).(*ir.DenseArrayAttr)
	if !ok {
		return nil, false
	}
	return a.Values, true
}

// outputsOf are the partitions that result i of op, which has regions, is for: those of
// op where it does not say.
func outputsOf(op *ir.Operation, i int) []int64 {
	if list, ok := op.Attr(outputsAttr).(*ir.ArrayAttr); ok && i < len(list.Elems) {
		if a, ok := list.Elems[i].(*ir.DenseArrayAttr); ok {
			return a.Values
		}
	}
	ids, _ := idsOf(op)
	return ids
}

func tagOf(op *ir.Operation) (int64, bool) { return op.IntAttr(tagAttr) }

// mistake is a diagnostic at op.
func mistake(op *ir.Operation, format string, args ...any) *diag.Diagnostic {
	return diag.Errorf(std.PosOf(op.Loc()), format, args...)
}

// divider divides one loop and what goes with it.
type divider struct {
	b    *ir.Builder
	loop *ir.Operation
	// moved are the operations of loop's block that go to partitions, loop among them.
	moved []*ir.Operation
	// results are how loop's results come back: the number among those of partition 0,
	// or -1 with a buffer, or -1 and nil for one that nobody needs.
	results []int
	buffers []*ir.Value
	writer  []int64 // the partition that fills the buffer
}

func partitionLoop(b *ir.Builder, loop *ir.Operation) (int, error) {
	stages, ok := loop.Attr(stagesAttr).(*ir.ArrayAttr)
	if !ok {
		return 0, mistake(loop, "%s of the loop is not a list", stagesAttr).WithHelp("it has one number for each partition")
	}
	n := len(stages.Elems)
	if n <= 1 {
		return 0, nil
	}
	d := &divider{b: b, loop: loop}
	if err := d.collect(n); err != nil {
		return 0, err
	}
	b.At(loop)
	if err := d.chooseResults(); err != nil {
		return 0, err
	}
	var types []ir.Type
	for i, k := range d.results {
		if k >= 0 {
			types = append(types, loop.Result(i).Type())
		}
	}
	warps := make([]int64, n)
	for i := range warps {
		warps[i] = warpsAround(loop)
	}
	b.SetBefore(loop)
	b.Loc = loop.Loc()
	group := b.Create(nvws.Def("warp_group"), ir.State{Types: types, Regions: n})
	nvws.AsWarpGroup(group).SetNumWarps(warps)
	for p, r := range nvws.AsWarpGroup(group).PartitionRegions() {
		b.SetToEnd(r.AddBlock())
		c := &copier{b: b, p: int64(p), m: ir.NewMapping(), d: d}
		if err := c.partition(); err != nil {
			d.abandon(group)
			return 0, err
		}
	}
	d.replaceResults(group)
	for _, op := range slices.Backward(d.moved) {
		op.Erase()
	}
	return n, nil
}

// collect finds what goes to the partitions, and checks that it can.
func (d *divider) collect(n int) error {
	tag, _ := tagOf(d.loop)
	for op := range d.loop.Block().Ops() {
		if _, ok := idsOf(op); !ok {
			continue
		}
		if t, ok := tagOf(op); !ok || t != tag {
			continue
		}
		if op != d.loop && op.NumRegions() > 0 {
			return mistake(op, "%s goes with a loop of partitions, but has regions", op.Name()).
				WithHelp("only the loop itself may have any")
		}
		if op.Next() == nil {
			return mistake(op, "%s goes with a loop of partitions, but ends its block", op.Name()).
				WithHelp("end the block with an operation of no partition, such as tt.return")
		}
		d.moved = append(d.moved, op)
	}
	if !slices.Contains(d.moved, d.loop) {
		return mistake(d.loop, "the loop does not say its partitions (%s) or has no %s", idsAttr, tagAttr).
			WithHelp("mark it with both")
	}
	var err error
	for _, m := range d.moved {
		ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
			ids, ok := idsOf(op)
			switch {
			case op.Is(scf.Yield) && op.NumOperands() == 0:
			case op != m && op.Parent() != nil && !op.Parent().Is(scf.For) && !op.Parent().Is(scf.If):
				return ir.Skip // copied with the operation around it
			case !ok && !op.Is(scf.Yield):
				err = mistake(op, "%s in a loop of partitions does not say its partitions", op.Name()).WithHelp("mark it with %s", idsAttr)
			case slices.ContainsFunc(ids, func(i int64) bool { return i < 0 || i >= int64(n) }):
				err = mistake(op, "%s is in partition %d, but the loop has %s", op.Name(), slices.Max(ids), diag.Count(n, "partition")).
					WithHelp("%s of the loop has one number for each", stagesAttr)
			case op.Is(scf.While):
				err = mistake(op, "a while loop in a loop of partitions").WithHelp("counted loops and branches can be divided")
			}
			if err != nil {
				return ir.Stop
			}
			return ir.Advance
		})
	}
	return err
}

// chooseResults decides how each result of the loop comes back, and makes the buffers.
func (d *divider) chooseResults() error {
	kept := 0
	for i, res := range d.loop.Results() {
		d.results, d.buffers, d.writer = append(d.results, -1), append(d.buffers, nil), append(d.writer, 0)
		owners := outputsOf(d.loop, i)
		t := tensors.Type(res)
		switch {
		case slices.Contains(owners, 0):
			d.results[i] = kept
			kept++
		case t != nil && res.HasUses() && len(owners) > 0:
			e := sharedmem.For(&layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: sharedmem.Order(t)}, t)
			d.buffers[i] = d.b.Op(ttg.LocalAlloc, nil, sharedmem.Type(d.b.Context(), t.Shape, t.Elem, e, true)).OneResult()
			d.writer[i] = owners[0]
		default:
			for u := range res.Users() {
				if !slices.Contains(d.moved, u) {
					return mistake(u, "%s uses result %d of a loop whose partition 0 does not compute it", u.Name(), i).
						WithHelp("tensors alone come back from other partitions; have partition 0 compute it, too (%s)", outputsAttr)
				}
			}
		}
	}
	return nil
}

// abandon leaves the loop as it was.
func (d *divider) abandon(group *ir.Operation) {
	group.Erase()
	for _, b := range d.buffers {
		if b != nil {
			b.Def().Erase()
		}
	}
}

// replaceResults has what is outside of partitions use the results of group, and of
// buffers.
func (d *divider) replaceResults(group *ir.Operation) {
	d.b.SetAfter(group)
	for i, res := range d.loop.Results() {
		outside := func(u *ir.Use) bool { return !slices.Contains(d.moved, u.Owner()) }
		if buffer := d.buffers[i]; buffer != nil {
			v := d.b.Op(ttg.LocalLoad, []*ir.Value{buffer}, res.Type()).OneResult()
			d.b.Op(ttg.LocalDealloc, []*ir.Value{buffer})
			res.ReplaceUsesIf(v, outside)
		} else if k := d.results[i]; k >= 0 {
			res.ReplaceUsesIf(group.Result(k), outside)
		}
	}
}

// copier copies what one partition runs.
type copier struct {
	b *ir.Builder
	p int64
	m *ir.Mapping
	d *divider
}

func (c *copier) partition() error {
	for _, op := range c.d.moved {
		if ids, _ := idsOf(op); !slices.Contains(ids, c.p) {
			continue
		}
		if err := c.operation(op); err != nil {
			return err
		}
	}
	c.b.Loc = c.d.loop.Loc()
	if c.p > 0 {
		for i, buffer := range c.d.buffers {
			if buffer == nil || c.d.writer[i] != c.p {
				continue
			}
			v, err := c.value(c.d.loop, c.d.loop.Result(i))
			if err != nil {
				return err
			}
			c.b.Op(ttg.LocalStore, []*ir.Value{v, buffer})
		}
		c.b.Op(nvws.Def("warp_group.return"), nil)
		return nil
	}
	var values []*ir.Value
	for i, k := range c.d.results {
		if k < 0 {
			continue
		}
		v, err := c.value(c.d.loop, c.d.loop.Result(i))
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	c.b.Op(nvws.Def("warp_group.yield"), values)
	return nil
}

// value is what v, which user uses, is in this partition: itself where it comes from
// outside.
func (c *copier) value(user *ir.Operation, v *ir.Value) (*ir.Value, error) {
	if w := c.m.Lookup(v); w != v {
		return w, nil
	}
	inside := slices.ContainsFunc(c.d.moved, func(op *ir.Operation) bool {
		return v.Def() == op || forloop.DefinedInside(v, op)
	})
	if !inside {
		if def := v.Def(); def != nil && def.Block() == c.d.loop.Block() && c.d.loop.IsBeforeInBlock(def) {
			return nil, mistake(user, "%s goes with the loop before it, but uses a value that is computed after that", user.Name()).
				WithHelp("compute the value before the loop")
		}
		return v, nil
	}
	return nil, c.d.crossing(v, user, c.p)
}

// crossing is the error that user, in partition to, uses v, which another one computes.
func (d *divider) crossing(v *ir.Value, user *ir.Operation, to int64) *crossing {
	x := &crossing{def: d.loop, user: user, to: to}
	if i := slices.Index(scf.IterArgs(d.loop), v); i >= 0 {
		v, x.distance = d.loop.Body().Last().Operand(i), 1
	}
	if def := v.Def(); def != nil {
		x.def = def
	}
	if ids, _ := idsOf(x.def); len(ids) > 0 {
		x.from = ids[0]
	}
	return x
}

// crossing is a value that one partition computes, with def, and another one uses, so
// many iterations later.
type crossing struct {
	def, user *ir.Operation
	from, to  int64
	distance  int
}

func (c *crossing) Error() string {
	return fmt.Sprintf("non-root partition #%d has direct SSA consumer", c.from)
}

func (c *copier) values(user *ir.Operation, list []*ir.Value) ([]*ir.Value, error) {
	out := make([]*ir.Value, len(list))
	for i, v := range list {
		w, err := c.value(user, v)
		if err != nil {
			return nil, err
		}
		out[i] = w
	}
	return out, nil
}

func (c *copier) block(src *ir.Block) error {
	for op := range src.Ops() {
		if op.Is(scf.Yield) {
			continue // the operation around it makes its own
		}
		if ids, _ := idsOf(op); !slices.Contains(ids, c.p) {
			continue
		}
		if err := c.operation(op); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) operation(op *ir.Operation) error {
	c.b.Loc = op.Loc()
	switch {
	case op.Is(scf.For):
		return c.forLoop(op)
	case op.Is(scf.If):
		return c.branch(op)
	}
	if _, err := c.values(op, op.OperandValues()); err != nil {
		return err
	}
	var err error
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			for inner := range b.Ops() {
				ir.Walk(inner, func(o *ir.Operation) ir.WalkResult {
					for _, v := range o.Operands() {
						if !forloop.DefinedInside(v, op) && err == nil {
							_, err = c.value(o, v)
						}
					}
					return ir.Advance
				})
			}
		}
	}
	if err != nil {
		return err
	}
	n := op.Clone(c.m)
	ir.Walk(n, func(o *ir.Operation) ir.WalkResult {
		o.SetAttr(idsAttr, nil)
		o.SetAttr(outputsAttr, nil)
		return ir.Advance
	})
	c.b.Insert(n)
	return nil
}

// mine are the numbers of the results of op that this partition has.
func (c *copier) mine(op *ir.Operation) (list []int) {
	for i := range op.Results() {
		if slices.Contains(outputsOf(op, i), c.p) {
			list = append(list, i)
		}
	}
	return list
}

// unmarked copies the attributes of op but those that say its partitions.
func unmarked(n, op *ir.Operation) {
	for _, a := range op.Attrs() {
		if a.Name != idsAttr && a.Name != outputsAttr && a.Name != stagesAttr {
			n.SetAttr(a.Name, a.Attr)
		}
	}
}

func (c *copier) forLoop(op *ir.Operation) error {
	mine := c.mine(op)
	bounds, err := c.values(op, []*ir.Value{scf.LowerBound(op), scf.UpperBound(op), scf.Step(op)})
	if err != nil {
		return err
	}
	var inits []*ir.Value
	for _, i := range mine {
		v, err := c.value(op, scf.Inits(op)[i])
		if err != nil {
			return err
		}
		inits = append(inits, v)
	}
	n := scf.NewFor(c.b, bounds[0], bounds[1], bounds[2], inits...)
	unmarked(n, op)
	c.m.Map(scf.InductionVar(op), scf.InductionVar(n))
	for k, i := range mine {
		c.m.Map(scf.IterArg(op, i), scf.IterArg(n, k))
	}
	c.b.SetToEnd(n.Body())
	if err := c.block(op.Body()); err != nil {
		return err
	}
	if err := c.yield(op.Body(), mine); err != nil {
		return err
	}
	for k, i := range mine {
		c.m.Map(op.Result(i), n.Result(k))
	}
	c.b.SetAfter(n)
	return nil
}

func (c *copier) branch(op *ir.Operation) error {
	mine := c.mine(op)
	branches := scf.AsIf(op)
	cond, err := c.value(op, branches.Condition())
	if err != nil {
		return err
	}
	var types []ir.Type
	for _, i := range mine {
		types = append(types, op.Result(i).Type())
	}
	n := scf.NewIf(c.b, cond, !branches.ElseRegion().Empty(), types...)
	unmarked(n, op)
	for k, r := range op.Regions() {
		if r.Empty() {
			continue
		}
		c.b.SetToEnd(n.Region(k).First())
		if err := c.block(r.First()); err != nil {
			return err
		}
		if err := c.yield(r.First(), mine); err != nil {
			return err
		}
	}
	for k, i := range mine {
		c.m.Map(op.Result(i), n.Result(k))
	}
	c.b.SetAfter(n)
	return nil
}

// yield ends a copy of block with this partition's results.
func (c *copier) yield(block *ir.Block, mine []int) error {
	end := block.Terminator()
	var list []*ir.Value
	for _, i := range mine {
		v, err := c.value(end, end.Operand(i))
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	c.b.Loc = end.Loc()
	scf.NewYield(c.b, list...)
	return nil
}

// warpsAround is the number of warps that run op; 4 if the module does not say.
func warpsAround(op *ir.Operation) int64 {
	for op.Parent() != nil && !op.HasAttr(ttg.NumWarpsAttr) {
		op = op.Parent()
	}
	if n, ok := op.IntAttr(ttg.NumWarpsAttr); ok {
		return n
	}
	return 4
}
