package llir

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/internal/testseed"
)

// The law of the folder: a value that the Builder returns has, for every input
// for which the unfolded computation is defined, the same value. The test makes
// random programs, keeps the operations asked for in a list of its own, and runs
// both the list and the instructions that the Builder left, with arithmetic over
// big.Int that shares nothing with the folder.

// step is one operation that a random program asked for.
type step struct {
	op      Op
	pred    enum.IPred
	a, b, c int // operands: indices of earlier values
	width   int
}

type program struct {
	t      *testing.T
	rng    *rand.Rand
	fn     *Func
	b      *Builder
	steps  []step
	values []Value
	params []*ir.Param
	masks  []uint64
	consts map[int]uint64
}

var testWidths = []int{1, 8, 16, 32, 64}

func newProgram(t *testing.T, seed uint64) *program {
	p := &program{t: t, rng: rand.New(rand.NewPCG(seed, 7)), consts: map[int]uint64{}}
	m := NewModule("test", "", "")
	var types []Type
	for _, w := range testWidths {
		types = append(types, IntN(w), IntN(w))
	}
	p.fn = m.NewFunc("f", false, Void, types...)
	p.b = NewBuilder(p.fn)
	p.b.SetBlock(p.fn.NewBlock(nil))
	for i := range types {
		v := p.fn.Param(i)
		mask := ^uint64(0)
		if p.rng.IntN(2) == 0 {
			mask = uint64(0xFF) << p.rng.IntN(16)
			p.fn.AssumeZeroBits(v, ^mask)
		}
		p.params = append(p.params, v.(*ir.Param))
		p.masks = append(p.masks, mask)
		p.push(step{width: Width(v.Type())}, v)
	}
	return p
}

func (p *program) push(s step, v Value) {
	if Width(v.Type()) != s.width {
		p.t.Fatalf("op %d: result has width %d, want %d", s.op, Width(v.Type()), s.width)
	}
	p.steps = append(p.steps, s)
	p.values = append(p.values, v)
}

// operand picks an earlier value of a width, or makes a constant.
func (p *program) operand(width int) int {
	if p.rng.IntN(3) == 0 {
		c := p.rng.Uint64()
		switch p.rng.IntN(4) {
		case 0:
			c = uint64(p.rng.IntN(9)) - 2
		case 1:
			c = 1 << p.rng.IntN(width)
		case 2:
			c = uint64(p.rng.IntN(width))
		}
		v := p.b.M.uint(IntN(width), c)
		p.consts[len(p.steps)] = v.Bits
		p.push(step{width: width}, v)
		return len(p.steps) - 1
	}
	for {
		i := p.rng.IntN(len(p.values))
		if j := len(p.values) - 1 - p.rng.IntN(min(6, len(p.values))); p.steps[j].width == width {
			return j
		}
		if p.steps[i].width == width {
			return i
		}
	}
}

func (p *program) grow() {
	w := testWidths[p.rng.IntN(len(testWidths))]
	if p.rng.IntN(2) == 0 {
		w = 32
	}
	val := func(i int) Value { return p.values[i] }
	switch k := p.rng.IntN(20); {
	case k < 13:
		op := Op(int(Add) + p.rng.IntN(int(Xor-Add)+1))
		x, y := p.operand(w), p.operand(w)
		p.push(step{op: op, a: x, b: y, width: w}, p.b.Binary(op, val(x), val(y), 0))
	case k < 15:
		pred := enum.IPred(p.rng.IntN(10) + int(enum.IPredEQ))
		x, y := p.operand(w), p.operand(w)
		p.push(step{op: opICmp, pred: pred, a: x, b: y, width: 1}, p.b.ICmp(pred, val(x), val(y)))
	case k < 16:
		c, x, y := p.operand(1), p.operand(w), p.operand(w)
		p.push(step{op: opSelect, a: c, b: x, c: y, width: w}, p.b.Select(val(c), val(x), val(y)))
	default:
		to := testWidths[p.rng.IntN(len(testWidths))]
		x := p.operand(w)
		switch {
		case to < w:
			p.push(step{op: TruncOp, a: x, width: to}, p.b.Trunc(val(x), IntN(to)))
		case to > w && k < 18:
			p.push(step{op: ZExtOp, a: x, width: to}, p.b.ZExt(val(x), IntN(to)))
		case to > w:
			p.push(step{op: SExtOp, a: x, width: to}, p.b.SExt(val(x), IntN(to)))
		}
	}
}

