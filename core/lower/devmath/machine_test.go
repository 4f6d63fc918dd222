package devmath

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// machine runs the LLVM IR of one function, for one thread, quickly: the
// instructions are decoded once.
type machine struct {
	blocks []decoded
	regs   []word
	params []int
}

// word is a value of up to 128 bits.
type word struct{ lo, hi uint64 }

// compute gives an instruction's result.
type compute func(r []word) word

type step struct {
	dst int
	f   compute
}

type decoded struct {
	phis   []phi
	steps  []step
	next   func(r []word) int // number of the next block, -1 to return
	result int
}

type phi struct {
	dst  int
	from map[int]int // block number to register
}

// A decoder turns values into registers.
type decoder struct {
	m     *machine
	of    map[llir.Value]int
	fused bool
	muls  map[llir.Value]*ir.InstFMul
}

// compile decodes a function that returns a value. With fused, every product
// that meets a sum or difference is computed without being rounded, as an
// optimiser that may contract would have it.
func compile(f *llir.Func, fused bool) *machine {
	m := &machine{}
	d := &decoder{m, map[llir.Value]int{}, fused, map[llir.Value]*ir.InstFMul{}}
	for _, p := range f.IR.Params {
		m.params = append(m.params, d.reg(p))
	}
	number := map[*ir.Block]int{}
	for i, b := range f.IR.Blocks {
		number[b] = i
	}
	for _, b := range f.IR.Blocks {
		var out decoded
		for _, inst := range b.Insts {
			if p, ok := inst.(*ir.InstPhi); ok {
				from := map[int]int{}
				for _, in := range p.Incs {
					from[number[in.Pred.(*ir.Block)]] = d.reg(in.X)
				}
				out.phis = append(out.phis, phi{d.reg(p), from})
				continue
			}
			v := inst.(llir.Value)
			f := d.decode(inst)
			if w := llir.Width(v.Type()); w < 64 {
				g, mask := f, uint64(1)<<w-1
				f = func(r []word) word { return word{lo: g(r).lo & mask} }
			}
			out.steps = append(out.steps, step{d.reg(v), f})
		}
		switch t := b.Term.(type) {
		case *ir.TermRet:
			out.result = d.reg(t.X)
			out.next = func([]word) int { return -1 }
		case *ir.TermBr:
			to := number[t.Target.(*ir.Block)]
			out.next = func([]word) int { return to }
		case *ir.TermCondBr:
			c, yes, no := d.reg(t.Cond), number[t.TargetTrue.(*ir.Block)], number[t.TargetFalse.(*ir.Block)]
			out.next = func(r []word) int {
				if r[c].lo != 0 {
					return yes
				}
				return no
			}
		default:
			panic(fmt.Sprintf("the machine does not know %T", t))
		}
		m.blocks = append(m.blocks, out)
	}
	return m
}

// run computes the function of the given bits.
func (m *machine) run(args ...uint64) uint64 {
	for i, a := range args {
		m.regs[m.params[i]] = word{lo: a}
	}
	at, before := 0, -1
	var incoming [64]word
	for {
		b := &m.blocks[at]
		for i, p := range b.phis {
			incoming[i] = m.regs[p.from[before]]
		}
		for i, p := range b.phis {
			m.regs[p.dst] = incoming[i]
		}
		for i := range b.steps {
			s := &b.steps[i]
			m.regs[s.dst] = s.f(m.regs)
		}
		next := b.next(m.regs)
		if next < 0 {
			return m.regs[b.result].lo
		}
		at, before = next, at
	}
}

func (d *decoder) reg(v llir.Value) int {
	if i, ok := d.of[v]; ok {
		return i
	}
	var w word
	switch c := v.(type) {
	case *llir.Int:
		w.lo = c.Bits
	case *llir.Float:
		w.lo = c.Bits
	}
	d.m.regs = append(d.m.regs, w)
	d.of[v] = len(d.m.regs) - 1
	return d.of[v]
}

func single(x uint64) float32 { return math.Float32frombits(uint32(x)) }

