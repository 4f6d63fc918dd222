package rewrite

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
)

// Pattern rewrites one operation. Apply returns whether it changed anything; it
// makes changes through the Rewriter only, at or around op.
type Pattern struct {
	Name string
	Root *ir.OpDef // nil: any operation
	// RootName is in place of Root where its dialect is to be made only if it is used:
	// the full name, such as "tt.load".
	RootName string
	Apply    func(rw *Rewriter, op *ir.Operation) bool
}

// Set is a collection of patterns by root, in the order in which they are tried.
type Set struct {
	byRoot map[*ir.OpDef][]Pattern
	byName []Pattern // few
	any    []Pattern
}

// NewSet collects patterns.
func NewSet(lists ...[]Pattern) *Set {
	s := &Set{byRoot: make(map[*ir.OpDef][]Pattern)}
	for _, l := range lists {
		for _, p := range l {
			switch {
			case p.RootName != "":
				s.byName = append(s.byName, p)
			case p.Root == nil:
				s.any = append(s.any, p)
			default:
				s.byRoot[p.Root] = append(s.byRoot[p.Root], p)
			}
		}
	}
	return s
}

// Options of Greedy.
type Options struct {
	// BottomUp looks at the last operations first, as passes do that do not say
	// otherwise; the canonicalizer begins at the top.
	BottomUp bool
	// NoFold leaves folding out: only patterns and dead code.
	NoFold bool
	// Count, when set, is told the name of each pattern that applied.
	Count func(pattern string)
}

// Greedy applies folding and the patterns to everything inside root and
// reports whether anything changed.
func Greedy(root *ir.Operation, set *Set, o Options) bool {
	rw := &Rewriter{set: set, opts: o, root: root}
	rw.Builder = ir.NewBuilder(root.Context())
	rw.meter = root.Context().Meter()
	rw.OnInsert = rw.push
	rw.consts = make(map[*ir.Block]map[constKey]*ir.Operation)
	rw.isolated = make(map[*ir.Region]*ir.Region)
	rw.uses = make(map[*ir.Value]usesBy)
	changed := false
	// Each round starts from the whole tree, since a change inside one region
	// may open another elsewhere. A round without a change ends it.
	for range maxRounds {
		rw.changed = false
		rw.seed()
		rw.drain()
		if !rw.changed {
			return changed
		}
		changed = true
	}
	panic("BUG: rewrite: patterns do not come to an end")
}

const maxRounds = 64

// leastQueued is the room for operations that a Rewriter begins with.
const leastQueued = 256

// Rewriter is what a pattern changes the IR with. As a Builder it inserts new
// operations before the one being rewritten, with its location.
type Rewriter struct {
	*ir.Builder
	set    *Set
	opts   Options
	root   *ir.Operation
	stack  []*ir.Operation // nil where an operation was erased; the others have their places as marks
	consts map[*ir.Block]map[constKey]*ir.Operation
	// isolated is the innermost isolated region that is, or is around, a region.
	isolated map[*ir.Region]*ir.Region
	uses     map[*ir.Value]usesBy // see UsesIn
	changed  bool
	budget   int
	meter    *work.Meter
	operands []ir.Attribute // of the operation that is folded
}

type constKey struct {
	attr ir.Attribute
	typ  ir.Type
}

func (rw *Rewriter) seed() {
	rw.stack = rw.stack[:0]
	if rw.stack == nil {
		rw.stack = make([]*ir.Operation, 0, leastQueued)
	}
	clear(rw.consts)
	clear(rw.isolated)
	clear(rw.uses)
	n := 0
	for _, r := range rw.root.Regions() {
		for b := range r.Blocks() {
			for op := range b.Ops() {
				ir.Walk(op, func(op *ir.Operation) ir.WalkResult {
					n++
					if op.Def().Has(ir.ConstantLike) {
						rw.known(op)
						return ir.Skip
					}
					rw.stack = append(rw.stack, op)
					return ir.Advance
				})
			}
		}
	}
	if !rw.opts.BottomUp {
		slices.Reverse(rw.stack)
	}
	for i, op := range rw.stack {
		op.SetMark(i)
	}
	rw.budget = 1000 + 200*n
}

// known takes an existing constant to the start of its function, before those that are
// there, or replaces it by an equal one. Constants that are there stay in their order.
func (rw *Rewriter) known(op *ir.Operation) {
	if rw.opts.NoFold || op.NumResults() != 1 {
		return
	}
	entry := rw.entryFor(op.Block())
	if entry == nil {
		return
	}
	k := constKey{op.ConstantValue(), op.OneResult().Type()}
	m := rw.constantsOf(entry)
	if have := m[k]; have != nil {
		rw.mergeLoc(have, op)
		op.OneResult().ReplaceAllUsesWith(have.OneResult())
		op.Erase()
		rw.changed = true
		return
	}
	if !op.OneResult().HasUses() {
		op.Erase()
		rw.changed = true
		return
	}
	m[k] = op
	if op.Block() != entry {
		op.Remove()
		entry.InsertBefore(op, entry.First())
		op.SetLoc(op.Context().UnknownLoc())
	} else if prev := op.Prev(); prev != nil && !prev.Def().Has(ir.ConstantLike) {
		op.MoveBefore(entry.First())
	}
}

