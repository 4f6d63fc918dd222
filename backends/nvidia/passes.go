package nvidia

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/backends/nvidia/instrument"
	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/backends/nvidia/tasks"
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/inspect"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The passes that are more than core's own: with patterns for layouts, with the
// instruction that rounds f32 to tf32, with the name that Triton gives it, with
// tensor cores and copies by TMA.
var (
	rewriteDescriptors = ttir.NewRewriteTensorDescriptor(tma.Unit{WGMMA: true})
	rewriteForMMA      = ttir.NewRewriteTensorDescriptor(tma.Unit{})
	accelerateMatmul   = matrix.NewAccelerateMatmul(tmem.Unit{})
	accelerateRows16   = matrix.NewAccelerateMatmul(tmem.Unit{Rows16: true})
	accelerateByMMA    = matrix.NewAccelerateMatmul(mma.Unit{})
	optimizeOperands   = matrix.NewOptimizeDotOperands(wgmma.Unit{}, tmem.KeepScalesShared)
	assignLatencies    = pipeline.NewAssignLatencies(wgmma.Unit{}, tmem.Dots{})
	loadEarly          = loops.NewLoadEarly(wgmma.Unit{})
	pipelineTMA        = pipeline.New(tmem.Unit{}, tma.Copies{}, wgmma.PipelineDots, std.FoldArith, tma.PipelineStores, tma.BufferDescriptors)
	testLowerLoop      = pipeline.NewTestLowerLoop(tmem.Unit{AsScheduled: true}, tma.Copies{})
	prefetch           = pipeline.NewPrefetch(wgmma.Unit{})
	reduceDuplication  = matrix.NewReduceDataDuplication(wgmma.Unit{})
	canonicalize       = std.NewCanonicalize(layouts.ConvertPatterns(), layouts.SpecializePatterns(), tmem.Patterns())
	planCTA            = named(layouts.PlanCTA, "triton-nvidia-gpu-plan-cta")
	printMembar        = inspect.NewMembar(gpu.Effects)
	f32DotTC           = matrix.NewF32DotTC(matrix.TF32Rounding{Asm: "cvt.rna.tf32.f32 $0, $1;", Constraints: "=r,r"})
)

// ttirRows are the passes of the stage ttir, in Triton's order.
func ttirRows(a arch, o options) []pass.Row {
	return o.without([]pass.Row{
		{Pass: std.Inline, Why: "later passes do not look into calls"},
		{Pass: ttir.RewriteTensorPointer, Why: "block pointers become tensors of pointers and masks", Needed: true},
		{Pass: rewriteDescriptors, With: descriptorSettings(a, o), Why: "no later pass handles these descriptors", Needed: true},
		{Pass: canonicalize, Why: "combine matches canonical forms"},
		{Pass: ttir.Combine, Why: "masks and address arithmetic are still visible"},
		{Pass: ttir.ReorderBroadcast, Why: "elementwise work is done before values are repeated"},
		{Pass: std.CSE, Why: "address arithmetic repeats between accesses"},
		{Pass: std.SymbolDCE, Why: "functions that were inlined are gone"},
		{Pass: ttir.LoopUnroll, Why: "tl.range(loop_unroll_factor=…)"},
	})
}

// withTMA holds where blocks are copied through descriptors.
var withTMA = &pass.Condition{Name: "tma", Holds: func(f pass.Facts) bool { return f["tma"] > 0 }}

// withWGMMA holds where there may be dots of warpgroups.
var withWGMMA = &pass.Condition{Name: "wgmma", Holds: func(f pass.Facts) bool { return f["wgmma"] > 0 }}

// withWarpGroups holds where warps can be divided between copies by TMA and dots by wgmma.
var withWarpGroups = &pass.Condition{Name: "tma and wgmma", Holds: func(f pass.Facts) bool { return f["tma"] > 0 && f["wgmma"] > 0 }}

// hasTMA reports whether the passes are to copy through descriptors: where the
// hardware is there.
func (o options) hasTMA(a arch) bool { return o.TMA != tmaNever && a.cc >= 90 }

// accelerate is the pass that decides which dots go by wgmma. The passes after it work
// with whatever it chose.
func (o options) accelerate() *pass.Pass {
	if o.WGMMA == wgmmaNever {
		return accelerateByMMA
	}
	return accelerateMatmul
}

