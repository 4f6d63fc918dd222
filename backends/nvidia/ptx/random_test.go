package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/internal/llirsim"
	"github.com/tritonc/tritonc/internal/testseed"
)

const (
	// functionsEnv is how many random functions TestRandom translates.
	functionsEnv = "TRITONC_FUNCTIONS"
	functions    = 400

	lanes = 32
	// Each thread has so many bytes of the buffers in and out. The last of the latter
	// are what it writes and reads as it goes.
	inBytes, outBytes = 64, 512 + scratchBytes
	scratchBytes      = 64
)

var interpreter = &llirsim.Target{
	Lanes: lanes,
	Thread: map[string]func(*llirsim.Thread, []uint64) uint64{
		"llvm.nvvm.read.ptx.sreg.tid.x": func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Index) },
		"llvm.nvvm.prmt": func(_ *llirsim.Thread, a []uint64) uint64 {
			out := uint64(0)
			for i := range 4 {
				s := a[2] >> (4 * i) & 7
				out |= (a[1]<<32 | a[0]) >> (8 * s) & 0xFF << (8 * i)
			}
			return out
		},
	},
	Integer: integer,
	Barrier: "llvm.nvvm.barrier.cta.sync.aligned.all",
}

// integer is what cvt makes of a float beyond the integers of a width, as PTX's manual
// says: the nearest one of 16, 32 or 64 bits. Of a NaN it makes 0, or the upper bit alone
// where one side has 64 bits. llc converts the same way; LLVM says nothing of such floats.
func integer(x float64, from llir.Type, width int, signed bool) uint64 {
	w := 16
	for w < width {
		w *= 2
	}
	low, high, least := 0.0, math.Ldexp(1, w), uint64(0)
	if signed {
		low, high, least = -math.Ldexp(1, w-1), math.Ldexp(1, w-1), 1<<(w-1)
	}
	switch {
	case math.IsNaN(x) && (from == llir.F64 || w == 64):
		return 1 << (w - 1)
	case math.IsNaN(x):
		return 0
	case x < low:
		return least
	case x >= high:
		return least - 1
	case signed:
		return uint64(int64(x))
	}
	return uint64(x)
}

// TestRandom has random functions executed as LLVM IR by an interpreter and as PTX by the
// simulator; they store the same. A seed repeats a failure.
func TestRandom(t *testing.T) {
	n := functions
	if s := os.Getenv(functionsEnv); s != "" {
		n, _ = strconv.Atoi(s)
	}
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		if err := tryRandom(t, r); err != nil {
			t.Errorf("%s=%d, function %d: %v", testseed.Env, seed, i, err)
			if t.Failed() && testing.Short() || i > 0 && countFailures(t) > 5 {
				return
			}
		}
	}
}

var failures int

func countFailures(*testing.T) int { failures++; return failures }

