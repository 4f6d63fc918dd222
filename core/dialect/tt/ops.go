package tt

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

func operand(name string, c ir.Constraint) ir.Operand { return ir.Operand{Name: name, Type: c} }
func optional(name string, c ir.Constraint) ir.Operand {
	return ir.Operand{Name: name, Type: c, Arity: ir.Optional}
}

func variadic(name string, c ir.Constraint) ir.Operand {
	return ir.Operand{Name: name, Type: c, Arity: ir.Variadic}
}
func result(c ir.Constraint) []ir.Result { return []ir.Result{{Name: "result", Type: c}} }
func enum(name string, cases []ir.EnumCase) ir.AttrDef {
	return ir.AttrDef{Name: name, Kind: ir.AttrEnum, Enum: cases}
}

func enumDefault(name string, cases []ir.EnumCase, v int64) ir.AttrDef {
	return ir.AttrDef{Name: name, Kind: ir.AttrEnum, Enum: cases, Optional: true, Default: defaultI32(v)}
}

const (
	castAsm   = "$src attr-dict `:` type($src) `->` type($result)"
	cacheAsm  = "oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict)"
	convert   = ir.SameShape | ir.SameEncoding | ir.Elementwise | ir.TensorSize
	sameTypes = ir.SameOperandsAndResultType | ir.Elementwise | ir.TensorSize
)

// Conversions.
var (
	IntToPtr = &ir.OpDef{
		Name: "tt.int_to_ptr", Doc: "an address as a pointer",
		Operands: []ir.Operand{operand("src", ir.IntLike)}, Results: result(PtrLike), Traits: convert, Asm: castAsm,
	}
	PtrToInt = &ir.OpDef{
		Name: "tt.ptr_to_int", Doc: "a pointer as an address",
		Operands: []ir.Operand{operand("src", PtrLike)}, Results: result(ir.IntLike), Traits: convert, Asm: castAsm,
	}
	Bitcast = &ir.OpDef{
		Name: "tt.bitcast", Doc: "the same bits as another type of that width",
		Operands: []ir.Operand{operand("src", AnyValue)}, Results: result(AnyValue), Traits: convert, Asm: castAsm,
		Verify: verifyBitcast,
	}
	FpToFp = &ir.OpDef{
		Name: "tt.fp_to_fp", Doc: "between float formats, the 8-bit ones included", Fold: foldFpToFp,
		Operands: []ir.Operand{operand("src", ir.FloatLike)}, Results: result(ir.FloatLike), Traits: convert,
		Attrs:  []ir.AttrDef{{Name: "rounding", Kind: ir.AttrEnum, Enum: RoundingModes, Optional: true}},
		Asm:    "$src attr-dict (`,` `rounding` `=` $rounding^)? `:` type($src) `->` type($result)",
		Verify: verifyFpToFp,
	}
)

// Arithmetic that the arith and math dialects lack.
var (
	Clampf = &ir.OpDef{
		Name: "tt.clampf", Doc: "min(max(x, min), max)",
		Operands: []ir.Operand{operand("x", ir.FloatLike), operand("min", ir.FloatLike), operand("max", ir.FloatLike)},
		Results:  result(ir.FloatLike), Attrs: []ir.AttrDef{enum("propagateNan", PropagateNaNs)},
		Traits: sameTypes, Infer: ir.InferSameAsFirst,
		Asm: "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan attr-dict `:` type($result)",
	}
	PreciseSqrt = &ir.OpDef{
		Name: "tt.precise_sqrt", Doc: "square root, correctly rounded",
		Operands: []ir.Operand{operand("x", ir.FloatLike)}, Results: result(ir.FloatLike),
		Traits: sameTypes, Infer: ir.InferSameAsFirst, Asm: "$x attr-dict `:` type($x)",
	}
	PreciseDivf = &ir.OpDef{
		Name: "tt.precise_divf", Doc: "quotient, correctly rounded",
		Operands: []ir.Operand{operand("x", ir.FloatLike), operand("y", ir.FloatLike)}, Results: result(ir.FloatLike),
		Traits: sameTypes, Infer: ir.InferSameAsFirst, Asm: "$x `,` $y attr-dict `:` type($x)",
	}
	Mulhiui = &ir.OpDef{
		Name: "tt.mulhiui", Doc: "high half of the unsigned product",
		Operands: []ir.Operand{operand("x", ir.IntLike), operand("y", ir.IntLike)}, Results: result(ir.IntLike),
		Traits: sameTypes, Infer: ir.InferSameAsFirst, Asm: "$x `,` $y attr-dict `:` type($x)",
	}
)

