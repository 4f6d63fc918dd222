package llir

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"
)

const (
	testTriple = "nvptx64-nvidia-cuda"
	testLayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
)

// everything builds a module with each kind of instruction that the Builder can
// make.
func everything() *Module {
	m := NewModule("every.py", testTriple, testLayout)
	m.EnableDebug("dir/every.py", "tritonc")
	m.AddFlag(FlagOverride, "nvvm-reflect-ftz", 1)
	for _, key := range []string{"0:a\\72", "0:b", "0:a\\72"} {
		m.AddText("llvm.printf.fmts", key, func(n int) string { return fmt.Sprint(n, ":", key) })
	}
	smem := m.AddGlobal("global_smem", m.Array(0, I8), 3, 16, nil)
	text := m.AddGlobal("prefix \"x\"", m.Array(4, I8), 0, 0, m.StringConst("a\n\"\x00"))
	g := PtrIn(1)
	f := m.NewFunc("kernel", false, Void, g, g, I32, F32, Half, BF16, F64, I64)
	f.SetCallingConv(71)
	f.AddAttr("nounwind", StringAttr("nvvm.reqntid", "128"))
	f.AddParamAttr(1, "readnone captures(none)")
	scope := m.Scope("dir/every.py", "kernel", 3)
	callee := m.Scope("lib.py", "helper", 9)
	f.SetScope(scope)
	b := NewBuilder(f)
	entry := f.NewBlock(nil)
	b.SetBlock(entry)
	site := m.Location(scope, 4, 8, nil)
	b.SetLocation(m.Location(callee, 10, 5, site))

	tidFn := m.Declare("llvm.nvvm.read.ptx.sreg.tid.x", Pure, I32)
	tid := b.Call(tidFn)
	n := f.Param(2)
	p := b.GEP(F32, f.Param(0), b.SExt(b.Add(tid, n), I64))
	out := func(v Value) { b.Store(v, p, 0, true) }

	for op := Add; op <= Xor; op++ {
		out(b.Binary(op, n, tid, 0))
	}
	out(b.Binary(Add, tid, tid, NSW|NUW))
	out(b.Binary(Mul, n, n, NUW))
	out(b.Binary(LShr, n, m.I32(3), Exact))
	for _, x := range []Value{f.Param(3), f.Param(4), f.Param(5), f.Param(6)} {
		for op := FAdd; op <= FRem; op++ {
			out(b.Binary(op, x, m.Float(x.Type(), 0.1), 0))
		}
		out(b.FNeg(x))
		out(b.Select(b.FCmp(enum.FPredUNO, x, x), x, m.Float(x.Type(), 1e-40)))
		out(b.Cast(SIToFP, n, x.Type(), 0))
		out(b.Cast(SIToFP, b.LShr(n, 1), x.Type(), 0))
		out(b.Cast(FPToSI, x, I32, 0))
		out(b.Cast(FPToUI, x, I8, 0))
	}
	out(b.Binary(FAdd, f.Param(3), f.Param(3), Contract|Reassoc|AFn|NNan|NSZ|ARcp))
	out(b.Cast(FPTrunc, f.Param(6), BF16, 0))
	out(b.Cast(FPExt, f.Param(5), F32, 0))
	out(b.Cast(TruncOp, n, I8, NSW|NUW))
	out(b.Cast(PtrToInt, p, I64, 0))
	out(b.Load(I32, b.Cast(IntToPtr, f.Param(7), g, 0), 4, false))
	out(b.Load(I8, b.Cast(AddrSpaceCast, smem, PtrIn(0), 0), 0, true))
	out(b.Load(I8, text, 0, true))
	out(b.Load(F32, b.PtrAdd(b.GEP(F32, smem, tid), 64), 4, true))
	out(b.BitCast(b.Vector(f.Param(4), f.Param(4)), I32))
	vec := b.BitCast(n, m.Vec(4, I8))
	out(b.ExtractElement(vec, 3))
	for pred := enum.IPredEQ; pred <= enum.IPredULT; pred++ {
		out(b.ICmp(pred, n, tid))
	}
	out(b.ICmp(enum.IPredEQ, p, m.Zero(g)))
	out(b.Freeze(n))
	st := b.Asm("mov.u32 $0, $2;\n\tmov.u32 $1, $2;", "=r,=r,r", true, m.Struct(I32, I32), n)
	out(b.ExtractValue(st, 1))
	st = b.InsertValue(st, tid, 0)
	b.Asm("// $0 \"quoted\"", "r", true, Void, b.ExtractValue(st, 1))
	out(b.Asm("not.b32 $0, $1;", "=r,r", false, I32, n))
	b.Call(m.Declare("llvm.nvvm.barrier.cta.sync.aligned.all", HasEffects, Void, I32), m.I32(0))
	out(b.AtomicRMW(enum.AtomicOpFAdd, p, f.Param(5), enum.AtomicOrderingMonotonic, "device"))
	out(b.ExtractValue(b.CmpXchg(p, n, tid, enum.AtomicOrderingAcquireRelease, enum.AtomicOrderingMonotonic, ""), 0))
	b.Fence(enum.AtomicOrderingAcquire, "block")
	stack := b.Alloca(m.Array(4, I32), 16)
	b.Store(n, stack, 4, false)
	out(stack)

	loop, body := f.NewBlock(entry), f.NewBlock(entry)
	f.SetIDom(body, loop)
	exit := f.NewBlock(loop)
	b.Br(loop)
	b.SetBlock(loop)
	i := b.Phi(I32)
	AddIncoming(i, m.I32(0), entry)
	b.CondBr(b.ICmp(enum.IPredSLT, i, n), body, exit)
	b.SetBlock(body)
	AddIncoming(i, b.Add(i, m.I32(1)), body)
	b.Br(loop)
	b.SetBlock(exit)
	last, other := f.NewBlock(exit), f.NewBlock(exit)
	b.Switch(n, last, []int64{-1, 5}, []*Block{other, other})
	b.SetBlock(other)
	b.Unreachable()
	b.SetBlock(last)
	b.Ret(nil)

	h := m.NewFunc("helper", true, F32, F32)
	h.AddAttr("noinline")
	h.SetScope(callee)
	hb := NewBuilder(h)
	hb.SetBlock(h.NewBlock(nil))
	hb.SetLocation(m.Location(callee, 11, 0, nil))
	hb.Ret(hb.Call(m.Declare("llvm.maxnum.f32", Pure, F32, F32, F32), h.Param(0), m.Float(F32, 2)))
	return m
}