func tryRandom(t *testing.T, r *rand.Rand) error {
	t.Helper()
	m := llir.NewModule("", "nvptx64-nvidia-cuda", layout)
	shared := m.AddGlobal("smem", m.Array(0, llir.I8), 3, 16, nil)
	f := m.NewFunc("k", false, llir.Void, llir.PtrIn(1), llir.PtrIn(1))
	f.SetCallingConv(ptxKernel)
	g := &generator{r: r, b: llir.NewBuilder(f), f: f, shared: shared}
	if r.IntN(4) == 0 {
		g.helper = newHelper(m, r)
	}
	g.b.SetBlock(f.NewBlock(nil))
	g.function()
	m.Sweep()
	m.Number()

	in := make([]byte, lanes*inBytes)
	for i := range in {
		in[i] = byte(r.Uint32())
		if r.IntN(4) == 0 { // numbers with long runs of equal bits are where mistakes show
			in[i] = []byte{0, 0xFF, 0x80, 0x7F, 1}[r.IntN(5)]
		}
	}
	mem := new(llirsim.Memory)
	want := mem.Alloc(make([]byte, lanes*outBytes))
	k := &llirsim.Kernel{Target: interpreter, Module: m, Name: "k", Threads: lanes, Shared: 1024}
	if err := k.Launch(t.Context(), mem, [3]int{1, 1, 1}, mem.Alloc(append([]byte(nil), in...)).Address, want.Address); err != nil {
		return fmt.Errorf("the interpreter: %w\n%s", err, m.Print())
	}
	cc := []int{80, 90}[r.IntN(2)]
	text, err := Translate(m, Options{CC: cc, SM: map[int]string{80: "sm_80", 90: "sm_90a"}[cc], Version: 84})
	if err != nil {
		return err
	}
	mod, err := sim.Load("k.ptx", text)
	if err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, text, m.Print())
	}
	d := sim.New(sim.Options{Workers: 1, NoChecks: true, Chip: sim.H200})
	x, y := d.Alloc("in", len(in)), d.Alloc("out", lanes*outBytes)
	x.Write(0, in)
	y.Fill(0)
	if _, err := d.Launch(mod, "k", sim.Dim(1), sim.Dim(lanes), 1024, x, y); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, text, m.Print())
	}
	got := y.Read()
	for lane := range lanes {
		at := (lane+1)*outBytes - scratchBytes
		if a, b := got[at:at+scratchBytes], want.Bytes[at:at+scratchBytes]; string(a) != string(b) {
			return fmt.Errorf("lane %d, its memory: % x, want % x\n%s\n%s", lane, a, b, text, m.Print())
		}
		for _, o := range g.outs {
			at := lane*outBytes + o.at
			a, b := got[at:at+o.size], want.Bytes[at:at+o.size]
			if !o.same(a, b) {
				return fmt.Errorf("lane %d, %s at %d: % x, want % x\n%s\n%s", lane, o.t, o.at, a, b, text, m.Print())
			}
		}
	}
	return nil
}

// out is a value that a function stores.
type out struct {
	at, size int
	t        llir.Type
}

// same takes all NaNs for equal.
func (o out) same(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	nan := func(x []byte) bool {
		switch o.t {
		case llir.F32:
			return math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(x))))
		case llir.F64:
			return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(x)))
		case llir.Half:
			return binary.LittleEndian.Uint16(x)&0x7FFF > 0x7C00
		case llir.BF16:
			return binary.LittleEndian.Uint16(x)&0x7FFF > 0x7F80
		}
		return false
	}
	return nan(a) && nan(b)
}

// generator builds a random function.
type generator struct {
	r      *rand.Rand
	b      *llir.Builder
	f      *llir.Func
	tid    llir.Value
	in     llir.Value
	values []llir.Value // that may be used here
	shared llir.Value
	floats llir.Value // memory of finite numbers
	places []place    // that may be written
	helper *ir.Func   // that is called, if any
	outs   []out
	at     int
}

var intTypes = []*types.IntType{
	llir.I1, llir.I8, llir.I16, llir.I32, llir.I64, llir.I32, llir.I64,
	types.NewInt(3), types.NewInt(7), types.NewInt(13), types.NewInt(24), types.NewInt(33), types.NewInt(48),
}

var floatTypes = []llir.Type{llir.F32, llir.F64, llir.F32, llir.Half, llir.BF16}

var ordered = []enum.FPred{
	enum.FPredOEQ, enum.FPredOGT, enum.FPredOGE, enum.FPredOLT, enum.FPredOLE, enum.FPredONE, enum.FPredORD,
	enum.FPredUEQ, enum.FPredUGT, enum.FPredUGE, enum.FPredULT, enum.FPredULE, enum.FPredUNE, enum.FPredUNO,
}

var compared = []enum.IPred{
	enum.IPredEQ, enum.IPredNE, enum.IPredSGE, enum.IPredSGT, enum.IPredSLE, enum.IPredSLT,
	enum.IPredUGE, enum.IPredUGT, enum.IPredULE, enum.IPredULT,
}

