package simt

// MaxLanes is the greatest warp width: predicates are bits of a uint64.
const MaxLanes = 64

// Class is the register file of a register.
type Class uint8

const (
	ClassNone Class = iota
	ClassP          // one bit per lane
	Class32         // up to 32 bits a lane
	Class64         // 64 bits a lane
)

// Reg names a register: its class in the top bits, its index below. The zero
// Reg is "no register" (an unused operand or the sink "_").
type Reg uint32

const (
	regClassShift = 30
	regIndexMask  = 1<<regClassShift - 1
)

// MakeReg returns register index of class c.
func MakeReg(c Class, index int) Reg { return Reg(uint32(c)<<regClassShift | uint32(index)) }

// Class returns the register's file.
func (r Reg) Class() Class { return Class(r >> regClassShift) }

// Index returns the register's number in its file.
func (r Reg) Index() int { return int(r & regIndexMask) }

// Type is the type in which an instruction sees its operands.
type Type uint8

const (
	TypeNone Type = iota
	Pred
	B8
	B16
	B32
	B64
	B128
	U8
	U16
	U32
	U64
	S8
	S16
	S32
	S64
	F16
	BF16
	F32
	F64
	TF32
	F16x2
	BF16x2
	E4M3
	E5M2
	E4M3x2
	E5M2x2
	U16x2
	S16x2
	B1
	S4
	U4
)

var typeBits = [...]uint8{
	Pred: 1, B8: 8, B16: 16, B32: 32, B64: 64, B128: 128,
	U8: 8, U16: 16, U32: 32, U64: 64, S8: 8, S16: 16, S32: 32, S64: 64,
	F16: 16, BF16: 16, F32: 32, F64: 64, TF32: 32, F16x2: 32, BF16x2: 32,
	E4M3: 8, E5M2: 8, E4M3x2: 16, E5M2x2: 16, U16x2: 32, S16x2: 32,
	B1: 1, S4: 4, U4: 4,
}

var typeNames = [...]string{
	TypeNone: "none", Pred: "pred", B8: "b8", B16: "b16", B32: "b32", B64: "b64", B128: "b128",
	U8: "u8", U16: "u16", U32: "u32", U64: "u64", S8: "s8", S16: "s16", S32: "s32", S64: "s64",
	F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", TF32: "tf32", F16x2: "f16x2", BF16x2: "bf16x2",
	E4M3: "e4m3", E5M2: "e5m2", E4M3x2: "e4m3x2", E5M2x2: "e5m2x2", U16x2: "u16x2", S16x2: "s16x2",
	B1: "b1", S4: "s4", U4: "u4",
}

// Bits returns the type's width.
func (t Type) Bits() int { return int(typeBits[t]) }

func (t Type) String() string { return typeNames[t] }

// Signed reports whether t is a signed integer.
func (t Type) Signed() bool { return t >= S8 && t <= S64 || t == S16x2 || t == S4 }

// Float reports whether t is a floating-point type of one element.
func (t Type) Float() bool { return t >= F16 && t <= TF32 || t == E4M3 || t == E5M2 }

// Space is a state space of memory.
type Space uint8

const (
	SpaceGeneric Space = iota
	SpaceGlobal
	SpaceShared
	SpaceLocal
	SpaceConst
	SpaceParam // kernel parameters: one copy a launch
	SpaceFrame // parameters of device functions: one copy per lane
)

var spaceNames = [...]string{"generic", "global", "shared", "local", "const", "param", "param"}

func (s Space) String() string { return spaceNames[s] }

// Round is a rounding direction.
type Round uint8

const (
	RoundNearest Round = iota // to nearest, ties to even
	RoundZero
	RoundDown
	RoundUp
	RoundAway // to nearest, ties away from zero
)

// Cmp is a comparison of setp. The ordered ones are false for a NaN, the
// unordered ones true.
type Cmp uint8

const (
	CmpEQ Cmp = iota
	CmpNE
	CmpLT
	CmpLE
	CmpGT
	CmpGE
	CmpEQU
	CmpNEU
	CmpLTU
	CmpLEU
	CmpGTU
	CmpGEU
	CmpNum
	CmpNaN
)

// Flag holds the on/off modifiers of an instruction.
type Flag uint32

