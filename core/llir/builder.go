package llir

import (
	"math"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
)

// Builder appends instructions to a block, folding and sharing as it goes. Each
// method returns the value asked for, which may be a constant, an operand, an
// earlier instruction's result, or a new instruction's.
type Builder struct {
	F *Func
	M *Module

	block *ir.Block
	md    ir.Metadata
	loc   *metadata.DILocation
	// loops are the blocks before the loops around the current block, outermost
	// first.
	loops []*ir.Block
	// moved counts, for each of them, the computations placed before it that it
	// may need.
	moved []int
	// uses is what is known of the uses of such computations (unneeded and so on), by
	// their numbers up to the last.
	uses []uint8
	// truths are the numbers of which comparisons made truth values, loads counts the
	// loads so far, and kept the truth values that stay over one.
	truths map[Value]truthOf
	loads  int
	kept   int
	// early: what is built goes to the end of a block that is complete.
	early bool
}

// mostMoved is how many results of computations placed before a loop it may need.
// They take registers for as long as the loop runs, and a loop over many narrow
// accesses has an address for each: computed anew, they cost an instruction; kept,
// they would push the accumulators out. A result that only others before the loop
// are computed of takes none.
const mostMoved = 14

// closed is the count of a loop that nothing is moved out of.
const closed = math.MaxInt32

// truthOf says of a truth value made of a number after how many loads it was made,
// and whether it stays over loads.
type truthOf struct {
	loads int
	kept  bool
}

// mostKept is how many truth values made of numbers stay over loads. Predicates are
// few: ptxas has seven. Where a kernel that sorts one tile after the other keeps a
// predicate for every step, one is left for the comparisons, and ptxas then starts
// the load of a tile when the tile before is done: 7.8 instead of 5.5 us for the top
// 8 of 128 on an H200.
const mostKept = 2

// CountLoad says that a load from global memory is here.
func (b *Builder) CountLoad() { b.loads++ }

// NewBuilder returns a builder for f, placed nowhere yet.
func NewBuilder(f *Func) *Builder {
	return &Builder{F: f, M: f.Mod, truths: make(map[Value]truthOf)}
}

// SetBlock places the builder at the end of a block.
func (b *Builder) SetBlock(blk *ir.Block) { b.block = blk }

// Block returns the block that the builder appends to.
func (b *Builder) Block() *ir.Block { return b.block }

// SetLocation sets the source location of the instructions to come; nil for none.
func (b *Builder) SetLocation(l Location) {
	if l != b.loc {
		b.loc, b.md = l, b.M.attachment(l)
	}
}

// Location returns the current source location.
func (b *Builder) Location() Location { return b.loc }

// vnKey identifies a pure computation by the ids of its operands, 0 for none.
// Which fields count depends on op; unused ones are zero.
type vnKey struct {
	op      Op
	pred    uint8
	flags   Flags
	typ     int32
	a, b, c int32
	n       int32
}

// id returns the number of a value: positive for parameters and results of the
// function, negative for what belongs to the module.
func (b *Builder) id(v Value) int32 {
	switch v := v.(type) {
	case *Int:
		return v.id
	case *Float:
		return v.id
	case localID:
		return int32(v.ID())
	}
	return b.M.id(v)
}

// lookup finds an equal computation in a block that dominates the current one.
func (b *Builder) lookup(k vnKey) (Value, bool) {
	e := b.F.table.find(&k)
	if e != nil && (e.block == b.block || b.F.dominates(e.block, b.block)) {
		return e.v, true
	}
	return nil, false
}

// EnterLoop says that what is built from here to the LeaveLoop that belongs to it
// is a loop, into which control comes from the end of block before alone.
// Computations on integers and addresses that do not change in the loop are then
// placed at the end of before.
func (b *Builder) EnterLoop(before *ir.Block) {
	b.loops, b.moved = append(b.loops, before), append(b.moved, 0)
}

// EnterClosedLoop is EnterLoop for a loop that keeps all that is built in it.
func (b *Builder) EnterClosedLoop(before *ir.Block) {
	b.loops, b.moved = append(b.loops, before), append(b.moved, closed)
}