// budget is the pass that decides which descriptors there is shared memory for.
func (o options) budget() *pass.Pass {
	if o.WGMMA == wgmmaNever {
		return rewriteForMMA
	}
	return rewriteDescriptors
}

// descriptorSettings leave descriptors to TMA.
func descriptorSettings(a arch, o options) []pass.Setting {
	if !o.hasTMA(a) {
		return nil
	}
	return []pass.Setting{{Name: "keep-descriptors", Value: map[string]string{tmaAuto: "dots", tmaAlways: "all"}[o.TMA]}}
}

// budgetSettings say how much shared memory the blocks on their way may take. Where
// they would take more, all descriptors of the kernel become pointers.
func budgetSettings(a arch, o options) []pass.Setting {
	if !o.hasTMA(a) {
		return nil
	}
	return append(descriptorSettings(a, o),
		pass.Setting{Name: "num-stages", Value: o.NumStages}, pass.Setting{Name: "num-warps", Value: o.NumWarps},
		pass.Setting{Name: "shared-memory", Value: int(a.sharedMemory)})
}

// clusters holds where a program may be several blocks.
var clusters = &pass.Condition{Name: "num_ctas>1", Holds: func(f pass.Facts) bool { return f["ctas"] > 1 }}

// passFacts are what conditions of rows ask about an architecture and a compile.
func passFacts(a arch, o options) pass.Facts {
	f := pass.Facts{"cc": a.cc, "ctas": o.NumCTAs}
	if o.hasTMA(a) {
		f["tma"] = 1
	}
	if o.WGMMA != wgmmaNever && a.cc/10 == 9 {
		f["wgmma"] = 1
	}
	return f
}

// without marks the rows that the user leaves out.
func (o options) without(rows []pass.Row) []pass.Row {
	return pass.WithoutOwn(rows, o.SkipPasses, optionSkipPasses)
}

// checkSkipped says why passes cannot be left out, or nil.
func checkSkipped(a arch, names []string) error {
	o := options{NumWarps: 4, NumCTAs: 1}
	_, err := pass.Without(slices.Concat(ttirRows(a, o), ttgirRows(a, o)), names, optionSkipPasses)
	return err
}

