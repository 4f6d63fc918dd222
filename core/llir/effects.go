package llir

import (
	"slices"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
)

// Call calls a function and returns its result (nil when void). Equal calls of
// pure functions with up to three arguments are shared.
func (b *Builder) Call(callee *ir.Func, args ...Value) Value {
	if len(args) != len(callee.Sig.Params) {
		panic("BUG: llir: wrong number of arguments for " + callee.GlobalName)
	}
	for i, a := range args {
		if a.Type() != callee.Sig.Params[i] {
			panic("BUG: llir: argument type of " + callee.GlobalName + ": " + a.String())
		}
	}
	if isPure(callee) && len(args) <= 3 {
		if v := b.foldCall(callee, args); v != nil {
			return v
		}
		k := vnKey{op: opCall, n: b.M.id(callee)}
		b.setArgs(&k, args)
		if v, ok := b.lookup(k); ok {
			return v
		}
		return b.emit(k, b.newCall(callee, callee.Sig.RetType, args))
	}
	v := b.append(b.newCall(callee, callee.Sig.RetType, args))
	if callee.Sig.RetType == Void {
		return nil
	}
	return v
}

// setArgs puts up to three arguments into the key.
func (b *Builder) setArgs(k *vnKey, args []Value) {
	for i, p := range &[...]*int32{&k.a, &k.b, &k.c} {
		if i < len(args) {
			*p = b.id(args[i])
		}
	}
}

func (b *Builder) newCall(callee Value, ret Type, args []Value) *ir.InstCall {
	c := b.M.slabs.calls.One()
	c.Callee, c.Args, c.Typ, c.Metadata = callee, b.M.slabs.values.List(args), ret, b.md
	if f, ok := callee.(*ir.Func); ok {
		c.CallingConv = f.CallingConv
	}
	return c
}

type asmKey struct {
	text, constraints string
	sideEffect        bool
	ret               Type
}

// Asm emits inline assembly. Without side effects it is pure: equal ones are
// shared, unused ones dropped. The result is nil when ret is void.
func (b *Builder) Asm(text, constraints string, sideEffect bool, ret Type, args ...Value) Value {
	ak := asmKey{text, constraints, sideEffect, ret}
	a, ok := b.M.asms[ak]
	if !ok {
		// Only the text and the constraints are printed; the type serves the
		// library, which wants a pointer to a function.
		a = &ir.InlineAsm{
			Asm: text, Constraint: constraints, SideEffect: sideEffect,
			Typ: types.NewPointer(types.NewFunc(ret)),
		}
		b.M.asms[ak] = a
	}
	if sideEffect || len(args) > 3 {
		v := b.append(b.newCall(a, ret, args))
		if ret == Void {
			return nil
		}
		return v
	}
	k := vnKey{op: opAsm, n: b.M.id(a)}
	b.setArgs(&k, args)
	if v, ok := b.lookup(k); ok {
		return v
	}
	return b.emit(k, b.newCall(a, ret, args))
}

// Load loads a value; align 0 leaves the type's own alignment.
func (b *Builder) Load(t Type, p Value, align int, volatile bool) Value {
	return b.append(&ir.InstLoad{ElemType: t, Src: p, Align: ir.Align(align), Volatile: volatile, Metadata: b.md})
}

// Store stores a value; align 0 leaves the type's own alignment.
func (b *Builder) Store(v, p Value, align int, volatile bool) {
	b.append(&ir.InstStore{Src: v, Dst: p, Align: ir.Align(align), Volatile: volatile, Metadata: b.md})
}

// Alloca reserves stack memory in the current block.
func (b *Builder) Alloca(t Type, align int) Value {
	return b.append(&allocaInst{InstAlloca: ir.InstAlloca{ElemType: t, Align: ir.Align(align), Metadata: b.md}})
}

// AllocaOf gives what an alloca reserves memory for, and its alignment, 0 for the
// type's own; ok is false for other instructions.
func AllocaOf(inst ir.Instruction) (t Type, align int, ok bool) {
	a, ok := inst.(*allocaInst)
	if !ok {
		return nil, 0, false
	}
	return a.ElemType, int(a.Align), true
}

// allocaInst is an alloca whose type is the opaque pointer.
type allocaInst struct{ ir.InstAlloca }

// Type returns the opaque pointer type.
func (*allocaInst) Type() types.Type { return PtrIn(0) }

// String returns type and name.
func (i *allocaInst) String() string { return "ptr " + i.Ident() }

// LLString returns the instruction's text.
func (i *allocaInst) LLString() string { return instString(i) }

