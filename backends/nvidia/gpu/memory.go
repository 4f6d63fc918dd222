package gpu

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// words says how an access is cut into the operands of one instruction: Count
// words of Bits bits (at least 32 where there are as many), each of Elems
// elements held as Type.
type words struct {
	bits, count, elems int
	typ                llir.Type
	constraint         string // letter of the operands in inline assembly
}

func wordsOf(m *llir.Module, a *lower.Access) words {
	w := bitsOf(a.Elem)
	total := w * a.Count
	bits := min(total, max(32, w))
	ws := words{bits: bits, count: total / bits, elems: bits / w, typ: a.Elem}
	if ws.elems > 1 {
		ws.typ = m.Vec(ws.elems, a.Elem)
	}
	ws.constraint, ws.typ = operandClass(ws.typ, bits)
	return ws
}

// operandClass is the letter with which inline assembly takes a type of so many
// bits, and the type in which it takes it.
func operandClass(t llir.Type, bits int) (string, llir.Type) {
	switch {
	case t == llir.F32:
		return "f", t
	case t == llir.F64:
		return "d", t
	case bits == 64:
		return "l", t
	case bits == 32:
		return "r", t
	}
	return "h", llir.I16 // 8 and 16 bits share a register class
}

// bitsOf is the size in memory of an element.
func bitsOf(t llir.Type) int {
	if llir.IsPtr(t) {
		return 64
	}
	return llir.Width(t)
}

// pack packs elements into words.
func (ws words) pack(b *llir.Builder, vals []llir.Value) []llir.Value {
	out := make([]llir.Value, ws.count)
	for i := range out {
		group := vals[i*ws.elems : (i+1)*ws.elems]
		v := group[0]
		if ws.elems > 1 {
			v = b.Vector(group...)
		}
		if ws.bits < 32 {
			v = b.ZExt(b.BitCast(v, llir.IntN(ws.bits)), llir.I16)
		}
		out[i] = v
	}
	return out
}

// unpack splits words into elements.
func (ws words) unpack(b *llir.Builder, elem llir.Type, regs []llir.Value) []llir.Value {
	out := make([]llir.Value, 0, ws.count*ws.elems)
	for _, v := range regs {
		if ws.bits < 32 {
			v = b.Trunc(v, llir.IntN(ws.bits))
			if ws.elems == 1 {
				v = b.BitCast(v, elem)
			} else {
				v = b.BitCast(v, b.M.Vec(ws.elems, elem))
			}
		}
		if ws.elems == 1 {
			out = append(out, v)
			continue
		}
		for i := range ws.elems {
			out = append(out, b.ExtractElement(v, i))
		}
	}
	return out
}

// assembly collects the text, constraints and operands of one inline assembly.
type assembly struct {
	text        []byte
	constraints []byte
	args        []llir.Value
	outs        int
	next        int // number of the next operand
}

func (s *assembly) str(t string) { s.text = append(s.text, t...) }

func (s *assembly) ref(n int) { s.text = strconv.AppendInt(append(s.text, '$'), int64(n), 10) }

func (s *assembly) constrain(c string) {
	if len(s.constraints) > 0 {
		s.constraints = append(s.constraints, ',')
	}
	s.constraints = append(s.constraints, c...)
	s.next++
}

// out adds an output and returns its number. It is written before the inputs
// have been read, so it shares no register with them.
func (s *assembly) out(class string) int {
	s.constrain("=&" + class)
	s.outs++
	return s.next - 1
}

// in adds an input and returns its number.
func (s *assembly) in(class string, v llir.Value) int {
	s.constrain(class)
	s.args = append(s.args, v)
	return s.next - 1
}

// predicate writes "@$n " for a mask; nothing where there is none.
func (s *assembly) predicate(mask llir.Value) {
	if mask == nil {
		return
	}
	s.str("@")
	s.ref(s.in("b", mask))
	s.str(" ")
}

// list writes "{ $a, $b }", or "$a" alone.
func (s *assembly) list(first, n int, braces bool) {
	if braces {
		s.str("{ ")
	}
	for i := range n {
		if i > 0 {
			s.str(", ")
		}
		s.ref(first + i)
	}
	if braces {
		s.str(" }")
	}
}

