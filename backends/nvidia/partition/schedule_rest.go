package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// isYield reports whether op ends a region and has no partition of its own: it has that
// of the operation around it.
func isYield(op *ir.Operation) bool { return op.Is(scf.Yield) || op.Is(tt.ReduceReturn) }

// markBodies gives what is inside an operation of the body its partitions. Those of
// operations with regions come from their regions later.
func (g *groupsOf) markBodies() {
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if op == g.loop || op.Is(scf.Yield) || op.Is(scf.For) || isMarked(op) {
			return ir.Advance
		}
		if around := forloop.AncestorIn(op.ParentOf(scf.For).Body(), op); isMarked(around) {
			ids, _ := idsOf(around)
			for _, p := range g.at(ids) {
				p.ops = append(p.ops, op)
			}
			mark(op, ids)
		}
		return ir.Advance
	})
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if !op.Is(scf.For) && op.NumRegions() > 0 && isMarked(op) {
			op.SetAttr(idsAttr, nil)
		}
		return ir.Advance
	})
}

// markRest marks what no partition leads to: an operation runs where its users do; a
// scalar that nobody uses, where its operands are computed.
func (g *groupsOf) markRest() error {
	if err := g.markTensorMemory(); err != nil {
		return err
	}
	users := make(map[*ir.Operation][]*ir.Operation)
	var order []*ir.Operation
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if op.NumRegions() == 0 && !isMarked(op) && !op.Is(scf.Yield) {
			order = append(order, op)
			users[op] = finalUsers(op)
		}
		return ir.Advance
	})
	g.fixpoint(order, users)

	defs := make(map[*ir.Operation][]*ir.Operation)
	order = nil
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if op.NumRegions() > 0 || isMarked(op) || isYield(op) || op.NumResults() > 0 && !isScalar(op) {
			return ir.Advance
		}
		order = append(order, op)
		for _, v := range op.OperandValues() {
			if v.Def() != nil {
				defs[op] = append(defs[op], v.Def())
			}
		}
		return ir.Advance
	})
	g.fixpoint(order, defs)
	return nil
}

// fixpoint marks each operation with all partitions of those that next lists for it.
func (g *groupsOf) fixpoint(order []*ir.Operation, next map[*ir.Operation][]*ir.Operation) {
	ids := make(map[*ir.Operation][]int64)
	var of func(op *ir.Operation) []int64
	of = func(op *ir.Operation) []int64 {
		if _, listed := next[op]; listed {
			return ids[op]
		}
		if op.NumRegions() == 0 {
			own, _ := idsOf(op)
			return own
		}
		var all []int64
		for _, r := range op.Regions() {
			for b := range r.Blocks() {
				for inner := range b.Ops() {
					if inner != b.Terminator() {
						all = union(all, of(inner))
					}
				}
			}
		}
		return all
	}
	for changed := true; changed; {
		changed = false
		for _, op := range order {
			have := ids[op]
			for _, o := range next[op] {
				if g.loop.IsAncestorOf(o) {
					have = union(have, of(o))
				}
			}
			if len(have) != len(ids[op]) {
				ids[op], changed = have, true
			}
		}
	}
	for _, op := range order {
		if len(ids[op]) > 0 {
			mark(op, ids[op])
		}
	}
}

// finalUsers are the operations that use results of op, after loops and conditions that
// only hand them on.
func finalUsers(op *ir.Operation) (users []*ir.Operation) {
	seen := make(map[*ir.Value]bool)
	values := op.Results()
	for len(values) > 0 {
		v := values[0]
		values = values[1:]
		if seen[v] {
			continue
		}
		seen[v] = true
		for u := range v.Uses() {
			switch user := u.Owner(); {
			case user.Is(scf.For) && u.Index() >= 3:
				values = append(values, scf.IterArg(user, u.Index()-3))
			case user.Is(scf.Yield) && user.Parent().Is(scf.For):
				values = append(values, scf.IterArg(user.Parent(), u.Index()))
			case user.Is(scf.Yield) && user.Parent().Is(scf.If):
				values = append(values, user.Parent().Result(u.Index()))
			case !slices.Contains(users, user):
				users = append(users, user)
			}
		}
	}
	return users
}

// isScalar reports whether op's results are numbers.
func isScalar(op *ir.Operation) bool {
	return !slices.ContainsFunc(op.Results(), func(v *ir.Value) bool {
		switch v.Type().(type) {
		case *ir.IntegerType, *ir.FloatType:
			return false
		}
		return true
	})
}

// markTensorMemory has the loads and stores of a buffer that the loop makes in tensor
// memory run in one partition.
func (g *groupsOf) markTensorMemory() (err error) {
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if !ttng.IsTmemAlloc(op) {
			return ir.Advance
		}
		var dots, moves []int64
		var threads []*ir.Operation
		for u := range ttng.AsTmemAlloc(op).Result().Users() {
			ids, _ := idsOf(u)
			switch {
			case ttng.AsMMA(u) != nil:
				dots = union(dots, ids)
			case ttng.IsTmemLoad(u) || ttng.IsTmemStore(u):
				threads = append(threads, u)
				moves = union(moves, ids)
			}
		}
		switch {
		case len(threads) == 0:
		case len(dots) == 0:
			err = mistake(op, "no multiplication in a partition uses this buffer").
				WithHelp("make the buffer outside of the loop, or have a multiplication use it")
		case len(moves) != 1:
			err = mistake(op, "the loads and stores of this buffer are in %d partitions, not in one", len(moves)).
				WithHelp("have them in one partition, or hand the buffer on by its token")
		}
		if err != nil {
			return ir.Stop
		}
		for _, u := range threads {
			if !isMarked(u) {
				mark(u, moves)
			}
		}
		return ir.Advance
	})
	return err
}

