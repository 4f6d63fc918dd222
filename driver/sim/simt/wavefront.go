package simt

import (
	"encoding/binary"
	"math/bits"
)

// A Wavefront is the state of a warp of a machine with a scalar unit: vector registers
// of 32 bits a lane, scalar registers that all lanes share, and EXEC, the mask of the
// lanes that vector instructions execute for, which the program itself reads and
// writes. There is one program counter, so that none of what control.go does about
// divergence applies: the warp is one group from its beginning to its end.
//
// Front ends of such machines give their instructions as functions (Inst.Wavefront).
// Blocks, barriers, memory, checks of memory, counters and reports are those of all
// programs.
type Wavefront struct {
	// Lanes of the wavefront.
	Lanes int
	// V are the vector registers: that with number r has V[r*Lanes+l] in lane l. S are
	// the scalar registers, without EXEC.
	V, S []uint32
	// VU and SU are the bits of V and S that are not defined, and Lost the lanes in
	// which a vector register has some. All are nil with checks off.
	VU, SU []uint32
	Lost   []uint64
	// Mode is for the front end: what the program set of rounding and the like.
	Mode uint32

	w       *warp
	waits   [NumWaitCounters]waitQueue
	waiting int     // operations that have not been waited for, of all counters
	pend    []uint8 // by register: the counters that it waits for, a bit each
	// landing is where the copies to shared memory write that Issue did not record yet.
	landing []byteRange
	kind    accessKind
	// stored are, during a store, the bytes that each lane stores defined.
	stored [MaxLanes]uint64
	// printed is the offset of the latest store to the buffer that kernels print to, or 0.
	printed int
}

// WavefrontInst is what a Wavefront's instruction does.
type WavefrontInst struct {
	// Do executes a plain instruction: under EXEC where the Inst's guard is ExecReg,
	// once where it is ScalarReg.
	Do func(v *Wavefront)
	// Flow executes one that may branch, and returns the instruction to go on with.
	Flow func(v *Wavefront, pc int) int
	// Class and FLOPs of a lane are for the counters.
	Class InstClass
	FLOPs uint64
}

// The predicates of programs for wavefronts.
var (
	ExecReg   = MakeReg(ClassP, 0) // EXEC
	ScalarReg = MakeReg(ClassP, 1) // lane 0 alone
)

// WavefrontState says what state the wavefronts of a program have.
type WavefrontState struct {
	Vectors, Scalars int
	// Start sets the registers that are defined before the first instruction.
	Start func(v *Wavefront, a *WavefrontStart)
}

// WavefrontStart is what a wavefront knows of its launch when it starts.
type WavefrontStart struct {
	Kernel      int // the function
	Block       [3]int
	Grid        [3]int
	Threads     [3]int // of a block
	First       int    // thread of lane 0
	Wave, Waves int    // number of the wavefront in its block, and how many there are
	// Params is the address of the kernel's parameters.
	Params uint64
}

// SharedAperture and LocalAperture are the generic addresses at which the shared memory
// of a block and the local memory of a lane begin.
const (
	SharedAperture = windowShared << windowShift
	LocalAperture  = windowLocal << windowShift
)

// ConstAperture is the generic address at which constant memory begins.
const ConstAperture = windowConst << windowShift

// CodeAperture is a generic address where no memory lies, for addresses of code.
const CodeAperture = 5 << windowShift

func newWavefront(w *warp, s *WavefrontState) *Wavefront {
	v := &Wavefront{
		Lanes: w.n, w: w,
		V: make([]uint32, s.Vectors*w.n), S: make([]uint32, s.Scalars),
		pend: make([]uint8, s.Vectors+s.Scalars),
	}
	if w.check != nil {
		v.VU, v.SU, v.Lost = make([]uint32, len(v.V)), make([]uint32, len(v.S)), make([]uint64, s.Vectors)
	}
	return v
}

