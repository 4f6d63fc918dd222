package simt

import (
	"encoding/binary"
	"fmt"
)

// LoadError is an instruction that the simulator cannot execute.
type LoadError struct {
	Line int
	Text string
	Why  string
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Text, e.Why)
}

// Loaded is a program bound to a device: its global variables have addresses
// and its instructions the functions that execute them.
type Loaded struct {
	prog      *Program
	code      []step
	mem       *Memory
	lanes     int
	consts    []byte
	constants []initReg
	specials  []initReg
	addrs     []uint64
	buffers   []*Buffer
}

// Load binds a program to warps of lanes lanes and to memory mem.
func Load(prog *Program, mem *Memory, lanes int) (*Loaded, error) {
	if lanes < 1 || lanes > MaxLanes || lanes&(lanes-1) != 0 {
		return nil, fmt.Errorf("a warp of %d lanes: it must be a power of two up to %d", lanes, MaxLanes)
	}
	l := &Loaded{prog: prog, mem: mem, lanes: lanes}
	if err := l.place(); err != nil {
		return nil, err
	}
	for i := range prog.Inits {
		in := &prog.Inits[i]
		r := initReg{class: in.Reg.Class(), special: in.Special, value: in.Value, off: l.offset(in.Reg)}
		if in.Symbol != 0 {
			r.value += l.addrs[in.Symbol-1]
		}
		if in.Special == SpecNone {
			l.constants = append(l.constants, r)
		} else {
			l.specials = append(l.specials, r)
		}
	}
	l.code = make([]step, len(prog.Code))
	for i := range prog.Code {
		if err := l.bind(&l.code[i], &prog.Code[i]); err != nil {
			return nil, err
		}
	}
	for i := range prog.Funcs {
		findJoins(prog, l.code, &prog.Funcs[i])
	}
	return l, nil
}

// offset is the position of a register's lane 0 in its file.
func (l *Loaded) offset(r Reg) int32 {
	switch r.Class() {
	case ClassP:
		return int32(r.Index())
	case Class32, Class64:
		return int32(r.Index() * l.lanes)
	}
	return -1
}

// place gives addresses to the symbols.
func (l *Loaded) place() error {
	l.addrs = make([]uint64, len(l.prog.Symbols))
	for i := range l.prog.Symbols {
		s := &l.prog.Symbols[i]
		switch s.Space {
		case SpaceGlobal:
			b, err := l.mem.Alloc(s.Name, max(s.Size, 1), false)
			if err != nil {
				return fmt.Errorf("global variable %s: %w", s.Name, err)
			}
			copy(b.Data, s.Data)
			l.buffers = append(l.buffers, b)
			l.addrs[i] = b.addr
		case SpaceConst:
			if n := s.Offset + s.Size; n > len(l.consts) {
				l.consts = append(l.consts, make([]byte, n-len(l.consts))...)
			}
			copy(l.consts[s.Offset:], s.Data)
			l.addrs[i] = uint64(s.Offset)
		default:
			l.addrs[i] = uint64(s.Offset)
		}
	}
	for i := range l.prog.Symbols {
		s := &l.prog.Symbols[i]
		for _, r := range s.Relocs {
			data := l.consts[min(s.Offset, len(l.consts)):]
			if s.Space == SpaceGlobal {
				data = l.mem.at(l.addrs[i]).Data
			}
			v := l.addrs[r.Symbol]
			if r.Generic {
				v += windowOf(l.prog.Symbols[r.Symbol].Space) << windowShift
			}
			if r.Size == 8 {
				v += binary.LittleEndian.Uint64(data[r.Offset:])
				binary.LittleEndian.PutUint64(data[r.Offset:], v)
			} else {
				v += uint64(binary.LittleEndian.Uint32(data[r.Offset:]))
				binary.LittleEndian.PutUint32(data[r.Offset:], uint32(v))
			}
		}
	}
	return nil
}

// windowOf is the generic window of a space; global addresses are generic
// already.
func windowOf(s Space) uint64 {
	switch s {
	case SpaceShared:
		return windowShared
	case SpaceLocal:
		return windowLocal
	case SpaceParam:
		return windowParam
	case SpaceConst:
		return windowConst
	}
	return 0
}

// Unload frees the program's global variables.
func (l *Loaded) Unload() {
	for _, b := range l.buffers {
		l.mem.Free(b)
	}
}

// Program returns what was loaded.
func (l *Loaded) Program() *Program { return l.prog }

// bind fills a step.
func (l *Loaded) bind(s *step, in *Inst) error {
	fail := func(why string) error { return &LoadError{in.Line, in.Text, why} }
	*s = step{
		in: in, guard: -1, guardNot: in.GuardNot, imm: in.Imm, target: int32(in.Target), join: -1,
		d: l.offset(in.D), a: l.offset(in.A), b: l.offset(in.B), c: l.offset(in.C),
	}
	if in.Guard != 0 {
		s.guard = int32(in.Guard.Index())
	}
	s.pd, s.pa, s.pb, s.pc = placeOfResult(l.prog, in.D), place(l.prog, in.A), place(l.prog, in.B), place(l.prog, in.C)
	s.pg = place(l.prog, in.Guard)
	if n, k := len(in.Regs), len(in.Dsts); n+k > 0 {
		all := make([]int32, 2*(n+k))
		s.rs, s.prs, s.ds, s.pds = all[:n], all[n:2*n], all[2*n:2*n+k], all[2*n+k:]
	}
	loads := in.Op == OpLd || in.Op == OpLdMatrix
	for i, r := range in.Regs {
		s.rs[i], s.prs[i] = l.offset(r), place(l.prog, r)
		if loads {
			s.prs[i] = placeOfResult(l.prog, r)
		}
	}
	for i, r := range in.Dsts {
		s.ds[i], s.pds[i] = l.offset(r), placeOfResult(l.prog, r)
	}
	switch in.Op {
	case OpBra:
		s.kind = stepBranch
		return nil
	case OpBrx:
		s.kind = stepIndexed
		return nil
	case OpCall:
		s.kind = stepCall
		s.target = int32(l.prog.Funcs[in.Target].Start)
		return nil
	case OpRet:
		s.kind = stepRet
		return nil
	case OpExit:
		s.kind = stepExit
		return nil
	case OpBar:
		s.kind = stepBarrier
		s.target = l.offset(in.C)
		return nil
	case OpSetRegs:
		s.kind = stepSetRegs
		return nil
	case OpClusterBar:
		s.kind = stepCluster
		return nil
	case OpWavefrontFlow:
		s.kind = stepFlow
		return nil
	}
	s.exec, s.out = choose(in)
	if s.exec == nil {
		return fail("the simulator has no such operation on these types")
	}
	switch in.Op {
	case OpShfl, OpMatch, OpRedux, OpVote, OpElect, OpWarpSync:
		s.kind = stepSync
		s.c = l.offset(in.Regs[0])
	case OpMma, OpWgmma, OpDotFence, OpDotCommit, OpDotWait, OpLdMatrix, OpStMatrix:
		s.kind = stepSync
		s.c = -1
	}
	return nil
}