const (
	FlagFTZ     Flag = 1 << iota // flush subnormal inputs and results to zero
	FlagSat                      // saturate (floats to [0,1], integers to their range)
	FlagHi                       // high half of a product
	FlagWide                     // product of twice the width
	FlagCarryIn                  // add the carry
	FlagCarry                    // write the carry
	FlagNaN                      // min/max return NaN for any NaN
	FlagAbs                      // .abs of min/max with xorsign, or of set
	FlagXorSign
	FlagClamp    // shf: clamp the amount at 32
	FlagLeft     // shf: left
	FlagRelu     // cvt, fma: negative and NaN results become zero
	FlagRound    // cvt: round a float to an integral float
	FlagApprox   // approximate division
	FlagFull     // full-range approximate division
	FlagPredNot  // selp, setp: complement the predicate operand
	FlagAligned  // .aligned: every live lane of the warp must take part
	FlagTrans    // ldmatrix, stmatrix: transposed
	FlagVolatile // volatile, acquire, release or scoped access
	FlagAcquire  // atom, red: acquires what another block released
	FlagRelease  // atom, red: releases to other blocks
	FlagNot      // popc-reduction barriers: complemented predicate
	FlagShiftAmt // bfind.shiftamt
	FlagFinite   // cvt: values beyond the range become the greatest finite one
	FlagCluster  // the address is one of the shared memory of the whole cluster
)

// Op is the operation of an Inst. D is the destination, A, B, C the sources;
// Regs and Dsts hold the operands of the vector forms.
type Op uint16

const (
	OpInvalid Op = iota

	OpMov    // D = A (P, 32 or 64 by the registers)
	OpPack   // D = Regs[0] | Regs[1] << n | …
	OpUnpack // Dsts[i] = part i of A
	OpSelp   // D = C ? A : B; C a predicate
	OpSlct   // D = C >= 0 ? A : B

	OpAdd // D = A + B
	OpSub // D = A - B
	OpMul // D = A * B (low half, FlagHi, FlagWide)
	OpMad // D = A * B + C (low half, FlagHi, FlagWide)
	OpMul24
	OpMad24
	OpFma // D = A * B + C, one rounding
	OpDiv
	OpRem
	OpAbs
	OpNeg
	OpMin
	OpMax
	OpMin3 // D = min(A, B, C)
	OpMax3
	OpSad // D = |A - B| + C
	OpCopysign
	OpTestp // D (P) = class of A; Imm selects

	OpAnd
	OpOr
	OpXor
	OpNot
	OpCnot
	OpShl
	OpShr
	OpShf  // funnel shift of B:A by C
	OpLop3 // D = table Imm of A, B, C
	OpPrmt // bytes of B:A chosen by C; Imm the mode
	OpBfe
	OpBfi // D = C bits of A into B; the length in Regs[0]
	OpBfind
	OpBrev
	OpPopc
	OpClz
	OpFns
	OpDp4a
	OpDp2a
	OpBmsk
	OpSzext

	OpSetp // D, Dsts[0] (P) = A cmp B [boolop C]
	OpSet  // D = (A cmp B) as all-ones or 1.0

	OpCvt // D of Type from A of From
	OpCvtPack

	OpEx2
	OpLg2
	OpRcp
	OpSqrt
	OpRsqrt
	OpSin
	OpCos
	OpTanh

	OpLd       // Regs = memory[A + Imm]
	OpSt       // memory[A + Imm] = Regs
	OpAtom     // D = memory[A + Imm]; memory = f(old, Regs…); Atomic
	OpRed      // OpAtom without D
	OpCvta     // D = generic address of A in Space, or back with FlagNot
	OpMapa     // D = address A in the shared memory of the block with rank B
	OpCtaRank  // D = rank of the block whose shared memory A is in
	OpIsSpace  // D (P) = A lies in Space
	OpPrefetch // address checked only
	OpLdMatrix // Regs = matrices at A
	OpStMatrix // matrices at A = Regs
	OpCpAsync  // shared[D + Imm] = global[A + Imm2], Size bytes of which B are copied
	OpCpCommit //
	OpCpWait   // all but the latest Imm groups are complete; Imm < 0: all

	OpShfl     // D (and predicate Dsts[0]) = A of lane by B, C; Imm mode, mask Regs[0]
	OpVote     // D = vote of A; Imm mode; mask B
	OpMatch    // D = lanes with equal A; Imm mode; mask B
	OpRedux    // D = reduction of A over mask B; Atomic the operation
	OpElect    // D = leader, Dsts[0] is-leader; mask A
	OpActive   // D = mask of the group
	OpWarpSync // wait for the lanes of mask A
	OpMma      // Dsts = A-fragment × B-fragment + C-fragment; Mma
	OpWgmma    // OpMma of a warpgroup; Mma and Wgmma
	OpDotFence // orders registers with later dots of warpgroups
	OpDotCommit
	OpDotWait  // Imm: how many groups of such dots may be pending
	OpMbarrier // Imm kind
	OpBulk     // Bulk
	OpBulkCommit
	OpBulkWait // Imm: how many groups may be pending
	OpCopyMap  // tensor map at D + Imm = that at A + Imm2
	OpMapFence // acquires the tensor map at A + Imm2

	OpBra       // to Target
	OpBrx       // to Targets[A]
	OpCall      // to function Target
	OpCallExt   // host function Imm with Params
	OpCopyFrame // Params: copies within the frame of parameters
	OpRet
	OpExit
	OpTrap
	OpBrkpt
	OpBar        // Imm: barrier form; A number, B thread count, C predicate
	OpClusterBar // Imm: form, see cluster.go
	OpFence      // Imm: FenceProxy orders what threads do before what bulk copies do
	OpNop
	OpSetRegs // a thread of the warpgroup has Imm registers from now on; Imm2: 0 more, 1 less
	OpNanosleep
	OpClock // D = instruction count of the warp (Imm: which clock)

	OpWavefront     // Wavefront.Do
	OpWavefrontFlow // Wavefront.Flow
)

