package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// ScheduleLoops places the loads of loops that dots need in early stages, and what they are
// for in the last one. Where the loop has a number of stages of its own, the loads count that
// anything needs. Loads of addresses come stages before those at these addresses.
//
// A loop of four stages around two dots, the second of which needs the first, gets another
// schedule: each dot is computed while the other's operands come, and what is between the
// dots is divided between the iterations, so that it runs beside a dot.
//
// Nothing moves here; tritonamdgpu-pipeline places the rest and carries the schedule out.
var ScheduleLoops = &pass.Pass{
	Name: "tritonamdgpu-schedule-loops",
	Doc:  "assign the loads of loops, and the dots that need them, to stages",
	Options: []pass.Option{
		{Name: "num_stages", Doc: "iterations of a loop in flight, unless the loop says", Default: 2},
		{Name: "lds", Doc: "leave out stages until a loop's buffers and scratch memory fit into so many bytes; 0: none", Default: 0},
		{Name: "registers", Doc: "leave loops whose tensors and loads on their way take more 32-bit registers of a thread; -1: none", Default: -1},
		{Name: "turns", Doc: "the same for loops in which the warps of a program take turns (tritonamdgpu-block-pingpong); -1: as for others", Default: -1},
		{Name: "use_async_copy", Doc: "count the buffer that each load has more where it is copied to LDS", Default: false},
		{Name: "matrix", Doc: "leave loops with dots that are multiply-adds, or none of whose operands is buffered, and those that convert floats of 8 bits", Default: false},
	},
	Example: scheduleLoopsExample,
	Before:  []*pass.Fact{facts.Layouts},
	After:   []*pass.Fact{facts.BoundedSchedules},
	Breaks:  []*pass.Fact{facts.NoSchedule},
	Run: func(r *pass.Run) error {
		c := chip.Of(r.Module.StringAttr(ttg.TargetAttr))
		b := ir.NewBuilder(r.Module.Context())
		var info *axisinfo.Result
		for _, loop := range forloop.All(r.Module) {
			stages, _ := pipeline.StagesOf(loop, r.Int("num_stages"))
			if stages > pass.MaxStages {
				return pass.OverLimit(loop.Loc(), "what more stages hold does not fit in LDS", "the loop has num_stages %d; it may have %d", stages, pass.MaxStages)
			}
			if stages < 2 || !pipeline.CanPipeline(loop) {
				continue
			}
			if info == nil {
				info = axisinfo.Analyze(r.Module)
			}
			room := room{
				info: info, chip: c, lds: r.Int("lds"), registers: r.Int("registers"), turns: r.Int("turns"), warps: machine.Of(r.Module).At(loop).Warps,
				matrix: r.Bool("matrix"), async: r.Bool("use_async_copy"), scratch: allocation.Neutral(r.Place),
			}
			stages, loads, err := room.fit(loop, stages)
			if err != nil {
				return err
			}
			if len(loads) == 0 {
				continue
			}
			for _, l := range loads {
				if bypass(b, l) {
					r.Count("bypasses", 1)
				}
			}
			if first, second := chainedDots(loop, stages, loads); first != nil {
				scheduleChained(loop, first, second, loads).Write()
			} else {
				scheduleByLevel(loop, stages, loads).Write()
			}
			r.Count("scheduled", 1)
		}
		return nil
	},
}

// room is what a loop may take.
type room struct {
	info           *axisinfo.Result
	chip           *chip.Chip
	lds, registers int // 0 and -1: no bound
	turns, warps   int // registers of loops that are cut; -1: registers
	// matrix: copies of long loop bodies take LLVM minutes, and such bodies hide their loads.
	matrix bool
	// async: loads are copied to LDS, where the chip can.
	async   bool
	scratch allocation.Scratch
}

