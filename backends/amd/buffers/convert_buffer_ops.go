package buffers

import (
	"math"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/analysis/ranges"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// Options of ConvertBufferOps.
const (
	optionArch    = "arch-generation-name"
	optionAnalyze = "analyze-small-tensor-ofst"
)

// ConvertBufferOps makes amdg's buffer operations of loads, stores and atomics through
//
//	tt.addptr (tt.splat %base), %offsets : tensor<…xi32>
//
// where the offset in bytes surely is between 0 and 2 GiB: by the range of %offsets, or
// because %base begins a smaller buffer. With analyze-small-tensor-ofst offsets
// into such buffers need proof as well.
var ConvertBufferOps = &pass.Pass{
	Name:    "tritonamdgpu-convert-buffer-ops",
	Doc:     "access memory by a base and offsets of 32 bits where these suffice",
	Example: convertBufferOpsExample,
	Options: []pass.Option{
		{Name: optionArch, Doc: "the chip, gfx942; by default that of ttg.target", Default: ""},
		{Name: optionAnalyze, Doc: "prove offsets into buffers of less than 2 GiB, too", Default: false},
	},
	Run: func(r *pass.Run) error {
		c := &converter{
			b: ir.NewBuilder(r.Module.Context()), ranges: ranges.Analyze(r.Module), axis: axisinfo.Analyze(r.Module),
			chip: chipFor(r.Module, r.Text(optionArch)), analyze: r.Bool(optionAnalyze),
		}
		var all []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Load) || op.Is(tt.Store) || op.Is(tt.AtomicRMW) {
				all = append(all, op)
			}
			return ir.Advance
		})
		for _, op := range all {
			if base, offsets := c.parts(tt.Address(op)); base != nil && c.fits(base, offsets) && c.convert(op, base, offsets) {
				r.Count("converted", 1)
			}
		}
		return nil
	},
}

// chipFor is the chip of a name, or of the module's target where that is empty; nil for
// none that is known.
func chipFor(module *ir.Operation, name string) *chip.Chip {
	if name != "" {
		return chip.Of(chip.Backend + ":" + name)
	}
	if target, ok := module.Attr(ttg.TargetAttr).(*ir.StringAttr); ok {
		return chip.Of(target.Value)
	}
	return nil
}

type converter struct {
	b       *ir.Builder
	ranges  *ranges.Result
	axis    *axisinfo.Result
	chip    *chip.Chip // nil: not known
	analyze bool
}

// parts are the base and the offsets of pointers, nil where these are not of that form.
func (c *converter) parts(ptrs *ir.Value) (base, offsets *ir.Value) {
	if !ptrs.DefIs(tt.AddPtr) {
		return nil, nil
	}
	sum := tt.AsAddPtr(ptrs.Def())
	if !sum.Ptr().DefIs(tt.Splat) || ir.BitWidth(ir.ElemOf(sum.Offset().Type())) != 32 {
		return nil, nil
	}
	if _, pointers := tt.PointeeOf(ptrs.Type()).(*tt.PtrType); pointers {
		return nil, nil
	}
	return tt.AsSplat(sum.Ptr().Def()).Src(), sum.Offset()
}

// fits reports whether every element at the offsets lies within 2 GiB of the base.
func (c *converter) fits(base, offsets *ir.Value) bool {
	if !c.analyze && isSmall(base) {
		return true
	}
	x := c.ranges.Of(offsets)
	return x.Low >= 0 && (x.High+1)*axisinfo.ElemBytes(base.Type()) <= math.MaxInt32
}

// convert replaces an access, and reports whether there is an instruction for it.
func (c *converter) convert(op *ir.Operation, base, offsets *ir.Value) bool {
	c.b.At(op)
	stride := blockStride(offsets)
	switch op.Def() {
	case tt.Load:
		v := tt.AsLoad(op)
		if v.IsVolatile() {
			return false
		}
		load := amdg.AsBufferLoad(c.create("amdg.buffer_load", v.Result().Type(), []*ir.Value{base, offsets}, stride, v.Mask(), v.Other()))
		load.SetCache(v.Cache())
		v.Result().ReplaceAllUsesWith(load.Result())
	case tt.Store:
		v := tt.AsStore(op)
		amdg.AsBufferStore(c.create("amdg.buffer_store", nil, []*ir.Value{v.Value(), base, offsets}, stride, v.Mask())).SetCache(v.Cache())
	case tt.AtomicRMW:
		v := tt.AsAtomicRMW(op)
		if !c.takesAtomic(v) {
			return false
		}
		atomic := amdg.AsBufferAtomicRmw(c.create("amdg.buffer_atomic_rmw", v.Result().Type(), []*ir.Value{base, offsets, v.Val()}, stride, v.Mask()))
		atomic.SetAtomicRmwOp(v.AtomicRmwOp())
		atomic.SetSem(v.Sem())
		atomic.SetScope(v.Scope())
		v.Result().ReplaceAllUsesWith(atomic.Result())
	}
	op.Erase()
	return true
}

// create makes an operation of the dialect with a result, unless that is nil; operands
// that it may lack are nil where it does.
func (c *converter) create(name string, result ir.Type, operands []*ir.Value, optional ...*ir.Value) *ir.Operation {
	s := ir.State{Operands: operands}
	for range operands {
		s.Segments = append(s.Segments, 1)
	}
	for _, v := range optional {
		n := int32(0)
		if v != nil {
			s.Operands = append(s.Operands, v)
			n = 1
		}
		s.Segments = append(s.Segments, n)
	}
	if result != nil {
		s.Types = []ir.Type{result}
	}
	return c.b.Create(amdg.Dialect().Op(name), s)
}

// takesAtomic reports whether buffer instructions of CDNA 3 and 4 do an atomic: of 32 and
// 64 bits within the device, and sums of two neighbours of 16 bits.
func (c *converter) takesAtomic(v tt.AtomicRMWOp) bool {
	if c.chip == nil || c.chip.MFMA < 3 || v.Scope() == tt.ScopeSystem {
		return false
	}
	elem := ir.ElemOf(v.Val().Type())
	switch ir.BitWidth(elem) {
	case 32, 64:
		return true
	case 16:
		f, float := elem.(*ir.FloatType)
		if !float || v.AtomicRmwOp() != tt.RMWFAdd || f.Kind == ir.BF16 && c.chip.MFMA < 4 {
			return false
		}
		pairs := c.axis.Vector(v.Ptr()) > 1
		if v.Mask() != nil {
			pairs = pairs && c.axis.MaskRun(v.Mask()) > 1
		}
		return pairs
	}
	return false
}

// blockStride is the distance of the rows of a block in elements, a scalar, where offsets
// are a sum of rows times it and columns; nil elsewhere.
func blockStride(offsets *ir.Value) *ir.Value {
	if !offsets.DefIs(arith.AddI) {
		return nil
	}
	for _, term := range offsets.Def().OperandValues() {
		if !term.DefIs(tt.Broadcast) {
			continue
		}
		rows := tt.AsUnary(term.Def()).Src()
		if !rows.DefIs(arith.MulI) {
			continue
		}
		for _, factor := range rows.Def().OperandValues() {
			if factor.DefIs(tt.Splat) {
				return tt.AsSplat(factor.Def()).Src()
			}
		}
	}
	return nil
}