// Bar forms of OpBar.
const (
	BarSync = iota
	BarArrive
	BarRedPopc
	BarRedAnd
	BarRedOr
)

// FenceProxy is the Imm of an OpFence between the generic and the async proxy.
const FenceProxy = 1

// Shfl modes of OpShfl.
const (
	ShflUp = iota
	ShflDown
	ShflBfly
	ShflIdx
)

// Vote modes of OpVote.
const (
	VoteAll = iota
	VoteAny
	VoteUni
	VoteBallot
)

// Atomic is the operation of OpAtom, OpRed and OpRedux.
type Atomic uint8

const (
	AtomAdd Atomic = iota
	AtomMin
	AtomMax
	AtomInc
	AtomDec
	AtomAnd
	AtomOr
	AtomXor
	AtomExch
	AtomCas
)

// BoolOp combines the comparison of setp with a predicate.
type BoolOp uint8

const (
	BoolNone BoolOp = iota
	BoolAnd
	BoolOr
	BoolXor
)

// Mma describes a dot D(m×n) = A(m×k) × B(k×n) + C(m×n) whose
// fragments are spread over the warp as package simt's matrix.go says; A is row by
// row, B column by column.
type Mma struct {
	M, N, K      int
	AType, BType Type
	CType, DType Type
	ARegs, BRegs []Reg
	CRegs, DRegs []Reg
	// Xor makes a dot of bits count the bits that differ, not those that both
	// have.
	Xor bool
}

// Inst is one decoded instruction.
type Inst struct {
	Op   Op
	Type Type // the type operated in; the destination's type of OpCvt
	From Type // the source type of OpCvt, of OpSet
	// Guard is a predicate register, or the zero Reg; GuardNot complements it.
	Guard    Reg
	GuardNot bool
	Round    Round
	Cmp      Cmp
	Bool     BoolOp
	Atomic   Atomic
	Space    Space
	Flags    Flag
	D, A     Reg
	B, C     Reg
	Regs     []Reg // sources of the vector forms
	Dsts     []Reg // destinations beside D
	Imm      int64
	Imm2     int64
	Size     int
	Target   int   // instruction index of a branch, function index of a call
	Targets  []int // of OpBrx
	Mma      *Mma
	Wgmma    *Wgmma
	Bulk     *Bulk
	// Wavefront is what instructions of programs with Program.Wavefront do.
	Wavefront *WavefrontInst
	// Params pairs argument addresses with parameter addresses of a call, in
	// the frame of parameters (byte offsets), with sizes.
	Params []Copy
	// Text is the instruction's opcode as written, Line its line in the text
	// and Loc the index of its source location plus one, or zero.
	Text string
	Line int
	Loc  int
}

// Copy moves Size bytes of a lane's parameter memory from From to To.
type Copy struct{ From, To, Size int }

// Loc is a place in the source of the kernel.
type Loc struct {
	File string
	Line int
	Col  int
	// Inlined is the index of the call site plus one, or zero.
	Inlined int
}