// LeaveLoop ends the innermost loop.
func (b *Builder) LeaveLoop() {
	n := len(b.loops) - 1
	b.loops, b.moved = b.loops[:n], b.moved[:n]
	b.uses = b.uses[:0] // they were about this loop
}

// place is where a computation belongs: the current block, or the block before the
// outermost loop around it in which no operand changes.
func (b *Builder) place(k *vnKey, t Type) *ir.Block {
	at := b.block
	if len(b.loops) == 0 {
		return at
	}
	operands := [...]int32{k.a, k.b, k.c}
	past := len(b.loops) // of the loops, those from here on
	if b.moves(k) && Width(t) <= 32 {
		freed := 0
		for _, id := range operands {
			if b.usesOf(id) == unneeded {
				freed++
			}
		}
		for past > 0 && b.moved[past-1]-freed < mostMoved && b.fixedIn(b.loops[past-1], operands) {
			past--
			at = b.loops[past]
		}
	}
	for _, id := range operands {
		if b.usesOf(id) != inPlace {
			b.use(id, past)
		}
	}
	for i := past; i < len(b.loops); i++ {
		b.moved[i]++
	}
	return at
}

// fixedIn reports whether values, by their numbers, do not change in the loop that
// follows block before.
func (b *Builder) fixedIn(before *ir.Block, ids [3]int32) bool {
	for _, id := range ids {
		if id <= 0 { // none, or the module's
			continue
		}
		// Parameters are made in no block.
		if home := b.F.home[id]; home != nil && !b.F.dominates(home, before) {
			return false
		}
	}
	return true
}

// What is known of the uses of a computation that was placed before a loop.
const (
	inPlace  = iota // it was not, or the loop needs it
	unneeded        // there are none
	consumed        // computations placed before the loop, too
)

func (b *Builder) usesOf(id int32) uint8 {
	if id <= 0 || int(id) >= len(b.uses) {
		return inPlace
	}
	return b.uses[id]
}

// use notes that a computation takes the result of another that was moved; it is
// placed before the loops from past on, or in the innermost one where that is all.
func (b *Builder) use(id int32, past int) {
	change := 0
	switch state := &b.uses[id]; {
	case past < len(b.loops) && *state == unneeded:
		*state, change = consumed, -1
	case past == len(b.loops) && *state == consumed:
		*state, change, past = inPlace, 1, 0
	case past == len(b.loops):
		*state = inPlace
	}
	if change == 0 {
		return
	}
	for i := past; i < len(b.loops); i++ {
		if b.fixedIn(b.loops[i], [3]int32{id}) {
			b.moved[i] += change
		}
	}
}

// moves reports whether a computation may be done though the loop that asks for it
// is not run, and is worth a register for as long as the loop runs.
func (b *Builder) moves(k *vnKey) bool {
	switch k.op {
	case UDiv, SDiv, URem, SRem: // by zero
		return false
	}
	return k.op <= Xor || k.op >= TruncOp && k.op <= SExtOp || k.op >= PtrToInt && k.op <= AddrSpaceCast
}

// fixed reports whether v does not change in the innermost loop.
func (b *Builder) fixed(v Value) bool {
	id := b.id(v)
	if id <= 0 { // the module's
		return true
	}
	home := b.F.home[id]
	return home == nil || b.F.dominates(home, b.loops[len(b.loops)-1])
}

// beforeLoop builds before the innermost loop.
func (b *Builder) beforeLoop(f func() Value) Value {
	block, loops, moved, early := b.block, b.loops, b.moved, b.early
	n := len(loops) - 1
	b.block, b.loops, b.moved, b.early = loops[n], loops[:n], moved[:n], true
	v := f()
	b.block, b.loops, b.moved, b.early = block, loops, moved, early
	return v
}

// InLoop reports whether what is built now is in a loop.
func (b *Builder) InLoop() bool { return len(b.loops) > 0 }

// Outside builds before the outermost loop in which v, of which f computes its result,
// does not change, even what takes a register for as long as the loop runs.
func (b *Builder) Outside(v Value, f func() Value) Value {
	n := len(b.loops) - 1
	if n < 0 || b.moved[n] == closed || !b.fixed(v) {
		return f()
	}
	return b.beforeLoop(func() Value { return b.Outside(v, f) })
}