func (g *generator) function() {
	b := g.b
	g.tid = b.Call(b.M.Declare("llvm.nvvm.read.ptx.sreg.tid.x", llir.Pure, llir.I32))
	g.in = b.GEP(llir.I8, g.f.Param(0), b.Mul(g.tid, b.M.I32(inBytes)))
	g.findPlaces()
	g.values = append(g.values, g.tid)
	for range 6 {
		g.values = append(g.values, g.load())
	}
	g.statements(8+g.r.IntN(24), 2)
	p := b.GEP(llir.I8, g.f.Param(1), b.Mul(g.tid, b.M.I32(outBytes)))
	for i := len(g.values) - 1; i >= 0 && g.at < outBytes-scratchBytes-16; i-- {
		v := g.values[i]
		t := v.Type()
		size := max(1, (llir.Width(t)+7)/8)
		if it, ok := t.(*types.IntType); ok && it.BitSize != 8 && it.BitSize != 16 && it.BitSize != 32 && it.BitSize != 64 {
			t, size = llir.I64, 8
			v = b.Resize(v, llir.I64, g.r.IntN(2) == 0)
		}
		g.at = (g.at + size - 1) / size * size
		b.Store(v, b.PtrAdd(p, int64(g.at)), size, false)
		g.outs = append(g.outs, out{g.at, size, t})
		g.at += size
	}
	b.Ret(nil)
}

func (g *generator) load() llir.Value {
	t := []llir.Type{llir.I8, llir.I16, llir.I32, llir.I64, llir.F32, llir.F64, llir.Half, llir.BF16}[g.r.IntN(8)]
	size := llir.Width(t) / 8
	switch g.r.IntN(6) {
	case 0: // a vector of some
		n := []int{2, 4}[g.r.IntN(2)]
		if n*size > 16 {
			n = 16 / size
		}
		if n > 1 {
			v := g.b.Load(g.b.M.Vec(n, t), g.b.PtrAdd(g.in, int64(g.r.IntN(inBytes/(n*size))*n*size)), n*size, false)
			g.values = append(g.values, g.b.ExtractElement(v, n-1))
			return g.b.ExtractElement(v, 0)
		}
	case 1: // at a place that is computed
		i := g.b.And(g.as(llir.I32), g.b.M.I32(inBytes/size-1))
		if g.r.IntN(2) == 0 {
			i = g.b.ZExt(i, llir.I64)
		}
		return g.b.Load(t, g.b.GEP(t, g.in, i), size, false)
	}
	return g.b.Load(t, g.b.PtrAdd(g.in, int64(g.r.IntN(inBytes/size)*size)), size, false)
}

func (g *generator) pick() llir.Value { return g.values[g.r.IntN(len(g.values))] }

// as is a value of an integer type, a constant at times.
func (g *generator) as(t *types.IntType) llir.Value {
	if g.r.IntN(6) == 0 {
		c := []int64{0, 1, -1, 2, 7, 8, 100, 127, 128, 255, 256, -128, 641, 1 << 30, g.r.Int64()}[g.r.IntN(15)]
		return g.b.M.Int(t, c)
	}
	for range 8 {
		v := g.pick()
		if v.Type() == llir.Type(t) {
			return v
		}
		if llir.IsInt(v.Type()) && g.r.IntN(3) == 0 {
			return g.b.Resize(v, t, g.r.IntN(2) == 0)
		}
	}
	v := g.pick()
	for !llir.IsInt(v.Type()) {
		v = g.pick()
	}
	return g.b.Resize(v, t, g.r.IntN(2) == 0)
}

// number is a value of a floating-point type.
func (g *generator) number(t llir.Type) llir.Value {
	if g.r.IntN(6) == 0 {
		return g.b.M.Float(t, []float64{0, 1, -1, 0.5, 2, 3, -7.25, 100}[g.r.IntN(8)])
	}
	for range 8 {
		if v := g.pick(); v.Type() == t {
			return v
		}
	}
	return g.b.Cast(llir.SIToFP, g.as(llir.I16), t, 0)
}

func (g *generator) cond() llir.Value {
	switch g.r.IntN(4) {
	case 0:
		return g.as(llir.I1)
	case 1:
		t := floatTypes[g.r.IntN(len(floatTypes))]
		return g.b.FCmp(ordered[g.r.IntN(len(ordered))], g.number(t), g.number(t))
	}
	t := intTypes[g.r.IntN(len(intTypes))]
	return g.b.ICmp(compared[g.r.IntN(len(compared))], g.as(t), g.as(t))
}