// AtomicRMW is an atomic read-modify-write with an ordering and a sync scope
// (empty: system).
func (b *Builder) AtomicRMW(op enum.AtomicOp, p, x Value, order enum.AtomicOrdering, scope string) Value {
	return b.append(&ir.InstAtomicRMW{Op: op, Dst: p, X: x, Ordering: order, SyncScope: scope, Typ: x.Type(), Metadata: b.md})
}

// What atomicrmw does beside what package enum has: the lesser and the greater of
// two floats, of which a NaN is neither.
const (
	AtomicOpFMin enum.AtomicOp = 128 + iota
	AtomicOpFMax
)

// AtomicName is LLVM's word for an operation of atomicrmw.
func AtomicName(op enum.AtomicOp) string { return atomicName(op) }

func atomicName(op enum.AtomicOp) string {
	switch op {
	case AtomicOpFMin:
		return "fmin"
	case AtomicOpFMax:
		return "fmax"
	}
	return op.String()
}

// CmpXchg is an atomic compare-exchange; its result is {T, i1}.
func (b *Builder) CmpXchg(p, cmp, x Value, success, failure enum.AtomicOrdering, scope string) Value {
	return b.append(&ir.InstCmpXchg{
		Ptr: p, Cmp: cmp, New: x, SuccessOrdering: success, FailureOrdering: failure,
		SyncScope: scope, Typ: b.M.Struct(x.Type(), I1), Metadata: b.md,
	})
}

// Fence is a memory fence.
func (b *Builder) Fence(order enum.AtomicOrdering, scope string) {
	b.append(&ir.InstFence{Ordering: order, SyncScope: scope, Metadata: b.md})
}

// Phi makes a phi of the given type at the current block, which holds only phis
// so far. Its inputs are added by AddIncoming.
func (b *Builder) Phi(t Type) *ir.InstPhi {
	p := &ir.InstPhi{Typ: t, Metadata: b.md}
	b.append(p)
	return p
}

// AddIncoming gives a phi its value for one predecessor.
func AddIncoming(p *ir.InstPhi, v Value, pred *ir.Block) {
	if v.Type() != p.Typ {
		panic("BUG: llir: phi input type: " + v.String())
	}
	p.Incs = append(p.Incs, &ir.Incoming{X: v, Pred: pred})
}

func (b *Builder) terminate(t ir.Terminator) {
	if b.block.Term != nil {
		panic("BUG: llir: block terminated twice")
	}
	b.block.Term = t
}

// Ret returns from the function; v is nil for void.
func (b *Builder) Ret(v Value) { b.terminate(&ir.TermRet{X: v, Metadata: b.md}) }

// Br jumps to a block.
func (b *Builder) Br(to *ir.Block) { b.terminate(&ir.TermBr{Target: to, Metadata: b.md}) }

// CondBr jumps to yes where cond holds, else to no. A constant condition keeps
// both edges, because phis may already name them.
func (b *Builder) CondBr(cond Value, yes, no *ir.Block) {
	b.terminate(&ir.TermCondBr{Cond: cond, TargetTrue: yes, TargetFalse: no, Metadata: b.md})
}

// ForbidLICM says of the loop whose edge back to its head ends b that LLVM is to
// move nothing out of it.
func (m *Module) ForbidLICM(b *ir.Block) {
	if m.noLICM == nil {
		m.noLICM = &metadata.Tuple{Fields: []metadata.Field{&metadata.String{Value: "llvm.licm.disable"}}}
		m.addNode(m.noLICM)
	}
	loop := &metadata.Tuple{Distinct: true} // every loop has an identity, a node that names itself first
	loop.Fields = []metadata.Field{loop, m.noLICM}
	m.addNode(loop)
	attach := func(md *ir.Metadata) {
		*md = append(slices.Clip(*md), &metadata.Attachment{Name: "llvm.loop", Node: loop})
	}
	switch t := b.Term.(type) {
	case *ir.TermBr:
		attach(&t.Metadata)
	case *ir.TermCondBr:
		attach(&t.Metadata)
	default:
		panic("BUG: llir: the block does not end in a branch")
	}
}

// Switch jumps to the block of the case equal to x, else to def.
func (b *Builder) Switch(x Value, def *ir.Block, cases []int64, to []*ir.Block) {
	t := &ir.TermSwitch{X: x, TargetDefault: def, Metadata: b.md}
	for i, c := range cases {
		t.Cases = append(t.Cases, &ir.Case{X: constant.Constant(b.M.Int(x.Type().(*types.IntType), c)), Target: to[i]})
	}
	b.terminate(t)
}

// Unreachable ends a block that is never left.
func (b *Builder) Unreachable() { b.terminate(&ir.TermUnreachable{Metadata: b.md}) }
