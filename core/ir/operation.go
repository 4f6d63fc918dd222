package ir

import (
	"iter"
	"slices"
)

// Operation is a node of the IR.
type Operation struct {
	def      *OpDef
	ctx      *Context
	loc      Location
	operands []*Use
	results  []*Value
	attrs    []NamedAttr // sorted by name
	regions  []*Region
	succs    []*Block
	segments []int32

	block      *Block
	prev, next *Operation
	order      int64
	mark       int
}

// Mark is the number that SetMark gave last, 0 at first.
func (op *Operation) Mark() int { return op.mark }

// SetMark gives the operation a number that means something to the caller alone, as its
// place in a list. Others may give it another at any time after: whoever reads a mark checks
// what it leads to.
func (op *Operation) SetMark(n int) { op.mark = n }

// State describes an operation that is about to be made.
type State struct {
	Ctx      *Context
	Loc      Location // nil: unknown
	Operands []*Value
	// Types of the results; nil where Def.Infer finds them.
	Types      []Type
	Attrs      []NamedAttr
	Regions    int // how many empty regions to make
	Successors []*Block
	// Segments are the sizes of the operand groups of a SegmentedOperands
	// operation, in the order of the table.
	Segments []int32
}

// Attr returns the attribute of that name in the state, or nil.
func (s *State) Attr(name string) Attribute {
	for _, a := range s.Attrs {
		if a.Name == name {
			return a.Attr
		}
	}
	return nil
}

// NewOperation makes an operation that is in no block yet. It panics when
// result types are neither given nor inferable: that is a bug of the caller,
// since text parsers and front ends check before they build.
func NewOperation(def *OpDef, s *State) *Operation {
	if s.Types == nil && def.Infer != nil {
		types, err := def.Infer(s)
		if err != nil {
			panic("BUG: ir: " + def.Name + ": " + err.Error())
		}
		s.Types = types
	}
	s.Ctx.meter.Visit()
	mem := &s.Ctx.slabs
	op := mem.ops.One()
	op.def, op.ctx, op.loc, op.succs, op.segments = def, s.Ctx, s.Loc, s.Successors, s.Segments
	if op.loc == nil {
		op.loc = s.Ctx.UnknownLoc()
	}
	if n := len(s.Operands); n > 0 {
		slots := mem.uses.Make(n)
		op.operands = mem.useRefs.Make(n)
		for i, v := range s.Operands {
			u := &slots[i]
			u.owner, u.index = op, i
			u.link(v)
			op.operands[i] = u
		}
	}
	if n := len(s.Types); n > 0 {
		vals := mem.values.Make(n)
		op.results = mem.valueRefs.Make(n)
		for i, t := range s.Types {
			vals[i] = Value{typ: t, op: op, index: i}
			op.results[i] = &vals[i]
		}
	}
	if len(s.Attrs) > 0 {
		op.attrs = mem.attrs.List(s.Attrs)
		sortByName(op.attrs)
	}
	for range s.Regions {
		op.AddRegion()
	}
	for _, b := range op.succs {
		b.leads = append(b.leads, op)
	}
	return op
}

// sortByName sorts a short list in place, without an allocation.
func sortByName(attrs []NamedAttr) {
	for i := 1; i < len(attrs); i++ {
		for j := i; j > 0 && attrs[j].Name < attrs[j-1].Name; j-- {
			attrs[j], attrs[j-1] = attrs[j-1], attrs[j]
		}
	}
}

// Def is the operation's row in its dialect's table.
func (op *Operation) Def() *OpDef { return op.def }

// Name is the full name, such as "tt.load".
func (op *Operation) Name() string { return op.def.Name }

// Is reports whether op has definition d.
func (op *Operation) Is(d *OpDef) bool { return op.def == d }

// Context that owns op's types and attributes.
func (op *Operation) Context() *Context { return op.ctx }

// Loc is the operation's location, never nil.
func (op *Operation) Loc() Location { return op.loc }

// SetLoc sets the location.
func (op *Operation) SetLoc(l Location) { op.loc = l }

// Block that holds op, nil when it is detached.
func (op *Operation) Block() *Block { return op.block }

