package ptx

import (
	"math"
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

const layout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

// newKernel is a kernel of an i32 and a pointer to global memory, without its body.
func newKernel() (*llir.Module, *llir.Func) {
	m := llir.NewModule("", "nvptx64-nvidia-cuda", layout)
	f := m.NewFunc("k", false, llir.Void, llir.I32, llir.PtrIn(1))
	f.SetCallingConv(ptxKernel)
	f.AddAttr(llir.StringAttr("nvvm.reqntid", "32"))
	return m, f
}

// kernel builds a kernel of an i32 and a pointer to global memory.
func kernel(t *testing.T, build func(b *llir.Builder, x, p llir.Value)) string {
	t.Helper()
	m, f := newKernel()
	b := llir.NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	build(b, f.Param(0), f.Param(1))
	m.Sweep()
	m.Number()
	text, err := Translate(m, Options{CC: 80, SM: "sm_80", Version: 84, Fusion: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(text, l) {
			t.Errorf("no %q in\n%s", l, text)
		}
	}
}

// What a loop carries has one register: there are no moves in it.
func TestLoopsDoNotMove(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		before := b.Block()
		head := b.F.NewBlock(before)
		after := b.F.NewBlock(head)
		b.Br(head)
		b.SetBlock(head)
		i := b.Phi(llir.I32)
		sum := b.Phi(llir.I32)
		next := b.Add(i, b.M.I32(1))
		total := b.Add(sum, i)
		llir.AddIncoming(i, b.M.I32(0), before)
		llir.AddIncoming(i, next, head)
		llir.AddIncoming(sum, x, before)
		llir.AddIncoming(sum, total, head)
		b.CondBr(b.ICmp(enum.IPredSLT, next, x), head, after)
		b.SetBlock(after)
		b.Store(total, p, 4, false)
		b.Ret(nil)
	})
	_, loop, ok := strings.Cut(text, "$L__BB0_1:")
	loop, _, ok2 := strings.Cut(loop, "bra")
	if !ok || !ok2 || strings.Contains(loop, "mov") {
		t.Errorf("the loop moves registers:\n%s", text)
	}
}

// Values that a loop exchanges are both read before either is written.
func TestExchange(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		before := b.Block()
		head := b.F.NewBlock(before)
		after := b.F.NewBlock(head)
		b.Br(head)
		b.SetBlock(head)
		u, v, n := b.Phi(llir.I32), b.Phi(llir.I32), b.Phi(llir.I32)
		next := b.Add(n, b.M.I32(1))
		llir.AddIncoming(u, x, before)
		llir.AddIncoming(u, v, head)
		llir.AddIncoming(v, b.M.I32(7), before)
		llir.AddIncoming(v, u, head)
		llir.AddIncoming(n, b.M.I32(0), before)
		llir.AddIncoming(n, next, head)
		b.CondBr(b.ICmp(enum.IPredSLT, next, x), head, after)
		b.SetBlock(after)
		b.Store(u, p, 4, false)
		b.Store(v, b.PtrAdd(p, 4), 4, false)
		b.Ret(nil)
	})
	_, loop, _ := strings.Cut(text, "$L__BB0_1:")
	loop, _, _ = strings.Cut(loop, "ret;")
	if n := strings.Count(loop, "mov.b32"); n != 3 {
		t.Errorf("%d moves, want 3, one of them to a register of its own:\n%s", n, text)
	}
}

func TestAssembly(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		v := b.Asm("{ .reg .b32 t$$; add.u32 $0, ${1:v}, $2; }", "=r,r,0", true, llir.I32, x, b.M.I32(5))
		b.Store(v, p, 4, false)
		b.Ret(nil)
	})
	has(t, text, "{ .reg .b32 t$; add.u32 %r2, %r1, %r2; }", "mov.b32 \t%r2, 5;")
}

// Constraints n and i ask for a number in the text, which some operands of PTX must be.
func TestAssemblyOfNumbers(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		v := b.Asm("lop3.b32 $0, $1, $2, $3, $4;", "=r,r,n,r,i", false, llir.I32, x, b.M.I32(15), b.M.I32(64), b.M.I32(234))
		b.Store(v, p, 4, false)
		b.Ret(nil)
	})
	has(t, text, "lop3.b32 %r3, %r1, 15, %r2, 234;", "mov.b32 \t%r2, 64;")
}

