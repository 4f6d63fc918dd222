package amd

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/buffers"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/backends/amd/transform"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The passes that are more than core's own: with patterns for layouts and slices, and without the
// rounding to tf32 that only NVIDIA's tensor cores need.
var (
	canonicalize = std.NewCanonicalize(layouts.ConvertPatterns(), transform.SlicePatterns())
	f32DotTC     = matrix.NewF32DotTC(matrix.TF32Rounding{})

	optimizeOperands  = matrix.NewOptimizeDotOperands(matrixcore.Unit{})
	reduceDuplication = matrix.NewReduceDataDuplication(matrixcore.Unit{})
	loadEarly         = loops.NewLoadEarly(matrixcore.Unit{})
	prefetch          = pipeline.NewPrefetch(matrixcore.Unit{})
)

// ttirRows are the passes of the stage ttir, in Triton's order.
func ttirRows(o options) []pass.Row {
	return o.without([]pass.Row{
		{Pass: std.Inline, Why: "later passes do not look into calls"},
		{Pass: ttir.RewriteTensorPointer, Why: "block pointers become tensors of pointers and masks", Needed: true},
		{Pass: ttir.RewriteTensorDescriptor, Why: "the chips have no descriptors", Needed: true},
		{Pass: canonicalize, Why: "combine matches canonical forms"},
		{Pass: ttir.Combine, Why: "masks and address arithmetic are still visible"},
		{Pass: ttir.ReorderBroadcast, Why: "elementwise work is done before values are repeated"},
		{Pass: std.CSE, Why: "address arithmetic repeats between accesses"},
		{Pass: std.SymbolDCE, Why: "functions that were inlined are gone"},
		{Pass: ttir.LoopUnroll, Why: "tl.range(loop_unroll_factor=…)"},
	})
}

// without marks the rows that the user leaves out.
func (o options) without(rows []pass.Row) []pass.Row {
	return pass.WithoutOwn(rows, o.SkipPasses, optionSkipPasses)
}

// checkSkipped says why passes cannot be left out, or nil.
func checkSkipped(a arch, names []string) error {
	var rows []pass.Row // of any options: a name may stand where others leave its pass out
	for _, o := range []options{{NumWarps: 4, UseBufferOps: true, UsePingpong: a.chip.MFMA > 0}, {NumWarps: 4, UseAsyncCopy: true}} {
		rows = append(rows, slices.Concat(ttirRows(o), ttgirRows(a, o))...)
	}
	_, err := pass.Without(rows, names, optionSkipPasses)
	return err
}

// mostMeanwhile is how many instructions a thread may have to do beside what it loads and
// multiplies for its loads to go an iteration ahead. Warps of a SIMD are few, and addresses
// of 64 bits many instructions.
const mostMeanwhile = 512

// staged holds where loops are pipelined.
var staged = &pass.Condition{Name: "num_stages>1", Holds: func(f pass.Facts) bool { return f["stages"] > 1 }}

// spareRegisters are those that a loop keeps for addresses and for the operands of its
// dots, beside what it carries and what is on its way: with fewer, the matmul of 128×128
// by four warps of gfx1100 spills 308 registers of each thread instead of 29. On GFX9 half
// of the registers are for accumulators alone; the matmul of 128×256 by eight warps spills
// 29 with 96 to spare, and none with 192.
func (a arch) spareRegisters() int {
	if a.chip.GFX9 {
		return 192
	}
	return 96
}

// spareWhereCut are those of a loop whose dot block-pingpong cuts into parts: operands of one
// part are there at a time. The matmul of 256×256 of f16 by eight warps spills 2 registers
// with them, and 10 where its loads are not on their way; that of 8 bits whose right operand
// is transposed, which they leave out, 33 and 10.
const spareWhereCut = 72

// turnsFor are the registers for such loops; -1 where there are none.
func (a arch) turnsFor(o options) int {
	if !o.turns() {
		return -1
	}
	return max(a.registersOf(o)-spareWhereCut, 0)
}

// turns reports whether warps take turns, in loops that store to LDS.
func (o options) turns() bool { return o.UsePingpong && !o.UseAsyncCopy }

// registersOf is how many vector registers a thread has: those of a compute unit, whose
// four SIMDs (two on RDNA) hold the warps of at least one program, or as many programs
// as waves_per_eu asks for.
func (a arch) registersOf(o options) int {
	n := min(int(a.registers)/(o.NumWarps*a.chip.Lanes), a.threadRegisters)
	if o.WavesPerEU > 0 {
		n = min(n, a.threadRegisters/o.WavesPerEU)
	}
	return n
}