// Parent is the operation whose region holds op, or nil.
func (op *Operation) Parent() *Operation {
	op.ctx.meter.Visit()
	if op.block == nil || op.block.region == nil {
		return nil
	}
	return op.block.region.parent
}

// ParentOf returns the nearest enclosing operation with definition d, or nil.
func (op *Operation) ParentOf(d *OpDef) *Operation {
	for p := op.Parent(); p != nil; p = p.Parent() {
		if p.def == d {
			return p
		}
	}
	return nil
}

// Next is the operation after op in its block, nil if op is the last.
func (op *Operation) Next() *Operation {
	op.ctx.meter.Visit()
	return op.next
}

// Prev is the operation before op in its block, nil if op is the first.
func (op *Operation) Prev() *Operation {
	op.ctx.meter.Visit()
	return op.prev
}

// --- operands

func (op *Operation) NumOperands() int     { return len(op.operands) }
func (op *Operation) Operand(i int) *Value { return op.operands[i].value }

// OperandUse is the slot of operand i.
func (op *Operation) OperandUse(i int) *Use { return op.operands[i] }

// SetOperand puts v into slot i.
func (op *Operation) SetOperand(i int, v *Value) { op.operands[i].Set(v) }

// Operands ranges over the operands with their indices.
func (op *Operation) Operands() iter.Seq2[int, *Value] {
	return func(yield func(int, *Value) bool) {
		for i, u := range op.operands {
			if !yield(i, u.value) {
				return
			}
		}
	}
}

// OperandValues returns a new slice of the operands.
func (op *Operation) OperandValues() []*Value {
	vs := make([]*Value, len(op.operands))
	for i, u := range op.operands {
		vs[i] = u.value
	}
	return vs
}

// OneOperand is the operand of op, which must have exactly one.
func (op *Operation) OneOperand() *Value {
	if len(op.operands) != 1 {
		panic("BUG: ir: " + op.def.Name + " does not have one operand")
	}
	return op.operands[0].value
}

// Pair returns the operands of an operation on two; ok is false for others.
func (op *Operation) Pair() (first, second *Value, ok bool) {
	if len(op.operands) != 2 {
		return nil, nil, false
	}
	return op.operands[0].value, op.operands[1].value, true
}

// SwapPair exchanges the operands of an operation on two.
func (op *Operation) SwapPair() {
	first, second, ok := op.Pair()
	if !ok {
		panic("BUG: ir: " + op.def.Name + " does not have two operands")
	}
	op.operands[0].Set(second)
	op.operands[1].Set(first)
}

// SetOperands replaces all operands. Segments, where the operation has them,
// are the caller's to keep right.
func (op *Operation) SetOperands(vs []*Value) {
	for _, u := range op.operands {
		u.unlink()
	}
	op.operands = op.operands[:0]
	for i, v := range vs {
		u := &Use{owner: op, index: i}
		u.link(v)
		op.operands = append(op.operands, u)
	}
}

// AppendOperand adds an operand at the end.
func (op *Operation) AppendOperand(v *Value) {
	u := &Use{owner: op, index: len(op.operands)}
	u.link(v)
	op.operands = append(op.operands, u)
}

// EraseOperand removes slot i; later slots move down, and its group is one less.
func (op *Operation) EraseOperand(i int) {
	if op.segments != nil {
		op.segments = slices.Clone(op.segments)
		for g, lo := 0, 0; g < len(op.segments); g++ {
			if lo += int(op.segments[g]); i < lo {
				op.segments[g]--
				break
			}
		}
	}
	op.operands[i].unlink()
	op.operands = slices.Delete(op.operands, i, i+1)
	for j := i; j < len(op.operands); j++ {
		op.operands[j].index = j
	}
}

// AddResult gives op one more result, of type t, after those it has.
func (op *Operation) AddResult(t Type) *Value {
	v := &Value{typ: t, op: op, index: len(op.results)}
	op.results = append(op.results, v)
	return v
}

// Segments are the sizes of the operand groups of a SegmentedOperands
// operation, nil for others.
func (op *Operation) Segments() []int32 { return op.segments }

// SetSegments sets the sizes of the operand groups.
func (op *Operation) SetSegments(s []int32) { op.segments = s }