// fit is the most stages, up to so many, of which the loads have room, and the loads; none
// if there is no such number.
func (r room) fit(loop *ir.Operation, stages int) (int, []pipeline.NeededLoad, error) {
	for ; stages > 1; stages-- {
		loads := neededLoads(r.info, r.chip, loop, stages)
		deepest, buffered := deepestLevel(loads), map[*ir.Operation]bool{}
		bytes, words := 0, loops.WordsIn(loop)
		for _, l := range loads {
			t := tensors.Type(l.Load.OneResult())
			enc := (&streamLowering{info: r.info, chip: r.chip, async: r.async}).bufferFor(l.Load)
			if enc == nil {
				words += tensors.Words(l.Load) * (stages - 1)
				continue
			}
			buffers, elements := stages-1-deepest, int(tensors.Elements(t))
			if r.async {
				buffers++
			}
			if pad, ok := enc.Layout.(*layout.PaddedShared); ok {
				elements = pad.Pad(elements)
			}
			bytes += buffers * elements * int(axisinfo.ElemBytes(t))
			words += tensors.Words(l.Load)
			buffered[l.Load] = true
		}
		if r.matrix && !isShort(loop, len(buffered) > 0) {
			return 0, nil, nil
		}
		scratch, err := r.scratchOf(loop, buffered)
		if err != nil {
			return 0, nil, err
		}
		bytes += scratch
		bound := r.registers
		if r.turns >= 0 && len(loads) == 2 && len(buffered) == 2 && r.takesTurns(loop, stages, loads, buffered) {
			bound = r.turns
			for l := range buffered {
				words += transposed(l)
			}
		}
		if (r.lds == 0 || bytes <= r.lds) && (bound < 0 || words <= bound) {
			return stages, loads, nil
		}
	}
	return 0, nil, nil
}

// takesTurns reports whether block-pingpong will have the warps of a program take turns in a
// loop: around one dot, which it cuts, or two chained ones without scratch memory between.
func (r room) takesTurns(loop *ir.Operation, stages int, loads []pipeline.NeededLoad, buffered map[*ir.Operation]bool) bool {
	if first, _ := chainedDots(loop, stages, loads); first != nil {
		return r.warps == warpsOfProgram && !r.exchanges(loop, buffered)
	}
	var dots []*ir.Operation
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if tt.IsDot(op) {
			dots = append(dots, op)
		}
		return ir.Advance
	})
	return len(dots) == 1 && dots[0].Is(tt.Dot) && partsOf(tt.AsDot(dots[0]), r.warps, stages) > 0
}

// exchanges reports whether an operation inside loop has scratch memory, but for those that
// fill the buffers of loads.
func (r room) exchanges(loop *ir.Operation, buffered map[*ir.Operation]bool) bool {
	return ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op == loop || op.Is(ttg.ConvertLayout) && buffered[ttg.AsConvertLayout(op).Src().Def()] {
			return ir.Advance
		}
		if n, _, err := r.scratch(op); n > 0 || err != nil {
			return ir.Stop
		}
		return ir.Advance
	})
}

// transposed is how many registers it takes to transpose what a load of a dot's operand
// loads, where K is not contiguous: those of the elements, and again for bytes, two of
// which change places at once.
func transposed(load *ir.Operation) int {
	v := load.OneResult()
	for v.HasOneUse() {
		u := slices.Collect(v.Users())[0]
		if !u.Is(ttg.ConvertLayout) && !u.Is(ttg.LocalAlloc) && !u.Is(ttg.LocalLoad) {
			break
		}
		v = u.OneResult()
	}
	operand, _ := encoding.Get(v.Type()).(*layout.DotOp)
	from, _ := encoding.Get(load.OneResult().Type()).(*layout.Blocked)
	if operand == nil || from == nil || from.Order[0] == 1-operand.OpIdx {
		return 0
	}
	words := tensors.Words(load)
	if ir.BitWidth(tensors.Type(v).Elem) == 8 {
		words *= 2
	}
	return words
}

