package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// ConvertSCFToCF makes blocks and branches of loops and conditions, as MLIR's pass of
// that name does. Those in a region that takes one block only stay.
var ConvertSCFToCF = &pass.Pass{
	Name:    "convert-scf-to-cf",
	Doc:     "make blocks and branches of loops and conditions",
	Example: convertSCFToCFExample,
	Run: func(r *pass.Run) error {
		r.Module.Context().Load(cf.Dialect)
		b := ir.NewBuilder(r.Module.Context())
		// An operation comes before those that it contains: when their turn comes, they
		// are where its region was.
		var list []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch op.Def() {
			case scf.For, scf.While, scf.If, scf.ExecuteRegion:
				list = append(list, op)
			}
			return ir.Advance
		})
		for _, op := range list {
			if !takesBlocks(op.Block().Region()) {
				continue
			}
			b.Loc = op.Loc()
			switch op.Def() {
			case scf.For:
				branchFor(b, op)
			case scf.While:
				branchWhile(b, op)
			case scf.If:
				branchIf(b, op)
			case scf.ExecuteRegion:
				branchRegion(b, op)
			}
			r.Count("converted", 1)
		}
		return nil
	},
}

// takesBlocks reports whether a region may have several blocks.
func takesBlocks(r *ir.Region) bool {
	def := r.Parent().Def()
	if def.Has(ir.SingleBlock) || len(def.Regions) == 0 {
		return !def.Has(ir.SingleBlock)
	}
	i := slices.Index(r.Parent().Regions(), r)
	return def.Regions[min(i, len(def.Regions)-1)].MaxBlocks != 1 // the last may be variadic
}

// cutOut ends op's block before op, and returns it and the block that has what follows
// op. The caller replaces op's results.
func cutOut(op *ir.Operation) (before, after *ir.Block) {
	before = op.Block()
	after = before.SplitBefore(op)
	return before, after
}

// moveBlock puts the only block of a region after at, and replaces its arguments.
func moveBlock(from *ir.Region, at *ir.Block, args []*ir.Value) *ir.Block {
	block := from.First()
	block.Remove()
	at.Region().InsertAfter(block, at)
	for i := len(args) - 1; i >= 0; i-- {
		block.Arg(i).ReplaceAllUsesWith(args[i])
		block.EraseArg(i)
	}
	return block
}

// leave replaces the terminator of block by a branch.
func leave(b *ir.Builder, block, to *ir.Block) {
	end := block.Terminator()
	args := end.OperandValues()
	b.SetBefore(end)
	cf.NewBr(b, to, args...)
	end.Erase()
}

// argsLike gives block arguments of the types of values.
func argsLike(block *ir.Block, values []*ir.Value) []*ir.Value {
	for _, v := range values {
		block.AddArg(v.Type(), v.Loc())
	}
	return block.Args()
}

// branchFor makes a block that decides whether the loop goes on, and has what it carries
// as arguments.
func branchFor(b *ir.Builder, op *ir.Operation) {
	loop := scf.AsFor(op)
	lower, upper, step, unsigned := loop.LowerBound(), loop.UpperBound(), loop.Step(), loop.UnsignedCmp()
	inits := loop.InitArgs()
	before, after := cutOut(op)
	head := before.Region().AddBlockAfter(before)
	args := argsLike(head, op.Body().Args())
	op.ReplaceAllUsesWith(args[1:]...)

	b.SetToEnd(before)
	cf.NewBr(b, head, append([]*ir.Value{lower}, inits...)...)
	body := moveBlock(loop.Region(), head, args)
	b.SetToEnd(head)
	less := arith.SLT
	if unsigned {
		less = arith.ULT
	}
	cf.NewCondBr(b, arith.Compare(b, arith.CmpI, less, args[0], upper), body, nil, after, nil)

	yield := body.Terminator()
	next := yield.OperandValues()
	b.SetBefore(yield)
	cf.NewBr(b, head, append([]*ir.Value{arith.Binary(b, arith.AddI, args[0], step)}, next...)...)
	yield.Erase()
	op.Erase()
}

// branchWhile has the loop's regions as blocks.
func branchWhile(b *ir.Builder, op *ir.Operation) {
	loop := scf.AsWhile(op)
	inits := loop.Inits()
	before, after := cutOut(op)
	head := before.Region().AddBlockAfter(before)
	args := argsLike(head, loop.Before().First().Args())
	b.SetToEnd(before)
	cf.NewBr(b, head, inits...)

	test := moveBlock(loop.Before(), head, args)
	head.TakeOps(test.First())
	test.Erase()
	end := scf.AsCondition(head.Terminator())
	cond, kept := end.Condition(), end.Args()
	op.ReplaceAllUsesWith(kept...)
	body := moveBlock(loop.After(), head, kept)
	b.SetBefore(end.Op)
	cf.NewCondBr(b, cond, body, nil, after, nil)
	end.Op.Erase()
	leave(b, body, head)
	op.Erase()
}

// branchIf branches to the regions, and from them to what follows, which has the results
// as arguments.
func branchIf(b *ir.Builder, op *ir.Operation) {
	cond := scf.AsIf(op).Condition()
	before, after := cutOut(op)
	op.ReplaceAllUsesWith(argsLike(after, op.Results())...)
	yes := moveBlock(scf.AsIf(op).ThenRegion(), before, nil)
	leave(b, yes, after)
	no := after
	if other := scf.AsIf(op).ElseRegion(); !other.Empty() {
		no = moveBlock(other, yes, nil)
		leave(b, no, after)
	}
	b.SetToEnd(before)
	cf.NewCondBr(b, cond, yes, nil, no, nil)
	op.Erase()
}

// branchRegion puts the blocks of a region where the operation was.
func branchRegion(b *ir.Builder, op *ir.Operation) {
	before, after := cutOut(op)
	op.ReplaceAllUsesWith(argsLike(after, op.Results())...)
	region := scf.AsExecuteRegion(op).Region()
	entry, at := region.First(), before
	for block := range region.Blocks() {
		block.Remove()
		before.Region().InsertAfter(block, at)
		at = block
		if end := block.Terminator(); end != nil && end.Is(scf.Yield) {
			leave(b, block, after)
		}
	}
	b.SetToEnd(before)
	cf.NewBr(b, entry)
	op.Erase()
}
