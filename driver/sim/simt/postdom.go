package simt

// findJoins sets the join of every branch of f: the start of the nearest block
// that all paths from the branch to the function's end pass through. Paths that
// end in a trap do not count, so that an assertion does not keep lanes apart.
//
// The algorithm is Cooper, Harvey and Kennedy's "A Simple, Fast Dominance
// Algorithm" on the reversed graph.
func findJoins(p *Program, code []step, f *Func) {
	n := f.End - f.Start
	if n <= 0 {
		return
	}
	blockOf, starts := cut(p, f)
	nb := len(starts)
	exit := nb
	succ := make([][]int, nb)
	pred := make([][]int, nb+1)
	for b := range nb {
		succ[b] = successors(p, f, blockOf, starts, b)
		for _, to := range succ[b] {
			pred[to] = append(pred[to], b)
		}
	}
	// Postorder of the reversed graph from the exit.
	number := make([]int, nb+1)
	for i := range number {
		number[i] = -1
	}
	var post []int
	type frame struct{ node, next int }
	stack := []frame{{exit, 0}}
	visited := make([]bool, nb+1)
	visited[exit] = true
	for len(stack) > 0 {
		t := &stack[len(stack)-1]
		if t.next < len(pred[t.node]) {
			q := pred[t.node][t.next]
			t.next++
			if !visited[q] {
				visited[q] = true
				stack = append(stack, frame{q, 0})
			}
			continue
		}
		number[t.node] = len(post)
		post = append(post, t.node)
		stack = stack[:len(stack)-1]
	}
	idom := make([]int, nb+1)
	for i := range idom {
		idom[i] = -1
	}
	idom[exit] = exit
	for changed := true; changed; {
		changed = false
		for i := len(post) - 2; i >= 0; i-- {
			b := post[i]
			d := -1
			for _, s := range succ[b] {
				if number[s] < 0 || idom[s] < 0 {
					continue
				}
				if d < 0 {
					d = s
					continue
				}
				x, y := d, s
				for x != y {
					for number[x] < number[y] {
						x = idom[x]
					}
					for number[y] < number[x] {
						y = idom[y]
					}
				}
				d = x
			}
			if d != idom[b] {
				idom[b] = d
				changed = true
			}
		}
	}
	for b := range nb {
		if idom[b] < 0 || idom[b] == exit {
			continue
		}
		end := f.End
		if b+1 < nb {
			end = starts[b+1]
		}
		code[end-1].join = int32(starts[idom[b]])
	}
}

// successors are the blocks that may follow block b; one past the last block stands for
// the function's end.
func successors(p *Program, f *Func, blockOf, starts []int, b int) (list []int) {
	exit, end := len(starts), f.End
	if b+1 < len(starts) {
		end = starts[b+1]
	}
	in := &p.Code[end-1]
	fall := true
	switch in.Op {
	case OpBra:
		list = append(list, blockOf[in.Target-f.Start])
		fall = in.Guard != 0
	case OpBrx:
		for _, t := range in.Targets {
			list = append(list, blockOf[t-f.Start])
		}
		fall = in.Guard != 0
	case OpRet, OpExit:
		list = append(list, exit)
		fall = in.Guard != 0
	case OpTrap:
		fall = in.Guard != 0
	}
	if fall {
		list = append(list, b+1) // the last block's is the exit
	}
	return list
}

// cut finds the basic blocks of f: the block of every instruction, counted from
// f.Start, and the first instruction of every block.
func cut(p *Program, f *Func) (blockOf, starts []int) {
	n := f.End - f.Start
	lead := make([]bool, n+1)
	lead[0] = true
	for i := range n {
		in := &p.Code[f.Start+i]
		switch in.Op {
		case OpBra:
			lead[in.Target-f.Start] = true
			lead[i+1] = true
		case OpBrx:
			for _, t := range in.Targets {
				lead[t-f.Start] = true
			}
			lead[i+1] = true
		case OpRet, OpExit, OpTrap:
			lead[i+1] = true
		}
	}
	blockOf = make([]int, n)
	for i := range n {
		if lead[i] {
			starts = append(starts, f.Start+i)
		}
		blockOf[i] = len(starts) - 1
	}
	return blockOf, starts
}
