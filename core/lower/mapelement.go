package lower

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// mapElementwise runs a region on each group of neighbouring registers.
func (e *emitter) mapElementwise(op tt.MapElementwiseOp) error {
	n, err := e.m.regsOf(op.Result()[0].Type())
	if err != nil {
		return err
	}
	group := int(op.Pack())
	if group < 1 || n%group != 0 {
		return fmt.Errorf("%s per thread are not a multiple of pack = %d", diag.Count(n, "element"), group)
	}
	region := op.ScalarOp()
	run := e.straightRegion
	if region.First() != region.Last() {
		run = e.branchingRegion
	}
	outs := make([][]llir.Value, len(op.Result()))
	for r := 0; r < n; r += group {
		arg := 0
		for _, v := range op.Srcs() {
			for _, x := range e.value(v)[r : r+group] {
				e.set(region.First().Arg(arg), []llir.Value{x})
				arg++
			}
		}
		res, err := run(region)
		if err != nil {
			return err
		}
		for i := range outs {
			outs[i] = append(outs[i], res[i*group:(i+1)*group]...)
		}
	}
	for i, res := range op.Result() {
		e.set(res, outs[i])
	}
	return nil
}

// straightRegion lowers a region of one block and gives what it returns.
func (e *emitter) straightRegion(region *ir.Region) ([]llir.Value, error) {
	end, err := e.inner(region)
	if err != nil {
		return nil, err
	}
	out := make([]llir.Value, end.NumOperands())
	for i, v := range end.OperandValues() {
		out[i] = e.scalar(v)
	}
	return out, nil
}

// regionExit is where the returns of a region with branches meet.
type regionExit struct {
	block   *llir.Block
	returns []regionReturn
}

type regionReturn struct {
	vals []llir.Value
	from *llir.Block
}

// branchingRegion lowers a region of several blocks, in place, and gives what it
// returns.
func (e *emitter) branchingRegion(region *ir.Region) ([]llir.Value, error) {
	blocks, exit := e.blocks, e.exit
	defer func() { e.blocks, e.exit = blocks, exit }()
	e.exit = &regionExit{block: e.f.NewBlock(nil)}
	if err := e.body(region, e.b.Block()); err != nil {
		return nil, err
	}
	here := e.exit
	if len(here.returns) == 0 {
		return nil, fmt.Errorf("the function never returns")
	}
	// One return dominates what follows; of several, only the entry surely does.
	idom := e.blocks[region.First()].last
	if len(here.returns) == 1 {
		idom = here.returns[0].from
	}
	e.f.SetIDom(here.block, idom)
	e.f.MoveToEnd(here.block)
	e.b.SetBlock(here.block)
	if len(here.returns) == 1 {
		return here.returns[0].vals, nil
	}
	out := make([]llir.Value, len(here.returns[0].vals))
	for i, v := range here.returns[0].vals {
		p := e.b.Phi(v.Type())
		for _, r := range here.returns {
			llir.AddIncoming(p, r.vals[i], r.from)
		}
		out[i] = p
	}
	return out, nil
}

// leaveRegion lowers the return of a region with branches.
func (e *emitter) leaveRegion(op *ir.Operation) error {
	vals := make([]llir.Value, op.NumOperands())
	for i, v := range op.OperandValues() {
		vals[i] = e.scalar(v)
	}
	e.exit.returns = append(e.exit.returns, regionReturn{vals, e.b.Block()})
	e.b.Br(e.exit.block)
	return nil
}
