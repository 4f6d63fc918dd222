package simt

// choose returns the function that executes in, and the class of D where the
// function writes all lanes of it (see step.out). A nil function means that
// there is no such operation.
func choose(in *Inst) (execFunc, Class) {
	switch in.Op {
	case OpMov, OpPack, OpUnpack, OpSelp, OpSlct:
		return chooseMove(in)
	case OpAdd, OpSub, OpMul, OpMad, OpMul24, OpMad24, OpFma, OpDiv, OpRem, OpAbs, OpNeg, OpMin, OpMax,
		OpMin3, OpMax3, OpSad, OpCopysign, OpTestp:
		switch in.Type {
		case F32:
			return chooseF32(in)
		case F64:
			return chooseF64(in)
		case F16, BF16, F16x2, BF16x2:
			return chooseHalf(in)
		}
		return chooseInt(in)
	case OpAnd, OpOr, OpXor, OpNot, OpCnot, OpShl, OpShr, OpShf, OpLop3, OpPrmt:
		return chooseLogic(in)
	case OpBfe, OpBfi, OpBfind, OpBrev, OpPopc, OpClz, OpFns, OpDp4a, OpDp2a, OpBmsk, OpSzext:
		return chooseBits(in)
	case OpSetp, OpSet:
		return chooseSet(in)
	case OpCvt, OpCvtPack:
		return chooseCvt(in)
	case OpEx2, OpLg2, OpRcp, OpSqrt, OpRsqrt, OpSin, OpCos, OpTanh:
		return chooseApprox(in)
	case OpLd:
		return execLd, ClassNone
	case OpSt:
		return execSt, ClassNone
	case OpAtom, OpRed:
		return chooseAtom(in)
	case OpCvta:
		return execCvta, in.D.Class()
	case OpWavefront:
		return execWavefront, ClassNone
	case OpMapa:
		return execMapa, in.D.Class()
	case OpCtaRank:
		return execCtaRank, Class32
	case OpIsSpace:
		return execIsSpace, ClassNone
	case OpPrefetch, OpNop, OpNanosleep, OpWarpSync:
		return execNothing, ClassNone
	case OpLdMatrix, OpStMatrix:
		return execMatrixMove, ClassNone
	case OpCpAsync:
		return execCpAsync, ClassNone
	case OpCpCommit:
		return execCpCommit, ClassNone
	case OpCpWait:
		return execCpWait, ClassNone
	case OpShfl:
		return execShfl, ClassNone
	case OpVote:
		return execVote, ClassNone
	case OpMatch:
		return execMatch, ClassNone
	case OpRedux:
		return chooseRedux(in)
	case OpElect:
		return execElect, ClassNone
	case OpActive:
		return execActive, Class32
	case OpMma:
		return chooseMma(in)
	case OpMbarrier:
		return execMbarrier, ClassNone
	case OpFence:
		return execFence, ClassNone
	case OpBulkCommit:
		return execBulkCommit, ClassNone
	case OpBulkWait:
		return execBulkWait, ClassNone
	case OpBulk:
		return execBulk, ClassNone
	case OpCopyMap:
		return execCopyMap, ClassNone
	case OpMapFence:
		return execMapFence, ClassNone
	case OpWgmma:
		return chooseWgmma(in)
	case OpDotFence:
		return execDotFence, ClassNone
	case OpDotCommit:
		return execDotCommit, ClassNone
	case OpDotWait:
		return execDotWait, ClassNone
	case OpTrap:
		return execTrap, ClassNone
	case OpBrkpt:
		return execNothing, ClassNone
	case OpCallExt:
		return chooseHost(in)
	case OpCopyFrame:
		return func(w *warp, s *step) { w.copyParams(s, w.mask) }, ClassNone
	case OpClock:
		return execClock, in.D.Class()
	}
	return nil, ClassNone
}

// execNothing executes hints, and what the order of execution does already.
func execNothing(*warp, *step) {}

func execClock(w *warp, s *step) {
	if s.out == Class64 {
		d := w.d64(s)
		for i := range d {
			d[i] = w.steps
		}
		return
	}
	d := w.d32(s)
	for i := range d {
		d[i] = uint32(w.steps)
	}
}

