package ttg

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// machine is what layouts must be made for: what a module's attributes say of a
// block, or a partition of its warps. What is 0 is not known.
type machine struct{ lanes, warps, ctas int64 }

// checkLayouts verifies that the layouts of all tensors are for the lanes, warps
// and CTAs that the module says: the lowering gives each thread its elements by
// the layout, and a thread that a layout does not know, or one that is not there,
// has none or another's. A module that does not say has no layouts yet. Tensors that
// functions are given count where operations use them, but for those with AnyWarps.
func checkLayouts(top *ir.Operation) *ir.VerifyError {
	c := layoutCheck{seen: map[seenType]bool{}}
	c.regions(top, machine{}.of(top))
	return c.err
}

// of is the machine on which op runs, inside of m: a module says all of it, a
// function how many warps it has.
func (m machine) of(op *ir.Operation) machine {
	warps, ok := op.IntAttr(NumWarpsAttr)
	switch {
	case !ok:
		return m
	case !op.Def().Has(ir.SymbolTable):
		m.warps = warps
		return m
	}
	m = machine{warps: warps, ctas: 1}
	m.lanes, _ = op.IntAttr(ThreadsPerWarpAttr)
	if n, ok := op.IntAttr(NumCTAsAttr); ok {
		m.ctas = n
	}
	return m
}

type seenType struct {
	typ ir.Type
	machine
}

type layoutCheck struct {
	err  *ir.VerifyError
	seen map[seenType]bool // that were found right
}

func (c *layoutCheck) regions(op *ir.Operation, m machine) {
	for i, r := range op.Regions() {
		inner := m
		if op.Is(WarpSpecializePartitions) { // each partition has warps of its own
			inner.warps = 0
			if p := op.Parent(); p != nil && p.Is(WarpSpecialize) {
				if counts := AsWarpSpecialize(p).PartitionNumWarps(); i < len(counts) {
					inner.warps = counts[i]
				}
			}
		}
		for b := range r.Blocks() {
			for _, a := range b.Args() {
				if !deferred(a) {
					c.typ(op, a.Type(), inner)
				}
			}
			for o := range b.Ops() {
				for _, v := range o.Results() {
					c.distributed(o, v.Type())
					if !deferred(v) {
						c.typ(o, v.Type(), inner)
					}
				}
				for i := range o.NumOperands() {
					v := o.Operand(i)
					c.distributed(o, v.Type())
					if deferred(v) && !o.Def().Has(ir.AnyWarps) {
						c.typ(o, v.Type(), inner)
					}
				}
				if o.NumRegions() > 0 {
					c.regions(o, inner.of(o))
				}
				if c.err != nil {
					return
				}
			}
		}
	}
}

// deferred reports whether the layout of v counts where v is used.
func deferred(v *ir.Value) bool {
	if op := v.Def(); op != nil {
		return op.Def().Has(ir.AnyWarps)
	}
	f := v.Block().Parent()
	return v.Block().IsEntry() && f != nil && f.Def().Has(ir.Symbol)
}

// distributed checks that a tensor is not in a layout of shared memory.
func (c *layoutCheck) distributed(op *ir.Operation, t ir.Type) {
	if tensor, ok := t.(*ir.TensorType); ok && c.err == nil && tensor.Encoding != nil && isShared(tensor.Encoding) {
		c.err = &ir.VerifyError{Op: op, Msg: msgNotDistributed}
	}
}

func (c *layoutCheck) typ(op *ir.Operation, t ir.Type, m machine) {
	at := encoding.AttrOf(t)
	if at == nil || c.err != nil || m == (machine{}) {
		return
	}
	key := seenType{t, m}
	if c.seen[key] {
		return
	}
	if why := m.refuse(at.Layout, len(ir.ShapeOf(t))); why != "" {
		c.err = &ir.VerifyError{Op: op, Msg: why}
		return
	}
	c.seen[key] = true
}

// refuse says why a layout is not one for a tensor of that rank on m, or "".
func (m machine) refuse(e layout.Encoding, rank int) string {
	if why := encoding.WrongRank(e, rank); why != "" {
		return why
	}
	l, ok := madeFor(e)
	switch {
	case !ok:
	case m.lanes != 0 && l.lanes != m.lanes:
		return fmt.Sprintf(msgLayoutLanes, l.lanes, m.lanes, e.Mnemonic(), ThreadsPerWarpAttr)
	case m.warps != 0 && l.warps != m.warps:
		return fmt.Sprintf(msgLayoutWarps, l.warps, m.warps, e.Mnemonic(), NumWarpsAttr)
	case m.ctas != 0 && l.ctas != m.ctas:
		return fmt.Sprintf(msgLayoutCTAs, l.ctas, m.ctas, e.Mnemonic(), NumCTAsAttr)
	}
	return ""
}

// WarpsOf is how many warps the layout of a tensor is for; not ok for a type without one.
func WarpsOf(t ir.Type) (warps int64, ok bool) {
	at := encoding.AttrOf(t)
	if at == nil {
		return 0, false
	}
	m, ok := madeFor(at.Layout)
	return m.warps, ok
}

// madeFor is what a distributed layout is for; not ok for one that is none.
func madeFor(e layout.Encoding) (m machine, ok bool) {
	tiled := func(lanes int64, warps []int, cga layout.Bases) (machine, bool) {
		return machine{lanes, product(warps), 1 << len(cga)}, true
	}
	switch e := e.(type) {
	case *layout.Blocked:
		return tiled(product(e.ThreadsPerWarp), e.WarpsPerCTA, e.CGA)
	case *layout.Linear:
		return machine{1 << len(e.Lane), 1 << len(e.Warp), 1 << len(e.Block)}, true
	case *layout.Slice:
		return madeFor(e.Parent)
	case *layout.DotOp:
		return madeFor(e.Parent)
	case *layout.NvidiaMMA:
		return tiled(32, e.WarpsPerCTA, e.CGA)
	case *layout.AMDMFMA:
		return tiled(64, e.WarpsPerCTA, e.CGA)
	case *layout.AMDWMMA:
		return tiled(32, e.WarpsPerCTA, e.CGA)
	}
	return machine{}, false
}

func product(list []int) int64 {
	n := int64(1)
	for _, x := range list {
		n *= int64(x)
	}
	return n
}
