package ir

// Builder makes operations at an insertion point.
type Builder struct {
	ctx    *Context
	block  *Block
	before *Operation // nil: at the end of block
	// Loc is given to every operation made; nil means unknown.
	Loc Location
	// OnInsert, when set, is told of each operation after its insertion.
	OnInsert func(*Operation)
}

// NewBuilder makes a builder without an insertion point.
func NewBuilder(ctx *Context) *Builder { return &Builder{ctx: ctx} }

// Context of the operations made.
func (b *Builder) Context() *Context { return b.ctx }

// Block is where the builder inserts.
func (b *Builder) Block() *Block { return b.block }

// SetToEnd inserts at the end of blk from now on.
func (b *Builder) SetToEnd(blk *Block) { b.block, b.before = blk, nil }

// SetToStart inserts at the start of blk from now on.
func (b *Builder) SetToStart(blk *Block) { b.block, b.before = blk, blk.first }

// SetBefore inserts before op from now on.
func (b *Builder) SetBefore(op *Operation) { b.block, b.before = op.block, op }

// SetAfter inserts after op from now on.
func (b *Builder) SetAfter(op *Operation) { b.block, b.before = op.block, op.next }

// At inserts before op from now on, and gives op's location to what it makes: that
// of a rewrite, which replaces op or prepares its operands.
func (b *Builder) At(op *Operation) {
	b.SetBefore(op)
	b.Loc = op.loc
}

// After inserts after op from now on, and gives op's location to what it makes:
// that of what uses op's results or follows its effects.
func (b *Builder) After(op *Operation) {
	b.SetAfter(op)
	b.Loc = op.loc
}

// SetAfterValue inserts just after the definition of v from now on.
func (b *Builder) SetAfterValue(v *Value) {
	if v.op != nil {
		b.SetAfter(v.op)
	} else {
		b.SetToStart(v.block)
	}
}

// Point is a saved insertion point with its location.
type Point struct {
	block  *Block
	before *Operation
	loc    Location
}

// Save returns the insertion point; Restore goes back to it.
func (b *Builder) Save() Point { return Point{b.block, b.before, b.Loc} }

// Restore goes back to a saved insertion point.
func (b *Builder) Restore(p Point) { b.block, b.before, b.Loc = p.block, p.before, p.loc }

// Create makes an operation from s and inserts it. s.Ctx and, when nil, s.Loc
// are filled in.
func (b *Builder) Create(def *OpDef, s State) *Operation {
	s.Ctx = b.ctx
	if s.Loc == nil {
		s.Loc = b.Loc
	}
	op := NewOperation(def, &s)
	b.Insert(op)
	return op
}

// Op makes an operation of operands and result types alone and inserts it.
func (b *Builder) Op(def *OpDef, operands []*Value, types ...Type) *Operation {
	return b.Create(def, State{Operands: operands, Types: types})
}

// Insert puts a detached operation at the insertion point.
func (b *Builder) Insert(op *Operation) {
	if b.block == nil {
		panic("BUG: ir: builder without an insertion point")
	}
	b.block.insertBefore(op, b.before)
	if b.OnInsert != nil {
		b.OnInsert(op)
	}
}