func (g *generator) statements(n, depth int) {
	for range n {
		switch k := g.r.IntN(38); {
		case k == 0 && depth > 0:
			g.branch(depth - 1)
		case k == 1 && depth > 0:
			g.loop(depth - 1)
		case k == 2:
			g.values = append(g.values, g.load())
		case k == 3:
			g.vector()
		case k < 8:
			g.values = append(g.values, g.float())
		case k == 8:
			g.lanes()
		case k == 9:
			g.floatLanes()
		case k == 10:
			g.store()
		case k == 11:
			g.values = append(g.values, g.reload())
		case k == 12:
			g.atomic()
		case k == 13 && depth > 0:
			g.walk(depth - 1)
		case k == 14 && depth > 0:
			g.choose(depth - 1)
		case k == 15 && depth > 0:
			g.while(depth - 1)
		case k == 16:
			g.values = append(g.values, g.chain())
		case k == 17:
			g.values = append(g.values, g.mathematics())
		case k == 18:
			g.values = append(g.values, g.guarded())
		case k == 19:
			g.cluster()
		case k == 20:
			g.atomicFloat()
		case k == 21 && g.helper != nil:
			g.callHelper()
		case k == 22:
			g.values = append(g.values, g.nibbles())
		default:
			g.values = append(g.values, g.integer())
		}
	}
}

func (g *generator) integer() llir.Value {
	b := g.b
	t := intTypes[g.r.IntN(len(intTypes))]
	w := int(t.BitSize)
	x, y := g.as(t), g.as(t)
	amount := func() llir.Value {
		if w&(w-1) == 0 {
			return b.And(y, b.M.Int(t, int64(w-1)))
		}
		return b.M.Int(t, int64(g.r.IntN(min(w, 7))))
	}
	divisor := func() llir.Value { // positive, and not zero
		if g.r.IntN(2) == 0 && w > 4 {
			return b.M.Int(t, 1+g.r.Int64N(1<<(min(w, 40)-2)))
		}
		if w < 3 {
			return b.M.Int(t, 1)
		}
		return b.Or(b.LShr(y, 1), b.M.Int(t, 1))
	}
	switch g.r.IntN(22) {
	case 0, 1:
		return b.Add(x, y)
	case 2:
		return b.Sub(x, y)
	case 3:
		return b.Mul(x, y)
	case 4:
		return b.Binary(llir.UDiv, x, divisor(), 0)
	case 5:
		if w > 1 {
			return b.Binary(llir.SDiv, x, divisor(), 0)
		}
	case 6:
		return b.Binary(llir.URem, x, divisor(), 0)
	case 7:
		if w > 1 {
			return b.Binary(llir.SRem, x, divisor(), 0)
		}
	case 8, 9:
		if w > 1 {
			return b.Binary([]llir.Op{llir.Shl, llir.LShr, llir.AShr}[g.r.IntN(3)], x, amount(), 0)
		}
	case 10, 11:
		return b.Binary([]llir.Op{llir.And, llir.OrOp, llir.Xor}[g.r.IntN(3)], x, y, 0)
	case 12, 13:
		return b.Resize(x, intTypes[g.r.IntN(len(intTypes))], g.r.IntN(2) == 0)
	case 14:
		return b.Select(g.cond(), x, y)
	case 15:
		return g.cond()
	case 16:
		if w == 32 || w == 64 || w == 16 || w == 8 {
			name := []string{"umin", "umax", "smin", "smax", "ctpop", "bitreverse", "fshl"}[g.r.IntN(7)]
			args := []llir.Value{x, y, amount()}[:map[string]int{"ctpop": 1, "bitreverse": 1, "fshl": 3}[name]+2*b2i(name[1:2] == "m")]
			return g.intrinsic(name, t, args...)
		}
	case 17:
		if w == 32 || w == 64 {
			name := []string{"ctlz", "cttz"}[g.r.IntN(2)]
			return b.Call(b.M.Declare("llvm."+name+"."+t.String(), llir.Pure, t, t, llir.I1), x, b.M.Bool(false))
		}
	case 18: // the upper half of a product
		if w == 64 || w == 32 {
			wide := types.NewInt(uint64(2 * w))
			if w == 32 {
				wide = llir.I64
			}
			signed := g.r.IntN(2) == 0
			p := b.Mul(b.Resize(x, wide, signed), b.Resize(y, wide, signed))
			return b.Trunc(b.LShr(p, w), t)
		}
	case 19: // a field
		if w >= 24 {
			return b.And(b.LShr(x, g.r.IntN(w)), b.M.Int(t, 1<<g.r.IntN(16)-1))
		}
	case 20: // of any float, as kernels that quantize do
		if w > 1 {
			return b.Cast([]llir.Op{llir.FPToSI, llir.FPToUI}[g.r.IntN(2)], g.number(floatTypes[g.r.IntN(len(floatTypes))]), t, 0)
		}
	}
	return b.Xor(x, y)
}

