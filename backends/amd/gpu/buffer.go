package gpu

import (
	"fmt"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Buffer instructions find memory by a descriptor of 128 bits: a base, and a number of
// records, here bytes. What lies at an offset beyond these reads as zero and is not
// written. So all descriptors have the same number, 2 GiB, which no offset of an element
// reaches, and a masked lane has an offset beyond it: no branch is needed.
const (
	// records is how many bytes a descriptor spans.
	records = 1<<31 - 2
	// masked is the offset of masked lanes. With the constants that are added to it, which
	// are less than mostAdded, it is still beyond all records, and still has 32 bits.
	masked    = -1 << 31
	mostAdded = 1 << 30
)

// bufferSpace is the address space of descriptors.
const bufferSpace = 8

// Fields of a descriptor's last word: formats, which instructions without a format ignore
// but must not be 0, and on RDNA a bit that is set, and that an offset is out of bounds
// where it is not less than the number of records.
const (
	floatFormat  = 7<<12 | 4<<15
	rdnaReserved = 1 << 24
	rdnaByOffset = 3 << 28
)

// descriptor makes a descriptor of what a pointer points to. All threads have the same
// pointer, which LLVM cannot always tell.
func (t *Target) descriptor(b *llir.Builder, base llir.Value) llir.Value {
	flags := floatFormat
	if !t.GFX9 {
		flags |= rdnaReserved | rdnaByOffset
	}
	p := llir.PtrIn(bufferSpace)
	f := b.M.Declare("llvm.amdgcn.make.buffer.rsrc.p8.p1", llir.Pure, p, base.Type(), llir.I16, llir.I64, llir.I32)
	return b.Call(f, t.uniform(b, base), b.M.Zero(llir.I16), b.M.I64(records), b.M.I32(flags))
}

// uniform has every lane take a pointer of the first one, in scalar registers.
func (t *Target) uniform(b *llir.Builder, p llir.Value) llir.Value {
	if _, param := p.(*llvm.Param); param {
		return p // it is there
	}
	first := b.M.Declare("llvm.amdgcn.readfirstlane.i64", llir.Pure, llir.I64, llir.I64)
	return b.Cast(llir.IntToPtr, b.Call(first, b.Cast(llir.PtrToInt, p, llir.I64, 0)), p.Type(), 0)
}

// byteOffset is an offset in bytes of elements of a size, and the mask's where that is
// false.
func byteOffset(b *llir.Builder, offset, mask llir.Value, size int) llir.Value {
	first, more := llir.SplitInt(offset)
	if more *= int64(size); more < 0 || more >= mostAdded {
		first, more = offset, 0
	}
	x := b.Mul(first, b.M.I32(size))
	if mask != nil {
		x = b.Select(mask, x, b.M.I32(masked))
	}
	return b.Add(x, b.M.I32(int(more)))
}

// bufferLoad loads; LLVM's intrinsics take up to four words, or a part of one.
func (t *Target) bufferLoad(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsBufferLoad(op)
	rsrc := t.descriptor(s.B, s.Value(v.Ptr())[0])
	at := lower.Place{Base: v.Ptr(), Offsets: v.Offsets(), Mask: v.Mask()}
	return s.Load(v.Result(), at, v.Other(), t.reads(s, rsrc, v.Cache()))
}

// bufferCopy copies to LDS, through registers where no instruction does.
func (t *Target) bufferCopy(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsBufferLoadToLocal(op)
	rsrc := t.descriptor(s.B, s.Value(v.Ptr())[0])
	at := lower.Place{Base: v.Ptr(), Offsets: v.Offsets(), Mask: v.Mask()}
	return s.Copy(v.Token(), v.Dest(), at, v.Other(), v.Contiguity(), t.reads(s, rsrc, v.Cache()), func(c *lower.Copy, offset llir.Value) bool {
		return t.bufferToLDS(s.B, c, rsrc, offset, v.Cache())
	})
}

// reads makes the loads of one operation.
func (t *Target) reads(s *lower.Site, rsrc llir.Value, cache int64) func(a *lower.Access, offset llir.Value) ([]llir.Value, error) {
	return func(a *lower.Access, offset llir.Value) ([]llir.Value, error) {
		b := s.B
		size := llir.Width(a.Elem) / 8
		whole := dataType(b.M, a.Elem, a.Count)
		f := b.M.Declare("llvm.amdgcn.raw.ptr.buffer.load."+suffix(whole), llir.HasEffects, whole, rsrc.Type(), llir.I32, llir.I32, llir.I32)
		x := b.Call(f, rsrc, byteOffset(b, offset, a.Mask, size), b.M.I32(0), b.M.I32(t.policy(cache, true)))
		vals := parts(b, x, a.Elem, a.Count)
		if a.Mask != nil && a.Other != nil && !isZero(a.Other) {
			for i := range vals {
				vals[i] = b.Select(a.Mask, vals[i], a.Other[i])
			}
		}
		return vals, nil
	}
}

// isZero reports whether all values are constants of zero bits.
func isZero(vals []llir.Value) bool {
	for _, v := range vals {
		if f, ok := v.(*llir.Float); ok && f.Bits == 0 {
			continue
		}
		if n, ok := llir.ConstInt(v); !ok || n != 0 {
			return false
		}
	}
	return true
}

// bufferStore stores.
func (t *Target) bufferStore(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsBufferStore(op)
	rsrc := t.descriptor(s.B, s.Value(v.Ptr())[0])
	at := lower.Place{Base: v.Ptr(), Offsets: v.Offsets(), Mask: v.Mask()}
	return s.Store(v.Value(), at, func(a *lower.Access, offset llir.Value, vals []llir.Value) error {
		b := s.B
		x := together(b, vals)
		whole := dataType(b.M, a.Elem, a.Count)
		if x.Type() != whole {
			x = b.BitCast(x, whole)
		}
		f := b.M.Declare("llvm.amdgcn.raw.ptr.buffer.store."+suffix(whole), llir.HasEffects, llir.Void, whole, rsrc.Type(), llir.I32, llir.I32, llir.I32)
		b.Call(f, x, rsrc, byteOffset(b, offset, a.Mask, llir.Width(a.Elem)/8), b.M.I32(0), b.M.I32(t.policy(v.Cache(), false)))
		return nil
	})
}

// bufferAtomic does atomics: sums of floats of 16 bits two at a time.
func (t *Target) bufferAtomic(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsBufferAtomicRmw(op)
	rsrc := t.descriptor(s.B, s.Value(v.Ptr())[0])
	at := lower.Place{Base: v.Ptr(), Offsets: v.Offsets(), Mask: v.Mask()}
	width := 1
	if ir.BitWidth(ir.ElemOf(v.Value().Type())) == 16 {
		width = 2
	}
	return ordered(s, v.Sem(), v.Scope(), func() error {
		return s.Atomic(v.Result(), at, v.Value(), nil, width, func(a *lower.Atomic, offset llir.Value) ([]llir.Value, error) {
			name, ok := intAtomics[v.AtomicRmwOp()]
			if llir.IsFloat(a.Elem) {
				name, ok = floatAtomics[v.AtomicRmwOp()]
			}
			if !ok || len(a.Values) != width {
				return nil, fmt.Errorf("no buffer instruction does this atomic")
			}
			b := s.B
			x := together(b, a.Values)
			if v.AtomicRmwOp() == tt.RMWExch { // of floats LLVM takes the bits
				x = b.BitCast(x, llir.IntN(llir.Width(a.Elem)))
			}
			f := b.M.Declare("llvm.amdgcn.raw.ptr.buffer.atomic."+name+"."+suffix(x.Type()), llir.HasEffects, x.Type(), x.Type(), rsrc.Type(), llir.I32, llir.I32, llir.I32)
			old := b.Call(f, x, rsrc, byteOffset(b, offset, a.Mask, llir.Width(a.Elem)/8), b.M.I32(0), b.M.I32(0))
			return parts(b, old, a.Elem, width), nil
		})
	})
}

// bufferCompare compares and swaps, floats by their bits.
func (t *Target) bufferCompare(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsBufferAtomicCas(op)
	rsrc := t.descriptor(s.B, s.Value(v.Ptr())[0])
	at := lower.Place{Base: v.Ptr(), Offsets: v.Offsets()}
	return ordered(s, v.Sem(), v.Scope(), func() error {
		return s.Atomic(v.Result(), at, v.Val(), v.Cmp(), 1, func(a *lower.Atomic, offset llir.Value) ([]llir.Value, error) {
			b := s.B
			bits := llir.IntN(llir.Width(a.Elem))
			x, with := a.Values[0], a.Compare
			if llir.IsFloat(a.Elem) {
				x, with = b.BitCast(x, bits), b.BitCast(with, bits)
			}
			f := b.M.Declare("llvm.amdgcn.raw.ptr.buffer.atomic.cmpswap."+suffix(bits), llir.HasEffects, bits, bits, bits, rsrc.Type(), llir.I32, llir.I32, llir.I32)
			old := b.Call(f, x, with, rsrc, byteOffset(b, offset, a.Mask, llir.Width(a.Elem)/8), b.M.I32(0), b.M.I32(0))
			return parts(b, old, a.Elem, 1), nil
		})
	})
}

// ordered puts an atomic between the fences of its ordering.
func ordered(s *lower.Site, sem, scope int64, atomic func() error) error {
	if sem == tt.SemRelease || sem == tt.SemAcqRel {
		s.B.Fence(enum.AtomicOrderingRelease, scopeName(scope))
	}
	err := atomic()
	if sem == tt.SemAcquire || sem == tt.SemAcqRel {
		s.B.Fence(enum.AtomicOrderingAcquire, scopeName(scope))
	}
	return err
}

// scopeName is LLVM's name of a scope.
func scopeName(scope int64) string {
	if scope == tt.ScopeCTA {
		return workgroup
	}
	return agent
}

var (
	intAtomics = map[int64]string{
		tt.RMWAnd: "and", tt.RMWOr: "or", tt.RMWXor: "xor", tt.RMWAdd: "add", tt.RMWMax: "smax", tt.RMWMin: "smin",
		tt.RMWUMax: "umax", tt.RMWUMin: "umin", tt.RMWExch: "swap",
	}
	floatAtomics = map[int64]string{tt.RMWFAdd: "fadd", tt.RMWMax: "fmax", tt.RMWMin: "fmin", tt.RMWExch: "swap"}
)

// dataType is the type in which intrinsics move so many elements: those of less than a
// word in words, if they fill any.
func dataType(m *llir.Module, elem llir.Type, count int) llir.Type {
	bits := llir.Width(elem) * count
	if llir.Width(elem) >= 32 || count == 1 {
		if llir.Width(elem) == 64 { // no intrinsic has pairs of these
			return m.Vec(bits/32, llir.I32)
		}
		if count == 1 {
			return elem
		}
		return m.Vec(count, elem)
	}
	switch bits {
	case 16:
		return llir.I16
	case 32:
		return llir.I32
	}
	return m.Vec(bits/32, llir.I32)
}

// together is elements as one value.
func together(b *llir.Builder, vals []llir.Value) llir.Value {
	if len(vals) == 1 {
		return vals[0]
	}
	return b.Vector(vals...)
}

// parts takes a value apart into elements.
func parts(b *llir.Builder, x llir.Value, elem llir.Type, count int) []llir.Value {
	if count == 1 {
		if x.Type() != elem {
			x = b.BitCast(x, elem)
		}
		return []llir.Value{x}
	}
	if whole := b.M.Vec(count, elem); x.Type() != whole {
		x = b.BitCast(x, whole)
	}
	vals := make([]llir.Value, count)
	for i := range vals {
		vals[i] = b.ExtractElement(x, i)
	}
	return vals
}

// suffix is a type in the names of intrinsics.
func suffix(t llir.Type) string {
	if v, ok := t.(*types.VectorType); ok {
		return fmt.Sprintf("v%d%s", v.Len, suffix(v.ElemType))
	}
	switch t {
	case llir.Half:
		return "f16"
	case llir.BF16:
		return "bf16"
	case llir.F32:
		return "f32"
	case llir.F64:
		return "f64"
	}
	return fmt.Sprintf("i%d", llir.Width(t))
}

// Bits of the intrinsics' last operand, by generation: LLVM's guide has what each of its
// memory model's accesses sets.
const (
	glc, slc, dlc = 1, 2, 4  // before gfx940, and RDNA 3
	sc0, nt, sc1  = 1, 2, 16 // gfx940 and later of CDNA
	thNT          = 1        // gfx12
	scopeSys      = 3 << 3
)

// policy is how caches treat an access: .cs and .cg are read or written once, .cv and .wt
// bypass what others do not see.
func (t *Target) policy(cache int64, load bool) int {
	once, through := false, false
	switch cache {
	case tt.CacheCS:
		once = true
	case tt.CacheCG:
		once = load
	case tt.CacheCV, tt.CacheWT:
		through = true
	}
	switch {
	case !once && !through:
		return 0
	case t.WMMA == 2:
		return map[bool]int{true: thNT, false: scopeSys}[once]
	case t.MFMA >= 3:
		return map[bool]int{true: nt, false: sc0 | sc1}[once]
	case t.GFX9:
		return map[bool]int{true: glc | slc, false: glc}[once]
	case load:
		return map[bool]int{true: slc | dlc, false: glc | dlc}[once]
	}
	return map[bool]int{true: glc | slc | dlc, false: dlc}[once]
}
