package layout

// Bases lists basis vectors, one per bit of an input dimension, lowest bit
// first. A vector holds one coordinate per tensor dimension, in elements.
type Bases = [][]int32

// Encoding says how the elements of a tensor of a given rank are spread over
// the hardware. The implementations are pointers to the structs of this file;
// their fields are in the order of Triton's assembly and hold exactly what
// it prints. Encodings are immutable once built. Compare them with Equal:
// pointer identity is not equality here (the IR interns attributes).
type Encoding interface {
	// Rank is the number of tensor dimensions, or 0 when the encoding does
	// not say (a linear encoding without any basis).
	Rank() int
	// Mnemonic is the name after "#ttg.", e.g. "blocked".
	Mnemonic() string
	// Linear is the map from hardware to a tensor of the given shape, in
	// elements: from (register, lane, warp, block) for a distributed encoding,
	// from (offset, block) for a shared one, to dim0 … dim<rank−1>. The error
	// says in which way encoding and shape do not fit; the text is for the
	// user.
	Linear(shape []int64) (Layout, error)
}

// Shared marks the encodings of shared memory. The others are distributed:
// they spread a tensor over the registers of threads.
type Shared interface {
	Encoding
	// Align is the alignment that a buffer must have, in bytes; 1 for any.
	Align() int
}

// Blocked gives every thread a dense tile of SizePerThread elements, every
// warp a dense tile of ThreadsPerWarp such tiles, every CTA a dense tile of
// WarpsPerCTA of those; Order lists the dimensions, fastest first. The tile
// wraps around (more registers) or is replicated when the tensor is larger or
// smaller.
type Blocked struct {
	SizePerThread  []int
	ThreadsPerWarp []int
	WarpsPerCTA    []int
	Order          []int
	// CGA holds the basis vectors of the CTA index in a cluster; nil: 1 CTA.
	CGA Bases
}

// Linear is a distributed encoding given by its basis vectors themselves.
// Registers, lanes and warps are those of one CTA.
type Linear struct {
	Register Bases
	Lane     Bases
	Warp     Bases
	Block    Bases
}

// Slice is Parent with its dimension Dim squeezed out: the encoding of a
// reduction's result along Dim, and of what tt.expand_dims takes.
type Slice struct {
	Dim    int
	Parent Encoding
}

// NvidiaMMA is the accumulator of a tensor-core instruction: VersionMajor 2
// for mma.sync (InstrShape [.., 16, 8]), 3 for wgmma (InstrShape [m, n, k]).
type NvidiaMMA struct {
	VersionMajor int
	VersionMinor int
	WarpsPerCTA  []int
	CGA          Bases
	InstrShape   []int
}

// AMDMFMA is the accumulator of a matrix instruction of the CDNA family; a
// warp has 64 lanes. InstrShape is [m, n, k].
type AMDMFMA struct {
	Version      int
	WarpsPerCTA  []int
	InstrShape   []int
	IsTransposed bool
	CGA          Bases
	// TilesPerWarp is nil when every entry is 1.
	TilesPerWarp []int
	// ElementBitWidth is the accumulator's width; 0 means the default, 32.
	ElementBitWidth int
}

// AMDWMMA is the accumulator of a matrix instruction of the RDNA family; a
// warp has 32 lanes.
type AMDWMMA struct {
	Version     int
	IsTranspose bool
	WarpsPerCTA []int
	CGA         Bases
	// TilesPerWarp is nil when every entry is 1.
	TilesPerWarp []int
	// InstrShape is [m, n, k]; nil means [16, 16, 16].
	InstrShape []int
}

// DotOp is operand OpIdx (0: A, 1: B) of a dot whose result has the encoding
// Parent. KWidth is the number of elements along K that lie side by side in
// one thread; 0 (not printed) for a Blocked parent.
type DotOp struct {
	OpIdx  int
	Parent Encoding
	KWidth int
}

// SwizzledShared lays rows out one after the other in shared memory, the
// vectors of Vec elements of a row permuted by XOR with its phase
// (row/PerPhase) mod MaxPhase.
type SwizzledShared struct {
	Vec      int
	PerPhase int
	MaxPhase int
	Order    []int
	CGA      Bases
}

