package simt

// registersOf returns the registers that an instruction reads and writes, its guard among the
// former.
func registersOf(in *Inst) (reads, writes []Reg) {
	read := func(list ...Reg) {
		for _, r := range list {
			if r.Class() != ClassNone {
				reads = append(reads, r)
			}
		}
	}
	write := func(list ...Reg) {
		for _, r := range list {
			if r.Class() != ClassNone {
				writes = append(writes, r)
			}
		}
	}
	read(in.Guard, in.A, in.B, in.C)
	switch in.Op {
	case OpCpAsync, OpCopyMap: // D is an address
		read(in.D)
		read(in.Regs...)
	case OpLd, OpLdMatrix:
		write(in.D)
		write(in.Regs...)
	default:
		write(in.D)
		read(in.Regs...)
	}
	write(in.Dsts...)
	if m := in.Mma; m != nil {
		read(m.ARegs...)
		read(m.BRegs...)
		read(m.CRegs...)
		write(m.DRegs...)
	}
	if g := in.Wgmma; g != nil {
		read(g.ADesc, g.BDesc, g.ScaleD)
		read(in.Mma.DRegs...)
	}
	if b := in.Bulk; b != nil {
		read(b.Shared, b.Global, b.Barrier, b.Size)
		read(b.Coords...)
	}
	return reads, writes
}

// pressure estimates how many registers of 32 bits a thread of f needs: the most
// that hold values at a time which are still to be read. Predicates have registers
// of their own.
func pressure(p *Program, f *Func) int {
	n := f.End - f.Start
	if n <= 0 {
		return 0
	}
	blockOf, starts := cut(p, f)
	words := (firstPlace + p.NumP + 1 + p.Num32 + 1 + p.Num64 + 1 + 63) / 64
	live := make([][]uint64, len(starts)) // at the begin of each block
	for b := range live {
		live[b] = make([]uint64, words)
	}
	size := func(r Reg) int {
		switch r.Class() {
		case Class32:
			return 1
		case Class64:
			return 2
		}
		return 0
	}
	most := 0
	// scan walks a block backwards from what lives at its end, set, and leaves what
	// lives at its begin.
	scan := func(b int, set []uint64, measure bool) {
		end := f.End
		if b+1 < len(starts) {
			end = starts[b+1]
		}
		count := 0
		has := func(r Reg) bool { k := place(p, r); return set[k/64]>>(k%64)&1 != 0 }
		flip := func(r Reg) { k := place(p, r); set[k/64] ^= 1 << (k % 64) }
		if measure {
			count = livingWords(p, set)
			most = max(most, count)
		}
		for i := end - 1; i >= starts[b]; i-- {
			in := &p.Code[i]
			reads, writes := registersOf(in)
			for _, r := range writes {
				if in.Guard == 0 && has(r) {
					flip(r)
					count -= size(r)
				}
			}
			for _, r := range reads {
				if !has(r) {
					flip(r)
					count += size(r)
				}
			}
			if measure {
				most = max(most, count)
			}
		}
	}
	set := make([]uint64, words)
	after := func(b int) {
		clear(set)
		for _, next := range successors(p, f, blockOf, starts, b) {
			if next == len(starts) {
				continue
			}
			for k := range set {
				set[k] |= live[next][k]
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for b := len(starts) - 1; b >= 0; b-- {
			after(b)
			scan(b, set, false)
			for k := range set {
				changed = changed || set[k] != live[b][k]
				live[b][k] = set[k]
			}
		}
	}
	for b := range starts {
		after(b)
		scan(b, set, true)
	}
	return most
}

// livingWords is how many words the registers of a set have.
func livingWords(p *Program, set []uint64) (n int) {
	base32 := firstPlace + p.NumP + 1
	base64 := base32 + p.Num32 + 1
	for k := base32; k < base64+p.Num64+1; k++ {
		if set[k/64]>>(k%64)&1 == 0 {
			continue
		}
		if n++; k >= base64 {
			n++
		}
	}
	return n
}
