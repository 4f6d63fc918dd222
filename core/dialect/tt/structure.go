package tt

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

// Discardable attributes.
const (
	// NoInlineAttr on a function says whether calls of it stay calls.
	NoInlineAttr = "noinline"
	// NumStagesAttr on a loop is how many of its iterations the user wants in flight.
	NumStagesAttr = "tt.num_stages"
	// UnrollFactorAttr on a loop is how often the user wants its body repeated.
	UnrollFactorAttr = "tt.loop_unroll_factor"
	// FlattenAttr on a loop asks for it to be fused with the one inside.
	FlattenAttr = "tt.flatten"
	// AlwaysFuseAttr on a loop has all loops in it fused with it, which Triton's tests do.
	AlwaysFuseAttr = "ttg.always-fuse"
	// WarpSpecializeAttr marks loops that shall be split over groups of warps.
	WarpSpecializeAttr = "tt.warp_specialize"
)

// Attributes that carry decisions of the pipeliner from pass to pass. They are gone
// after tritongpu-pipeline.
const (
	// LatencyAttr on an operation is how many iterations of its loop ahead of its
	// first use it is to be started.
	LatencyAttr = "tt.latency"
	// SelfLatencyAttr on a dot is how many iterations it may run on beside others.
	SelfLatencyAttr = "tt.self_latency"
	// KeepPredicateStageAttr on a loop has pipelining leave ttg.predicate_stage in the
	// place of comparisons with the loop's bound.
	KeepPredicateStageAttr = "__test_keep_predicate_stage"
	// OneAccumulatorAttr on a loop forbids a second buffer for accumulators.
	OneAccumulatorAttr = "tt.disallow_acc_multi_buffer"
	// StageAttr on an operation of a loop is by how many iterations it is delayed
	// against operations of stage 0.
	StageAttr = "loop.stage"
	// ClusterAttr orders the operations of one iteration of the pipelined loop:
	// lower clusters come first.
	ClusterAttr = "loop.cluster"
	// MaxStageAttr on a loop is its greatest stage.
	MaxStageAttr = "tt.scheduled_max_stage"
)

// Functions and calls.
var (
	// Func is a function; its text form is its own.
	Func = &ir.OpDef{
		Name: "tt.func", Doc: "a function; a public one is a kernel",
		Attrs: []ir.AttrDef{
			{Name: "sym_name", Kind: ir.AttrString},
			{Name: "function_type", Kind: ir.AttrType},
			{Name: "sym_visibility", Kind: ir.AttrString, Optional: true},
			{Name: "arg_attrs", Kind: ir.AttrArray, Optional: true},
			{Name: "res_attrs", Kind: ir.AttrArray, Optional: true},
		},
		Regions: []ir.RegionDef{{Name: "body"}},
		Traits:  ir.IsolatedFromAbove | ir.Symbol,
		Effects: ir.Effects{Unknown: true},
		Verify:  verifyFunc,
	}
	Call = &ir.OpDef{
		Name: "tt.call", Doc: "call of a function of this module",
		Operands: []ir.Operand{variadic("operands", ir.AnyType)},
		Results:  []ir.Result{{Name: "results", Arity: ir.Variadic}},
		Attrs:    []ir.AttrDef{{Name: "callee", Kind: ir.AttrSymbol}},
		Effects:  ir.Effects{Unknown: true},
		Verify:   verifyCall,
		Asm:      "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)",
	}
	Return = &ir.OpDef{
		Name: "tt.return", Doc: "end of a function, with its results",
		Operands: []ir.Operand{variadic("srcs", ir.AnyType)}, Traits: ir.Terminator,
		Asm:    "attr-dict ($srcs^ `:` type($srcs))?",
		Verify: verifyReturn,
	}
)

// Operations with a region that says how elements combine. All of them have
// the generic text form.
var (
	Reduce = &ir.OpDef{
		Name: "tt.reduce", Doc: "elements along axis combined into one, in any order",
		Operands: []ir.Operand{variadic("srcs", ir.AnyTensor)},
		Results:  []ir.Result{{Name: "result", Type: AnyValue, Arity: ir.Variadic}},
		Attrs:    []ir.AttrDef{{Name: "axis", Kind: ir.AttrI32}},
		Regions:  []ir.RegionDef{{Name: "combineOp"}},
		Traits:   ir.TensorSize, Effects: ir.Effects{Recursive: true},
		Infer: inferReduce, Verify: verifyReduce,
	}
	ReduceReturn = combineReturn("tt.reduce.return")
	Scan         = &ir.OpDef{
		Name: "tt.scan", Doc: "running combination of elements along axis",
		Operands: []ir.Operand{variadic("srcs", ir.AnyTensor)},
		Results:  []ir.Result{{Name: "result", Type: ir.AnyTensor, Arity: ir.Variadic}},
		Attrs:    []ir.AttrDef{{Name: "axis", Kind: ir.AttrI32}, {Name: "reverse", Kind: ir.AttrBool}},
		Regions:  []ir.RegionDef{{Name: "combineOp"}},
		Traits:   ir.TensorSize, Effects: ir.Effects{Recursive: true},
		Infer: func(s *ir.State) ([]ir.Type, error) {
			types := make([]ir.Type, len(s.Operands))
			for i, v := range s.Operands {
				types[i] = v.Type()
			}
			return types, nil
		},
		Verify: verifyScan,
	}
	ScanReturn     = combineReturn("tt.scan.return")
	MapElementwise = &ir.OpDef{
		Name: "tt.map_elementwise", Doc: "a scalar function on each group of pack elements",
		Operands: []ir.Operand{variadic("srcs", ir.AnyTensor)},
		Results:  []ir.Result{{Name: "result", Type: ir.AnyTensor, Arity: ir.Variadic}},
		Attrs:    []ir.AttrDef{{Name: "pack", Kind: ir.AttrI32}},
		Regions:  []ir.RegionDef{{Name: "scalarOp"}},
		Traits:   ir.TensorSize, Effects: ir.Effects{Recursive: true},
		Verify: verifyMapElementwise,
	}
	MapElementwiseReturn = verified(combineReturn("tt.map_elementwise.return"), verifyMapReturn)
)