// num is an integer that may be undefined.
type num struct {
	v  *big.Int // nil: undefined
	wd int
}

var one = big.NewInt(1)

func mod(v *big.Int, w int) num {
	m := new(big.Int).Lsh(one, uint(w))
	return num{new(big.Int).Mod(v, m), w}
}

func (n num) signed() *big.Int {
	if n.v.Bit(n.wd-1) == 0 {
		return n.v
	}
	return new(big.Int).Sub(n.v, new(big.Int).Lsh(one, uint(n.wd)))
}

// refBinary is LLVM's meaning of a binary operation.
func refBinary(op Op, x, y num) num {
	w := x.wd
	if x.v == nil || y.v == nil {
		return num{nil, w}
	}
	r := new(big.Int)
	switch op {
	case Add:
		r.Add(x.v, y.v)
	case Sub:
		r.Sub(x.v, y.v)
	case Mul:
		r.Mul(x.v, y.v)
	case And:
		r.And(x.v, y.v)
	case OrOp:
		r.Or(x.v, y.v)
	case Xor:
		r.Xor(x.v, y.v)
	case Shl, LShr, AShr:
		if y.v.Cmp(big.NewInt(int64(w))) >= 0 {
			return num{nil, w}
		}
		n := uint(y.v.Uint64())
		switch op {
		case Shl:
			r.Lsh(x.v, n)
		case LShr:
			r.Rsh(x.v, n)
		default:
			r.Rsh(x.signed(), n)
		}
	case UDiv, URem:
		if y.v.Sign() == 0 {
			return num{nil, w}
		}
		if op == UDiv {
			r.Quo(x.v, y.v)
		} else {
			r.Rem(x.v, y.v)
		}
	case SDiv, SRem:
		sx, sy := x.signed(), y.signed()
		if sy.Sign() == 0 || (sy.Cmp(big.NewInt(-1)) == 0 && sx.BitLen() == w && sx.Sign() < 0) {
			return num{nil, w}
		}
		if op == SDiv {
			r.Quo(sx, sy)
		} else {
			r.Rem(sx, sy)
		}
	}
	return mod(r, w)
}

func refICmp(pred enum.IPred, x, y num) num {
	if x.v == nil || y.v == nil {
		return num{nil, 1}
	}
	u, s := x.v.Cmp(y.v), x.signed().Cmp(y.signed())
	r := map[enum.IPred]bool{
		enum.IPredEQ: u == 0, enum.IPredNE: u != 0,
		enum.IPredULT: u < 0, enum.IPredULE: u <= 0, enum.IPredUGT: u > 0, enum.IPredUGE: u >= 0,
		enum.IPredSLT: s < 0, enum.IPredSLE: s <= 0, enum.IPredSGT: s > 0, enum.IPredSGE: s >= 0,
	}[pred]
	if r {
		return num{one, 1}
	}
	return num{new(big.Int), 1}
}

func refCast(op Op, x num, to int) num {
	switch {
	case x.v == nil:
		return num{nil, to}
	case op == SExtOp:
		return mod(x.signed(), to)
	default:
		return mod(x.v, to)
	}
}

func refSelect(c, x, y num) num {
	switch {
	case c.v == nil:
		return num{nil, x.wd}
	case c.v.Sign() != 0:
		return x
	}
	return y
}

