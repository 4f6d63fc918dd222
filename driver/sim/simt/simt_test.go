package simt

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// Programs are built by hand, of registers 0, 1, … of each class.

func r32(i int) Reg { return MakeReg(Class32, i) }
func r64(i int) Reg { return MakeReg(Class64, i) }
func p1(i int) Reg  { return MakeReg(ClassP, i) }

// newProgram makes a kernel of code; its parameter is a pointer in r64(0), and
// r32(0) is the thread, r32(1) the block, r32(2) the number 4.
func newProgram(code ...Inst) *Program {
	p := &Program{NumP: 8, Num32: 16, Num64: 8, SharedBytes: 4096, DynShared: 4096}
	p.Code = append([]Inst{{Op: OpLd, Type: U64, Space: SpaceParam, A: r64(7), Regs: []Reg{r64(0)}}}, code...)
	for i := range p.Code {
		p.Code[i].Line = i + 1
		p.Code[i].Text = "inst"
		if p.Code[i].Op == OpBra {
			p.Code[i].Target++
		}
	}
	p.Code = append(p.Code, Inst{Op: OpRet})
	p.Funcs = []Func{{Name: "k", Kernel: true, End: len(p.Code), ParamBytes: 8, Params: []Param{{Type: U64, Size: 8}}}}
	p.Inits = []Init{
		{Reg: r64(7)},
		{Reg: r32(0), Special: SpecTidX},
		{Reg: r32(1), Special: SpecCtaX},
		{Reg: r32(2), Value: 4},
		{Reg: r32(3), Value: 1},
		{Reg: r32(15), Value: math.MaxUint32},
	}
	return p
}

func testConfig(lanes int) *Config {
	return &Config{
		Lanes: lanes, SMs: 2, MaxWarps: 32, MaxBlocks: 8, SharedSM: 64 << 10, SharedBlock: 48 << 10, MaxThreads: 1024,
		Check: Checks{Undefined: true, Shared: true, Conflicts: true}, Workers: 2, MaxInstructions: 1 << 20,
	}
}

func runProgram(t *testing.T, p *Program, cfg *Config, grid, block, words int) ([]uint32, *Report) {
	t.Helper()
	mem := NewMemory(1 << 20)
	b, err := mem.Alloc("out", 4*words, true)
	if err != nil {
		t.Fatal(err)
	}
	b.MarkWritten(0, 4*words)
	l, err := Load(p, mem, cfg.Lanes)
	if err != nil {
		t.Fatal(err)
	}
	params := binary.LittleEndian.AppendUint64(nil, b.Addr())
	rep, err := l.Launch(context.Background(), cfg, Args{Grid: [3]int{grid, 1, 1}, Block: [3]int{block, 1, 1}, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, words)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b.Data[4*i:])
	}
	return out, rep
}

// store is out[thread] = r.
func store(r Reg) []Inst {
	return []Inst{
		{Op: OpMad, Type: U32, Flags: FlagWide, D: r64(1), A: r32(0), B: r32(2), C: r64(0)},
		{Op: OpSt, Type: B32, Space: SpaceGlobal, A: r64(1), Regs: []Reg{r}},
	}
}

// TestWidths runs a divergent loop on warps of every width: thread t adds 1 to t
// as many times as t says.
func TestWidths(t *testing.T) {
	for _, lanes := range []int{1, 2, 8, 16, 32, 64} {
		code := []Inst{
			{Op: OpMov, Type: B32, D: r32(4), A: r32(0)},
			{Op: OpMov, Type: B32, D: r32(5), A: r32(0)},
			{Op: OpSetp, Type: U32, Cmp: CmpEQ, D: p1(0), A: r32(5), B: r64toZero},
			{Op: OpBra, Guard: p1(0), Target: 7},
			{Op: OpAdd, Type: U32, D: r32(4), A: r32(4), B: r32(3)},
			{Op: OpSub, Type: U32, D: r32(5), A: r32(5), B: r32(3)},
			{Op: OpBra, Target: 2},
			{Op: OpBar, A: r64toZero, Flags: FlagAligned},
		}
		code = append(code, store(r32(4))...)
		p := newProgram(code...)
		p.Inits = append(p.Inits, Init{Reg: r64toZero})
		out, rep := runProgram(t, p, testConfig(lanes), 1, 70, 70)
		if err := rep.Err(); err != nil {
			t.Fatalf("%d lanes: %v", lanes, err)
		}
		for i, v := range out {
			if v != uint32(2*i) {
				t.Errorf("%d lanes: thread %d has %d, want %d", lanes, i, v, 2*i)
			}
		}
		// The loop's lanes stay together: its body executes 69 times at most for
		// the warp of thread 69.
		if lanes == 64 && rep.Counters.WarpInstructions > 64*5+70*5+40 {
			t.Errorf("%d warp instructions: diverged lanes did not meet", rep.Counters.WarpInstructions)
		}
	}
}

