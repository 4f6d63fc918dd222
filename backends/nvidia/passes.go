package nvidia

import (
	"strconv"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttir"
)

// canonicalize is the shared pass with the patterns for layouts.
var canonicalize = std.NewCanonicalize(ttgir.ConvertPatterns())

// ttirRows are the passes of the stage ttir.
func ttirRows(arch, options) []pass.Row {
	return []pass.Row{
		{Pass: std.Inline, Why: "the passes after it look at no calls"},
		{Pass: ttir.RewriteTensorPointer, Why: "block pointers become tensors of pointers and masks"},
		{Pass: ttir.RewriteTensorDescriptor, When: noTMA, Why: "nothing after it copies by descriptor"},
		{Pass: std.Canonicalize},
		{Pass: ttir.Combine, Why: "while masks and sums of addresses are in sight"},
		{Pass: ttir.ReorderBroadcast, Why: "compute before it is repeated for every element"},
		{Pass: std.CSE},
		{Pass: std.SymbolDCE, Why: "functions that were inlined are gone"},
		{Pass: ttir.LoopUnroll, Why: "tl.range(loop_unroll_factor=…)"},
	}
}

// noTMA holds where the stages after ttir do not use the copy engine that reads
// tensor descriptors: on all architectures so far.
var noTMA = &pass.Condition{Name: "no-tma", Holds: func(f pass.Facts) bool { return f["tma"] == 0 }}

// facts of an architecture that conditions of rows ask about.
func facts(a arch) pass.Facts { return pass.Facts{"cc": a.cc} }

// ttgirRows are the passes of the stage ttgir.
func ttgirRows(a arch, o options) []pass.Row {
	return []pass.Row{
		{Pass: ttgir.Convert, With: []pass.Setting{
			{Name: "target", Value: backendName + ":" + strconv.Itoa(a.cc)},
			{Name: "num-warps", Value: o.NumWarps},
			{Name: "threads-per-warp", Value: warpSize},
			{Name: "num-ctas", Value: o.NumCTAs},
		}},
		{Pass: ttgir.Coalesce, Why: "memory is read and written in wide pieces"},
		{Pass: ttgir.RemoveConversions, Why: "what coalesce put around each access"},
		{Pass: std.CSE, Why: "equal values that had different layouts"},
		{Pass: canonicalize},
		{Pass: std.CSE},
		{Pass: ttgir.RemoveConversions, Why: "those that simpler code has no use for"},
		{Pass: std.CSE},
		{Pass: std.SymbolDCE},
		{Pass: canonicalize},
	}
}

// passes are all that RunPasses knows by name.
var passes = []*pass.Pass{
	std.Inline, canonicalize, std.CSE, std.SymbolDCE,
	ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll,
	ttgir.Convert, ttgir.Coalesce, ttgir.RemoveConversions,
}
