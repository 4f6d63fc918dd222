package tt

import "github.com/tritonc/tritonc/core/ir"

// Cache modifiers of loads and stores.
const (
	CacheNone int64 = 1 + iota
	CacheCA
	CacheCG
	CacheWB
	CacheCS
	CacheWT
	CacheCV
)

// CacheModifiers are their keywords.
var CacheModifiers = []ir.EnumCase{
	{Keyword: "none", Value: CacheNone},
	{Keyword: "ca", Value: CacheCA},
	{Keyword: "cg", Value: CacheCG},
	{Keyword: "wb", Value: CacheWB},
	{Keyword: "cs", Value: CacheCS},
	{Keyword: "wt", Value: CacheWT},
	{Keyword: "cv", Value: CacheCV},
}

// Eviction policies.
const (
	EvictNormal int64 = 1 + iota
	EvictFirst
	EvictLast
)

// EvictionPolicies are their keywords.
var EvictionPolicies = []ir.EnumCase{
	{Keyword: "evict_normal", Value: EvictNormal}, {Keyword: "evict_first", Value: EvictFirst}, {Keyword: "evict_last", Value: EvictLast},
}

// What a load past the border of a block pointer gives.
const (
	PadZero int64 = 1 + iota
	PadNaN
)

// PaddingOptions are their keywords.
var PaddingOptions = []ir.EnumCase{{Keyword: "zero", Value: PadZero}, {Keyword: "nan", Value: PadNaN}}

// Atomic read-modify-write operations.
const (
	RMWAnd int64 = 1 + iota
	RMWOr
	RMWXor
	RMWAdd
	RMWFAdd
	RMWMax
	RMWMin
	RMWUMax
	RMWUMin
	RMWExch
)

// RMWOps are their keywords.
var RMWOps = []ir.EnumCase{
	{Keyword: "and", Value: RMWAnd},
	{Keyword: "or", Value: RMWOr},
	{Keyword: "xor", Value: RMWXor},
	{Keyword: "add", Value: RMWAdd},
	{Keyword: "fadd", Value: RMWFAdd},
	{Keyword: "max", Value: RMWMax},
	{Keyword: "min", Value: RMWMin},
	{Keyword: "umax", Value: RMWUMax},
	{Keyword: "umin", Value: RMWUMin},
	{Keyword: "exch", Value: RMWExch},
}

// Reductions through a descriptor.
var DescriptorReduceKinds = []ir.EnumCase{
	{Keyword: "add", Value: 1},
	{Keyword: "min", Value: 2},
	{Keyword: "max", Value: 3},
	{Keyword: "inc", Value: 4},
	{Keyword: "dec", Value: 5},
	{Keyword: "and", Value: 6},
	{Keyword: "or", Value: 7},
	{Keyword: "xor", Value: 8},
}

// DescriptorReduceKeyword is how op, a reduction through a descriptor, combines.
func DescriptorReduceKeyword(op *ir.Operation) string {
	kind := AsDescriptorReduce(op).Kind()
	for _, k := range DescriptorReduceKinds {
		if k.Value == kind {
			return k.Keyword
		}
	}
	return ""
}

// Memory orders of atomics.
const (
	SemRelaxed int64 = 1 + iota
	SemAcquire
	SemRelease
	SemAcqRel
)

// MemSemantics are their keywords.
var MemSemantics = []ir.EnumCase{
	{Keyword: "relaxed", Value: SemRelaxed},
	{Keyword: "acquire", Value: SemAcquire},
	{Keyword: "release", Value: SemRelease},
	{Keyword: "acq_rel", Value: SemAcqRel},
}

// Scopes of atomics.
const (
	ScopeGPU int64 = 1 + iota
	ScopeCTA
	ScopeSystem
)

// MemScopes are their keywords.
var MemScopes = []ir.EnumCase{{Keyword: "gpu", Value: ScopeGPU}, {Keyword: "cta", Value: ScopeCTA}, {Keyword: "sys", Value: ScopeSystem}}

// Axes of the launch grid.
var ProgramAxes = []ir.EnumCase{{Keyword: "x", Value: 0}, {Keyword: "y", Value: 1}, {Keyword: "z", Value: 2}}

// Rounding of narrowing float conversions.
const (
	RoundTowardZero int64 = iota
	RoundNearestEven
)

// RoundingModes are their keywords.
var RoundingModes = []ir.EnumCase{{Keyword: "rtz", Value: RoundTowardZero}, {Keyword: "rtne", Value: RoundNearestEven}}

// Whether a NaN operand makes the result NaN.
const (
	PropagateNone int64 = 0
	PropagateAll  int64 = 65535
)

// PropagateNaNs are their keywords.
var PropagateNaNs = []ir.EnumCase{{Keyword: "none", Value: PropagateNone}, {Keyword: "all", Value: PropagateAll}}

// Precision of the multiplications of a dot of f32 operands.
const (
	PrecisionTF32 int64 = iota
	PrecisionTF32x3
	PrecisionIEEE
	PrecisionBF16x3
	PrecisionBF16x6
)

// InputPrecisions are their keywords.
var InputPrecisions = []ir.EnumCase{
	{Keyword: "tf32", Value: PrecisionTF32},
	{Keyword: "tf32x3", Value: PrecisionTF32x3},
	{Keyword: "ieee", Value: PrecisionIEEE},
	{Keyword: "bf16x3", Value: PrecisionBF16x3},
	{Keyword: "bf16x6", Value: PrecisionBF16x6},
}

// The numbers of ScaleTypes that operands of dot_scaled can have.
const (
	ScaleE4M3 = 0
	ScaleE5M2 = 1
	ScaleE2M1 = 4
	ScaleBF16 = 5
	ScaleFP16 = 6
)

// ScaleTypes are the element formats of dot_scaled.
var ScaleTypes = []ir.EnumCase{
	{Keyword: "e4m3", Value: ScaleE4M3},
	{Keyword: "e5m2", Value: ScaleE5M2},
	{Keyword: "e2m3", Value: 2},
	{Keyword: "e3m2", Value: 3},
	{Keyword: "e2m1", Value: ScaleE2M1},
	{Keyword: "bf16", Value: ScaleBF16},
	{Keyword: "fp16", Value: ScaleFP16},
}

func defaultI32(v int64) func(*ir.Context) ir.Attribute {
	return func(c *ir.Context) ir.Attribute { return c.I32Attr(v) }
}

func defaultBool(v bool) func(*ir.Context) ir.Attribute {
	return func(c *ir.Context) ir.Attribute { return c.BoolAttr(v) }
}