// tool finds one of LLVM's programs, or skips the test.
func tool(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: LLVM 22's own verifier is not asked", name)
	}
	return path
}

func TestVerifies(t *testing.T) {
	opt, llc := tool(t, "opt-22"), tool(t, "llc-22")
	text := everything().Print()
	file := filepath.Join(t.TempDir(), "m.ll")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	// A warning counts: broken debug information is only dropped.
	if out, err := exec.Command(opt, "-passes=verify", "-S", "-o", os.DevNull, file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("opt: %s\n%s", out, numbered(text))
	}
	out, err := exec.Command(llc, "-mcpu=sm_80", "-mattr=+ptx84", "-o", "-", file).CombinedOutput()
	if err != nil {
		t.Fatalf("llc: %s", out)
	}
	for _, want := range []string{".target sm_80\n", ".loc\t", "@[ dir/every.py:4:8 ]", ".entry kernel", ".reqntid 128"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the PTX lacks %q", want)
		}
	}
}

func numbered(text []byte) string {
	var s strings.Builder
	for i, l := range strings.Split(string(text), "\n") {
		fmt.Fprintf(&s, "%4d %s\n", i+1, l)
	}
	return s.String()
}

// The instructions stay usable through the library's own interfaces.
func TestLibraryStrings(t *testing.T) {
	m := everything()
	m.Print() // numbers and sweeps
	for _, f := range m.IR.Funcs {
		for _, blk := range f.Blocks {
			for _, inst := range blk.Insts {
				if inst.LLString() == "" {
					t.Errorf("%T has no text", inst)
				}
			}
		}
	}
}

