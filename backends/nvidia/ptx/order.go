package ptx

import "slices"

// orderLoads moves loads of numbers that assembly alone takes to before the next effect,
// in the order of the assembly, the last operand first. ptxas keeps the order of loads of
// shared memory; LLVM has this one.
func orderLoads(f *fn) {
	f.countUses()
	for _, b := range f.blocks {
		taker := make(map[*value]int)
		for i, v := range b.insts {
			if v.op != opAsm {
				continue
			}
			for _, a := range v.args {
				if a.op == opLd && a.typ == tF32 && a.class == r32 && a.uses == 1 && a.flags&reads != 0 {
					taker[a] = i
				}
			}
		}
		if len(taker) < 2 {
			continue
		}
		var out, waiting []*value
		for _, v := range b.insts {
			if _, ok := taker[v]; ok {
				waiting = append(waiting, v)
				continue
			}
			if v.flags&(pure|reads) == 0 && v.op != opProj {
				slices.Reverse(waiting)
				slices.SortStableFunc(waiting, func(x, y *value) int { return taker[x] - taker[y] })
				out, waiting = append(out, waiting...), nil
			}
			out = append(out, v)
		}
		b.insts = append(out, waiting...)
	}
}
