package simt

// chooseSet executes setp (a predicate) and set (a register).
func chooseSet(in *Inst) (execFunc, Class) {
	t := in.Type
	if in.Op == OpSet {
		t = in.From
	}
	cmp := chooseCompare(in, t)
	if cmp == nil {
		return nil, ClassNone
	}
	if t == F16x2 || t == BF16x2 {
		return choosePairSet(in, t)
	}
	combine := func(w *warp, s *step, v uint64) uint64 {
		if in.Bool == BoolNone {
			return v
		}
		p := w.p[s.c]
		if in.Flags&FlagPredNot != 0 {
			p = ^p
		}
		switch in.Bool {
		case BoolAnd:
			return v & p
		case BoolOr:
			return v | p
		}
		return v ^ p
	}
	if in.Op == OpSetp {
		second := len(in.Dsts) > 0
		if in.Bool == BoolNone && !second {
			return func(w *warp, s *step) { w.setP(s.d, cmp(w, s)) }, ClassNone
		}
		return func(w *warp, s *step) {
			v := cmp(w, s)
			p, q := combine(w, s, v), uint64(0)
			if second {
				q = combine(w, s, ^v)
			}
			w.setP(s.d, p)
			if second {
				w.setP(s.ds[0], q)
			}
		}, ClassNone
	}
	yes := ^uint32(0)
	switch in.Type {
	case F32:
		yes = 0x3f800000
	case F16:
		yes = 0x3c00
	case BF16:
		yes = 0x3f80
	}
	return func(w *warp, s *step) {
		v := combine(w, s, cmp(w, s))
		d := w.d32(s)
		for i := range d {
			d[i] = 0
			if v>>i&1 != 0 {
				d[i] = yes
			}
		}
	}, Class32
}

// compareFunc compares a step's operands in all lanes.
type compareFunc func(w *warp, s *step) uint64

// chooseCompare returns the comparison of A and B as a predicate of all lanes.
func chooseCompare(in *Inst, t Type) compareFunc {
	switch t {
	case S32, U32, B32:
		return compare32(in.Cmp, t == S32)
	case S64, U64, B64:
		return compare64(in.Cmp, t == S64)
	case S16, U16, B16:
		return compare16(in.Cmp, t == S16)
	case F32:
		return compareF32(in)
	case F64:
		return func(w *warp, s *step) uint64 {
			var v uint64
			a, b := w.u64(s.a), w.u64(s.b)
			for i := range a {
				if holds(in.Cmp, f64(a[i]), f64(b[i])) {
					v |= 1 << i
				}
			}
			return v
		}
	case F16, BF16, F16x2, BF16x2:
		return func(w *warp, s *step) uint64 {
			var v uint64
			a, b := w.u32(s.a), w.u32(s.b)
			for i := range a {
				if holds(in.Cmp, float64(halfArg(in, t, a[i])), float64(halfArg(in, t, b[i]))) {
					v |= 1 << i
				}
			}
			return v
		}
	}
	return nil
}

func halfArg(in *Inst, t Type, v uint32) float32 {
	x := halfValue(t, v)
	if in.Flags&FlagFTZ != 0 && (t == F16 || t == F16x2) && v&0x7c00 == 0 {
		return 0
	}
	return x
}