// address writes "[ $n + off ]".
func (s *assembly) address(class string, ptr llir.Value, off int64) {
	n := s.in(class, ptr)
	s.str("[ ")
	s.ref(n)
	s.str(" + ")
	s.text = strconv.AppendInt(s.text, off, 10)
	s.str(" ]")
}

// emit builds the call and returns the outputs.
func (s *assembly) emit(b *llir.Builder, outType llir.Type) []llir.Value {
	ret := llir.Void
	switch {
	case s.outs == 1:
		ret = outType
	case s.outs > 1:
		fields := make([]llir.Type, s.outs)
		for i := range fields {
			fields[i] = outType
		}
		ret = b.M.Struct(fields...)
	}
	v := b.Asm(string(s.text), string(s.constraints), true, ret, s.args...)
	if s.outs <= 1 {
		return []llir.Value{v}
	}
	out := make([]llir.Value, s.outs)
	for i := range out {
		out[i] = b.ExtractValue(v, i)
	}
	return out
}

// moveType is the type of a mov of so many bits.
func moveType(bits int) string {
	switch bits {
	case 64:
		return "u64"
	case 32:
		return "u32"
	}
	return "u16"
}

// policy makes the operand of L2::cache_hint.
func (t *Target) policy(b *llir.Builder, evict int64) llir.Value {
	name := "evict_first"
	if evict == tt.EvictLast {
		name = "evict_last"
	}
	return b.Asm("createpolicy.fractional.L2::"+name+".b64 $0, 1.0;", "=l", false, llir.I64)
}

// hinted reports whether an access carries an eviction policy.
func hinted(evict int64) bool { return evict == tt.EvictFirst || evict == tt.EvictLast }

var (
	loadCaches  = map[int64]string{tt.CacheCA: ".ca", tt.CacheCG: ".cg", tt.CacheCS: ".cs", tt.CacheCV: ".cv"}
	storeCaches = map[int64]string{tt.CacheWB: ".wb", tt.CacheCG: ".cg", tt.CacheCS: ".cs", tt.CacheWT: ".wt"}
)

// modifiers writes the cache operator and the eviction hints of an access. An
// instruction that names a cache operator takes no L1 eviction priority. An operator of
// loads that a store has, or the other way round, is a hint that means nothing there.
func modifiers(s *assembly, caches map[int64]string, a *lower.Access, what string) error {
	op := caches[a.Cache]
	if op != "" && hinted(a.Evict) {
		return fmt.Errorf("a %s cannot have both a cache modifier (%s) and an eviction policy: the hardware takes one or the other", what, op)
	}
	if op != "" && a.Volatile {
		return fmt.Errorf("a volatile %s cannot have a cache modifier (%s)", what, op)
	}
	if a.Volatile && hinted(a.Evict) {
		return fmt.Errorf("a volatile %s cannot have an eviction policy", what)
	}
	if a.Volatile {
		s.str(".volatile")
	}
	s.str(".global")
	s.str(op)
	switch a.Evict {
	case tt.EvictFirst:
		s.str(".L1::evict_first.L2::cache_hint")
	case tt.EvictLast:
		s.str(".L1::evict_last.L2::cache_hint")
	}
	return nil
}

func (s *assembly) vector(ws words) {
	if ws.count > 1 {
		s.str(".v" + strconv.Itoa(ws.count))
	}
	s.str(".b" + strconv.Itoa(ws.bits) + " ")
}

// LoadGlobal is one ld.global. Under a mask the registers hold the other values
// before, or zero, if anybody reads them.
func (t *Target) LoadGlobal(b *llir.Builder, a *lower.Access) ([]llir.Value, error) {
	ws := wordsOf(b.M, a)
	if ws.count > 4 {
		return nil, errors.New("an access wider than four words")
	}
	var s assembly
	for range ws.count {
		s.out(ws.constraint)
	}
	if a.Mask != nil && !a.Unread {
		var others []llir.Value
		if a.Other != nil {
			others = ws.pack(b, a.Other)
		}
		for i := range ws.count {
			s.str("mov." + moveType(ws.bits) + " ")
			s.ref(i)
			s.str(", ")
			if others == nil {
				s.str("0x0")
			} else {
				s.operand(b, ws, others[i])
			}
			s.str(";\n\t")
		}
	}
	s.predicate(a.Mask)
	s.str("ld")
	if err := modifiers(&s, loadCaches, a, "load"); err != nil {
		return nil, err
	}
	s.vector(ws)
	s.list(0, ws.count, true)
	s.str(", ")
	s.address("l", a.Ptr, a.Offset)
	if hinted(a.Evict) {
		n := s.in("l", t.policy(b, a.Evict))
		s.str(", ")
		s.ref(n)
	}
	s.str(";")
	return ws.unpack(b, a.Elem, s.emit(b, ws.typ)), nil
}

