package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeDotOperands has the scales of operands that are widened in a loop pass through
// LDS, where the pipeliner can load them early, and where each thread finds the scales of
// its elements. It is for chips that widen and scale by one instruction.
var OptimizeDotOperands = &pass.Pass{
	Name:    "tritonamdgpu-optimize-dot-operands",
	Doc:     "load the scales of a loop's dots through LDS",
	Options: []pass.Option{archOption},
	Example: optimizeDotOperandsExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		c, err := chipOf(r)
		if err != nil {
			return err
		}
		if c == &chip.GFX950 {
			b := ir.NewBuilder(r.Module.Context())
			for _, op := range operations(r.Module, amdg.Dialect().Op("amdg.scaled_upcast_fp8")) {
				throughLDS(r, b, op, amdg.AsScaledUpcastFp8(op).Scale())
			}
			for _, op := range operations(r.Module, amdg.Dialect().Op("amdg.scaled_upcast_fp4")) {
				throughLDS(r, b, op, amdg.AsScaledUpcastFp4(op).Scale())
			}
		}
		rewrite.Greedy(r.Module, rewrite.NewSet(layouts.ConvertPatterns()), rewrite.Options{BottomUp: true})
		return nil
	},
}

// throughLDS puts the one load that a loop's scale comes of into LDS, if it is not there.
func throughLDS(r *pass.Run, b *ir.Builder, op *ir.Operation, scale *ir.Value) {
	if op.ParentOf(scf.For) == nil {
		return
	}
	var load *ir.Operation
	seen := map[*ir.Operation]bool{}
	for list := []*ir.Value{scale}; len(list) > 0; list = list[1:] {
		def := list[0].Def()
		if def == nil || seen[def] {
			continue
		}
		seen[def] = true
		switch {
		case def.Is(ttg.LocalLoad), def.Is(tt.Load) && load != nil:
			return
		case def.Is(tt.Load):
			load = def
		}
		list = append(slices.Clone(list), def.OperandValues()...)
	}
	if load == nil {
		return
	}
	c, t := b.Context(), tensors.Type(load.OneResult())
	if t == nil {
		return
	}
	order := tensors.Linear(t).Order()
	if e, ok := encoding.Get(t).(*layout.Blocked); ok {
		order = e.Order
	}
	enc := encoding.Of(c, &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: order, CGA: tensors.CGA(t)})
	b.After(load)
	alloc := b.Op(ttg.LocalAlloc, []*ir.Value{load.OneResult()}, ttg.MemDesc(c, ttg.MemDescType{
		Shape: t.Shape, Elem: t.Elem, Encoding: enc, Space: ttg.SharedMemory(c), AllocShape: t.Shape,
	}))
	read := b.Op(ttg.LocalLoad, []*ir.Value{alloc.OneResult()}, t)
	load.OneResult().ReplaceUsesIf(read.OneResult(), func(u *ir.Use) bool { return u.Owner() != alloc })
	r.Count("through LDS", 1)
}
