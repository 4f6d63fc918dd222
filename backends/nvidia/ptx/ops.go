package ptx

// op is an operation. Those of the first group are about the form of a function;
// others are instructions of PTX, whose typ says of what.
type op uint8

const (
	opConst op = iota // a constant
	opSym             // the address of a variable
	opParam           // parameter imm, by ld.param
	opPhi
	opCopy
	opProj  // result imm of args[0], which has several
	opFrame // the address of local memory

	opAdd
	opSub
	opMul     // the low half of integers
	opMulHi   // the high half
	opMulWide // all of it, of integers of half the width
	opMad     // args[0]*args[1]+args[2], the low half of the product
	opMadWide
	opFma
	opDiv
	opRem
	opMin
	opMax
	opAbs
	opNeg
	opAnd
	opOr
	opXor
	opNot
	opShl
	opShr
	opShf  // funnel shift to the left: args[0] low, args[1] high
	opBfe  // args[1] position, args[2] length
	opPrmt // bytes of args[0], args[1] by the selector args[2]
	opSetp
	opSelp // args[0] where args[2], else args[1]
	opCvt  // an integer to an integer: from, typ
	opPack // a word of two halves, low first; or two words
	opSplit
	opInst // an instruction named by text
	opLd   // of args[0]+imm
	opSt   // of args[1:] to args[0]+imm
	opAtom
	opAsm
	opCall
	numOps
)

// opTable has the name of each operation and what is true of all its uses.
var opTable = [numOps]struct {
	name  string
	flags flags
	// commutes: the first two operands may change places.
	commutes bool
}{
	opConst: {"const", pure, false}, opSym: {"sym", pure, false}, opParam: {"param", pure, false},
	opPhi: {"phi", 0, false}, opCopy: {"mov", pure, false}, opProj: {"proj", 0, false}, opFrame: {"frame", pure, false},
	opAdd: {"add", pure, true}, opSub: {"sub", pure, false}, opMul: {"mul", pure, true},
	opMulHi: {"mul.hi", pure, true}, opMulWide: {"mul.wide", pure, true},
	opMad: {"mad.lo", pure, true}, opMadWide: {"mad.wide", pure, true}, opFma: {"fma.rn", pure, true},
	opDiv: {"div", pure, false}, opRem: {"rem", pure, false}, opMin: {"min", pure, true}, opMax: {"max", pure, true},
	opAbs: {"abs", pure, false}, opNeg: {"neg", pure, false},
	opAnd: {"and", pure, true}, opOr: {"or", pure, true}, opXor: {"xor", pure, true}, opNot: {"not", pure, false},
	opShl: {"shl", pure, false}, opShr: {"shr", pure, false}, opShf: {"shf.l.wrap", pure, false},
	opBfe: {"bfe", pure, false}, opPrmt: {"prmt", pure, false},
	opSetp: {"setp", pure, false}, opSelp: {"selp", pure, false}, opCvt: {"cvt", pure, false},
	opPack: {"pack", pure, false}, opSplit: {"split", pure, false},
	opInst: {"inst", 0, false}, opLd: {"ld", reads, false}, opSt: {"st", 0, false},
	opAtom: {"atom", 0, false}, opAsm: {"asm", 0, false}, opCall: {"call", 0, false},
}

// cmp is a comparison of setp.
type cmp uint8

const (
	cmpNone cmp = iota
	cmpEQ
	cmpNE
	cmpLT
	cmpLE
	cmpGT
	cmpGE
	cmpEQU // or a NaN is among them
	cmpNEU
	cmpLTU
	cmpLEU
	cmpGTU
	cmpGEU
	cmpNum // neither is a NaN
	cmpNaN
)

var cmpNames = [...]string{"", "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}

// inverse is the comparison of which exactly one of the two holds.
func (c cmp) inverse(float bool) cmp {
	if !float {
		return [...]cmp{cmpNone, cmpNE, cmpEQ, cmpGE, cmpGT, cmpLE, cmpLT}[c]
	}
	return [...]cmp{
		cmpNone, cmpNEU, cmpEQU, cmpGEU, cmpGTU, cmpLEU, cmpLTU,
		cmpNE, cmpEQ, cmpGE, cmpGT, cmpLE, cmpLT, cmpNaN, cmpNum,
	}[c]
}

// swapped is the comparison of the same operands the other way round.
func (c cmp) swapped() cmp {
	switch c {
	case cmpLT:
		return cmpGT
	case cmpLE:
		return cmpGE
	case cmpGT:
		return cmpLT
	case cmpGE:
		return cmpLE
	case cmpLTU:
		return cmpGTU
	case cmpLEU:
		return cmpGEU
	case cmpGTU:
		return cmpLTU
	case cmpGEU:
		return cmpLEU
	}
	return c
}
