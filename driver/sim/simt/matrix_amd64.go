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

// decodeInVectors is decodeOneByOne for the types of 16 and 32 bits; it reports
// whether this machine can.
func (f *fragment) decodeInVectors(width int) bool {
	if !have512 || f.ty.Bits() == 8 {
		return false
	}
	args := decodeArgs{raw: &f.raw, val: &f.steps[0].val, exp: &f.steps[0].exp, regs: int64(f.regs), width: int64(width)}
	switch f.ty {
	case BF16:
		args.kind = 1
	case TF32:
		args.kind = 2
	}
	decode512(&args)
	f.special, f.wide = args.special != 0, args.wide != 0
	return true
}
