package ptx

import (
	"strconv"
	"strings"
)

// foldAddresses takes constants out of addresses, to which instructions add them:
// accesses that differ by constants then share what is computed.
func foldAddresses(f *fn) {
	edit(f, func(e *editor, v *value) *value {
		switch v.op {
		case opLd, opSt, opAtom, opInst:
			if _, ok := v.aux.(addressed); v.op == opInst && !ok {
				return nil
			}
			base, off := e.split(v.args[0], 8)
			if off != 0 && fits(v.imm+off) {
				v.args[0], v.imm = base, v.imm+off
			}
		case opAsm:
			s := v.aux.(*assembly)
			for i, a := range v.args {
				n := s.outs + i
				if !s.isAddress(n) || i < len(s.tied) && s.tied[i] >= 0 {
					continue
				}
				if base, off := e.split(a, 8); off != 0 && s.addOffset(n, off) {
					v.args[i] = base
				}
			}
		}
		return nil
	})
}

// split is v as a sum of a value and a constant. It emits what the value needs.
func (e *editor) split(v *value, depth int) (*value, int64) {
	c := constantPart(v, depth)
	if c == 0 {
		return v, 0
	}
	return e.without(v, depth), c
}

// isSum reports whether v is a sum of integers; an or is, of operands without a
// common bit.
func isSum(v *value) bool {
	return v.op == opAdd && !v.typ.isFloat() || v.op == opOr && v.flags&disjoint != 0
}

// constantPart is the constant that without takes out of v.
func constantPart(v *value, depth int) int64 {
	if depth == 0 || v.class != r32 && v.class != r64 {
		return 0
	}
	switch {
	case isSum(v) && v.args[1].isConst():
		return v.args[1].imm + constantPart(v.args[0], depth-1)
	case isSum(v):
		return constantPart(v.args[0], depth-1) + constantPart(v.args[1], depth-1)
	case v.op == opShl && v.args[1].isConst() && v.args[1].imm < 31:
		return constantPart(v.args[0], depth-1) << v.args[1].imm
	case v.op == opMul && !v.typ.isFloat() && v.args[1].isConst() && fits(v.args[1].imm):
		if c := constantPart(v.args[0], depth-1); fits(c) {
			return c * v.args[1].imm
		}
	case v.op == opCvt && v.class == r64 && v.args[0].class == r32:
		_, c := withoutCarry(v.args[0])
		return c
	}
	return 0
}

// withoutCarry takes those constants out of a sum of 32 bits that have no carry, so that
// widening its parts gives the same.
func withoutCarry(v *value) (*value, int64) {
	c := int64(0)
	for (v.op == opOr || v.op == opAdd) && v.flags&disjoint != 0 && v.args[1].isConst() && v.args[1].imm >= 0 {
		v, c = v.args[0], c+v.args[1].imm
	}
	return v, c
}

// without is v without its constant part.
func (e *editor) without(v *value, depth int) *value {
	if constantPart(v, depth) == 0 {
		return v
	}
	switch {
	case isSum(v) && v.args[1].isConst():
		return e.without(v.args[0], depth-1)
	case isSum(v):
		x, y := e.without(v.args[0], depth-1), e.without(v.args[1], depth-1)
		return e.again(v, signedOf(v.class), opAdd, x, y)
	case v.op == opShl, v.op == opMul:
		return e.again(v, v.typ, v.op, e.without(v.args[0], depth-1), v.args[1])
	}
	x, _ := withoutCarry(v.args[0])
	c := e.newValue(opCvt, v.typ, v.class, x)
	c.from = v.from
	if s := e.simplify(c); s != nil {
		return s
	}
	c.loc, c.block = v.loc, e.b
	e.out = append(e.out, c)
	return c
}

// again is an instruction like v with other operands.
func (e *editor) again(v *value, t typ, o op, args ...*value) *value {
	loc := e.loc
	e.loc = v
	r := e.emit(o, t, v.class, args...)
	if o == opAdd && v.op == opOr && r.op == opOr {
		r.flags |= disjoint
	}
	e.loc = loc
	return r
}

// accesses reports whether assembly is of plain accesses to memory: what others may
// add to an address differs.
func (s *assembly) accesses() bool {
	plain := false
	for _, t := range s.text {
		plain = plain || strings.Contains(t, "ld.") || strings.Contains(t, "st.") || strings.Contains(t, "cp.async.c")
		if strings.Contains(t, "mbarrier") || strings.Contains(t, "bulk") || strings.Contains(t, "tensormap") || strings.Contains(t, "matrix") {
			return false
		}
	}
	return plain
}

// isAddress reports whether assembly has operand n as an address with an offset
// alone: [ $n + 16 ].
func (s *assembly) isAddress(n int) bool {
	if !s.plain {
		return false
	}
	found := false
	for i, r := range s.refs {
		if r != n {
			continue
		}
		if _, _, ok := s.offsetAt(i); !ok {
			return false
		}
		found = true
	}
	return found
}

// offsetAt is the offset after reference i, and what follows it.
func (s *assembly) offsetAt(i int) (off int64, rest string, ok bool) {
	if !strings.HasSuffix(s.text[i], "[ ") {
		return 0, "", false
	}
	after, ok := strings.CutPrefix(s.text[i+1], " + ")
	if !ok {
		return 0, "", false
	}
	number, rest, ok := strings.Cut(after, " ]")
	if !ok {
		return 0, "", false
	}
	off, err := strconv.ParseInt(number, 10, 64)
	return off, " ]" + rest, err == nil
}

// addOffset adds to the offsets of address n, unless one would be too large.
func (s *assembly) addOffset(n int, off int64) bool {
	for i, r := range s.refs {
		if r == n {
			if old, _, _ := s.offsetAt(i); !fits(old + off) {
				return false
			}
		}
	}
	for i, r := range s.refs {
		if r == n {
			old, rest, _ := s.offsetAt(i)
			s.text[i+1] = " + " + strconv.FormatInt(old+off, 10) + rest
		}
	}
	return true
}