// fma32 is x·y + z rounded once: the sum, which errs, is made odd before it is
// rounded again.
func fma32(x, y, z float32) float32 {
	p := float64(x) * float64(y) // exact
	s := p + float64(z)
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return float32(s)
	}
	v := s - p
	lost := (p - (s - v)) + (float64(z) - v)
	if lost != 0 && math.Float64bits(s)&1 == 0 {
		s = math.Nextafter(s, math.Inf(int(math.Copysign(1, lost))))
	}
	return float32(s)
}

// number makes a compute of up to three floats.
func number(t llir.Type, reg []int, f func(x, y, z float64) float64, g func(x, y, z float32) float32) compute {
	a, b, c := reg[0], reg[min(1, len(reg)-1)], reg[min(2, len(reg)-1)]
	if t == llir.F64 {
		return func(r []word) word {
			return word{lo: math.Float64bits(f(math.Float64frombits(r[a].lo), math.Float64frombits(r[b].lo), math.Float64frombits(r[c].lo)))}
		}
	}
	return func(r []word) word {
		return word{lo: uint64(math.Float32bits(g(single(r[a].lo), single(r[b].lo), single(r[c].lo))))}
	}
}

// narrow lifts a function of doubles that is right for floats too.
func narrow(f func(x, y, z float64) float64) func(x, y, z float32) float32 {
	return func(x, y, z float32) float32 { return float32(f(float64(x), float64(y), float64(z))) }
}

func (d *decoder) sum(t llir.Type, x, y llir.Value, minus bool) compute {
	sign := 1.0
	if minus {
		sign = -1
	}
	if m, ok := d.muls[x]; ok && d.fused {
		return number(t, []int{d.reg(m.X), d.reg(m.Y), d.reg(y)},
			func(a, b, c float64) float64 { return math.FMA(a, b, sign*c) },
			func(a, b, c float32) float32 { return fma32(a, b, float32(sign)*c) })
	}
	if m, ok := d.muls[y]; ok && d.fused {
		return number(t, []int{d.reg(m.X), d.reg(m.Y), d.reg(x)},
			func(a, b, c float64) float64 { return math.FMA(sign*a, b, c) },
			func(a, b, c float32) float32 { return fma32(float32(sign)*a, b, c) })
	}
	return number(t, []int{d.reg(x), d.reg(y)},
		func(a, b, _ float64) float64 { return a + sign*b },
		func(a, b, _ float32) float32 { return a + float32(sign)*b })
}

