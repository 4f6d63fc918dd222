package ttg

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

func one(name string, c ir.Constraint) ir.Operand { return ir.Operand{Name: name, Type: c} }
func maybe(name string, c ir.Constraint) ir.Operand {
	return ir.Operand{Name: name, Type: c, Arity: ir.Optional}
}

func many(name string, c ir.Constraint) ir.Operand {
	return ir.Operand{Name: name, Type: c, Arity: ir.Variadic}
}
func result(c ir.Constraint) []ir.Result { return []ir.Result{{Name: "result", Type: c}} }

func inferToken(s *ir.State) ([]ir.Type, error) { return []ir.Type{AsyncToken(s.Ctx)}, nil }

const srcToResult = "$src attr-dict `:` type($src) `->` type($result)"

// Layouts.
var (
	ConvertLayout = &ir.OpDef{
		Name: "ttg.convert_layout", Doc: "the same tensor in another layout",
		Operands: []ir.Operand{one("src", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Traits: ir.SameShape | ir.TensorSize, Asm: srcToResult,
		Verify: func(op *ir.Operation) error {
			if v := AsConvertLayout(op); ir.ElemOf(v.Src().Type()) != ir.ElemOf(v.Result().Type()) {
				return fmt.Errorf("source and result must have the same element type")
			}
			return nil
		},
	}
	Fp4ToFp = &ir.OpDef{
		Name: "ttg.fp4_to_fp", Doc: "packed e2m1 pairs to 16-bit floats; axis doubles",
		Operands: []ir.Operand{one("src", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Verify: verifyFp4ToFp,
		Attrs:  []ir.AttrDef{{Name: "axis", Kind: ir.AttrI32}}, Traits: ir.TensorSize, Asm: srcToResult,
	}
)

// Shared memory.
var (
	LocalAlloc = &ir.OpDef{
		Name: "ttg.local_alloc", Doc: "a buffer, filled with src if it is given",
		Operands: []ir.Operand{maybe("src", ir.AnyTensor)}, Results: result(MemDescLike),
		Attrs:   []ir.AttrDef{{Name: "alignment", Kind: ir.AttrI32, Optional: true}},
		Verify:  verifyLocalAlloc,
		Effects: ir.Effects{Alloc: true, Of: allocEffects},
		Asm:     "($src^)? attr-dict `:` functional-type(operands, results)",
	}
	LocalDealloc = &ir.OpDef{
		Name: "ttg.local_dealloc", Doc: "the end of a buffer's life",
		Operands: []ir.Operand{one("src", MemDescLike)}, Effects: ir.Effects{Write: true}, Asm: "$src attr-dict `:` qualified(type($src))",
	}
	LocalLoad = &ir.OpDef{
		Name: "ttg.local_load", Doc: "registers from a buffer",
		Operands: []ir.Operand{one("src", MemDescLike), maybe("token", TokenLike)}, Results: result(ir.AnyTensor),
		Verify:  verifyLocalLoad,
		Effects: ir.Effects{Read: true},
		Asm:     "$src (`token` $token^)? attr-dict `:` qualified(type($src)) `->` type($result)",
	}
	LocalStore = &ir.OpDef{
		Name: "ttg.local_store", Doc: "registers to a buffer",
		Operands: []ir.Operand{one("src", ir.AnyTensor), one("dst", MemDescLike)}, Effects: ir.Effects{Write: true},
		Verify: verifyLocalStore,
		Asm:    "$src `,` $dst attr-dict `:` type($src) `->` qualified(type($dst))",
	}
	MemDescIndex = &ir.OpDef{
		Name: "ttg.memdesc_index", Doc: "one buffer of an array of buffers",
		Operands: []ir.Operand{one("src", MemDescLike), one("index", ir.I32Scalar)}, Results: result(MemDescLike),
		Verify: verifyMemDescIndex,
		Asm:    "$src `[` $index `]` attr-dict `:` qualified(type($src)) `->` qualified(type($result))",
	}
	MemDescSubslice = &ir.OpDef{
		Name: "ttg.memdesc_subslice", Doc: "a part of a buffer at constant offsets",
		Operands: []ir.Operand{one("src", MemDescLike)}, Results: result(MemDescLike),
		Attrs:  []ir.AttrDef{{Name: "offsets", Kind: ir.AttrDenseI32}},
		Verify: verifyMemDescSubslice,
		Asm:    "$src `` $offsets attr-dict `:` qualified(type($src)) `->` qualified(type($result))",
	}
	MemDescTrans = &ir.OpDef{
		Name: "ttg.memdesc_trans", Doc: "a buffer seen with its dimensions permuted",
		Operands: []ir.Operand{one("src", MemDescLike)}, Results: result(MemDescLike),
		Attrs:  []ir.AttrDef{{Name: "order", Kind: ir.AttrDenseI32}},
		Verify: verifyMemDescTrans,
		Asm:    "$src attr-dict `:` qualified(type($src)) `->` qualified(type($result))",
	}
	MemDescReshape     = view("ttg.memdesc_reshape", "a buffer seen in another shape", verifyMemDescReshape)
	MemDescReinterpret = folded(view("ttg.memdesc_reinterpret", "a buffer seen with another type", verifyMemDescReinterpret), foldReinterpret)
)

func folded(d *ir.OpDef, fold func(*ir.Operation, []ir.Attribute) []ir.FoldResult) *ir.OpDef {
	d.Fold = fold
	return d
}

// foldReinterpret: a buffer seen with its own type is that buffer.
func foldReinterpret(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	src := AsMemDescReinterpret(op).Src()
	if src.Type() != op.OneResult().Type() {
		return nil
	}
	return []ir.FoldResult{{Value: src}}
}

func view(name, doc string, verify func(*ir.Operation) error) *ir.OpDef {
	return &ir.OpDef{
		Name: name, Doc: doc, Verify: verify,
		Operands: []ir.Operand{one("src", MemDescLike)}, Results: result(MemDescLike),
		Asm: "$src attr-dict `:` qualified(type($src)) `->` qualified(type($result))",
	}
}

// allocEffects: a buffer that is filled once and never written is a value like
// others, so that two dots of one operand share it.
func allocEffects(op *ir.Operation) ir.Effects {
	v := AsLocalAlloc(op)
	t, ok := v.Result().Type().(*MemDescType)
	filled, mutable := v.Src() != nil, ok && t.Mutable
	return ir.Effects{Alloc: !filled || mutable, Write: filled && mutable}
}

// Asynchronous copies.
var (
	AsyncCopy = &ir.OpDef{
		Name: "ttg.async_copy_global_to_local", Doc: "start a copy from global memory into a buffer",
		Operands: []ir.Operand{one("src", tt.PtrLike), one("result", MemDescLike), maybe("mask", ir.AnyType), maybe("other", ir.AnyType)},
		Results:  []ir.Result{{Name: "token", Type: TokenLike}},
		Attrs: []ir.AttrDef{
			{Name: "cache", Kind: ir.AttrEnum, Enum: tt.CacheModifiers, Optional: true, Default: func(c *ir.Context) ir.Attribute { return c.I32Attr(tt.CacheNone) }},
			{Name: "evict", Kind: ir.AttrEnum, Enum: tt.EvictionPolicies, Optional: true, Default: func(c *ir.Context) ir.Attribute { return c.I32Attr(tt.EvictNormal) }},
			{Name: "isVolatile", Kind: ir.AttrBool, Optional: true, Default: func(c *ir.Context) ir.Attribute { return c.BoolAttr(false) }},
			{Name: "contiguity", Kind: ir.AttrI32, Optional: true, Default: func(c *ir.Context) ir.Attribute { return c.I32Attr(1) }},
		},
		Traits: ir.SegmentedOperands, Effects: ir.Effects{Read: true, Write: true}, Infer: inferToken,
		Verify: verifyAsyncCopy,
		Asm: "$src `,` $result (`mask` $mask^)? (`other` $other^)? oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict) attr-dict " +
			"`:` type($src) `->` qualifiedless(type($result))",
	}
	AsyncCommitGroup = &ir.OpDef{
		Name: "ttg.async_commit_group", Doc: "the copies started so far, as one group",
		Operands: []ir.Operand{many("inputTokens", TokenLike)}, Results: []ir.Result{{Name: "asyncToken", Type: TokenLike}},
		Effects: ir.Effects{Read: true, Write: true}, Infer: inferToken,
		Asm: "(`tokens` $inputTokens^)? attr-dict",
	}
	AsyncWait = &ir.OpDef{
		Name: "ttg.async_wait", Doc: "wait until at most num groups are in flight; -1: nor copies of no group",
		Operands: []ir.Operand{many("asyncToken", TokenLike)}, Results: []ir.Result{{Name: "retToken", Type: TokenLike}},
		Attrs:   []ir.AttrDef{{Name: "num", Kind: ir.AttrI32}},
		Effects: ir.Effects{Read: true, Write: true}, Infer: inferToken,
		Verify: verifyAsyncWait,
		Asm:    "($asyncToken^)? attr-dict",
	}
)

// Scratch memory, pipelining helpers, barriers.
var (
	GlobalScratchAlloc = &ir.OpDef{
		Name: "ttg.global_scratch_alloc", Doc: "nbytes of global memory, this program's own",
		Results: result(tt.ScalarPtr),
		Attrs:   []ir.AttrDef{{Name: "nbytes", Kind: ir.AttrI32}, {Name: "alignment", Kind: ir.AttrI32}},
		Verify:  verifyGlobalScratchAlloc,
		Effects: ir.Effects{Alloc: true}, Asm: "attr-dict `:` qualified(type($result))",
	}
	PredicateStage = &ir.OpDef{
		Name: "ttg.predicate_stage", Doc: "whether a pipeline stage is live in this iteration",
		Operands: []ir.Operand{one("iv", ir.IntLike), one("ub", ir.IntLike), one("step", ir.IntLike)},
		Results:  result(ir.Bool),
		Attrs:    []ir.AttrDef{{Name: "maxStage", Kind: ir.AttrI32}, {Name: "stage", Kind: ir.AttrI32}},
		Asm:      "$iv `,` $ub `,` $step `maxStage` $maxStage `stage` $stage attr-dict `:` type($iv) `->` type($result)",
	}
	Mask = &ir.OpDef{
		Name: "ttg.mask", Doc: "a region executed where the predicate is true",
		Operands: []ir.Operand{one("pred", ir.Bool)}, Results: []ir.Result{{Name: "result", Arity: ir.Variadic}},
		Regions: []ir.RegionDef{{Name: "region", MaxBlocks: 1}}, Effects: ir.Effects{Recursive: true},
	}
	MaskReturn = &ir.OpDef{
		Name: "ttg.mask.return", Doc: "the end of a masked region",
		Operands: []ir.Operand{many("result", ir.AnyType)}, Traits: ir.Terminator,
		Asm: "$result attr-dict `:` type($result)",
	}
	LocalBarrier = &ir.OpDef{
		Name: "ttg.local_barrier", Doc: "wait for the threads that share memory",
		Effects: ir.Effects{Read: true, Write: true}, Asm: "attr-dict",
	}
)

// Warp specialisation; WarpSpecialize has a text form of its own.
var (
	WarpSpecialize = &ir.OpDef{
		Name: "ttg.warp_specialize", Doc: "regions that run at once, each on its own warps",
		Operands: []ir.Operand{many("explicitCaptures", ir.AnyType)}, Results: []ir.Result{{Name: "defaultPassthrough", Arity: ir.Variadic}},
		Attrs: []ir.AttrDef{
			{Name: "partitionNumWarps", Kind: ir.AttrDenseI32},
			{Name: "warpGroupStartIds", Kind: ir.AttrDenseI32, Optional: true},
			{Name: "requestedRegisters", Kind: ir.AttrDenseI32, Optional: true},
			{Name: "actualRegisters", Kind: ir.AttrDenseI32, Optional: true},
		},
		Regions: []ir.RegionDef{{Name: "defaultRegion"}, {Name: "partitionOpHolder", MaxBlocks: 1}},
		Verify:  verifyWarpSpecialize,
		Effects: ir.Effects{Recursive: true},
	}
	WarpSpecializePartitions = &ir.OpDef{
		Name: "ttg.warp_specialize.partitions", Doc: "holds the partitions' regions",
		Regions: []ir.RegionDef{{Name: "partitionRegions", Variadic: true}},
		Traits:  ir.IsolatedFromAbove | ir.Terminator, Effects: ir.Effects{Recursive: true},
		Verify: verifyPartitions,
	}
	WarpReturn = &ir.OpDef{
		Name: "ttg.warp_return", Doc: "the end of a partition", Traits: ir.Terminator, Asm: "attr-dict",
	}
	WarpYield = &ir.OpDef{
		Name: "ttg.warp_yield", Doc: "the end of the default region, with its results",
		Operands: []ir.Operand{many("values", ir.AnyType)}, Traits: ir.Terminator,
		Asm:    "($values^)? attr-dict (`:` type($values)^)?",
		Verify: verifyWarpYield,
	}
)

// Dialect is the ttg dialect.
var Dialect = &ir.Dialect{
	Name: "ttg", Doc: "layouts and shared memory", Asm: asm, Check: checkLayouts,
	Ops: []*ir.OpDef{
		ConvertLayout, Fp4ToFp, LocalAlloc, LocalDealloc, LocalLoad, LocalStore,
		MemDescIndex, MemDescSubslice, MemDescTrans, MemDescReshape, MemDescReinterpret,
		AsyncCopy, AsyncCommitGroup, AsyncWait, GlobalScratchAlloc, PredicateStage, Mask, MaskReturn, LocalBarrier,
		WarpSpecialize, WarpSpecializePartitions, WarpReturn, WarpYield,
	},
}

// Viewed is the buffer of which op gives another view; nil for operations that give
// none.
func Viewed(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case MemDescIndex:
		return AsMemDescIndex(op).Src()
	case MemDescSubslice, MemDescTrans, MemDescReshape, MemDescReinterpret:
		return tt.AsUnary(op).Src()
	}
	return nil
}

// NewPredicateStage makes what says whether stage of so many is live in the iteration that
// iv numbers.
func NewPredicateStage(b *ir.Builder, iv, ub, step *ir.Value, maxStage, stage int) *ir.Value {
	return b.Create(PredicateStage, ir.State{Operands: []*ir.Value{iv, ub, step}, Types: []ir.Type{b.Context().I1()}, Attrs: []ir.NamedAttr{
		{Name: "maxStage", Attr: b.Context().I32Attr(int64(maxStage))}, {Name: "stage", Attr: b.Context().I32Attr(int64(stage))},
	}}).OneResult()
}

// NewConvertLayout makes src with the encoding enc; src itself if it has it.
func NewConvertLayout(b *ir.Builder, src *ir.Value, enc ir.Attribute) *ir.Value {
	t := src.Type().(*ir.TensorType)
	if t.Encoding == enc {
		return src
	}
	return b.Op(ConvertLayout, []*ir.Value{src}, b.Context().Tensor(t.Shape, t.Elem, enc)).OneResult()
}

// The attributes of a module.
const (
	NumCTAsAttr        = "ttg.num-ctas"
	NumWarpsAttr       = "ttg.num-warps"
	ThreadsPerWarpAttr = "ttg.threads-per-warp"
	TargetAttr         = "ttg.target"
	SharedAttr         = "ttg.shared"
	MaxNRegAttr        = "ttg.maxnreg"
	// TotalNumWarpsAttr is how many warps run at once, those of partitions included.
	TotalNumWarpsAttr = "ttg.total-num-warps"
	// OffsetAttr is where what an operation has in shared memory begins, in its
	// function's frame.
	OffsetAttr = "allocation.offset"
	// Scratch memory of programs in global memory: of a function or module how many
	// bytes, and their alignment; of an operation where in its function's frame.
	GlobalScratchSizeAttr   = "ttg.global_scratch_memory_size"
	GlobalScratchAlignAttr  = "ttg.global_scratch_memory_alignment"
	GlobalScratchOffsetAttr = "ttg.global_scratch_memory_offset"
)

// DefaultThreadsPerWarp is what a module means that has no ThreadsPerWarpAttr. Triton
// writes the attribute always; modules written by hand often leave it out.
const DefaultThreadsPerWarp = 32

// ThreadsPerWarp is the number of lanes of a warp that a module is for.
func ThreadsPerWarp(module *ir.Operation) int64 {
	if n, ok := module.IntAttr(ThreadsPerWarpAttr); ok {
		return n
	}
	return DefaultThreadsPerWarp
}

// NumCTAs is the number of CTAs of a cluster that a module is for: 1 if it does not say.
func NumCTAs(module *ir.Operation) int64 {
	if n, ok := module.IntAttr(NumCTAsAttr); ok {
		return n
	}
	return 1
}