// runSteps computes what was asked for.
func (p *program) runSteps(inputs []uint64) []num {
	out := make([]num, len(p.steps))
	for i, s := range p.steps {
		switch {
		case i < len(inputs):
			out[i] = mod(new(big.Int).SetUint64(inputs[i]), s.width)
		case s.op == 0:
			out[i] = mod(new(big.Int).SetUint64(p.consts[i]), s.width)
		case s.op == opICmp:
			out[i] = refICmp(s.pred, out[s.a], out[s.b])
		case s.op == opSelect:
			out[i] = refSelect(out[s.a], out[s.b], out[s.c])
		case s.op >= TruncOp:
			out[i] = refCast(s.op, out[s.a], s.width)
		default:
			out[i] = refBinary(s.op, out[s.a], out[s.b])
		}
	}
	return out
}

// runInsts computes what the Builder made of it.
func (p *program) runInsts(inputs []uint64) func(Value) num {
	vals := map[Value]num{}
	for i, prm := range p.params {
		vals[prm] = mod(new(big.Int).SetUint64(inputs[i]), Width(prm.Typ))
	}
	get := func(v Value) num {
		if c, ok := v.(*Int); ok {
			return mod(new(big.Int).SetUint64(c.Bits), int(c.Typ.BitSize))
		}
		n, ok := vals[v]
		if !ok {
			p.t.Fatalf("use of %s before it is made", v)
		}
		return n
	}
	for _, inst := range p.b.Block().Insts {
		v := inst.(Value)
		switch i := inst.(type) {
		case *ir.InstICmp:
			vals[v] = refICmp(i.Pred, get(i.X), get(i.Y))
		case *ir.InstSelect:
			vals[v] = refSelect(get(i.Cond), get(i.ValueTrue), get(i.ValueFalse))
		case *Trunc:
			vals[v] = refCast(TruncOp, get(i.From), Width(i.To))
		case *ZExt:
			n := get(i.From)
			if i.NNeg && n.v != nil && n.signed().Sign() < 0 {
				n.v = nil
			}
			vals[v] = refCast(ZExtOp, n, Width(i.To))
		case *ir.InstSExt:
			vals[v] = refCast(SExtOp, get(i.From), Width(i.To))
		case *Or:
			x, y := get(i.X), get(i.Y)
			n := refBinary(OrOp, x, y)
			if i.Disjoint && n.v != nil && new(big.Int).And(x.v, y.v).Sign() != 0 {
				n.v = nil
			}
			vals[v] = n
		default:
			op, x, y := asBinary(inst)
			if op == 0 {
				p.t.Fatalf("unexpected %T", inst)
			}
			vals[v] = refBinary(op, get(x), get(y))
		}
	}
	return get
}

func asBinary(inst any) (Op, Value, Value) {
	switch i := inst.(type) {
	case *ir.InstAdd:
		return Add, i.X, i.Y
	case *ir.InstSub:
		return Sub, i.X, i.Y
	case *ir.InstMul:
		return Mul, i.X, i.Y
	case *ir.InstUDiv:
		return UDiv, i.X, i.Y
	case *ir.InstSDiv:
		return SDiv, i.X, i.Y
	case *ir.InstURem:
		return URem, i.X, i.Y
	case *ir.InstSRem:
		return SRem, i.X, i.Y
	case *ir.InstShl:
		return Shl, i.X, i.Y
	case *ir.InstLShr:
		return LShr, i.X, i.Y
	case *ir.InstAShr:
		return AShr, i.X, i.Y
	case *ir.InstAnd:
		return And, i.X, i.Y
	case *ir.InstXor:
		return Xor, i.X, i.Y
	}
	return 0, nil, nil
}