// start prepares the registers for a block.
func (v *Wavefront) start() {
	w := v.w
	r := w.cta.run
	w.p[ExecReg.Index()] = w.live
	w.p[ScalarReg.Index()] = 1
	for i := range v.waits {
		v.waits[i].reset()
	}
	clear(v.pend)
	v.waiting, v.printed, v.landing = 0, 0, v.landing[:0]
	for i := range v.VU {
		v.VU[i], v.V[i] = ^uint32(0), poisonWord
	}
	for i := range v.SU {
		v.SU[i], v.S[i] = ^uint32(0), poisonWord
	}
	for i := range v.Lost {
		v.Lost[i] = w.full
	}
	r.prog.Wavefront.Start(v, &WavefrontStart{
		Kernel: r.index, Block: w.cta.block, Grid: r.grid, Threads: r.block, First: w.lane0,
		Wave: w.id, Waves: len(w.cta.warps), Params: windowParam << windowShift,
	})
}

// poisonWord fills registers that nobody wrote.
const poisonWord = 0xa5a5a5a5

// Exec returns the mask of the lanes that vector instructions execute for.
func (v *Wavefront) Exec() uint64 { return v.w.p[0] }

// SetExec changes it.
func (v *Wavefront) SetExec(m uint64) { v.w.p[0] = m & v.w.full }

// Param returns the word at an offset of the kernel's parameters, zero beyond them.
func (v *Wavefront) Param(at int) uint32 {
	p := v.w.cta.run.params
	if at+4 > len(p) {
		return 0
	}
	return binary.LittleEndian.Uint32(p[at:])
}

// Mask returns the lanes that the instruction in hand executes for.
func (v *Wavefront) Mask() uint64 { return v.w.mask }

// Full returns the mask of all lanes.
func (v *Wavefront) Full() uint64 { return v.w.full }

// SetV writes a vector register in one lane; undef are the bits that are not defined.
func (v *Wavefront) SetV(reg, lane int, x, undef uint32) {
	i := reg*v.Lanes + lane
	v.V[i] = x
	if v.VU == nil {
		return
	}
	if undef == 0 {
		v.Lost[reg] &^= 1 << lane
		return
	}
	v.VU[i] = undef
	v.Lost[reg] |= 1 << lane
}

// UndefinedV returns the bits of a vector register in a lane that are not defined.
func (v *Wavefront) UndefinedV(reg, lane int) uint32 {
	if v.Lost == nil || v.Lost[reg]>>lane&1 == 0 {
		return 0
	}
	return v.VU[reg*v.Lanes+lane]
}

// Defined records that a vector register was written in the lanes of m.
func (v *Wavefront) Defined(reg int, m uint64) {
	if v.Lost != nil {
		v.Lost[reg] &^= m
	}
}

// SetS writes a scalar register.
func (v *Wavefront) SetS(reg int, x, undef uint32) {
	v.S[reg] = x
	if v.SU != nil {
		v.SU[reg] = undef
	}
}

// UndefinedS returns the bits of a scalar register that are not defined.
func (v *Wavefront) UndefinedS(reg int) uint32 {
	if v.SU == nil {
		return 0
	}
	return v.SU[reg]
}

// Undefined reports that something depends on an undefined value.
func (v *Wavefront) Undefined(lane int, format string, args ...any) {
	v.w.note(FindUndefined, lane, 0, format, args...)
}

// Fault ends the launch.
func (v *Wavefront) Fault(kind FindingKind, lane int, format string, args ...any) {
	v.w.faultAt(kind, lane, 0, format, args...)
}

// Matrix counts the floating-point operations of a dot.
func (v *Wavefront) Matrix(flops uint64) {
	v.w.cta.stats.flops += flops
	v.w.cta.costs[v.w.pc].flops += flops
}

// Poll says that the instruction waits for what another wavefront does.
func (v *Wavefront) Poll() { v.w.cta.poll() }

// Clock counts the instructions that the wavefront's group has executed before this turn.
func (v *Wavefront) Clock() uint64 { return v.w.steps }

func execWavefront(w *warp, s *step) { s.in.Wavefront.Do(w.wavefront) }

// flow executes an instruction of a wavefront that may branch.
func (w *warp) flow(s *step, g *group) (int, bool) {
	w.mask = 1
	next := s.in.Wavefront.Flow(w.wavefront, g.pc)
	return next, w.cta.fault == nil
}

// meet looks at a wavefront that arrives at a barrier.
func (v *Wavefront) meet() {
	for c := range v.waits {
		for i := range v.waits[c].ops {
			if v.waits[c].ops[i].publishes {
				v.w.note(FindWait, bits.TrailingZeros64(v.w.live), 0,
					"a barrier is reached while stores to shared memory have not been waited for: they may come after it")
				return
			}
		}
	}
}
