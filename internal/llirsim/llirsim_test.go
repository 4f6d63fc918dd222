package llirsim

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/internal/testseed"
)

const lanes = 4

var target = &Target{
	Lanes:  lanes,
	Thread: map[string]func(*Thread, []uint64) uint64{"tid": func(t *Thread, _ []uint64) uint64 { return uint64(t.Index) }},
	Warp: map[string]func([][]uint64) []uint64{"next": func(args [][]uint64) []uint64 {
		out := make([]uint64, len(args))
		for i := range args {
			out[i] = args[(i+1)%len(args)][0]
		}
		return out
	}},
	Barrier: "wait",
}

// launch executes what body appends, for 8 threads with 64 bytes of shared memory
// and a buffer of 64 bytes.
func launch(t *testing.T, body func(b *llir.Builder, tid, shared, buffer llir.Value)) ([]byte, error) {
	t.Helper()
	m := llir.NewModule("", "", "p3:32:32")
	shared := m.AddGlobal("smem", m.Array(0, llir.I8), sharedSpace, 16, nil)
	f := m.NewFunc("k", false, llir.Void, llir.PtrIn(globalSpace))
	b := llir.NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	tid := b.Call(m.Declare("tid", llir.Pure, llir.I32))
	body(b, tid, shared, f.Param(0))
	b.Ret(nil)
	mem := new(Memory)
	buf := mem.Alloc(make([]byte, 64))
	k := &Kernel{Target: target, Module: m, Name: "k", Threads: 2 * lanes, Shared: 64, MaxSteps: 1000}
	return buf.Bytes, k.Launch(t.Context(), mem, [3]int{1, 1, 1}, buf.Address)
}

func barrier(b *llir.Builder) { b.Call(b.M.Declare("wait", llir.HasEffects, llir.Void)) }

func next(b *llir.Builder, v llir.Value) llir.Value {
	return b.Call(b.M.Declare("next", llir.HasEffects, llir.I32, llir.I32), v)
}

// TestExchange sends numbers through lanes and shared memory.
func TestExchange(t *testing.T) {
	got, err := launch(t, func(b *llir.Builder, tid, shared, buffer llir.Value) {
		b.Store(next(b, tid), b.GEP(llir.I32, shared, tid), 4, false)
		barrier(b)
		other := b.Xor(tid, b.M.I32(7))
		v := b.Load(llir.I32, b.GEP(llir.I32, shared, other), 4, false)
		b.Store(v, b.GEP(llir.I32, buffer, tid), 4, false)
	})
	if err != nil {
		t.Fatal(err)
	}
	for tid := range 8 {
		other := tid ^ 7
		if want := byte(other&^3 | (other+1)&3); got[4*tid] != want {
			t.Errorf("thread %d got %d, want %d", tid, got[4*tid], want)
		}
	}
}

// TestFaults has one kernel for each fault that is reported.
func TestFaults(t *testing.T) {
	only := func(b *llir.Builder, cond llir.Value, do func()) {
		before := b.Block()
		yes, join := b.F.NewBlock(before), b.F.NewBlock(before)
		b.CondBr(cond, yes, join)
		b.SetBlock(yes)
		do()
		b.Br(join)
		b.SetBlock(join)
	}
	tests := []struct {
		message string
		body    func(b *llir.Builder, tid, shared, buffer llir.Value)
	}{
		{"without a barrier between", func(b *llir.Builder, tid, shared, buffer llir.Value) {
			b.Store(tid, b.GEP(llir.I32, shared, tid), 4, false)
			v := b.Load(llir.I32, b.GEP(llir.I32, shared, b.Xor(tid, b.M.I32(1))), 4, false)
			b.Store(v, b.GEP(llir.I32, buffer, tid), 4, false)
		}},
		{"write byte 0 of shared memory without a barrier", func(b *llir.Builder, tid, shared, _ llir.Value) {
			b.Store(tid, shared, 4, false)
		}},
		{"which another one read", func(b *llir.Builder, tid, shared, buffer llir.Value) {
			v := b.Load(llir.I32, shared, 4, false)
			only(b, b.ICmp(enum.IPredEQ, tid, b.M.I32(1)), func() { b.Store(v, shared, 4, false) })
		}},
		{"part", func(b *llir.Builder, tid, _, _ llir.Value) {
			only(b, b.ICmp(enum.IPredEQ, tid, b.M.I32(1)), func() { next(b, tid) })
		}},
		{"wait at a barrier, the others have ended", func(b *llir.Builder, tid, _, _ llir.Value) {
			only(b, b.ICmp(enum.IPredULT, tid, b.M.I32(lanes)), func() { barrier(b) })
		}},
		{"are in no buffer", func(b *llir.Builder, tid, _, buffer llir.Value) {
			b.Store(tid, b.PtrAdd(b.GEP(llir.I32, buffer, tid), 36), 4, false)
		}},
		{"of shared memory, which has 64", func(b *llir.Builder, tid, shared, _ llir.Value) {
			b.Store(tid, b.PtrAdd(b.GEP(llir.I32, shared, tid), 36), 4, false)
		}},
		{"is not aligned", func(b *llir.Builder, tid, _, buffer llir.Value) {
			b.Store(tid, b.PtrAdd(b.GEP(llir.I32, buffer, tid), 2), 4, false)
		}},
		{"an undefined value is stored", func(b *llir.Builder, tid, _, buffer llir.Value) {
			b.Store(b.Binary(llir.Shl, tid, b.Add(tid, b.M.I32(32)), 0), b.GEP(llir.I32, buffer, tid), 4, false)
		}},
		{"traps", func(b *llir.Builder, _, _, _ llir.Value) {
			b.Call(b.M.Declare("llvm.trap", llir.HasEffects, llir.Void))
		}},
		{"has executed 1000 instructions", func(b *llir.Builder, tid, _, _ llir.Value) {
			loop := b.F.NewBlock(b.Block())
			b.Br(loop)
			b.SetBlock(loop)
			exit := b.F.NewBlock(loop)
			b.CondBr(b.ICmp(enum.IPredULT, tid, b.M.I32(100)), loop, exit)
			b.SetBlock(exit)
		}},
	}
	for _, tt := range tests {
		if _, err := launch(t, tt.body); err == nil || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("want an error with %q, got %v", tt.message, err)
		}
	}
}