func (d *decoder) decode(inst ir.Instruction) compute {
	two := func(x, y llir.Value, f func(x, y uint64) uint64) compute {
		a, b := d.reg(x), d.reg(y)
		return func(r []word) word { return word{lo: f(r[a].lo, r[b].lo)} }
	}
	switch i := inst.(type) {
	case *ir.InstFAdd:
		return d.sum(i.Typ, i.X, i.Y, false)
	case *ir.InstFSub:
		return d.sum(i.Typ, i.X, i.Y, true)
	case *ir.InstFMul:
		d.muls[i] = i
		return number(i.Typ, []int{d.reg(i.X), d.reg(i.Y)},
			func(a, b, _ float64) float64 { return a * b }, func(a, b, _ float32) float32 { return a * b })
	case *ir.InstFDiv:
		return number(i.Typ, []int{d.reg(i.X), d.reg(i.Y)},
			func(a, b, _ float64) float64 { return a / b }, func(a, b, _ float32) float32 { return a / b })
	case *ir.InstFNeg:
		a, top := d.reg(i.X), uint64(1)<<(llir.Width(i.Typ)-1)
		return func(r []word) word { return word{lo: r[a].lo ^ top} }
	case *ir.InstAdd:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x + y })
	case *ir.InstSub:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x - y })
	case *ir.InstAnd:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x & y })
	case *llir.Or:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x | y })
	case *ir.InstXor:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x ^ y })
	case *ir.InstUDiv:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x / y })
	case *ir.InstMul:
		a, b := d.reg(i.X), d.reg(i.Y)
		return func(r []word) word { // of 128 bits only what was extended from 64 with zeros
			hi, lo := bits.Mul64(r[a].lo, r[b].lo)
			return word{lo, hi}
		}
	case *ir.InstShl:
		return two(i.X, i.Y, func(x, y uint64) uint64 { return x << y })
	case *ir.InstLShr:
		a, b := d.reg(i.X), d.reg(i.Y)
		return func(r []word) word {
			if r[b].lo == 64 {
				return word{lo: r[a].hi}
			}
			return word{lo: r[a].lo >> r[b].lo}
		}
	case *ir.InstAShr:
		s := 64 - llir.Width(i.Typ)
		return two(i.X, i.Y, func(x, y uint64) uint64 { return uint64(int64(x<<s) >> s >> y) })
	case *ir.InstSelect:
		c, x, y := d.reg(i.Cond), d.reg(i.ValueTrue), d.reg(i.ValueFalse)
		return func(r []word) word {
			if r[c].lo != 0 {
				return r[x]
			}
			return r[y]
		}
	case *ir.InstICmp:
		s := 64 - llir.Width(i.X.Type())
		p := i.Pred
		return two(i.X, i.Y, func(x, y uint64) uint64 { return flag(compareInts(p, x, y, s)) })
	case *ir.InstFCmp:
		p, a, b := i.Pred, d.reg(i.X), d.reg(i.Y)
		if i.X.Type() == llir.F64 {
			return func(r []word) word {
				return word{lo: flag(compareFloats(p, math.Float64frombits(r[a].lo), math.Float64frombits(r[b].lo)))}
			}
		}
		return func(r []word) word {
			return word{lo: flag(compareFloats(p, float64(single(r[a].lo)), float64(single(r[b].lo))))}
		}
	case *ir.InstCall:
		return d.call(i)
	case *ir.InstFreeze:
		a := d.reg(i.X)
		return func(r []word) word { return r[a] }
	}
	return d.conversion(inst)
}

func (d *decoder) conversion(inst ir.Instruction) compute {
	one := func(x llir.Value, f func(x uint64) uint64) compute {
		a := d.reg(x)
		return func(r []word) word { return word{lo: f(r[a].lo)} }
	}
	same := func(x uint64) uint64 { return x }
	fromFloat := func(x llir.Value, f func(float64) uint64) compute {
		if x.Type() == llir.F64 {
			return one(x, func(x uint64) uint64 { return f(math.Float64frombits(x)) })
		}
		return one(x, func(x uint64) uint64 { return f(float64(single(x))) })
	}
	switch i := inst.(type) {
	case *ir.InstBitCast:
		return one(i.From, same)
	case *llir.ZExt:
		return one(i.From, same)
	case *llir.Trunc:
		return one(i.From, same)
	case *ir.InstSExt:
		s := 64 - llir.Width(i.From.Type())
		return one(i.From, func(x uint64) uint64 { return uint64(int64(x<<s) >> s) })
	case *ir.InstFPExt:
		return one(i.From, func(x uint64) uint64 { return math.Float64bits(float64(single(x))) })
	case *ir.InstFPTrunc:
		return one(i.From, func(x uint64) uint64 { return uint64(math.Float32bits(float32(math.Float64frombits(x)))) })
	case *ir.InstFPToSI:
		w := llir.Width(i.To)
		return fromFloat(i.From, func(x float64) uint64 {
			if !(math.Abs(x) < math.Ldexp(1, w-1)) {
				return 0x5A5A5A5A5A5A5A5A // poison: anything
			}
			return uint64(int64(x))
		})
	case *ir.InstSIToFP:
		s := 64 - llir.Width(i.From.Type())
		if i.To == llir.F64 {
			return one(i.From, func(x uint64) uint64 { return math.Float64bits(float64(int64(x<<s) >> s)) })
		}
		return one(i.From, func(x uint64) uint64 { return uint64(math.Float32bits(float32(int64(x<<s) >> s))) })
	case *llir.UIToFPInst:
		if i.To == llir.F64 {
			return one(i.From, func(x uint64) uint64 { return math.Float64bits(float64(x)) })
		}
		return one(i.From, func(x uint64) uint64 { return uint64(math.Float32bits(float32(x))) })
	}
	panic(fmt.Sprintf("the machine does not know %T", inst))
}