// Pointers and memory.
var (
	AddPtr = &ir.OpDef{
		Name: "tt.addptr", Doc: "pointer plus offset in elements", Fold: foldAddPtr,
		Operands: []ir.Operand{operand("ptr", PtrLike), operand("offset", ir.IntLike)}, Results: result(PtrLike),
		Traits: ir.SameShape | ir.SameEncoding | ir.Elementwise | ir.TensorSize,
		Infer:  ir.InferSameAsFirst,
		Asm:    "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)",
		Verify: func(op *ir.Operation) error {
			if v := AsAddPtr(op); v.Result().Type() != v.Ptr().Type() {
				return fmt.Errorf("result type must be the type of the pointer")
			}
			return nil
		},
	}
	Advance = &ir.OpDef{
		Name: "tt.advance", Doc: "a block pointer moved by offsets, one per dimension", Fold: foldAdvance,
		Operands: []ir.Operand{operand("ptr", BlockPtr), variadic("offsets", ir.I32Scalar)}, Results: result(BlockPtr),
		Infer:  ir.InferSameAsFirst,
		Verify: verifyAdvance,
		Asm:    "$ptr `,` `[` $offsets `]` attr-dict `:` qualifiedless(type($result))",
	}
	Load = &ir.OpDef{
		Name: "tt.load", Doc: "read through pointers; where mask is false, other (or anything)",
		Operands: []ir.Operand{operand("ptr", PtrOrBlockPtr), optional("mask", ir.BoolLike), optional("other", AnyValue)},
		Results:  result(AnyValue),
		Attrs: []ir.AttrDef{
			{Name: "boundaryCheck", Kind: ir.AttrDenseI32, Optional: true, Default: func(c *ir.Context) ir.Attribute { return c.I32Array() }},
			{Name: "padding", Kind: ir.AttrEnum, Enum: PaddingOptions, Optional: true},
			enumDefault("cache", CacheModifiers, CacheNone),
			enumDefault("evict", EvictionPolicies, EvictNormal),
			{Name: "isVolatile", Kind: ir.AttrBool, Optional: true, Default: defaultBool(false)},
		},
		Traits: ir.SegmentedOperands | ir.TensorSize,
		Effects: ir.Effects{Of: func(op *ir.Operation) ir.Effects {
			return ir.Effects{Read: true, Write: AsLoad(op).IsVolatile(), NotSpeculatable: true}
		}},
		Infer: func(s *ir.State) ([]ir.Type, error) {
			if t := ValueTypeOf(s.Ctx, s.Operands[0].Type()); t != nil {
				return []ir.Type{t}, nil
			}
			return nil, fmt.Errorf("needs a pointer")
		},
		Asm:    "$ptr (`,` $mask^)? (`,` $other^)? " + cacheAsm + " attr-dict `:` type($ptr)",
		Verify: verifyLoad,
	}
	Store = &ir.OpDef{
		Name: "tt.store", Doc: "write through pointers where mask is true",
		Operands: []ir.Operand{operand("ptr", PtrOrBlockPtr), operand("value", AnyValue), optional("mask", ir.BoolLike)},
		Attrs: []ir.AttrDef{
			{Name: "boundaryCheck", Kind: ir.AttrDenseI32, Optional: true, Default: func(c *ir.Context) ir.Attribute { return c.I32Array() }},
			enumDefault("cache", CacheModifiers, CacheNone),
			enumDefault("evict", EvictionPolicies, EvictNormal),
		},
		Traits:  ir.TensorSize,
		Effects: ir.Effects{Write: true},
		Asm:     "$ptr `,` $value (`,` $mask^)? " + cacheAsm + " attr-dict `:` type($ptr)",
		Verify:  verifyStore,
	}
	AtomicRMW = &ir.OpDef{
		Name: "tt.atomic_rmw", Doc: "atomic read-modify-write where mask is true; gives the old value",
		Operands: []ir.Operand{operand("ptr", PtrLike), operand("val", AnyValue), optional("mask", ir.BoolLike)},
		Results:  result(AnyValue),
		Attrs:    []ir.AttrDef{enum("atomic_rmw_op", RMWOps), enum("sem", MemSemantics), enum("scope", MemScopes)},
		Traits:   ir.SameShape | ir.SameEncoding | ir.TensorSize,
		Effects:  ir.Effects{Read: true, Write: true},
		Infer: func(s *ir.State) ([]ir.Type, error) {
			return []ir.Type{s.Operands[1].Type()}, nil
		},
		Asm:    "$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? attr-dict `:` functional-type(operands, $result)",
		Verify: verifyAtomicRMW,
	}
	AtomicCAS = &ir.OpDef{
		Name: "tt.atomic_cas", Doc: "atomic compare and swap; gives the old value",
		Operands: []ir.Operand{operand("ptr", PtrLike), operand("cmp", AnyValue), operand("val", AnyValue)},
		Results:  result(AnyValue),
		Attrs:    []ir.AttrDef{enum("sem", MemSemantics), enum("scope", MemScopes)},
		Traits:   ir.SameShape | ir.SameEncoding | ir.TensorSize,
		Effects:  ir.Effects{Read: true, Write: true},
		Infer: func(s *ir.State) ([]ir.Type, error) {
			return []ir.Type{s.Operands[1].Type()}, nil
		},
		Asm:    "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict `:` functional-type(operands, $result)",
		Verify: verifyAtomicCAS,
	}
	MakeTensorPtr = &ir.OpDef{
		Name: "tt.make_tensor_ptr", Doc: "a block pointer: base, and shape, strides and offsets, one per dimension",
		Operands: []ir.Operand{
			operand("base", ScalarPtr), variadic("shape", ir.I64Scalar), variadic("strides", ir.I64Scalar), variadic("offsets", ir.I32Scalar),
		},
		Results: result(BlockPtr),
		Attrs:   []ir.AttrDef{{Name: "order", Kind: ir.AttrDenseI32}},
		Traits:  ir.SegmentedOperands,
		Verify:  verifyMakeTensorPtr,
		Asm:     "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict `:` qualifiedless(type($result))",
	}
	MakeTensorDesc = &ir.OpDef{
		Name: "tt.make_tensor_descriptor", Doc: "a descriptor: base, and shape and strides, one per dimension",
		Operands: []ir.Operand{
			operand("base", ScalarPtr), variadic("shape", ir.I32Scalar), variadic("strides", ir.I64Scalar),
		},
		Results: result(DescLike),
		Attrs:   []ir.AttrDef{enumDefault("padding", PaddingOptions, PadZero)},
		Traits:  ir.SegmentedOperands,
		Verify:  verifyMakeTensorDesc,
		Asm:     "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict `:` qualifiedless(type($base)) `,` qualifiedless(type($result))",
	}
	DescriptorLoad = &ir.OpDef{
		Name: "tt.descriptor_load", Doc: "a block through a descriptor",
		Operands: []ir.Operand{operand("desc", DescLike), variadic("indices", ir.I32Scalar)}, Results: result(ir.AnyTensor),
		Attrs:   []ir.AttrDef{enumDefault("cache", CacheModifiers, CacheNone), enumDefault("evict", EvictionPolicies, EvictNormal)},
		Effects: ir.Effects{Read: true},
		Verify:  verifyDescriptorLoad,
		Asm:     "$desc `[` $indices `]` " + cacheAsm + " attr-dict `:` qualified(type($desc)) `->` type($result)",
	}
	DescriptorStore = &ir.OpDef{
		Name: "tt.descriptor_store", Doc: "write a block through a descriptor",
		Operands: []ir.Operand{operand("desc", DescLike), operand("src", ir.AnyTensor), variadic("indices", ir.I32Scalar)},
		Effects:  ir.Effects{Write: true},
		Verify:   verifyDescriptorStore,
		Asm:      "$desc `[` $indices `]` `,` $src attr-dict `:` qualified(type($desc)) `,` type($src)",
	}
	DescriptorReduce = &ir.OpDef{
		Name: "tt.descriptor_reduce", Doc: "atomically combine a block into memory through a descriptor",
		Operands: []ir.Operand{operand("desc", DescLike), operand("src", ir.AnyTensor), variadic("indices", ir.I32Scalar)},
		Attrs:    []ir.AttrDef{enum("kind", DescriptorReduceKinds)},
		Effects:  ir.Effects{Read: true, Write: true},
		Verify:   verifyDescriptorReduce,
		Asm:      "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` qualified(type($desc)) `,` type($src)",
	}
	DescriptorGather = &ir.OpDef{
		Name: "tt.descriptor_gather", Doc: "rows through a descriptor",
		Operands: []ir.Operand{operand("desc", DescLike), operand("x_offsets", offsets), operand("y_offset", ir.I32Scalar)},
		Results:  result(ir.AnyTensor), Effects: ir.Effects{Read: true},
		Asm:    "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)",
		Verify: verifyDescriptorGather,
	}
	DescriptorScatter = &ir.OpDef{
		Name: "tt.descriptor_scatter", Doc: "write rows through a descriptor",
		Operands: []ir.Operand{
			operand("desc", DescLike), operand("x_offsets", offsets), operand("y_offset", ir.I32Scalar), operand("src", ir.AnyTensor),
		},
		Effects: ir.Effects{Write: true},
		Asm:     "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)",
		Verify:  verifyDescriptorScatter,
	}
)

