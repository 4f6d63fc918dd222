package llir

import (
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// load is a load of n words as targets build it: an assembly that gives a structure.
func load(b *Builder, p Value, n int) []Value {
	fields := make([]Type, n)
	for i := range fields {
		fields[i] = I32
	}
	v := b.Asm("ld", "=r,=r,=r,=r,l", true, b.M.Struct(fields...), p)
	out := make([]Value, n)
	for i := range out {
		out[i] = b.BitCast(b.ExtractValue(v, i), F32)
	}
	b.MarkLoaded(out)
	return out
}

func registers(t *testing.T, f *Func) Registers {
	t.Helper()
	r, ok := f.Registers()
	if !ok {
		t.Fatal("a small function is too large to tell")
	}
	return r
}

// TestRegistersOfLoads: two loads of four words are in flight together, with the address
// of the second, also where the sum of the first is written before the second; one
// whose address the first gives is not.
func TestRegistersOfLoads(t *testing.T) {
	for _, c := range []struct {
		name              string
		together, waiting bool
		want              Registers
	}{
		// Eight words, and the address of the store; with the first sum, too, since a
		// load keeps its registers until all of it is used.
		{"together", true, false, Registers{Peak: 11, Loads: LoadGroup{Live: 10, Loaded: 8, Held: 8}}},
		// As written four words, the address and the sum are live after the second.
		{"one by one", false, false, Registers{Peak: 8, Loads: LoadGroup{Live: 7, Loaded: 8, Held: 4}}},
		// Each alone is not a group.
		{"one for the other", false, true, Registers{Peak: 8}},
	} {
		m := NewModule("test", "", "")
		f := m.NewFunc("f", false, Void, PtrIn(1), PtrIn(1), I64)
		b := NewBuilder(f)
		b.SetBlock(f.NewBlock(nil))
		to := b.GEP(F32, f.Param(0), f.Param(2))
		total := func(vs []Value) Value {
			sum := vs[0]
			for _, v := range vs[1:] {
				sum = b.Binary(FAdd, sum, v, 0)
			}
			return sum
		}
		var sum Value
		if x := load(b, f.Param(0), 4); c.together {
			sum = total(append(x, load(b, f.Param(1), 4)...))
		} else {
			first, from := total(x), f.Param(1)
			if c.waiting {
				from = b.GEP(F32, from, b.Cast(FPToSI, first, I64, 0))
			}
			sum = b.Binary(FAdd, first, total(load(b, from, 4)), 0)
		}
		b.Asm("st", "l,f", true, Void, to, sum)
		b.Ret(nil)
		if r := registers(t, f); r != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, r, c.want)
		}
	}
}

// TestRegistersOfLoops: what a loop carries, and what it needs from outside, lives
// through it; what it carries only for itself does not, nor do constants and
// parameters. A truth value is counted apart.
func TestRegistersOfLoops(t *testing.T) {
	m := NewModule("test", "", "")
	f := m.NewFunc("f", false, Void, PtrIn(1), I32, I64)
	b := NewBuilder(f)
	entry := f.NewBlock(nil)
	b.SetBlock(entry)
	at := b.GEP(F32, f.Param(0), f.Param(2)) // two registers
	head := f.NewBlock(entry)
	b.Br(head)
	b.SetBlock(head)
	b.EnterLoop(entry)
	i, sum := b.Phi(I32), b.Phi(F32) // one each
	alone := b.Phi(I64)              // feeds only itself
	again := b.Add(alone, m.I64(1))
	x := load(b, at, 1)[0]
	next, more := b.Add(i, m.I32(1)), b.Binary(FAdd, sum, x, 0)
	done := b.ICmp(enum.IPredEQ, next, f.Param(1))
	exit := f.NewBlock(head)
	b.CondBr(done, exit, head)
	b.LeaveLoop()
	for _, p := range []struct {
		phi       *ir.InstPhi
		from, way Value
	}{{i, m.I32(0), next}, {sum, m.Zero(F32), more}, {alone, m.I64(0), again}} {
		AddIncoming(p.phi, p.from, entry)
		AddIncoming(p.phi, p.way, head)
	}
	b.SetBlock(exit)
	b.Asm("st", "l,f", true, Void, f.Param(0), more)
	b.Ret(nil)
	want := Registers{Peak: 5, Loop: 4} // with what is loaded
	if r := registers(t, f); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}