// ldsPart is how much LDS a program has while as many run on a compute unit as it has threads
// for.
func (a arch) ldsPart(o options) int {
	programs := maxResident / (o.NumWarps * a.chip.Lanes)
	return int(a.sharedMemory) / max(programs, 1)
}

// ttgirRows are the passes of the stage ttgir, in the order of Triton's pipeline for
// AMD's GPUs as far as it goes.
func ttgirRows(a arch, o options) []pass.Row {
	registers := []pass.Setting{{Name: "registers", Value: max(a.registersOf(o)-a.spareRegisters(), 0)}}
	var transpose []pass.Row
	if a.chip.GFX9 {
		transpose = []pass.Row{
			{Pass: transform.InThreadTranspose, Why: "operands have their buffers"},
			{Pass: layouts.RemoveConversions, Why: "removes what the pass above put around loads"},
		}
	}
	var coalesce []pass.Row
	if o.UseAsyncCopy {
		coalesce = []pass.Row{{Pass: transform.CoalesceAsyncCopy, When: staged, Why: "copies to LDS are there"}}
	}
	rows := slices.Concat([]pass.Row{
		{Pass: layouts.Convert, Why: "every later pass needs layouts", Needed: true, With: []pass.Setting{
			{Name: "target", Value: a.chip.Target()},
			{Name: "num-warps", Value: o.NumWarps},
			{Name: "threads-per-warp", Value: a.chip.Lanes},
			{Name: "num-ctas", Value: 1},
		}},
		{Pass: layouts.Coalesce, Why: "accesses become wide and contiguous"},
		{Pass: f32DotTC, Why: "f32 dots become sums of bf16 ones where their precision asks"},
		{Pass: layouts.RemoveConversions, Why: "removes what coalesce put around each access"},
		{Pass: layouts.OptimizeThreadLocality, Why: "layouts have propagated, and dots do not constrain them yet"},
		{Pass: matrixcore.AccelerateMatmul, Why: "dots on matrix cores", With: []pass.Setting{
			{Name: "matrix-instruction-size", Value: o.MatrixInstrDim}, {Name: "kPack", Value: o.KPack},
		}},
		{Pass: layouts.RemoveConversions, Why: "removes what accelerate-matmul put around each dot"},
		{Pass: transform.OptimizeEpilogue, Why: "before conversions of results are moved"},
		{Pass: optimizeOperands, Why: "operands are transposed while they pass through LDS"},
		{Pass: transform.HoistLayoutConversions, Why: "operands have their layouts"},
		{Pass: loops.LoopAwareCSE, Why: "values that differed in layout only are equal now"},
		{Pass: loops.SplitOffsets, Why: "the uniform part can be hoisted"},
		{Pass: loops.BoundMasks, Why: "before parts of the masks are hoisted"},
		{Pass: loops.LICM, Why: "invariants of the inner loop stay out of the fused one"},
		{Pass: loops.FuseNestedLoops, Why: "one loop instead of two"},
		{Pass: canonicalize, Why: "cleans up after fusing"},
		{Pass: loops.LICM, Why: "loads that do not change leave the loop"},
		{Pass: canonicalize, Why: "erases loops that became empty"},
		{Pass: loops.CombineSelectAndIf, Why: "fused loops bring new conditions"},
		{Pass: transform.ScheduleLoops, When: staged, With: slices.Concat(registers, []pass.Setting{
			{Name: "num_stages", Value: o.NumStages}, {Name: "lds", Value: int(a.sharedMemory)}, {Name: "matrix", Value: true}, {Name: "turns", Value: a.turnsFor(o)}, {Name: optionAsyncCopy, Value: o.UseAsyncCopy},
		}), Why: "loads and dots are final"},
		{Pass: transform.Pipeline, When: staged, With: []pass.Setting{
			{Name: "guard", Value: true}, {Name: optionAsyncCopy, Value: o.UseAsyncCopy},
		}, Why: "schedules are there"},
	}, coalesce, []pass.Row{
		{Pass: canonicalize, Why: "reads of LDS become operands"},
		{Pass: layouts.RemoveConversions, Why: "removes conversions between loads and dots"},
		{Pass: layouts.SpreadReplicas, Why: "the last pass that takes conversions away has run"},
		{Pass: reduceDuplication, Why: "operands pass through LDS on their way to a dot"},
	}, transpose, []pass.Row{
		{Pass: loops.ReorderInstructions, With: registers, Why: "fewer values are live at once"},
		{Pass: loops.LoopAwareCSE, Why: "merges what reordering put side by side"},
		{Pass: std.SymbolDCE, Why: "erases functions without callers"},
		{Pass: std.SCCP, Why: "conditions of fused loops may be constant"},
		{Pass: loops.BoundMasks, Why: "accesses have their final masks"},
		{Pass: std.CSE, Why: "cleans up after the passes above"},
		{Pass: canonicalize, Why: "the lowering expects canonical forms"},
		{Pass: loops.CombineSelectAndIf, Why: "canonical forms undo the clearing of accumulators in fused loops"},
		{Pass: loops.ReduceEarly, Why: "iterations without masked elements skip the mask"},
		{Pass: loadEarly, With: registers, Why: "barriers are in place, and loads stay between them"},
		{Pass: loops.LoadAhead, When: staged, With: append(registers, pass.Setting{Name: "meanwhile", Value: mostMeanwhile}), Why: "what is left of an iteration's loads is known"},
		{Pass: transform.ReadLate, Why: "loads are where they stay"},
	})
	if o.turns() {
		rows = append(rows, pass.Row{Pass: transform.BlockPingpong, When: staged, With: []pass.Setting{
			{Name: "num-stages", Value: o.NumStages},
		}, Why: "a loop's accesses and dots have their final order"})
	}
	if o.UseBufferOps {
		rows = append(rows, bufferRows()...)
	}
	return o.without(append(rows, lastRows(a, o)...))
}

