package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// RemoveTMEMTokens takes the tokens away from the operations on tensor memory, whose
// order is that of the text from then on. What loops and branches pass on is poison,
// which canonicalize removes.
var RemoveTMEMTokens = &pass.Pass{
	Name:    "triton-nvidia-gpu-remove-tmem-tokens",
	Doc:     "order operations on tensor memory by their places alone",
	Example: removeTMEMTokensExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for f := range r.Module.Body().Ops() {
			if !f.Is(tt.Func) || f.Body() == nil {
				continue
			}
			b.SetToStart(f.Body())
			b.Loc = unnamed(f)
			poison := b.Op(ub.Poison, nil, ttg.AsyncToken(b.Context())).OneResult()
			var ops []*ir.Operation
			ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
				ops = append(ops, op)
				return ir.Advance
			})
			for _, op := range ops {
				if removeToken(b, op, poison) {
					r.Count("tokens", 1)
				}
			}
			if !poison.HasUses() {
				poison.Def().Erase()
			}
		}
		return nil
	},
}

// removeToken takes the tokens of op away: what it takes, and what it gives, which
// poison stands for.
func removeToken(b *ir.Builder, op *ir.Operation, poison *ir.Value) bool {
	var token *ir.Value
	switch {
	case ttng.IsTmemAlloc(op):
		token = ttng.AsTmemAlloc(op).Token()
	case ttng.IsTmemLoad(op):
		token = ttng.AsTmemLoad(op).Token()
		ttng.AsTmemLoad(op).SetDep(nil)
	case ttng.IsTmemStore(op):
		token, _ = step(op)
		ttng.AsTmemStore(op).SetDep(nil)
	default:
		m := ttng.AsMMA(op)
		if m == nil {
			return false
		}
		token, _ = step(op)
		m.SetAccDep(nil)
	}
	if token == nil {
		return false
	}
	var types []ir.Type
	var kept []*ir.Value
	for _, v := range op.Results() {
		if v != token {
			types, kept = append(types, v.Type()), append(kept, v)
		}
	}
	b.At(op)
	n := b.Create(op.Def(), ir.State{Operands: op.OperandValues(), Types: types, Attrs: op.Attrs(), Segments: op.Segments()})
	for i, v := range kept {
		v.ReplaceAllUsesWith(n.Result(i))
	}
	token.ReplaceAllUsesWith(poison)
	op.Erase()
	return true
}