func TestFoldLaw(t *testing.T) {
	base := testseed.Seed()
	asked, left := 0, 0
	for n := range uint64(300) {
		seed := base + n
		p := newProgram(t, seed)
		for range 60 {
			p.grow()
		}
		for range 6 {
			inputs := make([]uint64, len(p.params))
			for i := range inputs {
				inputs[i] = p.rng.Uint64() & p.masks[i]
				if p.rng.IntN(4) == 0 {
					inputs[i] = uint64(p.rng.IntN(3)) - 1
					inputs[i] &= p.masks[i]
				}
			}
			want := p.runSteps(inputs)
			got := p.runInsts(inputs)
			for i, w := range want {
				if w.v == nil {
					continue // undefined: anything refines it
				}
				if g := got(p.values[i]); g.v == nil || g.v.Cmp(w.v) != 0 {
					t.Fatalf("seed %d: step %d (%+v): got %v, want %v\nvalue %s\n%s",
						seed, i, p.steps[i], g.v, w.v, p.values[i], p.text())
				}
			}
		}
		asked += len(p.steps)
		left += len(p.b.Block().Insts)
	}
	if left*3 > asked*2 {
		t.Errorf("the folder left %d instructions of %d", left, asked)
	}
}

func (p *program) text() string {
	number(p.fn.IR)
	s := ""
	for _, i := range p.b.Block().Insts {
		s += "  " + instString(i) + "\n"
	}
	return s
}

// sortedHalfs are the finite values of a 16-bit format, in order, as exact
// rationals with their bits.
type finite struct {
	v    *big.Rat
	bits uint64
}

func finites(t Type) []finite {
	f := formatOf(t)
	var out []finite
	for bits := range uint64(1) << 15 {
		exp := int(bits >> f.man)
		if exp == 1<<f.exp-1 {
			break
		}
		man := int64(bits & (1<<f.man - 1))
		if exp > 0 {
			man |= 1 << f.man
		} else {
			exp = 1
		}
		r := new(big.Rat).SetInt64(man)
		e := exp - (1<<(f.exp-1) - 1) - f.man
		scale := new(big.Int).Lsh(one, uint(max(e, -e)))
		if e < 0 {
			r.Quo(r, new(big.Rat).SetInt(scale))
		} else {
			r.Mul(r, new(big.Rat).SetInt(scale))
		}
		out = append(out, finite{r, bits})
	}
	return out
}

// refRound finds the nearest value in the table, ties to the even encoding.
func refRound(table []finite, t Type, v *big.Rat, negZero bool) uint64 {
	f := formatOf(t)
	sign := uint64(0)
	if v.Sign() < 0 || v.Sign() == 0 && negZero {
		sign = 1 << 15
	}
	v = new(big.Rat).Abs(v)
	i := sort.Search(len(table), func(i int) bool { return table[i].v.Cmp(v) >= 0 })
	inf := uint64(1<<f.exp-1) << f.man
	if i == 0 {
		return sign
	}
	lo := table[i-1]
	hi := finite{bits: inf}
	if i < len(table) {
		hi = table[i]
	} else {
		step := new(big.Rat).Sub(lo.v, table[i-2].v)
		hi.v = new(big.Rat).Add(lo.v, step)
		if v.Cmp(hi.v) > 0 {
			return sign | inf
		}
	}
	switch c := new(big.Rat).Sub(v, lo.v).Cmp(new(big.Rat).Sub(hi.v, v)); {
	case c < 0, c == 0 && lo.bits&1 == 0:
		return sign | lo.bits
	}
	return sign | hi.bits
}

func ratOf(table []finite, bits uint64) *big.Rat {
	r := table[bits&0x7FFF].v
	if bits>>15 != 0 {
		return new(big.Rat).Neg(r)
	}
	return r
}

