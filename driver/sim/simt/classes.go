package simt

// InstClass sorts instructions for the counters.
type InstClass uint8

const (
	ClassInteger InstClass = iota
	ClassFloat
	ClassHalf
	ClassDouble
	ClassConvert
	ClassSpecial // approximate functions
	ClassMatrix
	ClassGlobalMem
	ClassSharedMem
	ClassLocalMem
	ClassAtomicMem
	ClassOtherMem
	ClassWarpOp // shuffles, votes, reductions of a warp
	ClassControl
	ClassBarrierOp
	ClassMove
	NumClasses
)

// Classes names the classes in order.
var Classes = [NumClasses]string{
	"integer", "float", "half", "double", "convert", "special", "matrix", "global", "shared",
	"local", "atomic", "other memory", "warp", "control", "barrier", "move",
}

func classOf(in *Inst) InstClass {
	switch in.Op {
	case OpWavefront, OpWavefrontFlow:
		return in.Wavefront.Class
	case OpMov, OpPack, OpUnpack, OpSelp, OpSlct, OpNop, OpSetRegs, OpClock, OpCvta, OpIsSpace, OpMapa, OpCtaRank:
		return ClassMove
	case OpCvt, OpCvtPack:
		return ClassConvert
	case OpEx2, OpLg2, OpRcp, OpSqrt, OpRsqrt, OpSin, OpCos, OpTanh:
		return ClassSpecial
	case OpMma, OpWgmma:
		return ClassMatrix
	case OpLd, OpSt, OpPrefetch, OpLdMatrix, OpStMatrix, OpCpAsync, OpCpCommit, OpCpWait:
		switch in.Space {
		case SpaceGlobal:
			return ClassGlobalMem
		case SpaceShared:
			return ClassSharedMem
		case SpaceLocal, SpaceFrame:
			return ClassLocalMem
		}
		return ClassOtherMem
	case OpAtom, OpRed:
		return ClassAtomicMem
	case OpShfl, OpVote, OpMatch, OpRedux, OpElect, OpActive, OpWarpSync:
		return ClassWarpOp
	case OpBra, OpBrx, OpCall, OpCallExt, OpRet, OpExit, OpTrap, OpBrkpt, OpNanosleep:
		return ClassControl
	case OpBulk, OpBulkCommit, OpBulkWait, OpCopyMap:
		return ClassOtherMem
	case OpBar, OpClusterBar, OpFence, OpMapFence, OpMbarrier, OpDotFence, OpDotCommit, OpDotWait:
		return ClassBarrierOp
	}
	switch in.Type {
	case F32, TF32:
		return ClassFloat
	case F16, BF16, F16x2, BF16x2:
		return ClassHalf
	case F64:
		return ClassDouble
	}
	return ClassInteger
}