// mergeLoc forgets where a shared constant came from.
func (rw *Rewriter) mergeLoc(have, other *ir.Operation) {
	if have.Loc() != other.Loc() {
		have.SetLoc(have.Context().UnknownLoc())
	}
}

func (rw *Rewriter) constantsOf(entry *ir.Block) map[constKey]*ir.Operation {
	m := rw.consts[entry]
	if m == nil {
		m = make(map[constKey]*ir.Operation)
		rw.consts[entry] = m
	}
	return m
}

// entryFor is the entry block of the innermost isolated region around b: where
// constants live.
func (rw *Rewriter) entryFor(b *ir.Block) *ir.Block {
	if b == nil {
		return nil
	}
	start := b.Region()
	for r := start; ; r = b.Region() {
		rw.meter.Visit()
		isolated, parent := rw.isolated[r], b.Parent()
		if isolated == nil && parent != nil && parent.Def().Has(ir.IsolatedFromAbove) {
			isolated = r
		}
		if isolated != nil {
			rw.isolated[start] = isolated
			return isolated.First()
		}
		if parent == nil || parent.Block() == nil {
			return nil
		}
		b = parent.Block()
	}
}

func (rw *Rewriter) push(op *ir.Operation) {
	if rw.isQueued(op) || op.Def().Has(ir.ConstantLike) {
		return
	}
	op.SetMark(len(rw.stack))
	rw.stack = append(rw.stack, op)
}

func (rw *Rewriter) isQueued(op *ir.Operation) bool {
	i := op.Mark()
	return i < len(rw.stack) && rw.stack[i] == op
}

// unqueue has op not be visited.
func (rw *Rewriter) unqueue(op *ir.Operation) {
	if rw.isQueued(op) {
		rw.stack[op.Mark()] = nil
	}
}

// First has op visited next.
func (rw *Rewriter) First(op *ir.Operation) {
	rw.unqueue(op)
	rw.push(op)
}

func (rw *Rewriter) forget(op *ir.Operation) {
	ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		rw.unqueue(o)
		if o.Def().Has(ir.ConstantLike) {
			if e := rw.entryFor(o.Block()); e != nil {
				k := constKey{o.ConstantValue(), o.OneResult().Type()}
				if rw.consts[e][k] == o {
					delete(rw.consts[e], k)
				}
			}
		}
		return ir.Advance
	})
}

func (rw *Rewriter) drain() {
	for len(rw.stack) > 0 {
		op := rw.stack[len(rw.stack)-1]
		rw.stack = rw.stack[:len(rw.stack)-1]
		if op == nil {
			continue
		}
		rw.meter.Visit()
		if b := op.Block(); b == nil || b.Region() == nil {
			panic("BUG: rewrite: " + op.Name() + " was erased without the Rewriter")
		}
		if rw.budget--; rw.budget < 0 {
			panic("BUG: rewrite: patterns do not come to an end at " + op.Name())
		}
		rw.visit(op)
	}
}

func (rw *Rewriter) visit(op *ir.Operation) {
	if IsDead(op) {
		rw.Erase(op)
		return
	}
	if !rw.opts.NoFold {
		rw.constantRight(op)
		if rw.fold(op) {
			return
		}
	}
	if rw.try(rw.set.byRoot[op.Def()], op) {
		return
	}
	for i := range rw.set.byName {
		if rw.set.byName[i].RootName == op.Name() && rw.try(rw.set.byName[i:i+1], op) {
			return
		}
	}
	rw.try(rw.set.any, op)
}

func (rw *Rewriter) try(patterns []Pattern, op *ir.Operation) bool {
	for i := range patterns {
		p := &patterns[i]
		rw.At(op)
		if p.Apply(rw, op) {
			rw.changed = true
			if rw.opts.Count != nil {
				rw.opts.Count(p.Name)
			}
			return true
		}
	}
	return false
}

// constantRight puts the constant operand of a commutative operation second.
func (rw *Rewriter) constantRight(op *ir.Operation) {
	l, r, ok := op.Pair()
	if !ok || !op.Def().Has(ir.Commutative) || arith.ConstantValue(l) == nil || arith.ConstantValue(r) != nil {
		return
	}
	op.SwapPair()
	rw.changed = true
	if rw.opts.Count != nil {
		rw.opts.Count("constant-right")
	}
}

