package ir

import (
	"cmp"
	"iter"
	"slices"
)

// Region is a list of blocks inside an operation; the first is its entry.
type Region struct {
	parent      *Operation
	first, last *Block
	orderStale  bool
}

// Parent is the operation that r belongs to.
func (r *Region) Parent() *Operation { return r.parent }

// Contains reports whether op is in r, however deep.
func (r *Region) Contains(op *Operation) bool {
	for op != nil && op.block != nil {
		if op.block.region == r {
			return true
		}
		op = op.Parent()
	}
	return false
}
func (r *Region) First() *Block { return r.first }
func (r *Region) Last() *Block  { return r.last }
func (r *Region) Empty() bool   { return r.first == nil }

// Blocks ranges over the blocks; the one in hand may be removed.
func (r *Region) Blocks() iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		for b := r.first; b != nil; {
			next := b.next
			if !yield(b) {
				return
			}
			b = next
		}
	}
}

// AddBlock appends an empty block.
func (r *Region) AddBlock() *Block {
	b := &Block{}
	r.insertBefore(b, nil)
	return b
}

// AppendBlock puts a block that is in no region at the end of r.
func (r *Region) AppendBlock(b *Block) {
	if b.region != nil {
		panic("BUG: ir: block is in a region already")
	}
	r.insertBefore(b, nil)
}

// AddBlockAfter inserts an empty block after b.
func (r *Region) AddBlockAfter(b *Block) *Block {
	n := &Block{}
	r.insertBefore(n, b.next)
	return n
}

func (r *Region) insertBefore(b, at *Block) {
	b.region, b.next = r, at
	if at != nil {
		b.prev = at.prev
		at.prev = b
		r.orderStale = true
	} else {
		b.prev = r.last
		r.last = b
		if b.prev != nil {
			b.order = b.prev.order + 1
		} else {
			b.order = 0
		}
	}
	if b.prev != nil {
		b.prev.next = b
	} else {
		r.first = b
	}
}

// InsertAfter puts a detached block after at, which is r's.
func (r *Region) InsertAfter(b, at *Block) { r.insertBefore(b, at.next) }

// TakeBody moves all blocks of other to the end of r.
func (r *Region) TakeBody(other *Region) {
	for b := other.first; b != nil; {
		next := b.next
		b.Remove()
		r.insertBefore(b, nil)
		b = next
	}
}

// Block is a list of operations with arguments.
type Block struct {
	region      *Region
	prev, next  *Block
	args        []*Value
	first, last *Operation
	orderStale  bool
	order       int32 // in its region; see numberBlocks
	// leads are the operations with b for a successor, once for each time.
	leads []*Operation
}

// Region that holds b, nil when detached.
func (b *Block) Region() *Region { return b.region }

// Parent is the operation whose region holds b, or nil.
func (b *Block) Parent() *Operation {
	if b.region == nil {
		return nil
	}
	return b.region.parent
}

func (b *Block) Next() *Block      { return b.next }
func (b *Block) Prev() *Block      { return b.prev }
func (b *Block) First() *Operation { return b.first }
func (b *Block) Last() *Operation  { return b.last }
func (b *Block) Empty() bool       { return b.first == nil }
func (b *Block) NumArgs() int      { return len(b.args) }
func (b *Block) Arg(i int) *Value  { return b.args[i] }
func (b *Block) Args() []*Value    { return b.args }
func (b *Block) IsEntry() bool     { return b.region != nil && b.region.first == b }

// Terminator is the last operation if it ends the block, else nil.
func (b *Block) Terminator() *Operation {
	if b.last != nil && b.last.IsTerminator() {
		return b.last
	}
	return nil
}

// AddArg appends an argument.
func (b *Block) AddArg(t Type, loc Location) *Value {
	v := &Value{typ: t, block: b, index: len(b.args), loc: loc}
	b.args = append(b.args, v)
	return v
}

// InsertArg inserts an argument at index i.
func (b *Block) InsertArg(i int, t Type, loc Location) *Value {
	v := &Value{typ: t, block: b, loc: loc}
	b.args = append(b.args, nil)
	copy(b.args[i+1:], b.args[i:])
	b.args[i] = v
	b.renumberArgs(i)
	return v
}

// EraseArg removes argument i, which must be unused.
func (b *Block) EraseArg(i int) {
	if b.args[i].HasUses() {
		panic("BUG: ir: erasing a block argument that is used")
	}
	b.args = append(b.args[:i], b.args[i+1:]...)
	b.renumberArgs(i)
}

func (b *Block) renumberArgs(from int) {
	for i := from; i < len(b.args); i++ {
		b.args[i].index = i
	}
}