func b2i(x bool) int {
	if x {
		return 1
	}
	return 0
}

func suffix(t llir.Type) string {
	return map[llir.Type]string{llir.Half: "f16", llir.BF16: "bf16", llir.F32: "f32", llir.F64: "f64"}[t]
}

func (g *generator) intrinsic(name string, t *types.IntType, args ...llir.Value) llir.Value {
	ts := make([]llir.Type, len(args))
	for i := range ts {
		ts[i] = t
	}
	return g.b.Call(g.b.M.Declare("llvm."+name+"."+t.String(), llir.Pure, t, ts...), args...)
}

func (g *generator) float() llir.Value {
	b := g.b
	t := floatTypes[g.r.IntN(len(floatTypes))]
	x, y := g.number(t), g.number(t)
	switch g.r.IntN(9) {
	case 0, 1:
		return b.Binary(llir.FAdd, x, y, 0)
	case 2:
		return b.Binary(llir.FSub, x, y, 0)
	case 3:
		return b.Binary(llir.FMul, x, y, 0)
	case 4:
		if t == llir.F32 || t == llir.F64 {
			return b.Binary(llir.FDiv, x, y, 0)
		}
	case 5:
		return b.Select(g.cond(), x, y)
	case 6:
		return b.FNeg(x)
	case 7:
		to := floatTypes[g.r.IntN(len(floatTypes))]
		switch {
		case to == t || llir.Width(to) == llir.Width(t):
			return x
		case llir.Width(to) > llir.Width(t):
			return b.Cast(llir.FPExt, x, to, 0)
		}
		return b.Cast(llir.FPTrunc, x, to, 0)
	case 8:
		it := []*types.IntType{llir.I8, llir.I16, llir.I32, llir.I64, llir.I1}[g.r.IntN(5)]
		return b.Cast([]llir.Op{llir.SIToFP, llir.UIToFP}[g.r.IntN(2)], g.as(it), t, 0)
	}
	return b.Binary(llir.FMul, x, y, 0)
}

// vector puts elements together, takes them for others, and takes one out.
func (g *generator) vector() {
	b := g.b
	from := []struct {
		t, to llir.Type
		n     int
		m     int
	}{
		{llir.I8, llir.I32, 4, 1},
		{llir.I16, llir.I32, 2, 1},
		{llir.I32, llir.I64, 2, 1},
		{llir.I8, llir.I16, 2, 1},
		{llir.I8, llir.I16, 4, 2},
		{llir.I16, llir.I8, 2, 4},
		{llir.I64, llir.I32, 1, 2},
		{llir.I32, llir.I8, 1, 4},
		{llir.I16, llir.I64, 4, 1},
		{llir.I8, llir.I64, 8, 1},
		{llir.I64, llir.I16, 2, 8},
		{llir.I32, llir.I16, 4, 8},
	}[g.r.IntN(12)]
	elems := make([]llir.Value, from.n)
	for i := range elems {
		elems[i] = g.as(from.t.(*types.IntType))
	}
	v := elems[0]
	if from.n > 1 {
		v = b.Vector(elems...)
	}
	if g.r.IntN(4) == 0 && from.n > 1 {
		g.values = append(g.values, b.ExtractElement(v, g.r.IntN(from.n)))
	}
	if from.m == 1 {
		g.values = append(g.values, b.BitCast(v, from.to))
		return
	}
	v = b.BitCast(v, b.M.Vec(from.m, from.to))
	g.values = append(g.values, b.ExtractElement(v, g.r.IntN(from.m)))
}