// r64toZero is a 32-bit register that holds zero.
var r64toZero = r32(14)

func TestJoins(t *testing.T) {
	// 0: bra 3 | 1: op | 2: bra 4 | 3: op | 4: bra 6 | 5: trap | 6: ret
	p := &Program{Code: []Inst{
		{Op: OpBra, Guard: p1(0), Target: 3},
		{Op: OpNop},
		{Op: OpBra, Target: 4},
		{Op: OpNop},
		{Op: OpBra, Guard: p1(0), Target: 6},
		{Op: OpTrap},
		{Op: OpRet},
	}}
	f := Func{End: 7}
	code := make([]step, 7)
	for i := range code {
		code[i].join = -1
	}
	findJoins(p, code, &f)
	if code[0].join != 4 {
		t.Errorf("the branch at 0 joins at %d, want 4", code[0].join)
	}
	if code[4].join != 6 {
		t.Errorf("the branch at 4 joins at %d, want 6: nothing leaves by a trap", code[4].join)
	}
}

func TestUnknownOperation(t *testing.T) {
	p := newProgram(Inst{Op: OpFma, Type: U8, D: r32(4), A: r32(0), B: r32(0), C: r32(0)})
	_, err := Load(p, NewMemory(1<<20), 32)
	if err == nil || !strings.Contains(err.Error(), "line 2: inst") {
		t.Errorf("error is %v", err)
	}
}

// TestRoundTo compares the rounding of f32 values with nearest ones found among
// all encodings of a format.
func TestRoundTo(t *testing.T) {
	for _, f := range []*format{fmtF16, fmtBF16, fmtE5M2} {
		top := f.infBits
		value := func(v uint32) float64 { return widen(v, f) }
		r := rand.New(rand.NewPCG(1, 2))
		for range 20000 {
			v := r.Uint32N(top - 1)
			lo, hi := value(v), value(v+1)
			x := lo + (hi-lo)*r.Float64()
			if r.IntN(3) == 0 {
				x = lo + (hi-lo)/2
			}
			want := v
			if x-lo > hi-x || x-lo == hi-x && v&1 == 1 {
				want = v + 1
			}
			if got := roundTo(x, f, RoundNearest); got != want {
				t.Fatalf("%v rounds to %x, want %x", x, got, want)
			}
			if got := roundTo(-x, f, RoundZero); got != v|1<<(f.mant+f.exp) && x != hi {
				t.Fatalf("%v rounds toward zero to %x, want %x", -x, got, v)
			}
			up := v + 1
			if x == lo {
				up = v
			}
			if got := roundTo(x, f, RoundUp); got != up {
				t.Fatalf("%v rounds up to %x, want %x", x, got, up)
			}
		}
	}
}

// TestHalfConversions compares the fast conversions with the general one.
func TestHalfConversions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	check := func(b uint32) {
		x := f32(b)
		if got, want := f32to16(x), roundTo(float64(x), fmtF16, RoundNearest); got != want {
			t.Fatalf("f16 of %08x is %04x, want %04x", b, got, want)
		}
		if got, want := f32toBF16(x), roundTo(float64(x), fmtBF16, RoundNearest); got != want {
			t.Fatalf("bf16 of %08x is %04x, want %04x", b, got, want)
		}
	}
	for range 200000 {
		check(r.Uint32())
	}
	for v := range uint32(1 << 16) {
		x := f16to32(v)
		if w := widen(v, fmtF16); float64(x) != w && (x == x || w == w) {
			t.Fatalf("%04x widens to %v, want %v", v, x, w)
		}
		check(math.Float32bits(x))
		check(math.Float32bits(x) + 0x1000) // a tie
		check(math.Float32bits(x) + 0x0fff)
		check(math.Float32bits(x) + 0x1001)
		check(v << 16)
		check(v<<16 + 0x8000)
		check(v<<16 + 0x7fff)
	}
}