func TestRefuses(t *testing.T) {
	m := llir.NewModule("", "nvptx64-nvidia-cuda", layout)
	f := m.NewFunc("k", false, llir.Void, llir.PtrIn(1))
	f.SetCallingConv(ptxKernel)
	b := llir.NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	wide := b.Load(llir.IntN(256), f.Param(0), 8, false)
	b.Store(wide, f.Param(0), 8, false)
	b.Ret(nil)
	m.Number()
	_, err := Translate(m, Options{CC: 80, SM: "sm_80", Version: 84})
	if err == nil || err.Error() != "there is no translation to PTX for the type i256" {
		t.Errorf("got %v", err)
	}
}

// Constants of atomic operations are written as numbers of their type.
func TestAtomicConstants(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		for i, v := range []llir.Value{b.M.Float(llir.F32, 1.5), b.M.Float(llir.F64, 1.5), b.M.I32(3)} {
			op := enum.AtomicOpFAdd
			if llir.IsInt(v.Type()) {
				op = enum.AtomicOpAdd
			}
			b.AtomicRMW(op, b.PtrAdd(p, int64(8*i)), v, enum.AtomicOrderingMonotonic, "")
		}
		b.Ret(nil)
	})
	has(t, text, "add.f32 \t%r1, [%rd1], 0f3FC00000;", "add.f64 \t%rd2, [%rd1+8], 0d3FF8000000000000;", "add.u32 \t%r2, [%rd1+16], 3;")
}

// A function stores its results by their own width; the caller reads as much of them.
func TestNarrowResults(t *testing.T) {
	for _, c := range []struct {
		typ             llir.Type
		width, register string
	}{
		{llir.IntN(8), "b16", "%rs"},
		{llir.IntN(16), "b16", "%rs"},
		{llir.Half, "b16", "%rs"},
		{llir.I1, "b32", "%r"},
		{llir.I32, "b32", "%r"},
		{llir.F64, "b64", "%rd"},
	} {
		m, f := newKernel()
		g := m.NewFunc("g", true, c.typ, llir.PtrIn(1))
		b := llir.NewBuilder(g)
		b.SetBlock(g.NewBlock(nil))
		b.Ret(b.Load(c.typ, g.Param(0), 8, false))
		b = llir.NewBuilder(f)
		b.SetBlock(f.NewBlock(nil))
		b.Store(b.Call(g.IR, f.Param(1)), f.Param(1), 8, false)
		b.Ret(nil)
		m.Number()
		text, err := Translate(m, Options{CC: 80, SM: "sm_80", Version: 84})
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(text), "st.param."+c.width+" \t[func_retval0], "+c.register, "ld.param."+c.width+" \t"+c.register)
	}
}

// A choice between a number and a constant by a comparison of the two is one instruction
// where that gives the same of NaNs and of both zeros.
func TestChoicesOfExtremes(t *testing.T) {
	for _, c := range []struct {
		pred  enum.FPred
		y     float64
		has   string
		swaps bool
	}{
		{enum.FPredOGT, 0, "max.f32", false},
		{enum.FPredOGT, 0, "max.f32", true},
		{enum.FPredOGT, 1.5, "max.f32", false},
		{enum.FPredOLT, 1.5, "min.f32", false},
		{enum.FPredOLT, math.Copysign(0, -1), "min.f32", false},
		{enum.FPredOLT, 0, "selp.f32", false},
		{enum.FPredOGT, math.Copysign(0, -1), "selp.f32", false},
		{enum.FPredOGE, 0, "selp.f32", false},
		{enum.FPredUGT, 0, "selp.f32", false},
		{enum.FPredOGT, math.NaN(), "selp.f32", false},
	} {
		text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
			n, y := b.Load(llir.F32, p, 4, false), b.M.Float(llir.F32, c.y)
			cond := b.FCmp(c.pred, n, y)
			if c.swaps {
				cond = b.FCmp(enum.FPredOLT, y, n)
			}
			b.Store(b.Select(cond, n, y), p, 4, false)
			b.Ret(nil)
		})
		if !strings.Contains(text, c.has) {
			t.Errorf("%v %g (turned: %v): no %s in\n%s", c.pred, c.y, c.swaps, c.has, text)
		}
	}
}
