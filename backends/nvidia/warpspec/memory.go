package warpspec

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

const (
	// mostStaging is how much shared memory the lowering takes for one conversion of
	// layouts, and barrierBytes the size of an mbarrier; smallScratch is for reductions,
	// captures and what is lost to alignment.
	mostStaging  = 32 << 10
	barrierBytes = 8
	smallScratch = 2 << 10
)

// fits says why the rings do not fit in shared memory beside what the partitions that
// compute need there; nil where they do. Rings are never free for anything else.
func (p *plan) fits(limit int64) error {
	if limit == 0 {
		return nil
	}
	rings := p.ringBytes()
	stores := make(map[ir.Type]bool)
	staging, conversion := int64(0), int64(0)
	add := func(v *ir.Value) {
		if !stores[v.Type()] {
			stores[v.Type()] = true
			staging += tensorBytes(v)
		}
	}
	for op := range p.consumer.needed {
		switch {
		case op.Is(tt.DescriptorStore):
			add(tt.AsDescriptorStore(op).Src())
		case op.Is(tt.DescriptorReduce):
			add(tt.AsDescriptorReduce(op).Src())
		case op.Is(ttg.LocalAlloc):
			if src := ttg.AsLocalAlloc(op).Src(); src != nil && (src.Def() == nil || p.groupOf[src.Def()] == nil || !sameBuffer(op, src.Def())) {
				staging += tensorBytes(src)
			}
		case op.Is(ttg.ConvertLayout) && !p.isStored(op):
			conversion = max(conversion, min(tensorBytes(op.OneResult()), int64(p.halves)*mostStaging))
		}
	}
	if need := rings + staging + conversion + smallScratch; need > limit {
		return fmt.Errorf("its buffers take %s of shared memory, and what is computed %s more, of %d that a block may have", diag.Count(rings, "byte"), diag.Count(staging+conversion, "byte"), limit)
	}
	return nil
}

// ringBytes is the shared memory of all rings and their barriers.
func (p *plan) ringBytes() int64 {
	n := int64(0)
	for _, g := range p.groups {
		for _, l := range g.loads {
			n += int64(g.buffers) * (tensorBytes(l.OneResult()) + 2*barrierBytes)
		}
	}
	return n
}

// isStored reports whether a conversion is for stores through descriptors alone, which
// take the value as it is.
func (p *plan) isStored(op *ir.Operation) bool {
	for u := range op.OneResult().Users() {
		if !u.Is(tt.DescriptorStore) && !u.Is(tt.DescriptorReduce) {
			return false
		}
	}
	return true
}

func tensorBytes(v *ir.Value) int64 {
	t, ok := v.Type().(*ir.TensorType)
	if !ok {
		return 0
	}
	bits := ir.BitWidth(t.Elem)
	if bits == 0 {
		bits = 64 // a pointer
	}
	return t.NumElements() * int64(max(bits, 8)) / 8
}
