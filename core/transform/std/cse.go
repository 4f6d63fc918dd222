package std

import (
	"hash/maphash"
	"slices"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
)

// CSE keeps one of several operations that compute the same value where the
// first dominates the others, and erases what is dead. Reads of memory are
// shared only within a block and with no write between them.
var CSE = &pass.Pass{
	Name:    "cse",
	Doc:     "merge equal values",
	Example: cseExample,
	Run: func(r *pass.Run) error {
		c := cse{run: r, seed: maphash.MakeSeed()}
		c.regions(r.Module)
		return nil
	},
}

type cse struct {
	run   *pass.Run
	seed  maphash.Seed
	known scopes
}

// scopes are the operations that dominate a place, by their hashes. It is what a map
// would be from which keys are taken away in the opposite order.
type scopes struct {
	last    []int32 // by the low bits of a hash: the entry that was added last, from 1
	entries []entry
}

type entry struct {
	op     *ir.Operation
	writes int // how many writes its block had seen before it, for reads
	block  *ir.Block
	hash   uint64
	before int32 // with the same low bits
}

// leastBuckets is how many scopes have at first, a power of two.
const leastBuckets = 64

// bucket is where the entries with a hash begin.
func (s *scopes) bucket(hash uint64) *int32 { return &s.last[hash&uint64(len(s.last)-1)] }

func (s *scopes) add(e entry) {
	s.entries = append(s.entries, e)
	first := len(s.entries) - 1
	if len(s.entries) > len(s.last) {
		s.last = make([]int32, max(leastBuckets, 2*len(s.last)))
		first = 0
	}
	for i := first; i < len(s.entries); i++ {
		at := s.bucket(s.entries[i].hash)
		s.entries[i].before, *at = *at, int32(i+1)
	}
}

// leave takes away all but the first n entries.
func (s *scopes) leave(n int) {
	for _, e := range slices.Backward(s.entries[n:]) {
		*s.bucket(e.hash) = e.before
	}
	s.entries = s.entries[:n]
}

// regions merges in op's regions, and returns the effects of what was in them.
func (c *cse) regions(op *ir.Operation) (e ir.Effects) {
	if op.Def().Has(ir.IsolatedFromAbove) || op == c.run.Module {
		outer := c.known
		c.known = scopes{}
		defer func() { c.known = outer }()
	}
	for _, r := range op.Regions() {
		if r.Empty() {
			continue
		}
		if r.First() == r.Last() {
			mark := len(c.known.entries)
			e = e.With(c.block(r.First()))
			c.known.leave(mark)
			continue
		}
		children := make(map[*ir.Block][]*ir.Block)
		dom := ir.Dominators(r)
		for _, b := range ir.ReversePostorder(r)[1:] {
			children[dom.Immediate(b)] = append(children[dom.Immediate(b)], b)
		}
		e = e.With(c.subtree(r.First(), children))
	}
	return e
}

func (c *cse) subtree(b *ir.Block, children map[*ir.Block][]*ir.Block) ir.Effects {
	mark := len(c.known.entries)
	e := c.block(b)
	for _, k := range children[b] {
		e = e.With(c.subtree(k, children))
	}
	c.known.leave(mark)
	return e
}

func (c *cse) block(b *ir.Block) (all ir.Effects) {
	writes := 0
	for op := range b.Ops() {
		if rewrite.IsDead(op) {
			op.Erase()
			c.run.Count("dead", 1)
			continue
		}
		e := c.effects(op)
		all = all.With(e)
		if !e.Changes() && !op.Def().Has(ir.Terminator) && op.NumResults() > 0 && simpleRegions(op) {
			key := c.hash(op)
			if have := c.find(key, op, e.Read, writes); have != nil {
				if have.Loc() != op.Loc() && have.Def().Has(ir.ConstantLike) {
					have.SetLoc(op.Context().UnknownLoc())
				}
				op.ReplaceAllUsesWith(have.Results()...)
				op.Erase()
				c.run.Count("shared", 1)
				continue
			}
			c.known.add(entry{op: op, writes: writes, block: b, hash: key})
		}
		if e.Writes() {
			writes++
		}
	}
	return all
}