func (d *decoder) call(c *ir.InstCall) compute {
	name := strings.Split(c.Callee.(*ir.Func).GlobalName, ".")[1]
	reg := make([]int, len(c.Args))
	for i, a := range c.Args {
		reg[i] = d.reg(a)
	}
	num := func(f func(x, y, z float64) float64) compute { return number(c.Typ, reg, f, narrow(f)) }
	switch name {
	case "fma":
		return number(c.Typ, reg, math.FMA, fma32)
	case "rint":
		return num(func(x, _, _ float64) float64 { return math.RoundToEven(x) })
	case "trunc":
		return num(func(x, _, _ float64) float64 { return math.Trunc(x) })
	case "fabs":
		return num(func(x, _, _ float64) float64 { return math.Abs(x) })
	case "copysign":
		return num(func(x, y, _ float64) float64 { return math.Copysign(x, y) })
	case "sqrt": // a double's root, rounded again, is a float's
		return num(func(x, _, _ float64) float64 { return math.Sqrt(x) })
	case "minimum":
		return num(func(x, y, _ float64) float64 { return math.Min(x, y) })
	case "maximum":
		return num(func(x, y, _ float64) float64 { return math.Max(x, y) })
	case "minnum", "maxnum":
		pick := math.Min
		if name == "maxnum" {
			pick = math.Max
		}
		return num(func(x, y, _ float64) float64 {
			switch {
			case x != x:
				return y
			case y != y:
				return x
			}
			return pick(x, y)
		})
	case "fshl":
		w := uint64(llir.Width(c.Typ))
		return func(r []word) word {
			s := r[reg[2]].lo % w
			if s == 0 {
				return r[reg[0]]
			}
			return word{lo: r[reg[0]].lo<<s | r[reg[1]].lo>>(w-s)}
		}
	case "smin":
		s := 64 - llir.Width(c.Typ)
		return func(r []word) word {
			if int64(r[reg[0]].lo<<s) < int64(r[reg[1]].lo<<s) {
				return r[reg[0]]
			}
			return r[reg[1]]
		}
	case "umin":
		return func(r []word) word { return word{lo: min(r[reg[0]].lo, r[reg[1]].lo)} }
	case "ctlz":
		w := llir.Width(c.Typ)
		return func(r []word) word { return word{lo: uint64(bits.LeadingZeros64(r[reg[0]].lo) - 64 + w)} }
	}
	panic("the machine does not know " + name)
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func compareInts(p enum.IPred, x, y uint64, s int) bool {
	sx, sy := int64(x<<s), int64(y<<s)
	switch p {
	case enum.IPredEQ:
		return x == y
	case enum.IPredNE:
		return x != y
	case enum.IPredULT:
		return x < y
	case enum.IPredUGT:
		return x > y
	case enum.IPredULE:
		return x <= y
	case enum.IPredUGE:
		return x >= y
	case enum.IPredSLT:
		return sx < sy
	case enum.IPredSGT:
		return sx > sy
	case enum.IPredSLE:
		return sx <= sy
	case enum.IPredSGE:
		return sx >= sy
	}
	panic("the machine does not know " + p.String())
}

func compareFloats(p enum.FPred, x, y float64) bool {
	unordered := x != x || y != y
	switch p {
	case enum.FPredOEQ:
		return x == y
	case enum.FPredUEQ:
		return unordered || x == y
	case enum.FPredOLT:
		return x < y
	case enum.FPredOGT:
		return x > y
	case enum.FPredOLE:
		return x <= y
	case enum.FPredOGE:
		return x >= y
	case enum.FPredUGE:
		return unordered || x >= y
	case enum.FPredUGT:
		return unordered || x > y
	case enum.FPredULT:
		return unordered || x < y
	case enum.FPredULE:
		return unordered || x <= y
	case enum.FPredONE:
		return !unordered && x != y
	case enum.FPredUNE:
		return x != y
	case enum.FPredUNO:
		return unordered
	case enum.FPredORD:
		return !unordered
	}
	panic("the machine does not know " + p.String())
}