// markRegions marks operations with regions, and their results, from the inside out.
func (g *groupsOf) markRegions() error {
	if _, err := markSingle(g.loop, g.loop.Body()); err != nil {
		return err
	}
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if op.NumResults() == 0 && !isMarked(op) && op.NumRegions() == 0 && !isYield(op) {
			if ids, ok := idsOf(op.Parent()); ok {
				mark(op, ids)
			}
		}
		return ir.Advance
	})
	return nil
}

// markSingle marks a loop or a reduction by its body.
func markSingle(op *ir.Operation, body *ir.Block) ([]int64, error) {
	ids, err := markBlock(body)
	if err != nil {
		return nil, err
	}
	outputs, err := yielded(body)
	if err != nil {
		return nil, err
	}
	return markOutputs(op, ids, outputs), nil
}

// markBlock marks what a block has, and returns where it runs.
func markBlock(block *ir.Block) (all []int64, err error) {
	for op := range block.Ops() {
		var ids []int64
		switch {
		case op == block.Terminator():
		case op.Is(scf.If):
			ids, err = markIf(op)
		case op.Is(scf.For):
			ids, err = markSingle(op, op.Body())
		case op.Is(tt.Reduce):
			ids, err = markSingle(op, tt.AsReduce(op).CombineOp().First())
		default:
			ids, _ = idsOf(op)
		}
		if err != nil {
			return nil, err
		}
		all = union(all, ids)
	}
	return all, nil
}

// markIf marks a condition.
func markIf(op *ir.Operation) ([]int64, error) {
	v := scf.AsIf(op)
	yes := v.ThenRegion().First()
	ids, err := markBlock(yes)
	if err != nil {
		return nil, err
	}
	outputs, err := yielded(yes)
	if err != nil || v.ElseRegion().Empty() {
		return markOutputs(op, ids, outputs), err
	}
	no := v.ElseRegion().First()
	more, err := markBlock(no)
	if err != nil {
		return nil, err
	}
	others, err := yielded(no)
	if err != nil {
		return nil, err
	}
	for i := range outputs {
		a, b := yes.Terminator().Operand(i), no.Terminator().Operand(i)
		var other bool
		switch {
		case a.Type() == ttg.AsyncToken(op.Context()):
			// The partition that made a token before the condition keeps it.
			other = a.Def() != nil && forloop.AncestorIn(yes, a.Def()) != nil
		case a.Def() != nil && a.Block() == yes:
		case b.Def() != nil && b.Block() == no:
			other = true
		default:
			other = len(outputs[i]) == 0
		}
		if other {
			outputs[i] = others[i]
		}
	}
	return markOutputs(op, union(ids, more), outputs), nil
}

func markOutputs(op *ir.Operation, ids []int64, outputs [][]int64) []int64 {
	for _, o := range outputs {
		ids = union(ids, o)
	}
	mark(op, ids)
	if len(outputs) > 0 {
		setOutputs(op, outputs)
	} else {
		op.SetAttr(outputsAttr, nil)
	}
	return ids
}

// yielded are the partitions of what a block hands on: where it is computed; a token that
// a loop carries belongs to the partition that takes it.
func yielded(block *ir.Block) ([][]int64, error) {
	parent, end := block.Parent(), block.Terminator()
	list := make([][]int64, end.NumOperands())
	for i, v := range end.OperandValues() {
		def := v.Def()
		if parent.Is(scf.For) && v.Type() == ttg.AsyncToken(parent.Context()) {
			arg := scf.IterArg(parent, i)
			if !arg.HasOneUse() {
				return nil, mistake(parent, "argument %d of the loop, a token, does not have one use", i).
					WithHelp("this pass comes before those of nvws, which take tokens apart")
			}
			for u := range arg.Users() {
				def = u
			}
		}
		if def == nil {
			continue
		}
		ids, ok := idsOf(def)
		if def.NumRegions() > 0 && def == v.Def() {
			ids, ok = outputsOf(def, v.Index()), true
		}
		if !ok {
			for u := range resultUsers(def) {
				if user := forloop.AncestorIn(block, u); user != nil {
					more, _ := idsOf(user)
					ids = union(ids, more)
				}
			}
		}
		list[i] = ids
	}
	return list, nil
}

// resultUsers ranges over the users of all results of op.
func resultUsers(op *ir.Operation) func(func(*ir.Operation) bool) {
	return func(yield func(*ir.Operation) bool) {
		for _, u := range resultUses(op) {
			if !yield(u.Owner()) {
				return
			}
		}
	}
}

// checkAll says which operation has no partition.
func (g *groupsOf) checkAll() (err error) {
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		if op == g.loop || isMarked(op) || op.HasAttr(tt.WarpSpecializeAttr) || isYield(op) {
			return ir.Advance
		}
		err = mistake(op, "no partition needs %s", op.Name()).WithHelp("canonicalize erases what has no users")
		return ir.Stop
	})
	return err
}