// Group returns the operands of the table's i-th operand group. For an
// operation without explicit segments at most one group is not One.
func (op *Operation) Group(i int) []*Value {
	lo, n := op.groupRange(i)
	vs := make([]*Value, n)
	for k := range vs {
		vs[k] = op.operands[lo+k].value
	}
	return vs
}

// GroupOne returns the single operand of group i, nil when it is absent.
func (op *Operation) GroupOne(i int) *Value {
	lo, n := op.groupRange(i)
	if n == 0 {
		return nil
	}
	return op.operands[lo].value
}

// SetGroup replaces the operands of group i.
func (op *Operation) SetGroup(i int, vs []*Value) {
	lo, n := op.groupRange(i)
	op.SetOperands(slices.Replace(op.OperandValues(), lo, lo+n, vs...))
	if op.segments != nil {
		op.segments = slices.Clone(op.segments)
		op.segments[i] = int32(len(vs))
	}
}

// SetGroupOne replaces, adds, or, where v is nil, removes the operand of group i.
func (op *Operation) SetGroupOne(i int, v *Value) {
	lo, n := op.groupRange(i)
	switch {
	case n > 0 && v != nil:
		op.SetOperand(lo, v)
	case n > 0:
		op.EraseOperand(lo)
	case v != nil:
		op.SetGroup(i, []*Value{v})
	}
}

// GroupRange says which operands group i is: n of them, from lo on.
func (op *Operation) GroupRange(i int) (lo, n int) { return op.groupRange(i) }

func (op *Operation) groupRange(i int) (lo, n int) {
	if op.segments != nil {
		for _, s := range op.segments[:i] {
			lo += int(s)
		}
		return lo, int(op.segments[i])
	}
	extra := len(op.operands) - len(op.def.Operands) + 1 // size of the one group that is not One
	for k, g := range op.def.Operands {
		n = 1
		if g.Arity != One {
			n = extra
		}
		if k == i {
			return lo, n
		}
		lo += n
	}
	panic("BUG: ir: " + op.def.Name + " has no such operand group")
}

// --- results

func (op *Operation) NumResults() int     { return len(op.results) }
func (op *Operation) Result(i int) *Value { return op.results[i] }
func (op *Operation) Results() []*Value   { return op.results }

// OneResult is the result of op, which must have exactly one.
func (op *Operation) OneResult() *Value {
	if len(op.results) != 1 {
		panic("BUG: ir: " + op.def.Name + " does not have one result")
	}
	return op.results[0]
}

// HasUses reports whether any result is used.
func (op *Operation) HasUses() bool {
	for _, r := range op.results {
		if r.HasUses() {
			return true
		}
	}
	return false
}

// ReplaceAllUsesWith redirects the uses of each result to the value of that index.
func (op *Operation) ReplaceAllUsesWith(vs ...*Value) {
	if len(vs) != len(op.results) {
		panic("BUG: ir: " + op.def.Name + " replaced by another number of values")
	}
	for i, r := range op.results {
		r.ReplaceAllUsesWith(vs[i])
	}
}

// --- attributes

// Attrs are all attributes, sorted by name. The slice is op's own.
func (op *Operation) Attrs() []NamedAttr { return op.attrs }

// Attr returns the attribute of that name as written on op; an absent one
// with a default gives the default; else nil.
func (op *Operation) Attr(name string) Attribute {
	if i, ok := op.findAttr(name); ok {
		return op.attrs[i].Attr
	}
	if d := op.def.AttrDef(name); d != nil && d.Default != nil {
		return d.Default(op.ctx)
	}
	return nil
}

// HasAttr reports whether the attribute is on op itself.
func (op *Operation) HasAttr(name string) bool {
	_, ok := op.findAttr(name)
	return ok
}

func (op *Operation) findAttr(name string) (int, bool) {
	for i := range op.attrs {
		if op.attrs[i].Name >= name {
			return i, op.attrs[i].Name == name
		}
	}
	return len(op.attrs), false
}

// SetAttr adds or replaces the attribute; nil removes it.
func (op *Operation) SetAttr(name string, a Attribute) {
	i, ok := op.findAttr(name)
	switch {
	case a == nil && ok:
		op.attrs = slices.Delete(op.attrs, i, i+1)
	case a == nil:
	case ok:
		op.attrs[i].Attr = a
	default:
		op.attrs = slices.Insert(op.attrs, i, NamedAttr{name, a})
	}
}

