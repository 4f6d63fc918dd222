package llir

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
)

// rows builds a function that loads n rows of two words, doubles them, and sums them in
// two columns, marked as a sum; fence says of each row whether something with an effect
// follows its load.
func rows(n int, fence func(int) bool) (*Func, *ir.Block) {
	m := NewModule("test", "", "")
	f := m.NewFunc("f", false, Void, PtrIn(1), PtrIn(1))
	b := NewBuilder(f)
	at := f.NewBlock(nil)
	b.SetBlock(at)
	var loaded [][]Value
	for r := range n {
		loaded = append(loaded, load(b, b.PtrAdd(f.Param(0), int64(8*r)), 2))
		if fence(r) {
			b.Asm("fence", "", true, Void)
		}
	}
	for _, row := range loaded {
		for c, v := range row {
			row[c] = b.Binary(FMul, v, m.Float(F32, 3), 0)
		}
	}
	sums := loaded[0]
	for _, row := range loaded[1:] {
		for c := range sums {
			sums[c] = b.Binary(FAdd, sums[c], row[c], 0)
		}
		b.MarkCombined(sums)
	}
	for _, v := range sums {
		b.Asm("st", "l,f", true, Void, f.Param(1), v)
	}
	b.Ret(nil)
	return f, at
}

// order names what a block does: l for a load, a for a sum, x for other effects.
func order(b *ir.Block) string {
	var out strings.Builder
	for _, inst := range b.Insts {
		switch i := inst.(type) {
		case *ir.InstFAdd:
			out.WriteByte('a')
		case *ir.InstCall:
			switch text := i.Callee.(*ir.InlineAsm).Asm; text {
			case "ld":
				out.WriteByte('l')
			default:
				out.WriteByte('x')
			}
		}
	}
	return out.String()
}

// TestSinkLoads: rows that do not fit into the registers are loaded where they are added;
// the order of the sums and of effects stays, and no load passes an effect.
func TestSinkLoads(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		limit int
		fence int // the row after whose load there is an effect; -1: none
		want  string
		peak  int
	}{
		{"rows that fit", 4, 16, -1, "llllaaaaaaxx", 0},
		{"rows that do not", 4, 6, -1, "llaalaalaaxx", 6},
		{"an effect amid the loads", 4, 6, 1, "llxaalaalaaxx", 6},
		{"an effect after them", 4, 6, 3, "llllxaaaaaaxx", 0},
	} {
		f, b := rows(c.rows, func(r int) bool { return r == c.fence })
		before := registers(t, f)
		_, moved, _ := f.SinkLoads(c.limit)
		if got := order(b); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		after := registers(t, f)
		if moved != (c.peak != 0) || after.Peak > before.Peak || c.peak != 0 && after.Peak > c.peak {
			t.Errorf("%s: moved %v, %d registers, before %d", c.name, moved, after.Peak, before.Peak)
		}
	}
}

// TestSinkLoadsKeepsUses: every operand is still defined before its use.
func TestSinkLoadsKeepsUses(t *testing.T) {
	f, b := rows(40, func(r int) bool { return r%7 == 3 })
	f.SinkLoads(8)
	seen := make(map[Value]bool)
	for _, inst := range b.Insts {
		operands(inst, func(v Value) {
			if _, made := v.(ir.Instruction); made && !seen[v] {
				t.Errorf("%v is used before it is made", v)
			}
		})
		if v, ok := inst.(Value); ok {
			seen[v] = true
		}
	}
}
