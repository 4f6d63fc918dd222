package simt

import (
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// TestSpread executes instructions whose operands have undefined bits, with another
// choice of these bits in every lane. A bit of the result that differs between lanes
// must count as undefined; where bits are only moved or combined one by one, each
// undefined bit must also differ somewhere.
func TestSpread(t *testing.T) {
	const lanes, rounds = 64, 200
	insts := []struct {
		in    Inst
		exact bool
		small bool // B and C are small and defined: amounts, positions, selectors
	}{
		{in: Inst{Op: OpMov, Type: B32}, exact: true},
		{in: Inst{Op: OpMov, Type: B64}, exact: true},
		{in: Inst{Op: OpAnd, Type: B32}, exact: true},
		{in: Inst{Op: OpOr, Type: B32}, exact: true},
		{in: Inst{Op: OpXor, Type: B32}, exact: true},
		{in: Inst{Op: OpNot, Type: B32}, exact: true},
		{in: Inst{Op: OpAnd, Type: B64}, exact: true},
		{in: Inst{Op: OpOr, Type: B64}, exact: true},
		{in: Inst{Op: OpXor, Type: B64}, exact: true},
		{in: Inst{Op: OpLop3, Type: B32, Imm: 0xe2}, exact: true},
		{in: Inst{Op: OpLop3, Type: B32, Imm: 0x96}, exact: true},
		{in: Inst{Op: OpLop3, Type: B32, Imm: 0xf8}, exact: true},
		{in: Inst{Op: OpShl, Type: B32}, exact: true, small: true},
		{in: Inst{Op: OpShr, Type: U32}, exact: true, small: true},
		{in: Inst{Op: OpShr, Type: S32}, exact: true, small: true},
		{in: Inst{Op: OpShl, Type: B64}, exact: true, small: true},
		{in: Inst{Op: OpShr, Type: U64}, exact: true, small: true},
		{in: Inst{Op: OpShr, Type: S64}, exact: true, small: true},
		{in: Inst{Op: OpShl, Type: B16}, exact: true, small: true},
		{in: Inst{Op: OpShr, Type: S16}, exact: true, small: true},
		{in: Inst{Op: OpShf, Type: B32}, exact: true},
		{in: Inst{Op: OpShf, Type: B32, Flags: FlagLeft | FlagClamp}, exact: true},
		{in: Inst{Op: OpPrmt, Type: B32}, exact: true},
		{in: Inst{Op: OpPrmt, Type: B32, Imm: PrmtRC16}, exact: true},
		{in: Inst{Op: OpBfe, Type: U32}, exact: true, small: true},
		{in: Inst{Op: OpBfe, Type: S32}, exact: true, small: true},
		{in: Inst{Op: OpBfe, Type: S64}, exact: true, small: true},
		{in: Inst{Op: OpBfi, Type: B32}, exact: true},
		{in: Inst{Op: OpBfi, Type: B64}, exact: true},
		{in: Inst{Op: OpBrev, Type: B32}, exact: true},
		{in: Inst{Op: OpBrev, Type: B64}, exact: true},
		{in: Inst{Op: OpPack, Type: B32}, exact: true},
		{in: Inst{Op: OpPack, Type: B64}, exact: true},
		{in: Inst{Op: OpUnpack, Type: B32}, exact: true},
		{in: Inst{Op: OpUnpack, Type: B64}, exact: true},
		{in: Inst{Op: OpSelp, Type: B32}, exact: true},
		{in: Inst{Op: OpSlct, Type: B32, From: S32}},
		{in: Inst{Op: OpAdd, Type: U32}},
		{in: Inst{Op: OpSub, Type: S32}},
		{in: Inst{Op: OpMul, Type: U32}},
		{in: Inst{Op: OpMul, Type: U32, Flags: FlagHi}},
		{in: Inst{Op: OpMul, Type: S32, Flags: FlagWide}},
		{in: Inst{Op: OpMad, Type: U32}},
		{in: Inst{Op: OpMad, Type: U32, Flags: FlagWide}},
		{in: Inst{Op: OpAdd, Type: S32, Flags: FlagSat}},
		{in: Inst{Op: OpAdd, Type: U64}},
		{in: Inst{Op: OpMad, Type: S64}},
		{in: Inst{Op: OpAdd, Type: U16}},
		{in: Inst{Op: OpMul, Type: S16}},
		{in: Inst{Op: OpMul, Type: S16, Flags: FlagWide}},
		{in: Inst{Op: OpMin, Type: S16}},
		{in: Inst{Op: OpNeg, Type: S32}},
		{in: Inst{Op: OpMax, Type: U32}},
		{in: Inst{Op: OpSad, Type: U32}},
		{in: Inst{Op: OpAdd, Type: F32}},
		{in: Inst{Op: OpFma, Type: F16}},
		{in: Inst{Op: OpFma, Type: F16x2}},
		{in: Inst{Op: OpAdd, Type: BF16x2}},
		{in: Inst{Op: OpMax, Type: S16x2}},
		{in: Inst{Op: OpFma, Type: F64}},
		{in: Inst{Op: OpPopc, Type: B32}},
		{in: Inst{Op: OpClz, Type: B64}},
		{in: Inst{Op: OpDp4a, Type: S32, From: S32}},
		{in: Inst{Op: OpCvt, Type: U32, From: U8}, exact: true},
		{in: Inst{Op: OpCvt, Type: S32, From: S8}, exact: true},
		{in: Inst{Op: OpCvt, Type: U16, From: U32}, exact: true},
		{in: Inst{Op: OpCvt, Type: S8, From: S32, Size: 16}, exact: true},
		{in: Inst{Op: OpCvt, Type: S64, From: S32}, exact: true},
		{in: Inst{Op: OpCvt, Type: U32, From: U64}, exact: true},
		{in: Inst{Op: OpCvt, Type: U8, From: S32, Flags: FlagSat}},
		{in: Inst{Op: OpCvt, Type: F32, From: F16}},
		{in: Inst{Op: OpCvt, Type: F16, From: F32}},
		{in: Inst{Op: OpCvt, Type: F32, From: S8}},
		{in: Inst{Op: OpCvt, Type: S32, From: F64}},
		{in: Inst{Op: OpCvt, Type: F16x2, From: F32}},
		{in: Inst{Op: OpCvt, Type: E4M3x2, From: F32, Flags: FlagFinite}},
		{in: Inst{Op: OpCvt, Type: F16x2, From: E4M3x2}},
		{in: Inst{Op: OpCvt, Type: E5M2x2, From: F16x2, Flags: FlagFinite}},
		{in: Inst{Op: OpCvtPack, Type: U8, From: S32, Flags: FlagSat}},
		{in: Inst{Op: OpSetp, Type: S32, Cmp: CmpLT}},
		{in: Inst{Op: OpSetp, Type: B16, Cmp: CmpEQ}},
		{in: Inst{Op: OpSetp, Type: F16x2, Cmp: CmpLT}},
		{in: Inst{Op: OpSet, Type: F16x2, From: F16x2, Cmp: CmpGE}},
		{in: Inst{Op: OpSet, Type: U32, From: U64, Cmp: CmpGE}},
	}
	r := rand.New(rand.NewPCG(testseed.Seed(), 9))
	for i := range insts {
		c := &insts[i]
		in := c.in
		in.Text = opName(&in)
		operands(&in)
		p := &Program{NumP: 8, Num32: 12, Num64: 12, Code: []Inst{in}}
		l := &Loaded{prog: p, lanes: lanes, code: make([]step, 1)}
		if err := l.bind(&l.code[0], &p.Code[0]); err != nil {
			t.Errorf("%s: %v", in.Text, err)
			continue
		}
		s := &l.code[0]
		w := &warp{
			n: lanes, full: fullMask(lanes), cta: &cta{prog: p}, p: make([]uint64, p.NumP+1),
			r32: make([]uint32, (p.Num32+1)*lanes), r64: make([]uint64, (p.Num64+1)*lanes),
			t32: make([]uint32, lanes), t64: make([]uint64, lanes), words: make([]uint64, lanes), offs: make([]int, lanes),
			check: newWarpCheck(p, lanes),
		}
		sources := append([]Reg{in.A, in.B, in.C}, in.Regs...)
		results := append([]Reg{in.D}, in.Dsts...)
		for range rounds {
			for k, reg := range sources {
				u := r.Uint64() & r.Uint64()
				switch r.IntN(4) {
				case 0:
					u = 0
				case 1:
					u = 0xff << (8 * r.IntN(8))
				}
				v := r.Uint64()
				if amount := k > 0 && c.small || in.Op == OpBfi && k >= 2 || (in.Op == OpShf || in.Op == OpPrmt) && k == 2; amount {
					u = 0
					if in.Op != OpPrmt {
						v = uint64(r.IntN(72))
					}
				}
				w.fillOperand(r, reg, v, u)
			}
			w.mask = w.full
			if w.part = r.IntN(2) == 0; w.part {
				w.mask &^= 1 << 17
			}
			w.doChecked(s, w.mask)
			for _, reg := range results {
				if reg == 0 {
					continue
				}
				at := place(p, reg)
				first := w.value(reg, l.offset(reg), 0)
				differ, undef := uint64(0), w.check.undefined(at, 0)
				for lane := range lanes {
					if w.mask>>lane&1 == 0 {
						continue
					}
					differ |= w.value(reg, l.offset(reg), lane) ^ first
					if u := w.check.undefined(at, lane); u != undef {
						t.Fatalf("%s: bits %x are undefined in lane 0, %x in lane %d", in.Text, undef, u, lane)
					}
				}
				if differ&^undef != 0 {
					t.Fatalf("%s: bits %x of register %x differ, but only %x count as undefined", in.Text, differ, reg, undef)
				}
				whole := allBits
				switch reg.Class() {
				case ClassP:
					whole = 1
				case Class32:
					whole = 1<<32 - 1
				}
				if c.exact && undef&whole&^differ != 0 {
					t.Fatalf("%s: bits %x of register %x count as undefined, but only %x differ", in.Text, undef&whole, reg, differ)
				}
			}
		}
	}
}

func opName(in *Inst) string {
	return map[Op]string{
		OpMov: "mov", OpAnd: "and", OpOr: "or", OpXor: "xor", OpNot: "not", OpLop3: "lop3", OpShl: "shl", OpShr: "shr", OpShf: "shf",
		OpPrmt: "prmt", OpBfe: "bfe", OpBfi: "bfi", OpBrev: "brev", OpPack: "pack", OpUnpack: "unpack", OpSelp: "selp", OpSlct: "slct",
		OpAdd: "add", OpSub: "sub", OpMul: "mul", OpMad: "mad", OpMin: "min", OpMax: "max", OpNeg: "neg", OpSad: "sad", OpFma: "fma",
		OpPopc: "popc", OpClz: "clz", OpDp4a: "dp4a", OpCvt: "cvt", OpCvtPack: "cvt.pack", OpSetp: "setp", OpSet: "set",
	}[in.Op] + "." + in.Type.String() + "." + in.From.String()
}

// operands gives an instruction registers of the classes that its types have.
func operands(in *Inst) {
	class := func(t Type) func(int) Reg {
		if t.Bits() == 64 {
			return r64
		}
		return r32
	}
	from := in.Type
	switch in.Op {
	case OpCvt, OpSet:
		from = in.From
	}
	src, dst := class(from), class(in.Type)
	if in.Flags&FlagWide != 0 && in.Type.Bits() == 32 {
		dst = r64
	}
	in.A, in.D = src(1), dst(0)
	switch in.Op {
	case OpPack:
		part := r32
		in.A, in.D = 0, dst(0)
		in.Regs = []Reg{part(1), part(2)}
	case OpUnpack:
		in.D = 0
		in.Dsts = []Reg{r32(8), r32(9)}
	case OpMov, OpNot, OpBrev, OpNeg:
	case OpPopc, OpClz:
		in.D = r32(0)
	case OpCvt:
		if in.Type == F16x2 && in.From == F32 || in.Type == E4M3x2 && in.From == F32 {
			in.B = r32(2)
		}
	case OpShl, OpShr:
		in.B = r32(2)
	case OpBfe:
		in.B, in.C = r32(2), r32(3)
	case OpBfi:
		in.B, in.C, in.Regs = src(2), r32(3), []Reg{r32(4)}
	case OpSelp:
		in.B, in.C = src(2), p1(1)
	case OpSetp:
		in.B, in.D, in.Dsts = src(2), p1(2), []Reg{p1(3)}
	case OpLop3, OpShf, OpPrmt, OpMad, OpSad, OpFma, OpDp4a, OpSlct, OpCvtPack:
		in.B, in.C = src(2), src(3)
		if in.Op == OpMad {
			in.C = dst(3)
		}
	default:
		in.B = src(2)
	}
}

// fillOperand gives a register value v in all lanes but for the bits of u, which are
// undefined and differ from lane to lane.
func (w *warp) fillOperand(r *rand.Rand, reg Reg, v, u uint64) {
	var undef [MaxLanes]uint64
	at := reg.Index() * w.n
	if reg.Class() == ClassP {
		w.p[reg.Index()] = -(v & 1)
	}
	for l := range w.n {
		x := v&^u | r.Uint64()&u
		switch {
		case reg.Class() == ClassP && u&1 != 0:
			w.p[reg.Index()] = w.p[reg.Index()]&^(1<<l) | x&1<<l
		case reg.Class() == Class32:
			w.r32[at+l] = uint32(x)
		case reg.Class() == Class64:
			w.r64[at+l] = x
		}
		undef[l] = u
	}
	if reg != 0 {
		w.check.setBits(place(w.cta.prog, reg), w.full, w.full, &undef)
	}
}
