package lower

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// scratch tells the allocation how much shared memory an operation needs, and
// its alignment.
func (m *module) scratch(op *ir.Operation) (bytes, align int, err error) {
	if o := m.own[op.Name()]; o != nil {
		m.usesOwn = true
		switch {
		case o.Scratch != nil:
			bytes, align = o.Scratch(op)
		case o.Atomic:
			bytes, err = m.atomicScratch(op)
		}
		return bytes, align, err
	}
	m.enter(op)
	bytes, err = m.scratchBytes(op)
	return bytes, 0, err
}

// scratchBytes tells how much shared memory core's operations need.
// The plans are made twice, here and when the operation is lowered, from the
// same types.
func (m *module) scratchBytes(op *ir.Operation) (int, error) {
	switch {
	case op.Is(tt.Reduce):
		p, err := m.planReduce(op)
		if err != nil {
			return 0, failure(op, err)
		}
		return p.bytes, nil
	case op.Is(tt.Scan):
		p, err := m.planScan(op)
		if err != nil {
			return 0, failure(op, err)
		}
		return p.bytes, nil
	case op.Is(tt.Gather):
		return m.gatherScratch(op)
	case op.Is(tt.Histogram):
		return m.histogramScratch(op)
	case op.Is(ttg.ConvertLayout):
		p, err := m.planConversion(op)
		if err != nil {
			return 0, failure(op, err)
		}
		return p.bytes, nil
	case op.Is(tt.AtomicRMW), op.Is(tt.AtomicCAS):
		return m.atomicScratch(op)
	case op.Is(ttg.WarpSpecialize):
		_, bytes, err := captureOffsets(ttg.AsWarpSpecialize(op))
		if err != nil {
			return 0, failure(op, err)
		}
		return bytes, nil
	case op.Is(tt.Func):
		return m.numbersScratch(op), nil
	}
	return 0, nil
}
