package simt

import (
	"fmt"
	"strings"
	"testing"
)

// TestFirstFault launches blocks that reach a trap in another order than the grid's:
// those before block slow end, block slow traps after a loop, those after it at once.
// Each has an undefined value before that.
func TestFirstFault(t *testing.T) {
	const blocks = 100
	for _, slow := range []int{0, 3, 40} {
		p := newProgram(
			/* 0 */ Inst{Op: OpBra, Guard: p1(7), Target: 1}, // which nothing writes
			/* 1 */ Inst{Op: OpSetp, Type: U32, Cmp: CmpLT, D: p1(0), A: r32(1), B: r32(9)},
			/* 2 */ Inst{Op: OpBra, Guard: p1(0), Target: 10},
			/* 3 */ Inst{Op: OpSetp, Type: U32, Cmp: CmpEQ, D: p1(0), A: r32(1), B: r32(9)},
			/* 4 */ Inst{Op: OpBra, Guard: p1(0), GuardNot: true, Target: 9},
			/* 5 */ Inst{Op: OpSub, Type: U32, D: r32(8), A: r32(8), B: r32(3)},
			/* 6 */ Inst{Op: OpSetp, Type: U32, Cmp: CmpEQ, D: p1(0), A: r32(8), B: r64toZero},
			/* 7 */ Inst{Op: OpBra, Guard: p1(0), GuardNot: true, Target: 5},
			/* 8 */ Inst{Op: OpTrap},
			/* 9 */ Inst{Op: OpTrap},
		)
		p.Inits = append(p.Inits, Init{Reg: r64toZero}, Init{Reg: r32(8), Value: 1 << 17}, Init{Reg: r32(9), Value: uint64(slow)})
		for _, workers := range []int{1, 4} {
			cfg := testConfig(32)
			cfg.Workers = workers
			_, rep := runProgram(t, p, cfg, blocks, 32, 1)
			var got []string
			for _, f := range rep.Findings {
				got = append(got, fmt.Sprintf("%d × %s at %d, first in block %d", f.Count, f.Kind, f.Line-2, f.Block[0]))
			}
			want := fmt.Sprintf("1 × trap at 8, first in block %d; %d × undefined value at 0, first in block 0", slow, slow+1)
			if got := strings.Join(got, "; "); got != want {
				t.Errorf("%d at a time, block %d is slow: found %s, want %s", workers, slow, got, want)
			}
		}
	}
}