// emit appends an instruction that makes a value and files it under k.
func (b *Builder) emit(k vnKey, inst ir.Instruction) Value {
	at := b.place(&k, inst.(Value).Type())
	if at == b.block && at.Term != nil && !b.early {
		panic("BUG: llir: instruction after a terminator")
	}
	v := b.appendTo(at, inst)
	if at != b.block {
		b.uses = append(b.uses, make([]uint8, int(b.F.lastID)+1-len(b.uses))...)
		b.uses[b.F.lastID] = unneeded
	}
	b.F.table.add(&k, v, at)
	return v
}

func (b *Builder) append(inst ir.Instruction) Value {
	if b.block.Term != nil {
		panic("BUG: llir: instruction after a terminator")
	}
	return b.appendTo(b.block, inst)
}

func (b *Builder) appendTo(at *ir.Block, inst ir.Instruction) Value {
	b.M.meter.Visit()
	if b.M.insts++; b.M.insts > MaxInstructions {
		panic(TooLarge{})
	}
	at.Insts = append(at.Insts, inst)
	if l, ok := inst.(localID); ok { // store and fence make no value
		b.F.lastID++
		l.SetID(b.F.lastID)
		b.F.home = append(b.F.home, at)
		return inst.(Value)
	}
	return nil
}

// Binary returns x op y. Operands have the same type.
func (b *Builder) Binary(op Op, x, y Value, f Flags) Value {
	if x.Type() != y.Type() {
		panic("BUG: llir: operands of different types: " + x.String() + " and " + y.String())
	}
	var v Value
	switch {
	case op >= FAdd:
		v = b.foldFloatBinary(op, x, y, f)
	case IsInt(x.Type()):
		v = b.foldIntBinary(op, x, y, f)
	}
	if v != nil {
		return v
	}
	return b.rawBinary(op, x, y, f)
}

// rawBinary emits or shares x op y without further folding.
func (b *Builder) rawBinary(op Op, x, y Value, f Flags) Value {
	k := vnKey{op: op, flags: f, a: b.id(x), b: b.id(y)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, newBinary(op, x, y, f, b.md))
}

// Add returns x + y.
func (b *Builder) Add(x, y Value) Value { return b.Binary(Add, x, y, 0) }

// Sub returns x - y.
func (b *Builder) Sub(x, y Value) Value { return b.Binary(Sub, x, y, 0) }

// Mul returns x * y.
func (b *Builder) Mul(x, y Value) Value { return b.Binary(Mul, x, y, 0) }

// And returns x & y.
func (b *Builder) And(x, y Value) Value { return b.Binary(And, x, y, 0) }

// Or returns x | y.
func (b *Builder) Or(x, y Value) Value { return b.Binary(OrOp, x, y, 0) }

// Xor returns x ^ y.
func (b *Builder) Xor(x, y Value) Value { return b.Binary(Xor, x, y, 0) }

// Shl returns x << n for a constant n below the width.
func (b *Builder) Shl(x Value, n int) Value {
	return b.Binary(Shl, x, b.M.Int(x.Type().(*types.IntType), int64(n)), 0)
}

// LShr returns x >> n, filling with zeros, for a constant n below the width.
func (b *Builder) LShr(x Value, n int) Value {
	return b.Binary(LShr, x, b.M.Int(x.Type().(*types.IntType), int64(n)), 0)
}

// Not returns the complement of an integer.
func (b *Builder) Not(x Value) Value { return b.Xor(x, b.M.Int(x.Type().(*types.IntType), -1)) }

// FNeg returns -x.
func (b *Builder) FNeg(x Value) Value {
	if v := b.foldFNeg(x); v != nil {
		return v
	}
	k := vnKey{op: opFNeg, a: b.id(x)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, &ir.InstFNeg{X: x, Typ: x.Type(), Metadata: b.md})
}

// ICmp compares integers or pointers.
func (b *Builder) ICmp(pred enum.IPred, x, y Value) Value {
	if x.Type() != y.Type() {
		panic("BUG: llir: icmp of different types: " + x.String() + " and " + y.String())
	}
	if v := b.foldICmp(pred, x, y); v != nil {
		return v
	}
	if IsConst(x) && !IsConst(y) {
		x, y, pred = y, x, swapIPred(pred)
	}
	k := vnKey{op: opICmp, pred: uint8(pred), a: b.id(x), b: b.id(y)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, &ir.InstICmp{Pred: pred, X: x, Y: y, Typ: b.boolLike(x.Type()), Metadata: b.md})
}

