package layout

import "slices"

// Equal reports whether a and b are the same encoding, field by field. Two
// different encodings may still spread a tensor alike; compare their Linear
// for that.
func Equal(a, b Encoding) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case *Blocked:
		y, ok := b.(*Blocked)
		return ok && slices.Equal(x.SizePerThread, y.SizePerThread) && slices.Equal(x.ThreadsPerWarp, y.ThreadsPerWarp) &&
			slices.Equal(x.WarpsPerCTA, y.WarpsPerCTA) && slices.Equal(x.Order, y.Order) && equalBases(x.CGA, y.CGA)
	case *Linear:
		y, ok := b.(*Linear)
		return ok && equalBases(x.Register, y.Register) && equalBases(x.Lane, y.Lane) &&
			equalBases(x.Warp, y.Warp) && equalBases(x.Block, y.Block)
	case *Slice:
		y, ok := b.(*Slice)
		return ok && x.Dim == y.Dim && Equal(x.Parent, y.Parent)
	case *NvidiaMMA:
		y, ok := b.(*NvidiaMMA)
		return ok && x.VersionMajor == y.VersionMajor && x.VersionMinor == y.VersionMinor &&
			slices.Equal(x.WarpsPerCTA, y.WarpsPerCTA) && equalBases(x.CGA, y.CGA) && slices.Equal(x.InstrShape, y.InstrShape)
	case *AMDMFMA:
		y, ok := b.(*AMDMFMA)
		return ok && x.Version == y.Version && slices.Equal(x.WarpsPerCTA, y.WarpsPerCTA) &&
			slices.Equal(x.InstrShape, y.InstrShape) && x.IsTransposed == y.IsTransposed && equalBases(x.CGA, y.CGA) &&
			slices.Equal(x.tiles(), y.tiles()) && orDefault(x.ElementBitWidth, 32) == orDefault(y.ElementBitWidth, 32)
	case *AMDWMMA:
		y, ok := b.(*AMDWMMA)
		return ok && x.Version == y.Version && x.IsTranspose == y.IsTranspose && slices.Equal(x.WarpsPerCTA, y.WarpsPerCTA) &&
			equalBases(x.CGA, y.CGA) && slices.Equal(x.tiles(), y.tiles()) && slices.Equal(x.InstrShape, y.InstrShape)
	case *DotOp:
		y, ok := b.(*DotOp)
		return ok && x.OpIdx == y.OpIdx && x.KWidth == y.KWidth && Equal(x.Parent, y.Parent)
	case *SwizzledShared:
		y, ok := b.(*SwizzledShared)
		return ok && x.Vec == y.Vec && x.PerPhase == y.PerPhase && x.MaxPhase == y.MaxPhase &&
			slices.Equal(x.Order, y.Order) && equalBases(x.CGA, y.CGA)
	case *AMDRotatingShared:
		y, ok := b.(*AMDRotatingShared)
		return ok && x.Vec == y.Vec && x.PerPhase == y.PerPhase && x.MaxPhase == y.MaxPhase &&
			slices.Equal(x.Order, y.Order) && equalBases(x.CGA, y.CGA)
	case *PaddedShared:
		y, ok := b.(*PaddedShared)
		return ok && slices.Equal(x.Intervals, y.Intervals) && slices.Equal(x.Paddings, y.Paddings) &&
			slices.Equal(x.Order, y.Order) && slices.Equal(x.Shape, y.Shape) &&
			equalBases(x.Offset, y.Offset) && equalBases(x.Block, y.Block) && equalBases(x.CGA, y.CGA)
	case *SharedLinear:
		y, ok := b.(*SharedLinear)
		return ok && equalBases(x.Offset, y.Offset) && equalBases(x.Block, y.Block) && x.Alignment == y.Alignment
	case *NVMMAShared:
		y, ok := b.(*NVMMAShared)
		return ok && x.SwizzlingByteWidth == y.SwizzlingByteWidth && x.Transposed == y.Transposed &&
			x.ElementBitWidth == y.ElementBitWidth && x.FP4Padded == y.FP4Padded &&
			equalBases(x.CGA, y.CGA) && x.Rank() == y.Rank()
	default:
		panic("BUG: unknown encoding " + a.Mnemonic())
	}
}

func equalBases(a, b Bases) bool {
	return slices.EqualFunc(a, b, slices.Equal[[]int32])
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}