// isShort reports whether all dots of loop are on matrix cores, operands of them are
// buffered, and no floats of 8 bits are converted, which takes many instructions where the
// chip has none for it. Loops without dots are short.
func isShort(loop *ir.Operation, buffered bool) bool {
	short := true
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		isLong := tt.IsDot(op) && (!buffered || !tensors.IsMatrix(encoding.Get(op.OneResult().Type())))
		if isLong || op.Is(tt.FpToFp) && ir.BitWidth(ir.ElemOf(op.OneOperand().Type())) == 8 {
			short = false
			return ir.Stop
		}
		return ir.Advance
	})
	return short
}

// scratchOf is the most scratch memory that an operation inside loop takes, and a dot for
// its operands, which are in LDS together. What buffered loads load is in their buffers.
func (r room) scratchOf(loop *ir.Operation, buffered map[*ir.Operation]bool) (most int, err error) {
	of := func(op *ir.Operation) int {
		if op.Is(ttg.ConvertLayout) && buffered[ttg.AsConvertLayout(op).Src().Def()] {
			return 0
		}
		n, _, e := r.scratch(op)
		if e != nil {
			err = e
		}
		return n
	}
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		n := of(op)
		if tt.IsDot(op) {
			n = 0
			for i := range 2 {
				if v := op.Operand(i); v.DefIs(ttg.ConvertLayout) {
					n += of(v.Def())
				}
			}
		}
		most = max(most, n)
		if err != nil {
			return ir.Stop
		}
		return ir.Advance
	})
	return most, err
}

// narrowestCopy is the number of bytes that a thread loads at once at least, for a load to
// be worth its registers.
const narrowestCopy = 4

// neededLoads are the loads that start early in loop. On chips whose LDS takes single bytes
// of a copy, and on RDNA, narrow ones count, too: those of scales.
func neededLoads(info *axisinfo.Result, c *chip.Chip, loop *ir.Operation, stages int) []pipeline.NeededLoad {
	narrow := c != nil && (c == &chip.GFX950 || c.WMMA != 0)
	_, own := pipeline.StagesOf(loop, stages)
	return pipeline.NeededLoads(loop, own, stages-2, func(load *ir.Operation) bool {
		if !load.Is(tt.Load) || tt.IsBlockPtr(tt.AsLoad(load).Ptr().Type()) || !oneBuffer(load) {
			return false
		}
		if tensors.Type(load.OneResult()) == nil {
			return narrow || axisinfo.ElemBytes(load.OneResult().Type()) >= narrowestCopy
		}
		return narrow || pipeline.AccessBytes(info, load) >= narrowestCopy
	})
}

// oneBuffer reports whether all buffers that are filled from load have one layout.
func oneBuffer(load *ir.Operation) bool {
	var enc ir.Attribute
	for u := range load.OneResult().Users() {
		if !u.Is(ttg.LocalAlloc) {
			continue
		}
		e := u.OneResult().Type().(*ttg.MemDescType).Encoding
		if enc != nil && e != enc {
			return false
		}
		enc = e
	}
	return true
}

// deepestLevel is the highest level of the loads.
func deepestLevel(loads []pipeline.NeededLoad) int {
	deepest := 0
	for _, l := range loads {
		deepest = max(deepest, l.Level)
	}
	return deepest
}

// Clusters of an iteration of a loop that is scheduled by levels.
const (
	clusterWait    = iota // for the copies that this iteration reads
	clusterCompute        // loads, reads of LDS, dots and what is between them
	clusterStore          // of what was loaded to LDS
	clusterWaitAtEnd
	levelClusters
)

// scheduleByLevel spreads the levels of loads over the stages before the last.
func scheduleByLevel(loop *ir.Operation, stages int, loads []pipeline.NeededLoad) pipeline.Staging {
	deepest := deepestLevel(loads)
	between := (stages - 2 + deepest) / (deepest + 1) // stages from one level to the next
	s := pipeline.NewStaging(loop, stages, levelClusters)
	for _, l := range loads {
		if !l.Use.Is(tt.Load) {
			s.Place(l.Use, stages-1, clusterCompute)
		}
	}
	for _, l := range loads {
		s.Place(l.Load, (deepest-l.Level)*between, clusterCompute)
	}
	return s
}