// operand writes a word: a constant by its bits, anything else as an input.
func (s *assembly) operand(b *llir.Builder, ws words, v llir.Value) {
	bits := v
	if ws.bits >= 32 {
		bits = b.BitCast(v, llir.IntN(ws.bits))
	}
	if c, ok := bits.(*llir.Int); ok {
		s.str("0x" + strconv.FormatUint(c.Bits, 16))
		return
	}
	s.ref(s.in(ws.constraint, v))
}

// StoreGlobal is one st.global.
func (t *Target) StoreGlobal(b *llir.Builder, a *lower.Access, vals []llir.Value) error {
	ws := wordsOf(b.M, a)
	if ws.count > 4 {
		return errors.New("an access wider than four words")
	}
	var s assembly
	packed := ws.pack(b, vals)
	for _, v := range packed {
		s.in(ws.constraint, v)
	}
	s.predicate(a.Mask)
	s.str("st")
	if err := modifiers(&s, storeCaches, a, "store"); err != nil {
		return err
	}
	s.vector(ws)
	s.address("l", a.Ptr, a.Offset)
	s.str(", ")
	s.list(0, ws.count, true)
	if hinted(a.Evict) {
		n := s.in("l", t.policy(b, a.Evict))
		s.str(", ")
		s.ref(n)
	}
	s.str(";")
	s.emit(b, nil)
	return nil
}

// LoadShared is one ld.shared. Nothing predicates it: threads without work read
// what they may.
func (t *Target) LoadShared(b *llir.Builder, a *lower.Access) []llir.Value {
	ws := wordsOf(b.M, a)
	typ := ws.typ
	if ws.bits < 32 {
		typ = llir.IntN(ws.bits)
	}
	if ws.count > 1 {
		typ = b.M.Vec(ws.count, llir.IntN(ws.bits))
	}
	v := b.Load(typ, b.PtrAdd(a.Ptr, a.Offset), ws.bits/8*ws.count, false)
	regs := []llir.Value{v}
	if ws.count > 1 {
		regs = make([]llir.Value, ws.count)
		for i := range regs {
			regs[i] = b.ExtractElement(v, i)
			switch {
			case llir.IsPtr(a.Elem):
				regs[i] = b.Cast(llir.IntToPtr, regs[i], a.Elem, 0)
			case ws.elems > 1 || llir.IsFloat(a.Elem):
				regs[i] = b.BitCast(regs[i], ws.typ)
			}
		}
	} else if ws.bits < 32 {
		regs[0] = b.ZExt(v, llir.I16)
	}
	return ws.unpack(b, a.Elem, regs)
}

// StoreShared is one st.shared, by inline assembly where it is predicated.
func (t *Target) StoreShared(b *llir.Builder, a *lower.Access, vals []llir.Value) {
	ws := wordsOf(b.M, a)
	packed := ws.pack(b, vals)
	if a.Mask != nil {
		var s assembly
		for _, v := range packed {
			s.in(ws.constraint, v)
		}
		s.predicate(a.Mask)
		s.str("st.shared")
		s.vector(ws)
		s.address("r", a.Ptr, a.Offset)
		s.str(", ")
		s.list(0, ws.count, true)
		s.str(";")
		s.emit(b, nil)
		return
	}
	ints := make([]llir.Value, len(packed))
	for i, v := range packed {
		switch {
		case ws.bits < 32:
			v = b.Trunc(v, llir.IntN(ws.bits))
		case llir.IsPtr(v.Type()):
			v = b.Cast(llir.PtrToInt, v, llir.I64, 0)
		default:
			v = b.BitCast(v, llir.IntN(ws.bits))
		}
		ints[i] = v
	}
	v := ints[0]
	if ws.count > 1 {
		v = b.Vector(ints...)
	}
	b.Store(v, b.PtrAdd(a.Ptr, a.Offset), ws.bits/8*ws.count, false)
}