// ttgirRows are the passes of the stage ttgir, in Triton's order for compute
// capability 8.0.
func ttgirRows(a arch, o options) []pass.Row {
	stages := []pass.Setting{{Name: "num-stages", Value: o.NumStages}}
	return o.without([]pass.Row{
		{Pass: o.budget(), With: budgetSettings(a, o), Why: "decides which descriptors go by TMA; ttir files may contain others", Needed: true},
		{Pass: layouts.Convert, Why: "every later pass needs layouts", Needed: true, With: []pass.Setting{
			{Name: "target", Value: backendName + ":" + strconv.Itoa(a.cc)},
			{Name: "num-warps", Value: o.NumWarps},
			{Name: "threads-per-warp", Value: warpSize},
			{Name: "num-ctas", Value: o.NumCTAs},
		}},
		{Pass: layouts.Coalesce, Why: "accesses become wide and contiguous"},
		{Pass: f32DotTC, Why: "f32 dots of more than tf32's precision use tensor cores"},
		{Pass: planCTA, When: clusters, Why: "blocks of a cluster divide the work before layouts propagate"},
		{Pass: layouts.RemoveConversions, Why: "removes what coalesce put around each access"},
		{Pass: layouts.OptimizeThreadLocality, Why: "layouts have propagated, and dots do not constrain them yet"},
		{Pass: o.accelerate(), Why: "dots on tensor cores"},
		{Pass: layouts.RemoveConversions, Why: "removes what accelerate-matmul put around each dot"},
		{Pass: optimizeOperands, Why: "operands are transposed while they pass through shared memory"},
		{Pass: tma.OptimizeDescriptorEncoding, When: withTMA, Why: "the buffers of operands are known", Needed: true},
		{Pass: loops.LoopAwareCSE, Why: "values that differed in layout only are equal now"},
		{Pass: loops.SplitOffsets, Why: "the uniform part can be hoisted"},
		{Pass: loops.BoundMasks, Why: "before parts of the masks are hoisted"},
		{Pass: loops.LICM, Why: "invariants of the inner loop stay out of the fused one"},
		{Pass: loops.FuseNestedLoops, Why: "the pipeliner sees one loop"},
		{Pass: canonicalize, Why: "cleans up after fusing"},
		{Pass: loops.LICM, Why: "loads that do not change need no pipelining"},
		{Pass: canonicalize, Why: "erases loops that became empty"},
		{Pass: loops.CombineSelectAndIf, Why: "fused loops bring new conditions"},
		{Pass: warpspec.Specialize, When: withWarpGroups, Why: "tl.range(warp_specialize=True); conditions have their final form", With: append(slices.Clone(stages), pass.Setting{Name: "shared-memory", Value: int(a.sharedMemory)})},
		{Pass: assignLatencies, Why: "chooses the loads to start early", With: append(slices.Clone(stages), pass.Setting{Name: "tables", Value: false})},
		{Pass: pipeline.ScheduleLoops, Why: "latencies are set"},
		{Pass: pipelineTMA, Why: "asynchronous copies ahead of their use", With: stages},
		{Pass: wgmma.PipelineDots, When: withWGMMA, Why: "loops have their final form, and copies their places"},
		{Pass: tma.PipelineStores, When: withTMA, Why: "loops have their final form", With: stages},
		{Pass: canonicalize, Why: "folds what is known before and after pipelined loops"},
		{Pass: loops.LoopAwareCSE, Why: "prologues repeat computations"},
		{Pass: prefetch, Why: "loops whose dots read buffers have their final form", With: prefetchSettings(o)},
		{Pass: optimizeOperands, Why: "operands are now read from buffers"},
		{Pass: pipeline.CoalesceAsyncCopy, Why: "a copy can be no wider than what is contiguous in its buffer"},
		{Pass: tma.Lower, When: withTMA, Why: "what the pipeliner left is not pipelined", Needed: true},
		{Pass: layouts.RemoveConversions, Why: "removes conversions between the new loads and dots"},
		{Pass: layouts.SpreadReplicas, Why: "the last pass that takes conversions away has run"},
		{Pass: reduceDuplication, Why: "for operands that no buffer holds yet"},
		{Pass: loops.ReorderInstructions, Why: "fewer values are live at once", With: registerSettings(o)},
		{Pass: loops.LoopAwareCSE, Why: "merges what reordering put side by side"},
		{Pass: std.SymbolDCE, Why: "erases functions without callers"},
		{Pass: wgmma.InsertFences, When: withWGMMA, Why: "operands and waits have their places"},
		{Pass: std.SCCP, Why: "predicates of pipelined loops may be constant"},
		{Pass: loops.BoundMasks, Why: "pipelined accesses have their final masks"},
		{Pass: std.CSE, Why: "cleans up after the passes above"},
		{Pass: canonicalize, Why: "the lowering expects canonical forms"},
		{Pass: loops.CombineSelectAndIf, Why: "canonical forms undo the clearing of accumulators in fused loops"},
		{Pass: loops.ReduceEarly, Why: "iterations without masked elements skip the mask"},
		{Pass: loadEarly, With: registerSettings(o), Why: "barriers are in place, and loads stay between them"},
		{Pass: loops.LoadAhead, With: registerSettings(o), Why: "what is left of an iteration's loads is known"},
		{Pass: wgmma.LoadBeforeDots, When: withWGMMA, Why: "dots and waits have their places"},
	})
}

// llirRows are the passes that prepare a module with partitions or several tensor maps
// for its lowering, or add checks to it.
func llirRows(a arch) []pass.Row {
	return []pass.Row{
		{Pass: tma.GroupMaps, When: severalMaps, Why: "each warp can make one"},
		{Pass: warpspec.AllocateWarpGroups, When: partitions, Why: "partitions have their final form", Needed: true},
		{Pass: allocateShared, When: sanitized, Why: "checks name buffers by their places", Needed: true, With: []pass.Setting{{Name: "compute-capability", Value: a.cc}}},
		{Pass: instrument.ConcurrencySanitizer, When: sanitized, Why: "no pass moves accesses from now on", Needed: true},
		{Pass: std.Inline, When: sanitizedGroups, Why: "partitions cannot call functions", Needed: true},
		{Pass: std.CSE, When: sanitized, Why: "checks repeat addresses"},
	}
}