// holds evaluates a floating-point comparison.
func holds(c Cmp, x, y float64) bool {
	switch c {
	case CmpEQ:
		return x == y
	case CmpNE:
		return x < y || x > y
	case CmpLT:
		return x < y
	case CmpLE:
		return x <= y
	case CmpGT:
		return x > y
	case CmpGE:
		return x >= y
	case CmpEQU:
		return !(x < y || x > y)
	case CmpNEU:
		return x != y
	case CmpLTU:
		return !(x >= y)
	case CmpLEU:
		return !(x > y)
	case CmpGTU:
		return !(x <= y)
	case CmpGEU:
		return !(x < y)
	case CmpNum:
		return x == x && y == y
	case CmpNaN:
		return x != x || y != y
	}
	panic("BUG: unknown comparison")
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func compareF32(in *Inst) compareFunc {
	c := in.Cmp
	ftz := in.Flags&FlagFTZ != 0
	return func(w *warp, s *step) uint64 {
		var v uint64
		a, b := w.u32(s.a), w.u32(s.b)
		b = b[:len(a)]
		switch {
		case ftz:
			for i := range a {
				v |= bit(holds(c, float64(f32(flush32(a[i]))), float64(f32(flush32(b[i]))))) << i
			}
		case c == CmpLT:
			for i := range a {
				v |= bit(f32(a[i]) < f32(b[i])) << i
			}
		case c == CmpGT:
			for i := range a {
				v |= bit(f32(a[i]) > f32(b[i])) << i
			}
		case c == CmpEQ:
			for i := range a {
				v |= bit(f32(a[i]) == f32(b[i])) << i
			}
		default:
			for i := range a {
				v |= bit(holds(c, float64(f32(a[i])), float64(f32(b[i])))) << i
			}
		}
		return v
	}
}

// compare32 compares integers; lo, ls, hi and hs of PTX are LT to GE of an
// unsigned type.
func compare32(c Cmp, signed bool) compareFunc {
	flip := uint32(0)
	if signed {
		flip = 1 << 31 // orders signed values as unsigned ones
	}
	return func(w *warp, s *step) uint64 {
		var v uint64
		a, b := w.u32(s.a), w.u32(s.b)
		b = b[:len(a)]
		switch c {
		case CmpEQ:
			for i := range a {
				v |= bit(a[i] == b[i]) << i
			}
		case CmpNE:
			for i := range a {
				v |= bit(a[i] != b[i]) << i
			}
		case CmpLT:
			for i := range a {
				v |= bit(a[i]^flip < b[i]^flip) << i
			}
		case CmpLE:
			for i := range a {
				v |= bit(a[i]^flip <= b[i]^flip) << i
			}
		case CmpGT:
			for i := range a {
				v |= bit(a[i]^flip > b[i]^flip) << i
			}
		case CmpGE:
			for i := range a {
				v |= bit(a[i]^flip >= b[i]^flip) << i
			}
		default:
			panic("BUG: unordered comparison of integers")
		}
		return v
	}
}

func compare64(c Cmp, signed bool) compareFunc {
	flip := uint64(0)
	if signed {
		flip = 1 << 63
	}
	return func(w *warp, s *step) uint64 {
		var v uint64
		a, b := w.u64(s.a), w.u64(s.b)
		b = b[:len(a)]
		for i := range a {
			v |= bit(ordered(c, a[i]^flip, b[i]^flip)) << i
		}
		return v
	}
}

func compare16(c Cmp, signed bool) compareFunc {
	flip := uint64(0)
	if signed {
		flip = 1 << 15
	}
	return func(w *warp, s *step) uint64 {
		var v uint64
		a, b := w.u32(s.a), w.u32(s.b)
		b = b[:len(a)]
		for i := range a {
			v |= bit(ordered(c, uint64(a[i]&0xffff)^flip, uint64(b[i]&0xffff)^flip)) << i
		}
		return v
	}
}

func ordered(c Cmp, a, b uint64) bool {
	switch c {
	case CmpEQ:
		return a == b
	case CmpNE:
		return a != b
	case CmpLT:
		return a < b
	case CmpLE:
		return a <= b
	case CmpGT:
		return a > b
	case CmpGE:
		return a >= b
	}
	panic("BUG: unordered comparison of integers")
}

// choosePairSet compares packed halves: setp writes one predicate per element,
// set a half of the result an element.
func choosePairSet(in *Inst, t Type) (execFunc, Class) {
	both := func(w *warp, s *step) (lo, hi uint64) {
		a, b := w.u32(s.a), w.u32(s.b)
		for i := range a {
			x, y := float64(halfArg(in, t, a[i]&0xffff)), float64(halfArg(in, t, b[i]&0xffff))
			lo |= bit(holds(in.Cmp, x, y)) << i
			x, y = float64(halfArg(in, t, a[i]>>16)), float64(halfArg(in, t, b[i]>>16))
			hi |= bit(holds(in.Cmp, x, y)) << i
		}
		if in.Bool == BoolNone {
			return lo, hi
		}
		p := w.p[s.c]
		if in.Flags&FlagPredNot != 0 {
			p = ^p
		}
		switch in.Bool {
		case BoolAnd:
			return lo & p, hi & p
		case BoolOr:
			return lo | p, hi | p
		}
		return lo ^ p, hi ^ p
	}
	if in.Op == OpSetp {
		return func(w *warp, s *step) {
			lo, hi := both(w, s)
			w.setP(s.d, lo)
			if len(s.ds) > 0 {
				w.setP(s.ds[0], hi)
			}
		}, ClassNone
	}
	yes := uint32(0xffff)
	switch in.Type {
	case F16x2:
		yes = 0x3c00
	case BF16x2:
		yes = 0x3f80
	}
	return func(w *warp, s *step) {
		lo, hi := both(w, s)
		d := w.d32(s)
		for i := range d {
			d[i] = yes*uint32(lo>>i&1) | yes<<16*uint32(hi>>i&1)
		}
	}, Class32
}