// AMDRotatingShared is SwizzledShared whose phase also rotates from one group
// of PerPhase·MaxPhase rows to the next.
type AMDRotatingShared struct {
	Vec      int
	PerPhase int
	MaxPhase int
	Order    []int
	CGA      Bases
}

// PaddedShared inserts Paddings[i] elements after every Intervals[i] elements
// of a linear arrangement. The arrangement is either the identity over Shape
// in Order, or the given Offset and Block bases; the other form's fields are
// nil.
type PaddedShared struct {
	Intervals []int
	Paddings  []int
	Order     []int
	Shape     []int64
	Offset    Bases
	Block     Bases
	// CGA goes with the Order and Shape form.
	CGA Bases
}

// SharedLinear is shared memory given by the basis vectors of the element
// offset and the CTA. Alignment is in bytes.
type SharedLinear struct {
	Offset    Bases
	Block     Bases
	Alignment int
}

// NVMMAShared is the arrangement that NVIDIA's TMA and wgmma read: rows of
// SwizzlingByteWidth bytes (0, 32, 64 or 128), their 16-byte chunks permuted
// by XOR with the row.
type NVMMAShared struct {
	SwizzlingByteWidth int
	Transposed         bool
	ElementBitWidth    int
	FP4Padded          bool
	CGA                Bases
	// NDims is the printed rank; 0 means that it is CGA's, else 2.
	NDims int
}

func basesRank(lists ...Bases) int {
	for _, l := range lists {
		if len(l) > 0 {
			return len(l[0])
		}
	}
	return 0
}

func (e *Blocked) Rank() int   { return len(e.Order) }
func (e *Linear) Rank() int    { return basesRank(e.Register, e.Lane, e.Warp, e.Block) }
func (e *Slice) Rank() int     { return e.Parent.Rank() - 1 }
func (e *NvidiaMMA) Rank() int { return len(e.WarpsPerCTA) }
func (e *AMDMFMA) Rank() int   { return len(e.WarpsPerCTA) }
func (e *AMDWMMA) Rank() int   { return len(e.WarpsPerCTA) }
func (e *DotOp) Rank() int     { return e.Parent.Rank() }

func (e *SwizzledShared) Rank() int    { return len(e.Order) }
func (e *AMDRotatingShared) Rank() int { return len(e.Order) }

func (e *PaddedShared) Rank() int {
	if len(e.Order) > 0 {
		return len(e.Order)
	}
	return basesRank(e.Offset, e.Block)
}

func (e *SharedLinear) Rank() int { return basesRank(e.Offset, e.Block) }

func (e *NVMMAShared) Rank() int {
	switch {
	case e.NDims > 0:
		return e.NDims
	case len(e.CGA) > 0:
		return len(e.CGA[0])
	default:
		return 2
	}
}

func (*Blocked) Mnemonic() string           { return "blocked" }
func (*Linear) Mnemonic() string            { return "linear" }
func (*Slice) Mnemonic() string             { return "slice" }
func (*NvidiaMMA) Mnemonic() string         { return "nvidia_mma" }
func (*AMDMFMA) Mnemonic() string           { return "amd_mfma" }
func (*AMDWMMA) Mnemonic() string           { return "amd_wmma" }
func (*DotOp) Mnemonic() string             { return "dot_op" }
func (*SwizzledShared) Mnemonic() string    { return "swizzled_shared" }
func (*AMDRotatingShared) Mnemonic() string { return "amd_rotating_shared" }
func (*PaddedShared) Mnemonic() string      { return "padded_shared" }
func (*SharedLinear) Mnemonic() string      { return "shared_linear" }
func (*NVMMAShared) Mnemonic() string       { return "nvmma_shared" }

// Align is 1: threads address each element.
func (*SwizzledShared) Align() int { return 1 }

// Align is 1: threads address each element.
func (*AMDRotatingShared) Align() int { return 1 }

// Align is 1: threads address each element.
func (*PaddedShared) Align() int { return 1 }

// Align is what the encoding says.
func (e *SharedLinear) Align() int { return max(e.Alignment, 1) }

// Align is that of eight rows of SwizzlingByteWidth bytes, and at least 128: the
// hardware permutes chunks by bits of their addresses.
func (e *NVMMAShared) Align() int { return max(8*e.SwizzlingByteWidth, 128) }
