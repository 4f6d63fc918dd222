package simt

// haveSums says whether mmaSums exists on this machine: it needs AVX2. have512
// says that it has the parts of AVX-512 that processors for servers have had from
// the first.
var (
	haveSums = hasAVX2()
	have512  = haveSums && hasAVX512()
)

// hasAVX2 and hasAVX512 ask the processor and the operating system.
func hasAVX2() bool
func hasAVX512() bool

// mmaSums computes the aligned sums of a 16×8 tile (see alignBits); it is
// alignedSums and cut32 in vectors. Where an accumulator is infinite or a NaN, or a
// result is subnormal or as great as can be, it sets bad and leaves d alone. No
// operand may be wide, infinite or a NaN.
//
// A product of two elements is exact in a float32, and so is its multiple by the
// power of two that makes 2^(top - alignBits) one; converting that to an integer
// is the cut. Sixteen products are below 2^27 each and their sum in an integer is
// exact; with c, in doubles, too.
func mmaSums(args *mmaArgs) {
	if have512 {
		sums512(args)
	} else {
		sums256(args)
	}
}

//go:noescape
func sums256(args *mmaArgs)

//go:noescape
func sums512(args *mmaArgs)

// decodeArgs describes the registers of an operand; the assembly knows where its
// fields are.
type decodeArgs struct {
	raw           *[4][mmaLanes]uint32
	val           *[widthA * stepK]float32
	exp           *[widthA * stepK]int32
	regs, width   int64
	kind          int64 // 0 for F16, 1 for BF16, 2 for TF32
	special, wide int64 // not zero where there are such elements
	_             [4 * mmaLanes]uint32
}

//go:noescape
func decode512(args *decodeArgs)

// wordsArgs describes one register of an operand.
type wordsArgs struct {
	raw    *[mmaLanes]uint32
	val    *float32
	exp    *int32
	stride int64 // bytes from one k to the next
	kind   int64 // as of decodeArgs
	// special and wide become other than zero where there are such elements.
	special, wide int64
}

//go:noescape
func decode256(args *wordsArgs)

// decodeInVectors is decodeOneByOne for the types of 16 and 32 bits; it reports
// whether this machine can.
func (f *fragment) decodeInVectors(width int) bool {
	if !haveSums || f.ty.Bits() == 8 {
		return false
	}
	kind := int64(0)
	switch f.ty {
	case BF16:
		kind = 1
	case TF32:
		kind = 2
	}
	if !have512 {
		return f.decodeWords(width, kind)
	}
	args := decodeArgs{raw: &f.raw, val: &f.steps[0].val, exp: &f.steps[0].exp, regs: int64(f.regs), width: int64(width), kind: kind}
	decode512(&args)
	f.special, f.wide = args.special != 0, args.wide != 0
	return true
}

// decodeWords is decodeInVectors with AVX2. Infinities and NaNs are not for it.
func (f *fragment) decodeWords(width int, kind int64) bool {
	args := wordsArgs{stride: int64(4 * width), kind: kind}
	el, per := &f.steps[0], 32/f.ty.Bits()
	for r := range f.regs {
		at := 4 * per * r * widthB
		if width == widthA {
			at = 4*per*(r>>1)*widthA + 8*(r&1)
		}
		args.raw, args.val, args.exp = &f.raw[r], &el.val[at], &el.exp[at]
		decode256(&args)
	}
	f.special, f.wide = false, args.wide != 0
	return args.special == 0
}