func TestFloatFoldNarrow(t *testing.T) {
	for _, typ := range []Type{Half, BF16} {
		table := finites(typ)
		m := NewModule("test", "", "")
		fn := m.NewFunc("f", false, Void)
		b := NewBuilder(fn)
		b.SetBlock(fn.NewBlock(nil))
		rng := rand.New(rand.NewPCG(testseed.Seed(), 1))
		pick := func() uint64 {
			return uint64(rng.IntN(len(table))) | uint64(rng.IntN(2))<<15
		}
		for n := range 3000 {
			x, y := pick(), pick()
			if n%3 == 0 { // near one another: subnormal and cancelling results
				y = min(x&0x7FFF+uint64(rng.IntN(5)), uint64(len(table)-1)) | uint64(rng.IntN(2))<<15
			}
			rx, ry := ratOf(table, x), ratOf(table, y)
			for _, op := range []Op{FAdd, FSub, FMul, FDiv} {
				var want uint64
				neg := false
				r := new(big.Rat)
				switch op {
				case FAdd:
					r.Add(rx, ry)
					neg = x>>15 == 1 && y>>15 == 1 && rx.Sign() == 0
				case FSub:
					r.Sub(rx, ry)
					neg = x>>15 == 1 && y>>15 == 0 && rx.Sign() == 0
				case FMul:
					r.Mul(rx, ry)
					neg = x>>15 != y>>15
				case FDiv:
					if ry.Sign() == 0 {
						continue
					}
					r.Quo(rx, ry)
					neg = x>>15 != y>>15
				}
				want = refRound(table, typ, r, neg)
				v := b.Binary(op, m.FloatBits(typ, x), m.FloatBits(typ, y), 0)
				c, ok := v.(*Float)
				if !ok || c.Bits != want {
					t.Fatalf("%s: op %d of %04x, %04x: got %v, want %04x", typ, op, x, y, v, want)
				}
			}
			// Narrowing a float rounds once.
			f32 := math.Float32frombits(rng.Uint32())
			if f32 == f32 && !math.IsInf(float64(f32), 0) {
				want := refRound(table, typ, new(big.Rat).SetFloat64(float64(f32)), math.Signbit(float64(f32)))
				got := b.Cast(FPTrunc, m.Float(F32, float64(f32)), typ, 0).(*Float).Bits
				if got != want {
					t.Fatalf("fptrunc %v to %s: got %04x, want %04x", f32, typ, got, want)
				}
			}
			i := rng.Int64() >> rng.IntN(64)
			want := refRound(table, typ, new(big.Rat).SetInt64(i), false)
			if got := b.Cast(SIToFP, m.I64(i), typ, 0).(*Float).Bits; got != want {
				t.Fatalf("sitofp %d to %s: got %04x, want %04x", i, typ, got, want)
			}
		}
	}
}

func TestFloatFoldSingle(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	for range 20000 {
		x, y := math.Float32frombits(rand.Uint32()), math.Float32frombits(rand.Uint32())
		if rand.IntN(2) == 0 { // comparable exponents
			y = x * (0.5 + rand.Float32())
		}
		for op, want := range map[Op]float32{FAdd: x + y, FSub: x - y, FMul: x * y, FDiv: x / y} {
			v := b.Binary(op, m.Float(F32, float64(x)), m.Float(F32, float64(y)), 0)
			c, ok := v.(*Float)
			if want != want {
				continue // NaNs are left to the device
			}
			if !ok || uint32(c.Bits) != math.Float32bits(want) {
				t.Fatalf("op %d of %v, %v: got %v, want %v", op, x, y, v, want)
			}
		}
	}
}

