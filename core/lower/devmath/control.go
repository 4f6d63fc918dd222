package devmath

import (
	"github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/llir"
)

// while repeats: from the first values on, as long as cond holds of them, body gives
// the next; it returns the last.
func (k kit) while(first []llir.Value, cond func(v []llir.Value) llir.Value, body func(v []llir.Value) []llir.Value) []llir.Value {
	before := k.Block()
	head := k.F.NewBlock(before)
	k.Br(head)
	k.SetBlock(head)
	v := make([]llir.Value, len(first))
	for i, x := range first {
		v[i] = k.Phi(x.Type())
	}
	do, exit := k.F.NewBlock(head), k.F.NewBlock(head)
	k.CondBr(cond(v), do, exit)
	k.SetBlock(do)
	next := body(v)
	end := k.Block()
	k.Br(head)
	k.F.MoveToEnd(exit)
	k.SetBlock(exit)
	for i := range v {
		p := v[i].(*ir.InstPhi)
		llir.AddIncoming(p, first[i], before)
		llir.AddIncoming(p, next[i], end)
	}
	return v
}

// when is what body gives where cond holds, else v.
func (k kit) when(cond llir.Value, v []llir.Value, body func() []llir.Value) []llir.Value {
	before := k.Block()
	do, exit := k.F.NewBlock(before), k.F.NewBlock(before)
	k.CondBr(cond, do, exit)
	k.SetBlock(do)
	changed := body()
	end := k.Block()
	k.Br(exit)
	k.F.MoveToEnd(exit)
	k.SetBlock(exit)
	out := make([]llir.Value, len(v))
	for i, x := range v {
		p := k.Phi(x.Type())
		llir.AddIncoming(p, x, before)
		llir.AddIncoming(p, changed[i], end)
		out[i] = p
	}
	return out
}