// Shape.
var (
	Splat = &ir.OpDef{
		Name: "tt.splat", Doc: "a tensor of one value", Fold: foldSplat,
		Operands: []ir.Operand{operand("src", AnyValue)}, Results: result(ir.AnyTensor), Traits: ir.TensorSize, Asm: castAsm,
		Verify: func(op *ir.Operation) error {
			if t, ok := AsSplat(op).Src().Type().(*ir.TensorType); ok && len(t.Shape) > 0 {
				return fmt.Errorf("source must be a scalar, but has %s", diag.Count(len(t.Shape), "dimension"))
			}
			return sameElem(AsSplat(op).Src(), AsSplat(op).Result())
		},
	}
	Unsplat = &ir.OpDef{
		Name: "tt.unsplat", Doc: "the element of a tensor of one element", Fold: foldUnsplat,
		Operands: []ir.Operand{operand("src", ir.AnyTensor)}, Results: result(AnyValue), Asm: "$src attr-dict `:` type($src)",
		Infer: func(s *ir.State) ([]ir.Type, error) { return []ir.Type{ir.ElemOf(s.Operands[0].Type())}, nil },
		Verify: func(op *ir.Operation) error {
			if AsUnsplat(op).Src().Type().(*ir.TensorType).NumElements() != 1 {
				return message(msgUnsplat)
			}
			return nil
		},
	}
	ExpandDims = &ir.OpDef{
		Name: "tt.expand_dims", Doc: "a new dimension of size 1 at axis", Fold: foldShape,
		Operands: []ir.Operand{operand("src", ir.AnyTensor)}, Results: result(ir.AnyTensor), Traits: ir.TensorSize,
		Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrI32}}, Asm: castAsm, Infer: inferExpandDims, Verify: verifyExpandDims,
	}
	Broadcast = &ir.OpDef{
		Name: "tt.broadcast", Doc: "dimensions of size 1 repeated", Fold: foldShape,
		Operands: []ir.Operand{operand("src", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Traits: ir.TensorSize | ir.SameEncoding, Asm: castAsm, Verify: verifyBroadcast,
	}
	Trans = &ir.OpDef{
		Name: "tt.trans", Doc: "dimensions permuted: result dimension i is source dimension order[i]", Fold: foldTrans,
		Operands: []ir.Operand{operand("src", ir.AnyTensor)}, Results: result(ir.AnyTensor), Traits: ir.TensorSize,
		Attrs: []ir.AttrDef{{Name: "order", Kind: ir.AttrDenseI32}}, Asm: castAsm, Verify: verifyTrans,
	}
	Reshape = &ir.OpDef{
		Name: "tt.reshape", Doc: "the same elements in another shape", Fold: foldReshape,
		Operands: []ir.Operand{operand("src", ir.AnyTensor)}, Results: result(ir.AnyTensor), Traits: ir.TensorSize,
		Attrs: []ir.AttrDef{
			{Name: "allow_reorder", Kind: ir.AttrUnit, Optional: true}, {Name: "efficient_layout", Kind: ir.AttrUnit, Optional: true},
		},
		Asm:    "$src (`allow_reorder` $allow_reorder^)? (`efficient_layout` $efficient_layout^)? attr-dict `:` type($src) `->` type($result)",
		Verify: verifyReshape,
	}
	Cat = &ir.OpDef{
		Name: "tt.cat", Doc: "two tensors one after the other, in any order of elements",
		Operands: []ir.Operand{operand("lhs", ir.AnyTensor), operand("rhs", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Verify: verifyCat,
		Traits: ir.TensorSize | ir.SameOperandsType, Asm: "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
	}
	Join = &ir.OpDef{
		Name: "tt.join", Doc: "two tensors as the halves of a new last dimension of size 2",
		Operands: []ir.Operand{operand("lhs", ir.AnyTensor), operand("rhs", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Traits: ir.TensorSize | ir.SameOperandsType, Asm: "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
		Verify: func(op *ir.Operation) error {
			v := AsJoin(op)
			half, whole := tensorOf(v.Lhs()), tensorOf(v.Result())
			if err := verifyHalves(half, whole, false); err != nil {
				return err
			}
			return verifyJoinLayout(half, whole)
		},
	}
	Split = &ir.OpDef{
		Name: "tt.split", Doc: "the halves of a last dimension of size 2",
		Operands: []ir.Operand{operand("src", ir.AnyTensor)},
		Results:  []ir.Result{{Name: "outLHS", Type: ir.AnyTensor}, {Name: "outRHS", Type: ir.AnyTensor}},
		Traits:   ir.TensorSize, Asm: "$src attr-dict `:` type($src) `->` type($outLHS)",
		Verify: func(op *ir.Operation) error {
			v := AsSplit(op)
			if v.OutLHS().Type() != v.OutRHS().Type() {
				return fmt.Errorf("both results must have the same type")
			}
			half, whole := tensorOf(v.OutLHS()), tensorOf(v.Src())
			if err := verifyHalves(half, whole, true); err != nil {
				return err
			}
			return verifyInferred(half, whole, func(e layout.Encoding) (layout.Encoding, error) { return layout.Split(e, whole.Shape) })
		},
		ResultName: func(_ *ir.Operation, i int) string { return [...]string{"outLHS", "outRHS"}[i] },
	}
	MakeRange = &ir.OpDef{
		Name: "tt.make_range", Doc: "start, start+1, … end-1", Fold: foldMakeRange,
		Results: result(ir.AnyTensor),
		Attrs:   []ir.AttrDef{{Name: "start", Kind: ir.AttrI32}, {Name: "end", Kind: ir.AttrI32}},
		Asm:     "attr-dict `:` type($result)", Verify: verifyMakeRange,
	}
	Histogram = &ir.OpDef{
		Name: "tt.histogram", Doc: "how many elements have each value",
		Operands: []ir.Operand{operand("src", ir.AnyTensor), optional("mask", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Verify: verifyHistogram,
		Traits: ir.TensorSize, Asm: "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)",
	}
	Gather = &ir.OpDef{
		Name: "tt.gather", Doc: "elements of src chosen along axis by indices",
		Operands: []ir.Operand{operand("src", ir.AnyTensor), operand("indices", ir.AnyTensor)}, Results: result(ir.AnyTensor),
		Attrs:  []ir.AttrDef{{Name: "axis", Kind: ir.AttrI32}, {Name: "efficient_layout", Kind: ir.AttrUnit, Optional: true}},
		Verify: verifyGather,
		Traits: ir.TensorSize, Asm: "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)",
	}
)

// Programs.
var (
	GetProgramID = &ir.OpDef{
		Name: "tt.get_program_id", Doc: "this program's index along an axis of the grid",
		Results: result(ir.I32Scalar), Attrs: []ir.AttrDef{enum("axis", ProgramAxes)}, Asm: "$axis attr-dict `:` type($result)",
		Infer: func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Ctx.I32()}, nil },
	}
	GetNumPrograms = &ir.OpDef{
		Name: "tt.get_num_programs", Doc: "the size of the grid along an axis",
		Results: result(ir.I32Scalar), Attrs: []ir.AttrDef{enum("axis", ProgramAxes)}, Asm: "$axis attr-dict `:` type($result)",
		Infer: func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Ctx.I32()}, nil },
	}
)

// Dots.
var (
	Dot = &ir.OpDef{
		Name: "tt.dot", Doc: "a·b + c",
		Operands: []ir.Operand{operand("a", ir.AnyTensor), operand("b", ir.AnyTensor), operand("c", ir.AnyTensor)},
		Results:  result(ir.AnyTensor),
		Attrs: []ir.AttrDef{
			enumDefault("inputPrecision", InputPrecisions, PrecisionIEEE),
			{Name: "maxNumImpreciseAcc", Kind: ir.AttrI32, Optional: true, Default: defaultI32(0)},
		},
		Traits: ir.TensorSize,
		Infer:  func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Operands[2].Type()}, nil },
		Asm:    "$a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision^)? attr-dict `:` type($a) `*` type($b) `->` type($result)",
		Verify: verifyDot,
	}
	DotScaled = &ir.OpDef{
		Name: "tt.dot_scaled", Doc: "dot of block-scaled operands, plus c",
		Operands: []ir.Operand{
			operand("a", ir.AnyTensor), operand("b", ir.AnyTensor), operand("c", ir.AnyTensor),
			optional("a_scale", scales), optional("b_scale", scales),
		},
		Results: result(ir.AnyTensor),
		Attrs: []ir.AttrDef{
			enum("a_elem_type", ScaleTypes), enum("b_elem_type", ScaleTypes),
			{Name: "fastMath", Kind: ir.AttrBool},
			{Name: "lhs_k_pack", Kind: ir.AttrBool, Optional: true, Default: defaultBool(true)},
			{Name: "rhs_k_pack", Kind: ir.AttrBool, Optional: true, Default: defaultBool(true)},
		},
		Traits: ir.SegmentedOperands | ir.TensorSize,
		Infer:  func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Operands[2].Type()}, nil },
		Verify: verifyDotScaled,
		Asm: "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c `lhs` `=` $a_elem_type `rhs` `=` $b_elem_type attr-dict " +
			"`:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($result)",
	}
)

// IsDot reports whether op is a dot, of scaled operands or not.
func IsDot(op *ir.Operation) bool { return op.Is(Dot) || op.Is(DotScaled) }