// Ops ranges over the operations; the one in hand may be erased or moved.
func (b *Block) Ops() iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		for op := b.first; op != nil; {
			next := op.next
			op.ctx.meter.Visit()
			if !yield(op) {
				return
			}
			op = next
		}
	}
}

// Append puts a detached operation at the end of b.
func (b *Block) Append(op *Operation) { b.insertBefore(op, nil) }

// InsertBefore puts a detached operation before at; at the end if at is nil.
func (b *Block) InsertBefore(op, at *Operation) { b.insertBefore(op, at) }

func (b *Block) insertBefore(op, at *Operation) {
	if op.block != nil {
		panic("BUG: ir: " + op.def.Name + " is in a block already")
	}
	op.block, op.next = b, at
	if at != nil {
		op.prev = at.prev
		at.prev = op
		b.numberBetween(op, at)
	} else {
		op.prev = b.last
		b.last = op
		if op.prev != nil {
			op.order = op.prev.order + orderGap
		} else {
			op.order = 0
		}
	}
	if op.prev != nil {
		op.prev.next = op
	} else {
		b.first = op
	}
}

// The numbers of a block's operations lie orderGap apart, so that what is inserted
// gets one in between: orderStep after the operation before it, since most of what is
// inserted comes one after another, or in the middle where there is less room.
const (
	orderGap  = 1 << 32
	orderStep = 1 << 16
)

// numberBetween gives op, which is new before at, a number; where there is none left,
// the block's become stale.
func (b *Block) numberBetween(op, at *Operation) {
	if op.prev == nil {
		op.order = at.order - orderGap
		return
	}
	room := (at.order - op.prev.order) / 2
	if room <= 0 {
		b.orderStale = true
		return
	}
	op.order = op.prev.order + min(room, orderStep)
}

func (b *Block) renumber() {
	n := 0
	for op := b.first; op != nil; op = op.next {
		op.order = int64(n) * orderGap
		n++
	}
	if n > 0 {
		b.first.ctx.meter.Add(n)
	}
	b.orderStale = false
}

// Remove takes b out of its region without destroying it.
func (b *Block) Remove() {
	r := b.region
	if r == nil {
		return
	}
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		r.first = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		r.last = b.prev
	}
	b.region, b.prev, b.next = nil, nil, nil
}

// Erase destroys b and its operations, whose results must be unused outside b.
func (b *Block) Erase() {
	for op := b.first; op != nil; op = op.next {
		op.dropReferences()
	}
	for op := b.first; op != nil; op = op.next {
		if op.HasUses() {
			panic("BUG: ir: erasing a block that defines a value used elsewhere")
		}
	}
	b.Remove()
	b.first, b.last = nil, nil
}

// SplitBefore moves op and all after it into a new block placed after b.
func (b *Block) SplitBefore(op *Operation) *Block {
	n := b.region.AddBlockAfter(b)
	n.TakeOps(op)
	return n
}

// TakeOps moves op and all operations after it from their block to the end of b.
func (b *Block) TakeOps(op *Operation) {
	for op != nil {
		next := op.next
		op.Remove()
		b.Append(op)
		op = next
	}
}

// Predecessors ranges over the terminators' (operation, successor index) pairs
// that lead to b, in the order of their blocks. They are those from before the
// loop, whatever it changes.
func (b *Block) Predecessors() iter.Seq2[*Operation, int] {
	return func(yield func(*Operation, int) bool) {
		if b.region == nil {
			return
		}
		var ends []*Operation
		for _, op := range b.leads {
			op.ctx.meter.Visit()
			if op.block != nil && op.block.region == b.region && op.block.last == op {
				ends = append(ends, op)
			}
		}
		if len(ends) > 1 {
			b.region.numberBlocks()
			slices.SortFunc(ends, func(x, y *Operation) int { return cmp.Compare(x.block.order, y.block.order) })
			ends = slices.Compact(ends)
		}
		for _, op := range ends {
			for i, s := range op.succs {
				if s == b && !yield(op, i) {
					return
				}
			}
		}
	}
}

// unlead forgets that op, one of whose successors b was, leads to b.
func (b *Block) unlead(op *Operation) {
	for i := len(b.leads) - 1; i >= 0; i-- {
		if b.leads[i] == op {
			b.leads = slices.Delete(b.leads, i, i+1)
			return
		}
	}
}

// numberBlocks numbers the blocks in their order.
func (r *Region) numberBlocks() {
	if !r.orderStale {
		return
	}
	n := int32(0)
	for b := r.first; b != nil; b = b.next {
		b.order = n
		n++
		if b.last != nil {
			b.last.ctx.meter.Visit()
		}
	}
	r.orderStale = false
}