// IntAttr returns the value of the integer attribute of that name (or its
// default), and whether there is one.
func (op *Operation) IntAttr(name string) (int64, bool) {
	if a, ok := op.Attr(name).(*IntegerAttr); ok {
		return a.Value, true
	}
	return 0, false
}

// ConstantValue is the value of a ConstantLike operation, nil for others and where
// an attribute does not hold it.
func (op *Operation) ConstantValue() Attribute {
	if !op.def.Has(ConstantLike) {
		return nil
	}
	return op.Attr("value")
}

// StringAttr returns the value of the string attribute of that name, or "".
func (op *Operation) StringAttr(name string) string {
	if a, ok := op.Attr(name).(*StringAttr); ok {
		return a.Value
	}
	return ""
}

// --- regions and successors

func (op *Operation) NumRegions() int      { return len(op.regions) }
func (op *Operation) Region(i int) *Region { return op.regions[i] }
func (op *Operation) Regions() []*Region   { return op.regions }

// AddRegion appends an empty region.
func (op *Operation) AddRegion() *Region {
	r := &Region{parent: op}
	op.regions = append(op.regions, r)
	return r
}

// Body is the first block of region 0; nil when there is none.
func (op *Operation) Body() *Block {
	if len(op.regions) == 0 {
		return nil
	}
	return op.regions[0].First()
}

func (op *Operation) NumSuccessors() int     { return len(op.succs) }
func (op *Operation) Successor(i int) *Block { return op.succs[i] }
func (op *Operation) Successors() []*Block   { return op.succs }

// SetSuccessor makes b successor i.
func (op *Operation) SetSuccessor(i int, b *Block) {
	op.succs[i].unlead(op)
	op.succs[i] = b
	b.leads = append(b.leads, op)
}

// --- place

// Remove takes op out of its block without destroying it.
func (op *Operation) Remove() {
	if op.block == nil {
		return
	}
	b := op.block
	if op.prev != nil {
		op.prev.next = op.next
	} else {
		b.first = op.next
	}
	if op.next != nil {
		op.next.prev = op.prev
	} else {
		b.last = op.prev
	}
	op.block, op.prev, op.next = nil, nil, nil
}

// Erase destroys op and everything inside it. Its results must be unused.
func (op *Operation) Erase() {
	if op.HasUses() {
		panic("BUG: ir: erasing " + op.def.Name + " whose results are used")
	}
	op.Remove()
	op.dropReferences()
}

// dropReferences unlinks the operands of op and of all operations inside it.
func (op *Operation) dropReferences() {
	op.ctx.meter.Visit()
	for _, u := range op.operands {
		u.unlink()
	}
	for _, b := range op.succs {
		b.unlead(op)
	}
	for _, r := range op.regions {
		for b := r.first; b != nil; b = b.next {
			for inner := b.first; inner != nil; inner = inner.next {
				inner.dropReferences()
			}
		}
	}
}

// MoveBefore takes op to the place just before other.
func (op *Operation) MoveBefore(other *Operation) {
	if op == other {
		return
	}
	op.Remove()
	other.block.insertBefore(op, other)
}

// MoveAfter takes op to the place just after other.
func (op *Operation) MoveAfter(other *Operation) {
	if op == other {
		return
	}
	op.Remove()
	other.block.insertBefore(op, other.next)
}

// IsBeforeInBlock reports whether op comes before other in their one block.
func (op *Operation) IsBeforeInBlock(other *Operation) bool {
	if op.block != other.block || op.block == nil {
		panic("BUG: ir: order of operations in different blocks")
	}
	if op.block.orderStale {
		op.block.renumber()
	}
	return op.order < other.order
}

// IsAncestorOf reports whether other is op or is inside op's regions.
func (op *Operation) IsAncestorOf(other *Operation) bool {
	for o := other; o != nil; o = o.Parent() {
		o.ctx.meter.Visit()
		if o == op {
			return true
		}
	}
	return false
}

// IsTerminator reports whether op ends its block.
func (op *Operation) IsTerminator() bool {
	return op.def.Has(Terminator) || op.def.Unregistered && op.next == nil && len(op.succs) > 0
}