// branch joins what two ways computed.
func (g *generator) branch(depth int) {
	b := g.b
	cond, before := g.cond(), g.b.Block()
	yes, no, join := g.f.NewBlock(before), g.f.NewBlock(before), g.f.NewBlock(before)
	b.CondBr(cond, yes, no)
	outside := len(g.values)
	side := func(at *ir.Block) []llir.Value {
		b.SetBlock(at)
		g.f.MoveToEnd(at)
		g.statements(1+g.r.IntN(6), depth)
		got := g.values
		g.values = g.values[:outside:outside]
		return got
	}
	x := side(yes)
	endYes := b.Block()
	b.Br(join)
	y := side(no)
	endNo := b.Block()
	b.Br(join)
	b.SetBlock(join)
	g.f.MoveToEnd(join)
	var joined []llir.Value
	for range 3 {
		v := x[g.r.IntN(len(x))]
		for _, w := range y {
			if w.Type() == v.Type() && (g.r.IntN(3) == 0 || w == y[len(y)-1]) {
				p := b.Phi(v.Type())
				llir.AddIncoming(p, v, endYes)
				llir.AddIncoming(p, w, endNo)
				joined = append(joined, p)
				break
			}
		}
	}
	g.values = append(g.values, joined...)
}

// loop runs a few times, and carries some values.
func (g *generator) loop(depth int) {
	b := g.b
	trips := b.And(g.as(llir.I32), b.M.I32(3))
	if g.r.IntN(3) == 0 {
		trips = b.M.I32(g.r.IntN(4))
	}
	before := b.Block()
	head := g.f.NewBlock(before)
	after := g.f.NewBlock(head)
	var first []llir.Value
	for range 1 + g.r.IntN(3) {
		first = append(first, g.pick())
	}
	b.Br(head)
	b.SetBlock(head)
	g.f.MoveToEnd(head)
	i := b.Phi(llir.I32)
	phis := make([]*ir.InstPhi, len(first))
	for k, v := range first {
		phis[k] = b.Phi(v.Type())
	}
	outside := len(g.values)
	g.values = append(g.values, i)
	for _, p := range phis {
		g.values = append(g.values, p)
	}
	var lags []*ir.InstPhi // multiples of i, one an iteration before the other
	scale := 1 + g.r.IntN(8)
	if g.r.IntN(2) == 0 {
		lags = []*ir.InstPhi{b.Phi(llir.I32), b.Phi(llir.I32)}
		for _, p := range lags {
			g.values = append(g.values, p, b.Binary(llir.SDiv, p, b.M.I32(1<<(1+g.r.IntN(scale))), 0))
		}
	}
	g.statements(1+g.r.IntN(6), depth)
	next := b.Add(i, b.M.I32(1))
	end := b.Block()
	llir.AddIncoming(i, b.M.I32(0), before)
	llir.AddIncoming(i, next, end)
	if lags != nil {
		behind := g.r.IntN(3) - 1
		llir.AddIncoming(lags[0], b.M.I32(behind<<scale), before)
		llir.AddIncoming(lags[0], lags[1], end)
		llir.AddIncoming(lags[1], b.M.I32((behind+1)<<scale), before)
		llir.AddIncoming(lags[1], b.Add(b.Shl(i, scale), b.M.I32((behind+2)<<scale)), end)
	}
	for k, p := range phis {
		llir.AddIncoming(p, first[k], before)
		var v llir.Value = p
		for range 12 {
			if x := g.values[outside+g.r.IntN(len(g.values)-outside)]; x.Type() == p.Typ {
				v = x
			}
		}
		llir.AddIncoming(p, v, end)
	}
	b.CondBr(b.ICmp(enum.IPredSLT, next, trips), head, after)
	b.SetBlock(after)
	g.f.MoveToEnd(after)
	g.f.SetIDom(after, end)
}