// FCmp compares floating-point numbers.
func (b *Builder) FCmp(pred enum.FPred, x, y Value) Value {
	if x.Type() != y.Type() {
		panic("BUG: llir: fcmp of different types: " + x.String() + " and " + y.String())
	}
	if v := b.foldFCmp(pred, x, y); v != nil {
		return v
	}
	k := vnKey{op: opFCmp, pred: uint8(pred), a: b.id(x), b: b.id(y)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, &ir.InstFCmp{Pred: pred, X: x, Y: y, Typ: b.boolLike(x.Type()), Metadata: b.md})
}

func (b *Builder) boolLike(t Type) Type {
	if vt, ok := t.(*types.VectorType); ok {
		return b.M.Vec(int(vt.Len), I1)
	}
	return I1
}

// Select returns x where cond (an i1) holds, else y.
func (b *Builder) Select(cond, x, y Value) Value {
	if x.Type() != y.Type() {
		panic("BUG: llir: select of different types: " + x.String() + " and " + y.String())
	}
	if v := b.foldSelect(cond, x, y); v != nil {
		return v
	}
	k := vnKey{op: opSelect, a: b.id(cond), b: b.id(x), c: b.id(y)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, &ir.InstSelect{Cond: cond, ValueTrue: x, ValueFalse: y, Typ: x.Type(), Metadata: b.md})
}

// Cast converts x to a type by the given conversion. A conversion of a type to
// itself is x.
func (b *Builder) Cast(op Op, x Value, to Type, f Flags) Value {
	if x.Type() == to {
		return x
	}
	if v := b.foldCast(op, x, to); v != nil {
		return v
	}
	return b.rawCast(op, x, to, f)
}

func (b *Builder) rawCast(op Op, x Value, to Type, f Flags) Value {
	k := vnKey{op: op, flags: f, typ: b.M.typeID(to), a: b.id(x)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, newCast(op, x, to, f, b.md))
}

// Trunc narrows an integer.
func (b *Builder) Trunc(x Value, to Type) Value { return b.Cast(TruncOp, x, to, 0) }

// ZExt widens an integer with zeros.
func (b *Builder) ZExt(x Value, to Type) Value { return b.Cast(ZExtOp, x, to, 0) }

// SExt widens an integer with its sign.
func (b *Builder) SExt(x Value, to Type) Value { return b.Cast(SExtOp, x, to, 0) }

// BitCast reinterprets the bits of a scalar or vector as another of equal width.
func (b *Builder) BitCast(x Value, to Type) Value { return b.Cast(BitCast, x, to, 0) }

// Resize converts an integer to another width, with its sign when widening and
// signed.
func (b *Builder) Resize(x Value, to *types.IntType, signed bool) Value {
	from := x.Type().(*types.IntType)
	switch {
	case from.BitSize > to.BitSize:
		return b.Trunc(x, to)
	case signed:
		return b.SExt(x, to)
	default:
		return b.ZExt(x, to)
	}
}

// GEP returns p + idx elements of type elem. The index is an integer; it is
// sign-extended or truncated to the pointer's index width, as in LLVM.
func (b *Builder) GEP(elem Type, p, idx Value) Value {
	if v := b.foldGEP(elem, p, idx); v != nil {
		return v
	}
	return b.rawGEP(elem, p, idx)
}