func TestSharing(t *testing.T) {
	m := NewModule("t", "", "")
	f := m.NewFunc("f", false, Void, I32, I32)
	b := NewBuilder(f)
	entry := f.NewBlock(nil)
	b.SetBlock(entry)
	x, y := f.Param(0), f.Param(1)
	a := b.Mul(x, y)
	yes, no, join := f.NewBlock(entry), f.NewBlock(entry), f.NewBlock(entry)
	b.CondBr(b.ICmp(enum.IPredEQ, x, y), yes, no)
	b.SetBlock(yes)
	if b.Mul(x, y) != a {
		t.Error("a value of a dominating block is not shared")
	}
	inYes := b.Sub(x, y)
	b.Br(join)
	b.SetBlock(no)
	if b.Sub(x, y) == inYes {
		t.Error("a value of a sibling block is shared")
	}
	b.Br(join)
	b.SetBlock(join)
	if b.Sub(x, y) == inYes {
		t.Error("a value of a branch is shared after it")
	}
	b.Ret(nil)
	m.Print()
	if n := len(entry.Insts) + len(yes.Insts) + len(no.Insts) + len(join.Insts); n != 1 {
		t.Errorf("%d instructions remain, want the comparison alone", n)
	}
}

func TestAddressSplit(t *testing.T) {
	m := NewModule("t", testTriple, testLayout)
	f := m.NewFunc("f", false, Void, PtrIn(1), I32, I32, PtrIn(3))
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	tid, row := f.Param(1), b.Shl(f.Param(2), 10)
	f.AssumeZeroBits(tid, ^uint64(511))
	addr := func(k int) Value {
		return b.GEP(F32, f.Param(0), b.SExt(b.Add(row, b.Xor(tid, m.I32(k))), I64))
	}
	base, off := SplitPtr(addr(512))
	if base != addr(0) || off != 2048 {
		t.Errorf("constant 512 of an i32 index is not a byte offset of 2048: %v + %d", base, off)
	}
	shared := func(k int) Value { return b.GEP(F32, f.Param(3), b.Add(row, m.I32(k))) }
	if base, off := SplitPtr(shared(3)); base != shared(0) || off != 12 {
		t.Errorf("in a 32-bit address space: %v + %d", base, off)
	}
	// A plain i32 sum may wrap before it is widened.
	p := b.GEP(F32, f.Param(0), b.SExt(b.Add(f.Param(2), m.I32(1)), I64))
	if _, off := SplitPtr(p); off != 0 {
		t.Error("the constant left a sum that may wrap")
	}
}

func TestPanics(t *testing.T) {
	m := NewModule("t", "", "")
	f := m.NewFunc("f", false, Void, I32, I64)
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	for name, misuse := range map[string]func(){
		"operand types": func() { b.Add(f.Param(0), f.Param(1)) },
		"icmp types":    func() { b.ICmp(enum.IPredEQ, f.Param(0), f.Param(1)) },
		"no terminator": func() { m.Print() },
		"arguments":     func() { b.Call(m.Declare("g", HasEffects, Void, I32)) },
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "BUG: ") {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			misuse()
		}()
	}
}

// benchModule is one block of 20,000 instructions, with locations.
func benchModule() *Module {
	m := NewModule("bench", testTriple, testLayout)
	m.EnableDebug("bench.py", "tritonc")
	scope := m.Scope("bench.py", "f", 1)
	f := m.NewFunc("f", false, F32, I32, F32)
	f.SetScope(scope)
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	v := f.Param(1)
	for i := range 10000 {
		b.SetLocation(m.Location(scope, i/50+1, 4, nil))
		x := b.Binary(FMul, v, m.Float(F32, float64(i)+0.5), 0)
		v = b.Binary(FAdd, x, v, 0)
	}
	b.Ret(v)
	return m
}

func BenchmarkBuild20000(b *testing.B) {
	for b.Loop() {
		benchModule()
	}
}

func BenchmarkPrint20000(b *testing.B) {
	m := benchModule()
	for b.Loop() {
		m.Print()
	}
}
