package llir

import "github.com/llir/llvm/ir"

// SinkConditions has branches of functions with at least so many blocks compute their
// conditions, comparisons and what joins them, in their own blocks, also where an earlier
// block did:
//
//	first: c = icmp x, y; br c, …        first: c = icmp x, y; br c, …
//	later: br c, …                       later: d = icmp x, y; br d, …
//
// A condition that differs between threads is a register or two while it lives, and LLVM
// takes long to see to thousands of them. The functions must be complete. The result is how
// many branches compute their conditions.
func (m *Module) SinkConditions(blocks int) int {
	n := 0
	for _, f := range m.IR.Funcs {
		if len(f.Blocks) >= blocks {
			n += sinkConditions(f)
		}
	}
	return n
}

func sinkConditions(f *ir.Func) int {
	home := map[Value]*ir.Block{}
	for _, b := range f.Blocks {
		for _, inst := range b.Insts {
			switch inst := inst.(type) {
			case *ir.InstICmp:
				home[inst] = b
			case *ir.InstAnd:
				home[inst] = b
			case *ir.InstOr:
				home[inst] = b
			}
		}
	}
	n := 0
	for _, b := range f.Blocks {
		t, ok := b.Term.(*ir.TermCondBr)
		if !ok {
			continue
		}
		s := conditions{to: b, home: home, copies: map[Value]Value{}}
		if c := s.copyOf(t.Cond, 0); c != t.Cond {
			t.Cond = c
			n++
		}
	}
	return n
}

// conditions copies them to the end of a block.
type conditions struct {
	to     *ir.Block
	home   map[Value]*ir.Block
	copies map[Value]Value
}

// mostJoined is how deep comparisons are joined in what is copied.
const mostJoined = 4

// copyOf is a copy of a condition in the block; the condition itself where it is computed
// there, or is none that can be copied.
func (s *conditions) copyOf(v Value, depth int) Value {
	if at := s.home[v]; at == nil || at == s.to || v.Type() != Type(I1) || depth > mostJoined {
		return v
	}
	if c := s.copies[v]; c != nil {
		return c
	}
	var c interface {
		Value
		ir.Instruction
	}
	switch inst := v.(type) {
	case *ir.InstICmp:
		n := *inst
		c = &n
	case *ir.InstAnd:
		n := *inst
		n.X, n.Y = s.copyOf(n.X, depth+1), s.copyOf(n.Y, depth+1)
		c = &n
	case *ir.InstOr:
		n := *inst
		n.X, n.Y = s.copyOf(n.X, depth+1), s.copyOf(n.Y, depth+1)
		c = &n
	}
	s.to.Insts = append(s.to.Insts, c)
	s.copies[v] = c
	return c
}