// bufferRows make buffer accesses, after the passes that know loads and stores.
func bufferRows() []pass.Row {
	return []pass.Row{
		{Pass: buffers.CanonicalizePointers, Why: "passes that move pointers have run"},
		{Pass: canonicalize, Why: "drops the pointers that loops no longer need"},
		{Pass: buffers.ConvertBufferOps, Why: "pointers are a base and an offset"},
	}
}

// lastRows clean up, and have the result fit into LDS.
func lastRows(a arch, o options) []pass.Row {
	return []pass.Row{
		{Pass: buffers.FoldTrueCmpI, Why: "no later pass asks for what is assumed"},
		{Pass: canonicalize, Why: "erases pointers, and what constant conditions leave out"},
		{Pass: std.CSE, Why: "offsets of several buffers are the same"},
		{Pass: std.SymbolDCE, Why: "erases functions without callers"},
		{Pass: fillLate, With: []pass.Setting{
			{Name: "part", Value: a.ldsPart(o)}, {Name: "most", Value: int(a.sharedMemory)}, {Name: lowered.Name, Value: true},
		}, Why: "buffers were filled early for the sake of registers"},
		{Pass: optimizeLDS, With: []pass.Setting{
			{Name: "target-arch", Value: a.chip.Name}, {Name: lowered.Name, Value: true},
		}, Why: "conversions are final, and none folds two into one any more"},
	}
}

// copied holds where a module waits for copies.
var copied = &pass.Condition{Name: ttg.AsyncWait.Name, Holds: func(f pass.Facts) bool { return f["waits"] > 0 }}

// llirRows are the passes that prepare a module for its lowering.
func llirRows() []pass.Row {
	return []pass.Row{
		{Pass: transform.UpdateAsyncWaitCount, When: copied, With: []pass.Setting{{Name: lowered.Name, Value: true}}, Why: "no pass moves copies from now on"},
	}
}

// llirFacts are what conditions of llirRows ask about a module.
func llirFacts(a arch, module *ir.Operation) pass.Facts {
	waits := a.copiesToLDS() && ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.AsyncWait) {
			return ir.Stop
		}
		return ir.Advance
	})
	if !waits {
		return nil
	}
	return pass.Facts{"waits": 1}
}

// llirTools are what the stage llir shows.
func llirTools(a arch) []sdk.PassRow {
	if !a.copiesToLDS() {
		return nil
	}
	var out []sdk.PassRow
	for _, r := range llirRows() {
		out = append(out, sdk.PassRow{Name: r.Pass.Name, Doc: r.Pass.Doc, Why: r.Why, Condition: r.When.Name})
	}
	return out
}

// passes are all that RunPasses knows by name.
var passes = slices.Concat(
	[]*pass.Pass{std.Inline, canonicalize, std.CSE, std.SCCP, std.SymbolDCE, std.ConvertSCFToCF},
	[]*pass.Pass{ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll},
	ours(ttgir.Passes()), []*pass.Pass{matrixcore.AccelerateMatmul, buffers.CanonicalizePointers, buffers.ConvertBufferOps, buffers.FoldTrueCmpI, buffers.TestRangeAnalysis, allocateShared, optimizeLDS, fillLate, testMembar}, transform.Passes(),
)

// ours puts this backend's passes in the places of core's of the same names.
func ours(list []*pass.Pass) []*pass.Pass {
	replacements := []*pass.Pass{f32DotTC, optimizeOperands, reduceDuplication, loadEarly, prefetch}
	for i, p := range list {
		for _, r := range replacements {
			if r.Name == p.Name {
				list[i] = r
			}
		}
	}
	return list
}