// poisoned replaces arithmetic on what is poison by poison.
func (rw *Rewriter) poisoned(op *ir.Operation) bool {
	for _, v := range op.Operands() {
		if v.DefIs(ub.Poison) && op.NumResults() == 1 && strings.HasPrefix(op.Name(), "arith.") && !op.Is(arith.Select) {
			t := op.OneResult().Type()
			rw.Replace(op, rw.shared(op, constKey{typ: t}, func() *ir.Value { return ub.NewPoison(rw.Builder, t) }))
			return true
		}
	}
	return false
}

// fold replaces op by what it always equals.
func (rw *Rewriter) fold(op *ir.Operation) bool {
	if rw.poisoned(op) {
		return true
	}
	f := op.Def().Fold
	if f == nil || op.NumResults() == 0 {
		return false
	}
	consts := rw.operands[:0]
	for _, v := range op.Operands() {
		consts = append(consts, arith.ConstantValue(v))
	}
	rw.operands = consts
	results := f(op, consts)
	if len(results) != op.NumResults() {
		return false
	}
	values := make([]*ir.Value, len(results))
	for i, r := range results {
		switch {
		case r.Value != nil:
			values[i] = r.Value
		case r.Attr != nil:
			values[i] = rw.Constant(op, r.Attr, op.Result(i).Type())
		default:
			return false
		}
		if values[i] == op.Result(i) {
			return false
		}
	}
	rw.Replace(op, values...)
	return true
}

// Constant is the value of attr, which is of type t, usable at op: an existing
// constant of op's function or a new one at its start.
func (rw *Rewriter) Constant(op *ir.Operation, attr ir.Attribute, t ir.Type) *ir.Value {
	if arith.TypeOf(attr) != t {
		panic("BUG: rewrite: constant of a type other than its attribute's, folding " + op.Name())
	}
	return rw.shared(op, constKey{attr, t}, func() *ir.Value { return arith.NewConstant(rw.Builder, attr) })
}

// shared is the constant that k stands for, usable at op; create makes it.
func (rw *Rewriter) shared(op *ir.Operation, k constKey, create func() *ir.Value) *ir.Value {
	entry := rw.entryFor(op.Block())
	if entry == nil {
		p := rw.Save()
		rw.SetBefore(op)
		v := create()
		rw.Restore(p)
		return v
	}
	m := rw.constantsOf(entry)
	if have := m[k]; have != nil {
		if have.Loc() != op.Loc() {
			have.SetLoc(op.Context().UnknownLoc())
		}
		return have.OneResult()
	}
	p := rw.Save()
	rw.SetToStart(entry)
	rw.Loc = op.Loc()
	v := create()
	rw.Restore(p)
	m[k] = v.Def()
	return v
}

// Replace redirects all uses of op's results to values and erases op.
func (rw *Rewriter) Replace(op *ir.Operation, values ...*ir.Value) {
	rw.changed = true
	for i, r := range op.Results() {
		for u := range r.Users() {
			rw.push(u)
		}
		if d := values[i].Def(); d != nil {
			rw.push(d)
		}
		delete(rw.uses, values[i])
	}
	op.ReplaceAllUsesWith(values...)
	rw.Erase(op)
}

// Erase removes op, whose results are unused, and looks again at what defined
// its operands.
func (rw *Rewriter) Erase(op *ir.Operation) {
	rw.changed = true
	var lost []*ir.Value // that op no longer uses
	ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		for _, v := range o.Operands() {
			if d := v.Def(); d != nil && (op.NumRegions() == 0 || !op.IsAncestorOf(d)) {
				lost = append(lost, v)
			}
		}
		return ir.Advance
	})
	rw.forget(op)
	op.Erase()
	for _, v := range lost {
		d := v.Def()
		rw.push(d)
		if d.Def().Has(ir.ConstantLike) && !d.HasUses() {
			rw.forget(d)
			d.Erase()
			continue
		}
		if v.HasOneUse() { // with one use left it may match more patterns
			for u := range v.Users() {
				rw.push(u)
			}
		}
	}
}

// Modified tells that a pattern changed op in place.
func (rw *Rewriter) Modified(op *ir.Operation) {
	rw.changed = true
	rw.push(op)
	for _, r := range op.Results() {
		for u := range r.Users() {
			rw.push(u)
		}
	}
}

// IsDead reports whether op can be erased for nothing: its results are unused
// and it neither writes nor ends a block nor is a symbol.
func IsDead(op *ir.Operation) bool {
	if op.HasUses() || op.Def().Has(ir.Terminator|ir.Symbol) || op.Def().Unregistered {
		return false
	}
	return !ir.HasEffect(op, ir.Effects.Writes)
}