// TestFma compares with the definition on operands whose double rounding errs.
func TestFma(t *testing.T) {
	for _, c := range []struct{ a, b, c, want float32 }{
		// 1 + 2^-24 + 2^-60: above a tie that a sum in float64 loses.
		{0x1p-30, 0x1p-30, 1 + 0, 1},
		{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-60, 1 + 0x1p-11 + 0x1p-23},
		{0x1.000002p0, 0x1.000002p0, -0x1p-60, 0x1.000004p0},
		{0x1p-75, 0x1p-75, 0x1p-149, 0x1p-148}, // a tie of subnormal numbers
		{0x1p-75, 0x1.000002p-75, 0, 0x1p-149},
		{0x1p-75, 0x1p-75, 0, 0},
	} {
		want := math.Float32bits(c.want)
		if got := fma32(c.a, c.b, c.c); got != want && f32(got) != f32(want) {
			t.Errorf("fma(%v, %v, %v) = %v, want %v", c.a, c.b, c.c, f32(got), c.want)
		}
	}
	// 1 + 2^-24 is a tie; anything above it rounds up, below it down.
	a, b := float32(0x1p-12), float32(0x1p-12)
	for _, e := range []float64{0, 0x1p-70, -0x1p-70} {
		// (a + δ)·b with c = 1: choose factors so that the product is 2^-24 + e.
		x := a
		if e > 0 {
			x = math.Nextafter32(a, 1)
		} else if e < 0 {
			x = math.Nextafter32(a, 0)
		}
		want := float32(1)
		if e > 0 {
			want = math.Nextafter32(1, 2)
		}
		if got := f32(fma32(x, b, 1)); got != want {
			t.Errorf("fma(%v, %v, 1) = %v, want %v", x, b, got, want)
		}
	}
}

// TestSectorsAndBanks counts accesses of known shapes.
func TestSectorsAndBanks(t *testing.T) {
	w := &warp{n: 32, full: fullMask(32), offs: make([]int, 32), words: make([]uint64, 32)}
	for _, c := range []struct {
		name           string
		size           int
		at             func(l int) int
		mask           uint64
		sectors, needS uint64
		waves, needW   uint64
	}{
		{"consecutive words", 4, func(l int) int { return 4 * l }, w.full, 4, 4, 1, 1},
		{"consecutive words off by one", 4, func(l int) int { return 4*l + 4 }, w.full, 5, 4, 1, 1},
		{"one word", 4, func(int) int { return 64 }, w.full, 1, 1, 1, 1},
		{"stride two", 4, func(l int) int { return 8 * l }, w.full, 8, 4, 2, 1},
		{"stride 32", 4, func(l int) int { return 128 * l }, w.full, 32, 4, 32, 1},
		{"stride 33", 4, func(l int) int { return 132 * l }, w.full, 32, 4, 1, 1},
		{"reversed", 4, func(l int) int { return 4 * (31 - l) }, w.full, 4, 4, 1, 1},
		{"16 bytes each", 16, func(l int) int { return 16 * l }, w.full, 16, 16, 4, 4},
		{"8 bytes each", 8, func(l int) int { return 8 * l }, w.full, 8, 8, 2, 2},
		{"rows of 128 bytes by 16", 16, func(l int) int { return 128 * l }, w.full, 32, 16, 32, 4},
		{"bytes", 1, func(l int) int { return l }, w.full, 1, 1, 1, 1},
		{"few lanes", 4, func(l int) int { return 4 * l }, 0xf, 1, 1, 1, 1},
	} {
		for l := range w.words {
			w.words[l] = uint64(c.at(l))
		}
		ok, dense := w.offsets(0, 1<<20, c.size, 1)
		if !ok {
			t.Fatalf("%s: out of bounds", c.name)
		}
		views := []view{{mask: c.mask}}
		if dense && c.mask == w.full {
			views = append(views, view{mask: c.mask, dense: true})
		}
		for _, v := range views {
			s, ns := w.sectors(&v, c.size)
			b, nb := w.wavefronts(&v, c.size, accessRead)
			if s != c.sectors || ns != c.needS || b != c.waves || nb != c.needW {
				t.Errorf("%s, dense %v: %d sectors of %d, %d wavefronts of %d; want %d of %d, %d of %d",
					c.name, v.dense, s, ns, b, nb, c.sectors, c.needS, c.waves, c.needW)
			}
		}
	}
}