// effects merges in op's regions, and returns op's effects.
func (c *cse) effects(op *ir.Operation) ir.Effects {
	e := ir.OwnEffects(op)
	if in := c.regions(op); e.Recursive {
		e = e.With(in)
	}
	return e
}

// simpleRegions reports whether op can be compared region by region: each has
// at most one block.
func simpleRegions(op *ir.Operation) bool {
	for _, r := range op.Regions() {
		if r.First() != r.Last() {
			return false
		}
	}
	return true
}

func (c *cse) find(key uint64, op *ir.Operation, reads bool, writes int) *ir.Operation {
	if len(c.known.last) == 0 {
		return nil
	}
	for i := *c.known.bucket(key); i > 0; i = c.known.entries[i-1].before {
		e := &c.known.entries[i-1]
		if e.hash != key || reads && (e.block != op.Block() || e.writes != writes) {
			continue
		}
		if Equal(e.op, op) {
			return e.op
		}
	}
	return nil
}

// hash mixes what Equal compares, apart from the contents of regions. It is of pointers,
// and another in each run: it decides how fast an equal operation is found, not which.
func (c *cse) hash(op *ir.Operation) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := maphash.Comparable(c.seed, op.Def())
	mix := func(x uint64) { h = (h ^ x) * prime }
	if op.Def().Has(ir.Commutative) {
		sum := uint64(0)
		for _, v := range op.Operands() {
			sum += maphash.Comparable(c.seed, v)
		}
		mix(sum)
	} else {
		for _, v := range op.Operands() {
			mix(maphash.Comparable(c.seed, v))
		}
	}
	for _, a := range op.Attrs() {
		mix(maphash.Comparable(c.seed, a.Attr))
	}
	for _, r := range op.Results() {
		mix(maphash.Comparable(c.seed, r.Type()))
	}
	return h ^ h>>32
}

// Equal reports whether a and b compute the same: the same operation on the
// same operands, with equal attributes, result types and regions.
func Equal(a, b *ir.Operation) bool { return equalUnder(a, b, nil) }

// equalUnder is Equal with values of a's regions standing for those of b's.
func equalUnder(a, b *ir.Operation, same map[*ir.Value]*ir.Value) bool {
	if a.Def() != b.Def() || a.NumOperands() != b.NumOperands() || a.NumResults() != b.NumResults() ||
		a.NumRegions() != b.NumRegions() || a.NumSuccessors() != 0 || b.NumSuccessors() != 0 ||
		!slices.Equal(a.Attrs(), b.Attrs()) || !slices.Equal(a.Segments(), b.Segments()) {
		return false
	}
	is := func(x, y *ir.Value) bool { return x == y || same != nil && same[x] == y }
	straight := true
	for i, v := range a.Operands() {
		straight = straight && is(v, b.Operand(i))
	}
	if !straight {
		al, ar, ok := a.Pair()
		bl, br, _ := b.Pair()
		if !ok || !a.Def().Has(ir.Commutative) || !is(al, br) || !is(ar, bl) {
			return false
		}
	}
	for i, r := range a.Results() {
		if r.Type() != b.Result(i).Type() {
			return false
		}
	}
	if a.NumRegions() > 0 && same == nil {
		same = make(map[*ir.Value]*ir.Value)
	}
	for i, ra := range a.Regions() {
		if !equalBlocks(ra.First(), b.Region(i).First(), same) {
			return false
		}
	}
	return true
}

func equalBlocks(a, b *ir.Block, same map[*ir.Value]*ir.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Next() != nil || b.Next() != nil || a.NumArgs() != b.NumArgs() {
		return false
	}
	for i, v := range a.Args() {
		if v.Type() != b.Arg(i).Type() {
			return false
		}
		same[v] = b.Arg(i)
	}
	return equalOps(a, b, same)
}

// equalOps compares what two blocks hold; same learns what stands for what.
func equalOps(a, b *ir.Block, same map[*ir.Value]*ir.Value) bool {
	x, y := a.First(), b.First()
	for ; x != nil && y != nil; x, y = x.Next(), y.Next() {
		if !equalUnder(x, y, same) {
			return false
		}
		for i, r := range x.Results() {
			same[r] = y.Result(i)
		}
	}
	return x == nil && y == nil
}