// A fused multiply-add rounds once.
func TestFMAFold(t *testing.T) {
	for _, typ := range []Type{Half, BF16} {
		table := finites(typ)
		m := NewModule("test", "", "")
		fn := m.NewFunc("f", false, Void)
		b := NewBuilder(fn)
		b.SetBlock(fn.NewBlock(nil))
		f := m.Declare("llvm.fma."+typ.String(), Pure, typ, typ, typ, typ)
		pick := func() uint64 { return uint64(rand.IntN(len(table))) | uint64(rand.IntN(2))<<15 }
		for range 5000 {
			x, y, z := pick(), pick(), pick()
			r := new(big.Rat).Mul(ratOf(table, x), ratOf(table, y))
			if rand.IntN(2) == 0 { // z near the product, or far below a tie of it
				z = refRound(table, typ, new(big.Rat).Quo(r, new(big.Rat).SetInt64(-1<<rand.IntN(20))), false)
				if z&0x7FFF >= uint64(len(table)) {
					continue
				}
			}
			r.Add(r, ratOf(table, z))
			if r.Sign() == 0 {
				continue // the sign of an exact zero is not the point
			}
			want := refRound(table, typ, r, false)
			got := b.Call(f, m.FloatBits(typ, x), m.FloatBits(typ, y), m.FloatBits(typ, z)).(*Float).Bits
			if got != want {
				t.Fatalf("%s: fma(%04x, %04x, %04x) = %04x, want %04x", typ, x, y, z, got, want)
			}
		}
	}
}

func TestFloatIdentities(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, F32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	x := fn.Param(0)
	f := func(v float64) Value { return m.Float(F32, v) }
	negZero := math.Copysign(0, -1)
	for _, c := range []struct {
		name string
		got  Value
		same bool // the result is x itself
	}{
		{"x + -0", b.Binary(FAdd, x, f(negZero), 0), true},
		{"x + 0", b.Binary(FAdd, x, f(0), 0), false},
		{"x + 0 nsz", b.Binary(FAdd, x, f(0), NSZ), true},
		{"x - 0", b.Binary(FSub, x, f(0), 0), true},
		{"x - -0", b.Binary(FSub, x, f(negZero), 0), false},
		{"x * 1", b.Binary(FMul, x, f(1), 0), true},
		{"1 * x", b.Binary(FMul, f(1), x, 0), true},
		{"x * 0", b.Binary(FMul, x, f(0), 0), false},
		{"x / 1", b.Binary(FDiv, x, f(1), 0), true},
		{"- - x", b.FNeg(b.FNeg(x)), true},
	} {
		if (c.got == x) != c.same {
			t.Errorf("%s gives %s", c.name, c.got)
		}
	}
}

func ExampleBuilder() {
	m := NewModule("example", "", "")
	f := m.NewFunc("f", false, I32, I32, I32)
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	tid, row := f.Param(0), b.Shl(f.Param(1), 10)
	f.AssumeZeroBits(tid, ^uint64(255))
	var sum Value = m.I32(0)
	for i := range 3 {
		sum = b.Xor(sum, b.Add(b.Add(tid, m.I32(256*i)), row))
	}
	b.Ret(sum)
	fmt.Print(string(m.Print()))
	// Output:
	// source_filename = "example"
	//
	// define i32 @f(i32 %0, i32 %1) {
	//   %3 = shl i32 %1, 10
	//   %4 = or disjoint i32 %0, %3
	//   %5 = or disjoint i32 %4, 256
	//   %6 = xor i32 %4, %5
	//   %7 = or disjoint i32 %4, 512
	//   %8 = xor i32 %6, %7
	//   ret i32 %8
	// }
}

// TestWideIntegers: the high half of a product of 64 bits, by a constant too.
func TestWideIntegers(t *testing.T) {
	m := NewModule("test", "", "")
	wide := IntN(128)
	f := m.NewFunc("f", false, I64, I64)
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	p := b.Mul(b.Resize(f.Param(0), wide, false), b.Resize(m.I64(-3), wide, false))
	b.Ret(b.Trunc(b.LShr(p, 64), I64))
	text := string(m.Print())
	for _, want := range []string{"zext i64 -3 to i128", "mul i128 ", "lshr i128 %4, 64", "to i64"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if s := m.Int(wide, 5).String(); s != "i128 5" {
		t.Errorf("a constant is %s", s)
	}
}