var (
	sanitized       = &pass.Condition{Name: "instrumentation_mode=" + instrumentConsan, Holds: func(f pass.Facts) bool { return f["consan"] > 0 }}
	sanitizedGroups = &pass.Condition{Name: sanitized.Name + " and ttg.warp_specialize", Holds: func(f pass.Facts) bool { return f["consan"] > 0 && f["partitions"] > 0 }}
	severalMaps     = &pass.Condition{Name: "ttng.tensormap_create", Holds: func(f pass.Facts) bool { return f["maps"] > 0 }}
	partitions      = &pass.Condition{Name: "ttg.warp_specialize", Holds: func(f pass.Facts) bool { return f["partitions"] > 0 }}
)

// llirFacts are what conditions of llirRows ask about a module and a compile.
func llirFacts(module *ir.Operation, o options) pass.Facts {
	f := pass.Facts{}
	if o.Instrumentation == instrumentConsan {
		f["consan"] = 1
	}
	if hasPartitions(module) {
		f["partitions"] = 1
	}
	if tma.MakesMaps(module) {
		f["maps"] = 1
	}
	return f
}

// llirTools are what the stage llir shows.
func llirTools(a arch) []sdk.PassRow {
	var out []sdk.PassRow
	for _, r := range llirRows(a) {
		out = append(out, sdk.PassRow{Name: r.Pass.Name, Doc: r.Pass.Doc, Why: r.Why, Condition: r.When.Name})
	}
	return out
}

// prefetchSettings have the pipeliner's loops read ahead only where the user asks
// for it: the first part of the operands takes registers all through an iteration, of
// which large tiles have none left.
func prefetchSettings(o options) []pass.Setting {
	if !o.PrefetchOperands {
		return nil
	}
	return []pass.Setting{{Name: "carry-buffers", Value: true}}
}

// registerSettings let loops keep operands where a thread's registers hold them.
func registerSettings(o options) []pass.Setting {
	n := min(gpu.FileRegisters/(o.NumWarps*warpSize), gpu.ThreadRegisters)
	if o.MaxNReg != nil {
		n = min(n, *o.MaxNReg)
	}
	return []pass.Setting{{Name: "registers", Value: n}}
}

// passes are all that RunPasses knows by name.
var passes = slices.Concat(
	[]*pass.Pass{std.Inline, canonicalize, std.CSE, std.SCCP, std.SymbolDCE, std.ConvertSCFToCF},
	[]*pass.Pass{ttir.RewriteTensorPointer, rewriteDescriptors, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll, ttir.TestLoopPeeling},
	ours(ttgir.Passes()), []*pass.Pass{inspect.Alignment, inspect.Alias, inspect.Allocation, printMembar, allocateShared},
	[]*pass.Pass{tma.OptimizeDescriptorEncoding, tma.PipelineStores, tma.BufferDescriptors, tma.Lower, tma.GroupMaps, tma.ProxyFences, wgmma.PipelineDots, wgmma.InsertFences, wgmma.LoadBeforeDots, warpspec.Specialize, warpspec.AllocateWarpGroups},
	tmem.Passes(), partition.Passes(), tasks.Passes(), instrument.Passes(),
)

// passFor is the pass that runs in p's place with the machine's settings.
func passFor(p *pass.Pass, settings map[string]string) *pass.Pass {
	on := strings.ToLower(settings[settingRows16.Name])
	if p == accelerateMatmul && (on == "1" || on == "on" || on == "true") {
		return accelerateRows16
	}
	return p
}

// ours puts this backend's passes in the places of core's, which have the same
// names; plan-cta has another.
func ours(list []*pass.Pass) []*pass.Pass {
	replacements := []*pass.Pass{
		f32DotTC, accelerateMatmul, optimizeOperands, assignLatencies, pipelineTMA, prefetch, loadEarly, reduceDuplication, testLowerLoop,
	}
	for i, p := range list {
		if p == layouts.PlanCTA {
			list[i] = planCTA
		}
		for _, r := range replacements {
			if r.Name == p.Name {
				list[i] = r
			}
		}
	}
	return list
}

// named is a pass under another name.
func named(p *pass.Pass, name string) *pass.Pass {
	n := *p
	n.Name = name
	return &n
}
