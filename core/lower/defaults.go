package lower

import (
	"errors"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// capabilities are those of a target, with a default in the place of each nil
// but Warp, Clusters, VendorOps, Groups and Descriptors.
func capabilities(t Target) Capabilities {
	c := t.Capabilities()
	if c.Memory == nil {
		c.Memory = plainMemory{}
	}
	if c.Matrix == nil {
		c.Matrix = noMatrix{}
	}
	if c.Tiles == nil {
		c.Tiles = noTiles{}
	}
	if c.Copies == nil {
		c.Copies = copiesAtOnce{c.Memory}
	}
	if c.Atomics == nil {
		c.Atomics = LLVMAtomics{}
	}
	if c.Math == nil {
		c.Math = noMath{}
	}
	if c.NarrowFloats == nil {
		c.NarrowFloats = SoftFloats{}
	}
	if c.Asm == nil {
		c.Asm = noAsm{}
	}
	if c.Reports == nil {
		c.Reports = traps{}
	}
	if c.Residents == nil {
		c.Residents = tight{}
	}
	return c
}

// tight has programs take as little shared memory as they can.
type tight struct{}

func (tight) SharedRoom(int, bool) int      { return 0 }
func (tight) ThreadRegisters(int, bool) int { return 0 }

// manyStores is how many stores under one mask go into a branch: ptxas would make one of
// each.
const manyStores = 8

// masked emits n stores under one mask by f, which is given what is left of the mask.
func masked(b *llir.Builder, mask llir.Value, n int, f func(mask llir.Value)) {
	if mask == nil || n < manyStores {
		f(mask)
		return
	}
	guarded(b, mask, nil, func() llir.Value {
		f(nil)
		return nil
	})
}

// guarded emits f, in a branch where there is a mask. The result is what f
// gives, or other where the mask is false; nil where other is nil.
func guarded(b *llir.Builder, mask, other llir.Value, f func() llir.Value) llir.Value {
	if mask == nil {
		return f()
	}
	before := b.Block()
	do, join := b.F.NewBlock(before), b.F.NewBlock(before)
	b.CondBr(mask, do, join)
	b.SetBlock(do)
	v := f()
	do = b.Block()
	b.Br(join)
	b.SetBlock(join)
	if other == nil {
		return nil
	}
	p := b.Phi(other.Type())
	llir.AddIncoming(p, v, do)
	llir.AddIncoming(p, other, before)
	return p
}

// plainMemory is LLVM's loads and stores. Whatever a cache modifier or an
// eviction policy says is a hint; what is volatile stays so.
type plainMemory struct{}

// wholeType is the type of an access and its size in bytes.
func wholeType(m *llir.Module, a *Access) (t llir.Type, bytes int) {
	bytes = elemBytes(a.Elem) * a.Count
	if a.Count == 1 {
		return a.Elem, bytes
	}
	return m.Vec(a.Count, a.Elem), bytes
}

// elemBytes is the size of an element in memory.
func elemBytes(t llir.Type) int {
	if llir.IsPtr(t) {
		return 8
	}
	return llir.Width(t) / 8
}

func joined(b *llir.Builder, vals []llir.Value) llir.Value {
	if len(vals) == 1 {
		return vals[0]
	}
	return b.Vector(vals...)
}

func (plainMemory) load(b *llir.Builder, a *Access) []llir.Value {
	t, bytes := wholeType(b.M, a)
	other := b.M.Zero(t)
	if a.Other != nil {
		other = joined(b, a.Other)
	}
	v := guarded(b, a.Mask, other, func() llir.Value {
		return b.Load(t, b.PtrAdd(a.Ptr, a.Offset), bytes, a.Volatile)
	})
	if a.Count == 1 {
		return []llir.Value{v}
	}
	out := make([]llir.Value, a.Count)
	for i := range out {
		out[i] = b.ExtractElement(v, i)
	}
	return out
}

func (plainMemory) store(b *llir.Builder, a *Access, vals []llir.Value) {
	_, bytes := wholeType(b.M, a)
	v := joined(b, vals)
	guarded(b, a.Mask, nil, func() llir.Value {
		b.Store(v, b.PtrAdd(a.Ptr, a.Offset), bytes, a.Volatile)
		return nil
	})
}

func (p plainMemory) LoadGlobal(b *llir.Builder, a *Access) ([]llir.Value, error) {
	return p.load(b, a), nil
}

func (p plainMemory) StoreGlobal(b *llir.Builder, a *Access, vals []llir.Value) error {
	p.store(b, a, vals)
	return nil
}

func (p plainMemory) LoadShared(b *llir.Builder, a *Access) []llir.Value { return p.load(b, a) }

func (p plainMemory) StoreShared(b *llir.Builder, a *Access, vals []llir.Value) { p.store(b, a, vals) }

// exchange is the i32 of the lane whose number differs by mask.
func (e *emitter) exchange(v llir.Value, mask int) llir.Value {
	if w := e.m.caps.Warp; w != nil {
		return w.ShuffleXor(e.b, v, mask)
	}
	lane := e.b.And(e.tid, e.m.llvm.I32(e.m.lanes-1))
	return e.m.target.ShuffleIndex(e.b, v, e.b.Xor(lane, e.m.llvm.I32(mask)))
}

// combineWarp combines an i32 over all lanes in one instruction; nil where the
// target has none.
func (e *emitter) combineWarp(combine *ir.OpDef, v llir.Value) llir.Value {
	if w := e.m.caps.Warp; w != nil {
		return w.ReduceWarp(e.b, combine, v)
	}
	return nil
}

type noMatrix struct{}

func (noMatrix) MatrixInstrs(Product) ([]*MatrixInstr, error) {
	return nil, errors.New("this target has no matrix instructions, and the operands' layouts do not give each thread what its part of the result needs")
}

type noTiles struct{}

func (noTiles) TileLoads(int) []TileLoad   { return nil }
func (noTiles) TileStores(int) []TileStore { return nil }

// copiesAtOnce copies where a copy starts, so that nothing is in flight.
type copiesAtOnce struct{ memory Memory }

func (m copiesAtOnce) CopyAsync(b *llir.Builder, c *Copy) error { return copyAtOnce(b, m.memory, c) }

// CopyAtOnce does a copy through registers, by LLVM's loads and stores.
func CopyAtOnce(b *llir.Builder, c *Copy) error { return copyAtOnce(b, plainMemory{}, c) }

func copyAtOnce(b *llir.Builder, m Memory, c *Copy) error {
	from := c.From
	if from.Mask != nil && from.Other == nil {
		from.Other = make([]llir.Value, from.Count)
		for i := range from.Other {
			from.Other[i] = b.M.Zero(from.Elem)
		}
	}
	vals, err := m.LoadGlobal(b, &from)
	if err != nil {
		return err
	}
	m.StoreShared(b, &Access{
		Ptr: c.To, Offset: c.ToOffset, Elem: from.Elem, Count: from.Count, Mask: c.Owner,
	}, vals)
	return nil
}

func (copiesAtOnce) CommitCopies(*llir.Builder)    {}
func (copiesAtOnce) WaitCopies(*llir.Builder, int) {}

// LLVMAtomics are LLVM's atomicrmw and cmpxchg, which LLVM expands where a chip
// lacks an operation or a width: into a loop of compare-and-swap, on the 4-byte
// word around an element, so that memory that ends in the middle of a word is
// read and written beyond its end.
type LLVMAtomics struct {
	// GPU and CTA are LLVM's names, for the target, of the synchronization scopes
	// of a device and of a program. Empty is the whole system, which is stronger.
	GPU, CTA string
}

// AtomicWidth is 1.
func (LLVMAtomics) AtomicWidth(int64, llir.Type) int { return 1 }

// AtomicRMW is atomicrmw.
func (l LLVMAtomics) AtomicRMW(b *llir.Builder, a *Atomic) ([]llir.Value, error) {
	op, ok := intAtomics[a.Op]
	if llir.IsFloat(a.Elem) {
		op, ok = floatAtomics[a.Op]
	}
	if !ok {
		return nil, errors.New("there is no such atomic operation on elements of this type")
	}
	return []llir.Value{guarded(b, a.Mask, b.M.Zero(a.Elem), func() llir.Value {
		return b.AtomicRMW(op, b.PtrAdd(a.Ptr, a.Offset), a.Values[0], atomicOrders[a.Sem], l.scope(a.Scope))
	})}, nil
}

// AtomicCAS is cmpxchg, of floats by their bits.
func (l LLVMAtomics) AtomicCAS(b *llir.Builder, a *Atomic) (llir.Value, error) {
	cmp, v := a.Compare, a.Values[0]
	if llir.IsFloat(a.Elem) {
		bits := llir.IntN(llir.Width(a.Elem))
		cmp, v = b.BitCast(cmp, bits), b.BitCast(v, bits)
	}
	// A comparison that fails stores nothing, so that it releases nothing.
	success := atomicOrders[a.Sem]
	failure := enum.AtomicOrderingMonotonic
	if success == enum.AtomicOrderingAcquire || success == enum.AtomicOrderingAcquireRelease {
		failure = enum.AtomicOrderingAcquire
	}
	old := guarded(b, a.Mask, b.M.Zero(v.Type()), func() llir.Value {
		return b.ExtractValue(b.CmpXchg(b.PtrAdd(a.Ptr, a.Offset), cmp, v, success, failure, l.scope(a.Scope)), 0)
	})
	if llir.IsFloat(a.Elem) {
		old = b.BitCast(old, a.Elem)
	}
	return old, nil
}

func (l LLVMAtomics) scope(s int64) string {
	switch s {
	case tt.ScopeGPU:
		return l.GPU
	case tt.ScopeCTA:
		return l.CTA
	}
	return ""
}

var (
	atomicOrders = map[int64]enum.AtomicOrdering{
		tt.SemRelaxed: enum.AtomicOrderingMonotonic, tt.SemAcquire: enum.AtomicOrderingAcquire,
		tt.SemRelease: enum.AtomicOrderingRelease, tt.SemAcqRel: enum.AtomicOrderingAcquireRelease,
	}
	intAtomics = map[int64]enum.AtomicOp{
		tt.RMWAnd: enum.AtomicOpAnd, tt.RMWOr: enum.AtomicOpOr, tt.RMWXor: enum.AtomicOpXor, tt.RMWAdd: enum.AtomicOpAdd,
		tt.RMWMax: enum.AtomicOpMax, tt.RMWMin: enum.AtomicOpMin, tt.RMWUMax: enum.AtomicOpUMax, tt.RMWUMin: enum.AtomicOpUMin,
		tt.RMWExch: enum.AtomicOpXChg,
	}
	floatAtomics = map[int64]enum.AtomicOp{
		tt.RMWFAdd: enum.AtomicOpFAdd, tt.RMWMax: llir.AtomicOpFMax, tt.RMWMin: llir.AtomicOpFMin, tt.RMWExch: enum.AtomicOpXChg,
	}
)

type noMath struct{}

func (noMath) Elementwise(*llir.Builder, *ir.Operation, llir.Type, []llir.Value) llir.Value {
	return nil
}
func (noMath) Elements(*llir.Builder, *ir.Operation, [][]llir.Value) []llir.Value { return nil }
func (noMath) Packs(llir.Type) bool                                               { return false }

type noAsm struct{}

func (noAsm) AsmConstraint(rune) bool { return false }

// traps ends the program where an assertion fails.
type traps struct{}

func (traps) Print(*llir.Builder, []PrintPart) error {
	return &helpedError{
		errors.New("this target cannot print from a kernel"),
		"a kernel can store what it would print; tritonc run --save writes that to a file",
	}
}

func (traps) Assert(b *llir.Builder, cond llir.Value, _ Assertion) {
	guarded(b, b.Not(cond), nil, func() llir.Value {
		return b.Call(b.M.Declare("llvm.trap", llir.HasEffects, llir.Void))
	})
}