func chooseMove(in *Inst) (execFunc, Class) {
	switch in.Op {
	case OpMov:
		switch in.D.Class() {
		case ClassP:
			return func(w *warp, s *step) { w.setP(s.d, w.p[s.a]) }, ClassNone
		case Class32:
			return func(w *warp, s *step) { copy(w.d32(s), w.u32(s.a)) }, Class32
		case Class64:
			return func(w *warp, s *step) { copy(w.d64(s), w.u64(s.a)) }, Class64
		}
	case OpPack:
		return choosePack(in)
	case OpUnpack:
		return chooseUnpack(in)
	case OpSelp:
		switch in.D.Class() {
		case Class32:
			return func(w *warp, s *step) {
				d, a, b, p := w.d32(s), w.u32(s.a), w.u32(s.b), w.p[s.c]
				a, b = a[:len(d)], b[:len(d)]
				for i := range d {
					v := b[i]
					if p>>i&1 != 0 {
						v = a[i]
					}
					d[i] = v
				}
			}, Class32
		case Class64:
			return func(w *warp, s *step) {
				d, a, b, p := w.d64(s), w.u64(s.a), w.u64(s.b), w.p[s.c]
				a, b = a[:len(d)], b[:len(d)]
				for i := range d {
					v := b[i]
					if p>>i&1 != 0 {
						v = a[i]
					}
					d[i] = v
				}
			}, Class64
		}
	case OpSlct:
		// The selector is s32 or f32 (From); a float's NaN selects B, -0 selects A.
		float := in.From == F32
		ftz := in.Flags&FlagFTZ != 0
		first := func(c uint32) bool {
			if !float {
				return int32(c) >= 0
			}
			if ftz {
				c = flush32(c)
			}
			return f32(c) >= 0
		}
		if in.D.Class() == Class32 {
			return func(w *warp, s *step) {
				d, a, b, c := w.d32(s), w.u32(s.a), w.u32(s.b), w.u32(s.c)
				for i := range d {
					if first(c[i]) {
						d[i] = a[i]
					} else {
						d[i] = b[i]
					}
				}
			}, Class32
		}
		return func(w *warp, s *step) {
			d, a, b, c := w.d64(s), w.u64(s.a), w.u64(s.b), w.u32(s.c)
			for i := range d {
				if first(c[i]) {
					d[i] = a[i]
				} else {
					d[i] = b[i]
				}
			}
		}, Class64
	}
	return nil, ClassNone
}

// choosePack joins the parts Regs, the lowest first, in D.
func choosePack(in *Inst) (execFunc, Class) {
	n := len(in.Regs)
	if in.D.Class() == Class64 && n == 2 {
		return func(w *warp, s *step) {
			d, lo, hi := w.d64(s), w.u32(s.rs[0]), w.u32(s.rs[1])
			lo, hi = lo[:len(d)], hi[:len(d)]
			for i := range d {
				d[i] = uint64(lo[i]) | uint64(hi[i])<<32
			}
		}, Class64
	}
	if in.D.Class() == Class64 {
		width := 64 / n
		return func(w *warp, s *step) {
			d := w.d64(s)
			for i := range d {
				var v uint64
				for k, r := range s.rs {
					v |= uint64(w.r32[int(r)+i]) << (k * width)
				}
				d[i] = v
			}
		}, Class64
	}
	width := in.Type.Bits() / n
	if width == 16 && n == 2 {
		return func(w *warp, s *step) {
			d, lo, hi := w.d32(s), w.u32(s.rs[0]), w.u32(s.rs[1])
			lo, hi = lo[:len(d)], hi[:len(d)]
			for i := range d {
				d[i] = lo[i]&0xffff | hi[i]<<16
			}
		}, Class32
	}
	return func(w *warp, s *step) {
		d := w.d32(s)
		for i := range d {
			var v uint32
			for k, r := range s.rs {
				v |= w.r32[int(r)+i] & (1<<width - 1) << (k * width)
			}
			d[i] = v
		}
	}, Class32
}

// chooseUnpack cuts A into the parts Dsts. The parts are taken before any is
// written: a destination may be the source itself.
func chooseUnpack(in *Inst) (execFunc, Class) {
	n := len(in.Dsts)
	width := in.Type.Bits() / n
	wide := in.A.Class() == Class64
	return func(w *warp, s *step) {
		v := w.words
		if wide {
			copy(v, w.u64(s.a))
		} else {
			for i, x := range w.u32(s.a) {
				v[i] = uint64(x)
			}
		}
		mask := uint64(1)<<width - 1
		for k, r := range s.ds {
			if r < 0 {
				continue
			}
			d := w.u32(r)
			for i := range d {
				if w.mask>>i&1 != 0 {
					d[i] = uint32(v[i] >> (k * width) & mask)
				}
			}
		}
	}, ClassNone
}
