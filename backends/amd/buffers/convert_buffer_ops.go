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
	"github.com/tritonc/tritonc/core/transform/std"
)

// Options of ConvertBufferOps.
const (
	optionArch    = "arch-generation-name"
	optionAnalyze = "analyze-small-tensor-ofst"
)

// ConvertBufferOps makes amdg's buffer operations of loads, stores, atomics and copies to LDS
// through
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
			b: ir.NewBuilder(r.Module.Context()), ranges: ranges.Analyze(r.Module, views()...), axis: axisinfo.Analyze(r.Module),
			chip: chipFor(r.Module, r.Text(optionArch)), analyze: r.Bool(optionAnalyze),
		}
		var all []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if address(op) != nil {
				all = append(all, op)
			}
			return ir.Advance
		})
		for _, op := range all {
			if base, offsets := c.parts(address(op)); base != nil && c.fits(base, offsets) && c.convert(op, base, offsets) {
				r.Count("converted", 1)
			}
		}
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if !op.Is(tt.Func) {
				return ir.Advance
			}
			std.JoinEqualBlocks(tt.AsFunc(op).Body())
			return ir.Skip
		})
		return nil
	},
}

// views are operations of the dialect that make tensors of elements of others.
func views() []*ir.OpDef {
	return []*ir.OpDef{amdg.Dialect().Op("amdg.extract_slice"), amdg.Dialect().Op("amdg.concat")}
}

// address is what an access that may be converted goes through; nil for others.
func address(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case tt.Load, tt.Store, tt.AtomicRMW, tt.AtomicCAS:
		return tt.Address(op)
	case ttg.AsyncCopy:
		return ttg.AsAsyncCopy(op).Src()
	}
	return nil
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
		load := amdg.AsBufferLoad(c.create("amdg.buffer_load", v.Result().Type(), []*ir.Value{base, offsets}, stride, notAll(v.Mask()), notZero(v.Other())))
		load.SetCache(v.Cache())
		v.Result().ReplaceAllUsesWith(load.Result())
	case tt.Store:
		v := tt.AsStore(op)
		amdg.AsBufferStore(c.create("amdg.buffer_store", nil, []*ir.Value{v.Value(), base, offsets}, stride, notAll(v.Mask()))).SetCache(v.Cache())
	case tt.AtomicRMW:
		v := tt.AsAtomicRMW(op)
		if !c.takesAtomic(v) {
			return false
		}
		atomic := amdg.AsBufferAtomicRmw(c.create("amdg.buffer_atomic_rmw", v.Result().Type(), []*ir.Value{base, offsets, v.Val()}, stride, notAll(v.Mask())))
		atomic.SetAtomicRmwOp(v.AtomicRmwOp())
		atomic.SetSem(v.Sem())
		atomic.SetScope(v.Scope())
		v.Result().ReplaceAllUsesWith(atomic.Result())
	case tt.AtomicCAS:
		v := tt.AsAtomicCAS(op)
		if width := ir.BitWidth(ir.ElemOf(v.Val().Type())); !c.hasAtomics(v.Scope()) || width != 32 && width != 64 {
			return false
		}
		s := ir.State{Operands: []*ir.Value{base, offsets, v.Cmp(), v.Val()}, Types: []ir.Type{v.Result().Type()}}
		if stride != nil {
			s.Operands = append(s.Operands, stride)
		}
		atomic := amdg.AsBufferAtomicCas(c.b.Create(amdg.Dialect().Op("amdg.buffer_atomic_cas"), s))
		atomic.SetSem(v.Sem())
		atomic.SetScope(v.Scope())
		v.Result().ReplaceAllUsesWith(atomic.Result())
	case ttg.AsyncCopy:
		v := ttg.AsAsyncCopy(op)
		if c.chip == nil || c.chip.MFMA < 3 || v.IsVolatile() {
			return false
		}
		load := amdg.AsBufferLoadToLocal(c.create("amdg.buffer_load_to_local", v.Token().Type(), []*ir.Value{v.Result(), base, offsets}, notAll(v.Mask()), notZero(v.Other()), stride))
		load.SetCache(v.Cache())
		load.SetContiguity(v.Contiguity())
		v.Token().ReplaceAllUsesWith(load.Token())
	}
	op.Erase()
	return true
}

// notAll is a mask, but for one that leaves nothing out.
func notAll(mask *ir.Value) *ir.Value {
	if mask != nil {
		if v, ok := arith.ConstantInt(mask); ok && v != 0 {
			return nil
		}
	}
	return mask
}

// notZero is what masked elements are, but for zeros, which a load gives by itself.
func notZero(other *ir.Value) *ir.Value {
	if other == nil || arith.IsZero(scalarOf(other)) {
		return nil
	}
	return other
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

// hasAtomics reports whether the chip has atomics of that scope among the buffer
// instructions that are used.
func (c *converter) hasAtomics(scope int64) bool {
	return c.chip != nil && c.chip.MFMA >= 3 && scope != tt.ScopeSystem
}

// takesAtomic reports whether buffer instructions of CDNA 3 and 4 do an atomic: of 32 and
// 64 bits within the device, and sums of two neighbours of 16 bits.
func (c *converter) takesAtomic(v tt.AtomicRMWOp) bool {
	if !c.hasAtomics(v.Scope()) {
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