func (b *Builder) rawGEP(elem Type, p, idx Value) Value {
	k := vnKey{op: opGEP, typ: b.M.typeID(elem), a: b.id(p), b: b.id(idx)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	g := b.M.slabs.geps.One()
	g.ElemType, g.Src, g.Typ, g.Metadata = elem, p, p.Type(), b.md
	g.Indices = b.M.slabs.values.Make(1)
	g.Indices[0] = idx
	return b.emit(k, g)
}

// GEPEarly returns what GEP returns. Where p is a sum of which in the innermost
// loop only the index changes, and idx does not, idx is added first, before the
// loop: to the other part of p.
func (b *Builder) GEPEarly(elem Type, p, idx Value) Value {
	if len(b.loops) == 0 {
		return b.GEP(elem, p, idx)
	}
	sum, off := SplitPtr(p)
	inner, ok := sum.(*ir.InstGetElementPtr)
	if !ok || !b.fixed(inner.Src) || b.fixed(inner.Indices[0]) {
		return b.GEP(elem, p, idx)
	}
	first := idx
	if Width(idx.Type()) >= b.M.ptrBits(p.Type()) { // see foldGEP
		rest, c := SplitInt(idx)
		first, off = rest, off+c*sizeOf(elem)
	}
	if x, ok := first.(*ir.InstSExt); ok { // as GEP extends it
		first = x.From
	} else if x, ok := first.(*ZExt); ok && x.NNeg {
		first = x.From
	}
	if !b.fixed(first) {
		return b.GEP(elem, p, idx)
	}
	q := b.beforeLoop(func() Value { return b.GEP(elem, inner.Src, first) })
	return b.PtrAdd(b.GEP(inner.ElemType, q, inner.Indices[0]), off)
}

// PtrAdd returns p + bytes.
func (b *Builder) PtrAdd(p Value, bytes int64) Value { return b.GEP(I8, p, b.M.I64(bytes)) }

// ExtractValue returns field i of a struct or array value.
func (b *Builder) ExtractValue(x Value, i int) Value {
	if v := b.foldExtractValue(x, i); v != nil {
		return v
	}
	k := vnKey{op: opExtractValue, a: b.id(x), n: int32(i)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	e := b.M.slabs.fields.One()
	e.X, e.Typ, e.Metadata = x, fieldType(x.Type(), i), b.md
	e.Indices = b.M.slabs.indices.Make(1)
	e.Indices[0] = uint64(i)
	return b.emit(k, e)
}

func fieldType(t Type, i int) Type {
	switch t := t.(type) {
	case *types.StructType:
		return t.Fields[i]
	case *types.ArrayType:
		return t.ElemType
	}
	panic("BUG: llir: not an aggregate: " + t.String())
}

// InsertValue returns x with field i replaced.
func (b *Builder) InsertValue(x, elem Value, i int) Value {
	k := vnKey{op: opInsertValue, a: b.id(x), b: b.id(elem), n: int32(i)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, &ir.InstInsertValue{X: x, Elem: elem, Indices: []uint64{uint64(i)}, Typ: x.Type(), Metadata: b.md})
}

// ExtractElement returns lane i of a vector.
func (b *Builder) ExtractElement(x Value, i int) Value {
	if v := b.foldExtractElement(x, i); v != nil {
		return v
	}
	k := vnKey{op: opExtractElement, a: b.id(x), n: int32(i)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	e := b.M.slabs.elements.One()
	e.X, e.Index, e.Typ, e.Metadata = x, b.M.I32(i), x.Type().(*types.VectorType).ElemType, b.md
	return b.emit(k, e)
}

// InsertElement returns the vector x with lane i replaced.
func (b *Builder) InsertElement(x, elem Value, i int) Value {
	k := vnKey{op: opInsertElement, a: b.id(x), b: b.id(elem), n: int32(i)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	e := b.M.slabs.inserts.One()
	e.X, e.Elem, e.Index, e.Typ, e.Metadata = x, elem, b.M.I32(i), x.Type().(*types.VectorType), b.md
	return b.emit(k, e)
}

// Vector returns the vector of the given elements.
func (b *Builder) Vector(elems ...Value) Value {
	if v := b.foldVector(elems); v != nil {
		return v
	}
	v := b.M.Poison(b.M.Vec(len(elems), elems[0].Type()))
	for i, e := range elems {
		v = b.InsertElement(v, e, i)
	}
	return v
}

// Freeze returns x with poison made some fixed value.
func (b *Builder) Freeze(x Value) Value {
	if IsConst(x) && !isPoison(x) {
		return x
	}
	k := vnKey{op: opFreeze, a: b.id(x)}
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, &ir.InstFreeze{X: x, Typ: x.Type(), Metadata: b.md})
}