// TestOffsets checks which addresses of a warp are inside, aligned and dense.
func TestOffsets(t *testing.T) {
	w := &warp{n: 4, offs: make([]int, 4), words: make([]uint64, 4)}
	for _, c := range []struct {
		words     [4]uint64
		ok, dense bool
	}{
		{[4]uint64{100, 104, 108, 112}, true, true},
		{[4]uint64{104, 100, 108, 112}, true, false},
		{[4]uint64{112, 108, 104, 100}, true, false},
		{[4]uint64{100, 100, 100, 100}, true, false},
		{[4]uint64{100, 104, 108, 116}, false, false},
		{[4]uint64{96, 100, 104, 108}, false, true},
		{[4]uint64{100, 102, 108, 112}, false, false},
		{[4]uint64{100, 104, 108, 1 << 40}, false, false},
		{[4]uint64{100, 104, 108, 1<<63 + 100}, false, false},
	} {
		copy(w.words, c.words[:])
		if ok, dense := w.offsets(100, 16, 4, 4); ok != c.ok || ok && dense != c.dense {
			t.Errorf("%v: inside and aligned %v, dense %v; want %v, %v", c.words, ok, dense, c.ok, c.dense)
		}
	}
}

// TestWritten marks neighbouring bytes from several goroutines, as blocks do.
func TestWritten(t *testing.T) {
	const n = 1 << 12
	b, err := NewMemory(n).Alloc("b", n, true)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := k; i < n-4; i += 4 {
				b.wrote(i, 1)
			}
		})
	}
	wg.Wait()
	if at := b.unwritten(0, n-4); at != -1 {
		t.Errorf("byte %d is not marked", at)
	}
	if at := b.unwritten(n-40, 40); at != n-4 {
		t.Errorf("byte %d is the first that is not marked, want %d", at, n-4)
	}
	b.wrote(n-4, 4)
	if b.unwritten(0, n) != -1 {
		t.Error("all bytes are written")
	}
}

// TestMemory checks the address space.
func TestMemory(t *testing.T) {
	m := NewMemory(1000)
	a, err := m.Alloc("a", 600, true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Alloc("c", 8, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Alloc("b", 600, true); err == nil {
		t.Error("600 more bytes do not fit")
	}
	if a.unwritten(0, 8) != 0 {
		t.Error("fresh memory counts as written")
	}
	a.MarkWritten(3, 20)
	if a.unwritten(3, 20) != -1 || a.unwritten(0, 8) != 0 || a.unwritten(16, 8) != 23 {
		t.Error("bytes 3 to 22 are written, no others")
	}
	for addr, want := range map[uint64]string{
		a.Addr() + 600: "byte 600 of buffer a, which has 600 bytes",
		a.Addr() - 4:   "4 bytes before buffer a",
		c.Addr() - 4:   "4 bytes before buffer c",
		c.Addr() + 40:  "byte 40 of buffer c, which has 8 bytes",
		0:              "in no buffer",
	} {
		if got := m.describe(addr); got != want {
			t.Errorf("0x%x is %q, want %q", addr, got, want)
		}
	}
	m.Free(a)
	if got := m.describe(a.Addr()); !strings.Contains(got, "was freed") {
		t.Errorf("freed memory is %q", got)
	}
	if b, err := m.Alloc("b", 600, true); err != nil || b.Addr() == a.Addr() {
		t.Errorf("the freed bytes come back at another address: %v", err)
	}
}