// TestFMA compares with arithmetic of 200 bits.
func TestFMA(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200000 {
		num := func() float32 {
			return float32(math.Ldexp(float64(r.Int32N(1<<r.IntN(25)+1)), r.IntN(60)-30)) * float32(1-2*r.IntN(2))
		}
		x, y, z := num(), num(), num()
		exact := new(big.Float).SetPrec(200)
		exact.Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		exact.Add(exact, new(big.Float).SetPrec(200).SetFloat64(float64(z)))
		want, _ := exact.Float32()
		got := fma(llir.F32, float64(x), float64(y), float64(z))
		if math.Float32frombits(uint32(got.lo)) != want {
			t.Fatalf("fma(%g, %g, %g) = %g, want %g", x, y, z, math.Float32frombits(uint32(got.lo)), want)
		}
	}
}

// TestIntegers compares conversions and 128-bit products with package big.
func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 2))
	for range 100000 {
		x, y := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
		p := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
		high := integer("lshr", integer("mul", value{lo: x}, value{lo: y}, 128), value{lo: 64}, 128)
		if want := new(big.Int).Rsh(p, 64).Uint64(); high.lo != want {
			t.Fatalf("the high half of %d * %d is %d, want %d", x, y, high.lo, want)
		}
		want, _ := new(big.Float).SetInt(new(big.Int).SetUint64(x)).Float32()
		if got := math.Float32frombits(uint32(ofInteger(llir.F32, x, false).lo)); got != want {
			t.Fatalf("%d is %g, want %g", x, got, want)
		}
	}
}

// TestFloatsBeyondIntegers has a device say what becomes of floats that do not fit.
func TestFloatsBeyondIntegers(t *testing.T) {
	of := func(target *Target) *Thread { return &Thread{p: &program{k: &Kernel{Target: target}}} }
	device := of(&Target{Integer: func(x float64, from llir.Type, width int, signed bool) uint64 {
		if from != llir.F32 || width != 8 {
			t.Errorf("%g is of type %s, for %d bits", x, from, width)
		}
		if signed {
			return 0x1FE
		}
		return 0x1FD
	}})
	for _, tt := range []struct {
		x      float64
		signed bool
		want   uint64
		beyond bool
	}{
		{255.9, false, 255, false},
		{256, false, 0xFD, true},
		{-0.9, false, 0, false},
		{-1, false, 0xFD, true},
		{math.NaN(), false, 0xFD, true},
		{127.9, true, 127, false},
		{-128.9, true, 128, false},
		{-129, true, 0xFE, true},
		{math.Inf(1), true, 0xFE, true},
	} {
		if got := device.toInteger(tt.x, llir.F32, llir.I8, tt.signed); got.poison || got.lo != tt.want {
			t.Errorf("%g, signed %v: %d, want %d", tt.x, tt.signed, got.lo, tt.want)
		}
		if got := of(&Target{}).toInteger(tt.x, llir.F32, llir.I8, tt.signed); got.poison != tt.beyond || !got.poison && got.lo != tt.want {
			t.Errorf("%g, signed %v, by LLVM alone: %+v", tt.x, tt.signed, got)
		}
	}
}