// Special is a value known when a warp starts.
type Special uint8

const (
	SpecNone Special = iota
	SpecTidX
	SpecTidY
	SpecTidZ
	SpecNTidX
	SpecNTidY
	SpecNTidZ
	SpecCtaX
	SpecCtaY
	SpecCtaZ
	SpecNCtaX
	SpecNCtaY
	SpecNCtaZ
	SpecLane
	SpecWarp
	SpecNWarp
	SpecSM
	SpecNSM
	SpecGrid
	SpecLaneEQ
	SpecLaneLT
	SpecLaneLE
	SpecLaneGT
	SpecLaneGE
	SpecSharedSize // dynamic + static bytes
	SpecDynShared
	SpecClusterX // the cluster's place in the grid of clusters
	SpecClusterY
	SpecClusterZ
	SpecNClusterX
	SpecNClusterY
	SpecNClusterZ
	SpecClusterCtaX // the block's place in its cluster
	SpecClusterCtaY
	SpecClusterCtaZ
	SpecClusterNCtaX
	SpecClusterNCtaY
	SpecClusterNCtaZ
	SpecClusterRank
	SpecClusterSize
	SpecExplicitCluster // whether the kernel says how large its clusters are
)

// Init fills a register before the first instruction: with Value, plus the
// address of symbol Symbol-1 where Symbol is not zero, or with Special.
type Init struct {
	Reg     Reg
	Value   uint64
	Symbol  int
	Special Special
}

// Symbol is a variable with an address.
type Symbol struct {
	Name  string
	Space Space
	Size  int
	Align int
	// Offset is the address in Shared, Local, Param or Const space; the device
	// places Global symbols when it loads the program.
	Offset int
	Data   []byte // initial contents, or nil for zeros
	// Relocs are 8-byte words of Data that take addresses of other symbols.
	Relocs []Reloc
}

// Reloc adds the address of symbol Symbol to the word of Size bytes at Offset.
type Reloc struct {
	Offset, Size, Symbol int
	Generic              bool
}

// Param is a kernel parameter.
type Param struct {
	Name         string
	Type         Type
	Offset, Size int
	Array        bool
}

// Func is a kernel or a device function: Code[Start:End] of the program.
type Func struct {
	Name       string
	Kernel     bool
	Start, End int
	Params     []Param
	ParamBytes int
	// ReqBlock is the required block shape, zero where free; MaxBlock likewise.
	ReqBlock, MaxBlock [3]int
	// MaxRegs is how many registers a thread has when it starts; 0: not said.
	MaxRegs int
	// Cluster is the shape of the clusters in blocks, zero for clusters of one.
	Cluster [3]int
	// Callees are the functions that it calls.
	Callees []int
	// Implicit are parameters that the launch itself knows.
	Implicit []Implicit
}

// Implicit is a parameter that a launch fills in: What is one of the sizes of the grid or
// of a block. With Prints it is the address of the buffer that the kernel prints to.
type Implicit struct {
	Offset, Size int
	What         Special
	Prints       bool
}

// Record is what a program prints to its buffer: the number of the record, and arguments
// of 4 or 8 bytes, one after the other, for a format of C's printf.
type Record struct {
	Number int
	Bytes  int // of all arguments
	Format string
}

// Program is a decoded module.
type Program struct {
	File    string
	Target  string
	Records []Record
	Code    []Inst
	Funcs   []Func
	Symbols []Symbol
	Inits   []Init
	Locs    []Loc
	// NumP, Num32 and Num64 are the sizes of the register files.
	NumP, Num32, Num64 int
	// LocalBytes is the frame of local variables a lane needs, FrameBytes that
	// of the parameters of device functions.
	LocalBytes, FrameBytes int
	// SharedBytes is the size of static shared memory; dynamic shared memory
	// begins at DynShared.
	SharedBytes, DynShared int
	// RegNames name registers in reports, by Reg.
	RegNames map[Reg]string
	// Ordered says that the program communicates between blocks: atomics,
	// volatile or ordered accesses to global memory.
	Ordered bool
	// Wavefront is the state of programs for machines with a scalar unit; nil of others.
	Wavefront *WavefrontState
}

// FuncNamed returns the index of a function, or -1.
func (p *Program) FuncNamed(name string) int {
	for i := range p.Funcs {
		if p.Funcs[i].Name == name {
			return i
		}
	}
	return -1
}
