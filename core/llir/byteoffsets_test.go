package llir

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// The pointers with which a loop begins are sums of bytes, as far as numbers of 32 bits
// are added; other pointers stay as they are.
func TestByteOffsets(t *testing.T) {
	m := NewModule("test", "", "")
	global := PtrIn(1)
	fn := m.NewFunc("f", false, Void, global, I32, I32, I64)
	b := NewBuilder(fn)
	entry := fn.NewBlock(nil)
	b.SetBlock(entry)
	base, n := fn.Param(0), fn.Param(1)
	row := b.GEP(Half, base, b.SExt(n, I64))
	start := b.GEP(F32, row, b.SExt(fn.Param(2), I64))
	long := b.GEP(F32, base, fn.Param(3))
	bytes := b.GEP(I8, base, b.SExt(n, I64))
	beside := b.GEP(F32, base, b.SExt(n, I64))
	loop := fn.NewBlock(entry)
	b.Br(loop)
	b.SetBlock(loop)
	b.EnterLoop(entry)
	starts := []Value{start, long, bytes}
	phis := make([]*ir.InstPhi, len(starts))
	for i, p := range starts {
		phis[i] = b.Phi(global)
		AddIncoming(phis[i], p, entry)
	}
	for _, phi := range phis {
		next := b.GEP(Half, phi, b.SExt(n, I64))
		b.Asm("ld", "l", true, Void, next)
		AddIncoming(phi, next, loop)
	}
	b.Asm("ld", "l", true, Void, beside)
	exit := fn.NewBlock(loop)
	b.CondBr(b.ICmp(enum.IPredEQ, n, m.I32(0)), loop, exit)
	b.LeaveLoop()
	b.SetBlock(exit)
	b.Ret(nil)
	fn.ByteOffsets()

	_, got, _ := strings.Cut(string(m.Print()), "{\n")
	got, rest, _ := strings.Cut(got, "  br label")
	want := `  %5 = sext i32 %1 to i64
  %6 = shl nsw i64 %5, 1
  %7 = getelementptr i8, ptr addrspace(1) %0, i64 %6
  %8 = sext i32 %2 to i64
  %9 = shl nsw i64 %8, 2
  %10 = getelementptr i8, ptr addrspace(1) %7, i64 %9
  %11 = getelementptr float, ptr addrspace(1) %0, i64 %3
  %12 = getelementptr i8, ptr addrspace(1) %0, i64 %5
  %13 = getelementptr float, ptr addrspace(1) %0, i64 %5
`
	if got != want {
		t.Errorf("before the loop:\n%s\nwant\n%s", got, want)
	}
	if n := strings.Count(rest, "getelementptr half"); n != len(starts) {
		t.Errorf("%d of %d steps of the loop are as they were:\n%s", n, len(starts), rest)
	}
}
