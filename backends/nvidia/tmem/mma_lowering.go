package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// MMALowering gives each matrix multiplication in tensor memory the form of the
// instruction. One that is not asynchronous gets a barrier to wait for:
//
//	%bar = ttg.local_alloc
//	ttng.init_barrier %bar, 1
//	ttng.tc_gen5_mma %a, %b, %d, %use, %pred, %bar[%true] {is_async}
//	ttng.wait_barrier %bar, %phase, %pred
//	ttng.inval_barrier %bar
//
// Scales in shared memory are copied to tensor memory first, and a ttng.tc_gen5_commit
// that follows becomes a barrier of the multiplication.
var MMALowering = &pass.Pass{
	Name:    "triton-nvidia-mma-lowering",
	Doc:     "give matrix multiplications in tensor memory barriers, and scales in tensor memory",
	Example: mmaLoweringExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var dots []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if ttng.AsMMA(op) != nil {
				dots = append(dots, op)
			}
			return ir.Advance
		})
		for _, d := range dots {
			if !ttng.AsMMA(d).IsAsync() {
				waitForDot(b, d)
				r.Count("waits", 1)
			}
			if ttng.Is(d, "tc_gen5_mma_scaled") {
				r.Count("scales", copyScales(b, d))
			}
			r.Count("commits", mergeCommits(d))
		}
		return nil
	},
}

// waitForDot makes dot asynchronous and waits for it.
func waitForDot(b *ir.Builder, dot *ir.Operation) {
	c, m := b.Context(), ttng.AsMMA(dot)
	b.SetBefore(dot)
	b.Loc = unnamed(dot)
	t := ttg.MemDesc(c, ttg.MemDescType{
		Shape: []int64{1}, Elem: c.I64(), Space: ttg.SharedMemory(c), Mutable: true,
		Encoding: encoding.Of(c, &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{0}}),
	})
	barrier := b.Op(ttg.LocalAlloc, nil, t).OneResult()
	ttng.AsInitBarrier(b.Create(ttng.Def("init_barrier"), ir.State{Operands: []*ir.Value{barrier}})).SetCount(1)
	ttng.AddCompletionBarrier(m, barrier, arith.Int(b, c.I1(), 1))
	m.SetIsAsync(true)
	b.SetAfter(dot)
	b.Loc = unnamed(dot)
	phase := arith.Int(b, c.I32(), 0)
	b.Create(ttng.Def("wait_barrier"), ir.State{
		Operands: []*ir.Value{barrier, phase, m.Pred()}, Segments: []int32{1, 1, 1, 0},
	})
	b.Op(ttng.Def("inval_barrier"), []*ir.Value{barrier})
}

// copyScales copies scales of dot that are in shared memory to tensor memory, and
// returns how many.
func copyScales(b *ir.Builder, dot *ir.Operation) (n int) {
	d := ttng.AsTcGen5MmaScaled(dot)
	shape := d.D().Type().(*ttg.MemDescType).Shape
	if len(shape) != 2 {
		return 0
	}
	for _, s := range []struct {
		scale *ir.Value
		rows  int64
		set   func(*ir.Value)
	}{{d.AScale(), shape[0], d.SetAScale}, {d.BScale(), shape[1], d.SetBScale}} {
		t := s.scale.Type().(*ttg.MemDescType)
		elems := int64(1)
		for _, x := range t.Shape {
			elems *= x
		}
		if _, shared := t.Space.(*ttg.SharedMemoryAttr); !shared || elems%s.rows != 0 {
			continue
		}
		b.SetBefore(dot)
		b.Loc = unnamed(dot)
		c := b.Context()
		split := splitOf(t)
		buffer := ttng.NewTmemAlloc(b, ttg.MemDesc(c, ttg.MemDescType{
			Shape: []int64{s.rows, elems / s.rows}, Elem: t.Elem, Mutable: true,
			Encoding: ttng.Scales(c, split[0], split[1]), Space: ttng.TensorMemory(c),
		}), nil, false).Result()
		b.Op(ttng.Def("tmem_copy"), []*ir.Value{s.scale, buffer})
		s.set(buffer)
		n++
	}
	return n
}

// splitOf is how many CTAs share each of the first two dimensions of a buffer in shared
// memory.
func splitOf(t *ttg.MemDescType) [2]int64 {
	split := [2]int64{1, 1}
	a, ok := t.Encoding.(*encoding.Attr)
	if !ok {
		return split
	}
	part, err := layout.PartOf(a.Layout, t.Shape)
	if err != nil {
		return split
	}
	for i := range split {
		if i < len(part) && part[i] > 0 {
			split[i] = t.Shape[i] / part[i]
		}
	}
	return split
}

// mergeCommits has dot arrive at the barriers of commits that follow it, with nothing
// between them but pure operations, and returns how many.
func mergeCommits(dot *ir.Operation) (n int) {
	m := ttng.AsMMA(dot)
	if !m.IsAsync() {
		return 0
	}
	for op := dot.Next(); op != nil; {
		next := op.Next()
		if !ttng.Is(op, "tc_gen5_commit") {
			if !ir.IsPure(op) || op.IsTerminator() {
				return n
			}
			op = next
			continue
		}
		c := ttng.AsTcGen5Commit(op)
		if c.TwoCtas() == m.TwoCtas() && (isTrue(m.Pred()) || c.Pred() == m.Pred()) && moveBefore(c.Barrier(), dot) && (c.Pred() == nil || moveBefore(c.Pred(), dot)) {
			pred := c.Pred()
			if pred == nil {
				pred = m.Pred() // true
			}
			ttng.AddCompletionBarrier(m, c.Barrier(), pred)
			op.Erase()
			n++
		}
		op = next
	}
	return n
}

// moveBefore moves what v is computed from before at, where it is in the same block and
// pure; false if it cannot.
func moveBefore(v *ir.Value, at *ir.Operation) bool {
	var moved []*ir.Operation
	seen := make(map[*ir.Operation]bool)
	var collect func(*ir.Value) bool
	collect = func(v *ir.Value) bool {
		op := v.Def()
		if op == nil || op.Block() != at.Block() || op.IsBeforeInBlock(at) || seen[op] {
			return true
		}
		if op == at || !ir.IsPure(op) || op.NumRegions() > 0 {
			return false
		}
		seen[op] = true
		for _, o := range op.Operands() {
			if !collect(o) {
				return false
			}
		}
		moved = append(moved, op)
		return true
	}
	if !collect(v) {
		return false
	}
	for _, op := range moved {
		op.MoveBefore(at)
	}
	return true
}