// Foreign code and output.
var (
	ExternElementwise = &ir.OpDef{
		Name: "tt.extern_elementwise", Doc: "a function of a bitcode library on each element",
		Operands: []ir.Operand{variadic("srcs", AnyValue)}, Results: result(AnyValue),
		Attrs: []ir.AttrDef{
			{Name: "libname", Kind: ir.AttrString},
			{Name: "libpath", Kind: ir.AttrString},
			{Name: "symbol", Kind: ir.AttrString},
			{Name: "pure", Kind: ir.AttrBool},
		},
		Traits: ir.SameEncoding | ir.SameShape | ir.Elementwise | ir.TensorSize, Effects: ir.Effects{Of: func(op *ir.Operation) ir.Effects { return foreignEffects(AsExternElementwise(op).Pure()) }},
		Asm: "operands attr-dict `:` functional-type(operands, $result)",
	}
	InlineAsm = &ir.OpDef{
		Name: "tt.elementwise_inline_asm", Doc: "assembly on each group of packed_element elements",
		Operands: []ir.Operand{variadic("args", AnyValue)},
		Results:  []ir.Result{{Name: "result", Type: AnyValue, Arity: ir.Variadic}},
		Attrs: []ir.AttrDef{
			{Name: "asm_string", Kind: ir.AttrString},
			{Name: "constraints", Kind: ir.AttrString},
			{Name: "pure", Kind: ir.AttrBool},
			{Name: "packed_element", Kind: ir.AttrI32},
		},
		Traits: ir.Elementwise | ir.SameEncoding | ir.TensorSize, Effects: ir.Effects{Of: func(op *ir.Operation) ir.Effects { return foreignEffects(AsInlineAsm(op).Pure()) }},
		Verify: verifyInlineAsm,
		Asm:    "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)",
	}
	Print = &ir.OpDef{
		Name: "tt.print", Doc: "print values from the device",
		Operands: []ir.Operand{variadic("args", AnyValue)},
		Attrs:    []ir.AttrDef{{Name: "prefix", Kind: ir.AttrString}, {Name: "hex", Kind: ir.AttrBool}, {Name: "isSigned", Kind: ir.AttrDenseI32}},
		Effects:  ir.Effects{Write: true},
		Verify: func(op *ir.Operation) error {
			if len(AsPrint(op).IsSigned()) < op.NumOperands() {
				return fmt.Errorf("isSigned must have a value for each operand")
			}
			return nil
		},
		Asm: "$prefix attr-dict (`:` $args^ `:` type($args))?",
	}
	Assert = &ir.OpDef{
		Name: "tt.assert", Doc: "stop the program where the condition is false",
		Operands: []ir.Operand{operand("condition", ir.BoolLike)},
		Attrs:    []ir.AttrDef{{Name: "message", Kind: ir.AttrString}},
		Effects:  ir.Effects{Write: true},
		Asm:      "$condition `,` $message attr-dict `:` type($condition)",
	}
)

func combineReturn(name string) *ir.OpDef {
	return &ir.OpDef{
		Name: name, Doc: "the combined values",
		Operands: []ir.Operand{variadic("result", AnyValue)}, Traits: ir.Terminator,
		Asm: "$result attr-dict `:` type($result)",
	}
}

// verified is d with a verifier.
func verified(d *ir.OpDef, verify func(*ir.Operation) error) *ir.OpDef {
	d.Verify = verify
	return d
}

func foreignEffects(pure bool) ir.Effects {
	if pure {
		return ir.Pure
	}
	return ir.Effects{Read: true, Write: true}
}

// Dialect is the tt dialect.
var Dialect = &ir.Dialect{
	Name: "tt", Doc: "Triton programs over tensors", Asm: asm,
	Ops: []*ir.OpDef{
		IntToPtr, PtrToInt, Bitcast, FpToFp, Clampf, PreciseSqrt, PreciseDivf, Mulhiui,
		AddPtr, Advance, Load, Store, AtomicRMW, AtomicCAS, MakeTensorPtr, MakeTensorDesc,
		DescriptorLoad, DescriptorStore, DescriptorReduce, DescriptorGather, DescriptorScatter,
		Splat, Unsplat, ExpandDims, Broadcast, Trans, Reshape, Cat, Join, Split, MakeRange, Histogram, Gather,
		GetProgramID, GetNumPrograms, Dot, DotScaled,
		Func, Call, Return, Reduce, ReduceReturn, Scan, ScanReturn, MapElementwise, MapElementwiseReturn,
		ExternElementwise, InlineAsm, Print, Assert,
	},
	Families: []ir.Family{{Name: "Unary", Doc: "an operation on one source", Like: Splat}},
}

func inferReduce(s *ir.State) ([]ir.Type, error) {
	axis, ok := s.Attr("axis").(*ir.IntegerAttr)
	if !ok {
		return nil, fmt.Errorf("requires attribute 'axis'")
	}
	types := make([]ir.Type, len(s.Operands))
	for i, v := range s.Operands {
		t, ok := v.Type().(*ir.TensorType)
		if !ok || axis.Value < 0 || axis.Value >= int64(len(t.Shape)) {
			return nil, fmt.Errorf("axis %d is outside the operand's dimensions", axis.Value)
		}
		types[i] = ReducedType(s.Ctx, t, int(axis.Value))
	}
	return types, nil
}
