package linalg

//go:generate go run github.com/tritonc/tritonc/internal/opviews linalg

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

func one(name string) ir.Operand { return ir.Operand{Name: name, Type: ir.AnyType} }

func many(name string) ir.Operand {
	return ir.Operand{Name: name, Type: ir.AnyType, Arity: ir.Variadic}
}

func result() []ir.Result { return []ir.Result{{Name: "result", Type: ir.AnyType}} }

func results() []ir.Result {
	return []ir.Result{{Name: "results", Type: ir.AnyType, Arity: ir.Variadic}}
}

// The dialect func.
var (
	Func = &ir.OpDef{
		Name: "func.func", Doc: "a function; the kernel is one",
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
	}
	Return = &ir.OpDef{
		Name: "func.return", Doc: "the end of a function, with its results",
		Operands: []ir.Operand{many("operands")}, Traits: ir.Terminator,
		Asm: "attr-dict ($operands^ `:` type($operands))?",
	}
	Call = &ir.OpDef{
		Name: "func.call", Doc: "a call of a function",
		Operands: []ir.Operand{many("operands")}, Results: results(),
		Attrs:   []ir.AttrDef{{Name: "callee", Kind: ir.AttrSymbol}},
		Effects: ir.Effects{Unknown: true},
		Asm:     "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)",
	}
)

// structured is an operation on inputs and outputs: tensors, which it gives changed as
// results, or memory.
func structured(name, doc string, attrs ...ir.AttrDef) *ir.OpDef {
	return &ir.OpDef{
		Name: "linalg." + name, Doc: doc,
		Operands: []ir.Operand{many("inputs"), many("outputs")}, Results: results(),
		Attrs: attrs, Traits: ir.SegmentedOperands,
		Effects: ir.Effects{Of: func(op *ir.Operation) ir.Effects {
			return ir.Effects{Write: op.NumResults() == 0, Recursive: op.NumRegions() > 0}
		}},
	}
}

// withRegion is d with the region that computes an element.
func withRegion(d *ir.OpDef) *ir.OpDef {
	d.Regions = []ir.RegionDef{{Name: "region", MaxBlocks: 1}}
	return d
}

// The dialect linalg.
var (
	Fill        = structured("fill", "the outputs filled with a scalar")
	Matmul      = structured("matmul", "the product of two matrices, added to the output")
	BatchMatmul = structured("batch_matmul", "the products of two lists of matrices, added to the output")
	Broadcast   = structured("broadcast", "the input repeated along dimensions that it lacks", ir.AttrDef{Name: "dimensions", Kind: ir.AttrDenseI64})
	Transpose   = structured("transpose", "dimensions permuted: result dimension i is input dimension permutation[i]", ir.AttrDef{Name: "permutation", Kind: ir.AttrDenseI64})
	Reduce      = withRegion(structured("reduce", "elements along dimensions combined into one each", ir.AttrDef{Name: "dimensions", Kind: ir.AttrDenseI64}))
	Generic     = withRegion(structured("generic", "a region for each point of an iteration space",
		ir.AttrDef{Name: "indexing_maps", Kind: ir.AttrArray}, ir.AttrDef{Name: "iterator_types", Kind: ir.AttrArray}))
	Index = &ir.OpDef{
		Name: "linalg.index", Doc: "where in the iteration space a generic's region is",
		Attrs: []ir.AttrDef{{Name: "dim", Kind: ir.AttrI64}}, Results: result(),
		Asm: "$dim attr-dict `:` type($result)",
	}
	Yield = &ir.OpDef{
		Name: "linalg.yield", Doc: "the elements that a region computes",
		Operands: []ir.Operand{many("values")}, Traits: ir.Terminator,
		Asm: "attr-dict ($values^ `:` type($values))?",
	}
)

// sliced are the operands and attributes of a slice: sizes and strides that are known
// are in the attributes, the others are operands.
func sliced(name, doc string, before ...ir.Operand) *ir.OpDef {
	return &ir.OpDef{
		Name: name, Doc: doc,
		Operands: append(before, many("offsets"), many("sizes"), many("strides")), Results: result(),
		Attrs: []ir.AttrDef{
			{Name: offsetsAttr, Kind: ir.AttrDenseI64}, {Name: sizesAttr, Kind: ir.AttrDenseI64}, {Name: stridesAttr, Kind: ir.AttrDenseI64},
		},
		Traits: ir.SegmentedOperands, Verify: verifySlice,
	}
}

// grouped is a change of shape that joins or splits dimensions.
func grouped(name, doc string, attrs ...ir.AttrDef) *ir.OpDef {
	return &ir.OpDef{
		Name: name, Doc: doc, Operands: []ir.Operand{one("src")}, Results: result(),
		Attrs: append(attrs, ir.AttrDef{Name: reassociation, Kind: ir.AttrArray}),
	}
}

// ofElement infers the result of an access to an element of operand i.
func ofElement(i int) func(s *ir.State) ([]ir.Type, error) {
	return func(s *ir.State) ([]ir.Type, error) {
		if t := elemOf(s.Ctx, s.Operands[i].Type()); t != s.Operands[i].Type() {
			return []ir.Type{t}, nil
		}
		return nil, fmt.Errorf("has no elements")
	}
}

// The dialect tensor.
var (
	Empty = &ir.OpDef{
		Name: "tensor.empty", Doc: "a tensor of any content", Results: result(),
		Asm: "`(` `)` attr-dict `:` type($result)",
	}
	Extract = &ir.OpDef{
		Name: "tensor.extract", Doc: "an element",
		Operands: []ir.Operand{one("tensor"), many("indices")}, Results: result(),
		Effects: ir.Effects{NotSpeculatable: true}, Infer: ofElement(0),
		Asm: "$tensor `[` $indices `]` attr-dict `:` type($tensor)",
	}
	Insert = &ir.OpDef{
		Name: "tensor.insert", Doc: "a tensor with one element changed",
		Operands: []ir.Operand{one("scalar"), one("dest"), many("indices")}, Results: result(),
		Effects: ir.Effects{NotSpeculatable: true},
		Infer:   func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Operands[1].Type()}, nil },
		Asm:     "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest)",
	}
	FromElements = &ir.OpDef{
		Name: "tensor.from_elements", Doc: "a tensor of scalars",
		Operands: []ir.Operand{many("elements")}, Results: result(),
		Asm: "$elements attr-dict `:` type($result)",
	}
	ExtractSlice  = sliced("tensor.extract_slice", "a part of a tensor", one("source"))
	InsertSlice   = sliced("tensor.insert_slice", "a tensor with a part changed", one("source"), one("dest"))
	ExpandShape   = grouped("tensor.expand_shape", "dimensions split", ir.AttrDef{Name: "static_output_shape", Kind: ir.AttrDenseI64})
	CollapseShape = grouped("tensor.collapse_shape", "dimensions joined")
)

// AtomicKinds are the operations of AtomicRMW.
var AtomicKinds = []ir.EnumCase{
	{Keyword: "addf", Value: 0},
	{Keyword: "addi", Value: 1},
	{Keyword: "assign", Value: 2},
	{Keyword: "maximumf", Value: 3},
	{Keyword: "maxs", Value: 4},
	{Keyword: "maxu", Value: 5},
	{Keyword: "minimumf", Value: 6},
	{Keyword: "mins", Value: 7},
	{Keyword: "minu", Value: 8},
	{Keyword: "mulf", Value: 9},
	{Keyword: "muli", Value: 10},
	{Keyword: "ori", Value: 11},
	{Keyword: "andi", Value: 12},
	{Keyword: "maxnumf", Value: 13},
	{Keyword: "minnumf", Value: 14},
	{Keyword: "xori", Value: 15},
}

// The dialects memref and bufferization.
var (
	Alloc = &ir.OpDef{
		Name: "memref.alloc", Doc: "memory of any content", Results: result(), Effects: ir.Effects{Alloc: true},
		Asm: "`(` `)` attr-dict `:` type($result)",
	}
	ReinterpretCast = sliced("memref.reinterpret_cast", "memory under other offsets, sizes and strides", one("source"))
	SubView         = sliced("memref.subview", "a part of memory", one("source"))
	Copy            = &ir.OpDef{
		Name: "memref.copy", Doc: "memory copied to memory of that shape",
		Operands: []ir.Operand{one("source"), one("target")}, Effects: ir.Effects{Read: true, Write: true},
		Asm: "$source `,` $target attr-dict `:` type($source) `to` type($target)",
	}
	Load = &ir.OpDef{
		Name: "memref.load", Doc: "an element of memory",
		Operands: []ir.Operand{one("memref"), many("indices")}, Results: result(), Infer: ofElement(0),
		Effects: ir.Effects{Read: true, NotSpeculatable: true},
		Asm:     "$memref `[` $indices `]` attr-dict `:` type($memref)",
	}
	Store = &ir.OpDef{
		Name: "memref.store", Doc: "an element written to memory",
		Operands: []ir.Operand{one("value"), one("memref"), many("indices")}, Effects: ir.Effects{Write: true},
		Asm: "$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)",
	}
	AtomicRMW = &ir.OpDef{
		Name: "memref.atomic_rmw", Doc: "an atomic change of an element; gives the old value",
		Operands: []ir.Operand{one("value"), one("memref"), many("indices")}, Results: result(),
		Attrs:   []ir.AttrDef{{Name: "kind", Kind: ir.AttrEnum, Enum: AtomicKinds, Width: 64}},
		Effects: ir.Effects{Read: true, Write: true},
		Infer:   func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Operands[0].Type()}, nil },
		Asm:     "$kind $value `,` $memref `[` $indices `]` attr-dict `:` `(` type($value) `,` type($memref) `)` `->` type($result)",
	}
	GenericAtomicRMW = &ir.OpDef{
		Name: "memref.generic_atomic_rmw", Doc: "an atomic change of an element by a region; gives the old value",
		Operands: []ir.Operand{one("memref"), many("indices")}, Results: result(), Infer: ofElement(0),
		Regions: []ir.RegionDef{{Name: "atomic_body", MaxBlocks: 1}}, Effects: ir.Effects{Read: true, Write: true},
	}
	AtomicYield = &ir.OpDef{
		Name: "memref.atomic_yield", Doc: "the new value of an element",
		Operands: []ir.Operand{one("result")}, Traits: ir.Terminator,
		Asm: "$result attr-dict `:` type($result)",
	}
	ToTensor = &ir.OpDef{
		Name: "bufferization.to_tensor", Doc: "the content of memory as a tensor",
		Operands: []ir.Operand{one("buffer")}, Results: result(),
		Attrs:   []ir.AttrDef{{Name: "restrict", Kind: ir.AttrUnit, Optional: true}, {Name: "writable", Kind: ir.AttrUnit, Optional: true}},
		Effects: ir.Effects{Read: true},
	}
	Materialize = &ir.OpDef{
		Name: "bufferization.materialize_in_destination", Doc: "a tensor written to memory",
		Operands: []ir.Operand{one("source"), one("dest")},
		Attrs:    []ir.AttrDef{{Name: "restrict", Kind: ir.AttrUnit, Optional: true}, {Name: "writable", Kind: ir.AttrUnit, Optional: true}},
		Effects:  ir.Effects{Write: true},
		Asm:      "$source `in` (`restrict` $restrict^)? (`writable` $writable^)? $dest attr-dict `:` `(` type($source) `,` type($dest) `)` `->` `(` `)`",
	}
)

// Dialects returns the package's dialects.
func Dialects() []*ir.Dialect {
	return []*ir.Dialect{funcDialect, linalgDialect, tensorDialect, memrefDialect, bufferizationDialect}
}

var (
	funcDialect = &ir.Dialect{
		Name: "func", Doc: "functions", Ops: []*ir.OpDef{Func, Return, Call},
		Asm: &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{Func: {Parse: parseFunc, Print: printFunc}}},
	}
	linalgDialect = &ir.Dialect{
		Name: "linalg", Doc: "linear algebra on tensors and memory",
		Ops: []*ir.OpDef{Fill, Matmul, BatchMatmul, Broadcast, Transpose, Reduce, Generic, Index, Yield},
		Asm: &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{
			Fill: namedAsm, Matmul: namedAsm, BatchMatmul: namedAsm,
			Broadcast: dimensionsAsm("dimensions"), Transpose: dimensionsAsm("permutation"),
			Reduce: {Parse: parseReduce, Print: printReduce}, Generic: {Parse: parseGeneric, Print: printGeneric},
		}},
	}
	tensorDialect = &ir.Dialect{
		Name: "tensor", Doc: "tensors and parts of them",
		Ops: []*ir.OpDef{Empty, Extract, Insert, FromElements, ExtractSlice, InsertSlice, ExpandShape, CollapseShape},
		Asm: &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{
			ExtractSlice: sliceAsm("", "to"), InsertSlice: sliceAsm("into", "into"),
			ExpandShape: {Parse: parseGrouped, Print: printGrouped}, CollapseShape: {Parse: parseGrouped, Print: printGrouped},
		}},
	}
	memrefDialect = &ir.Dialect{
		Name: "memref", Doc: "memory",
		Ops: []*ir.OpDef{Alloc, ReinterpretCast, SubView, Copy, Load, Store, AtomicRMW, GenericAtomicRMW, AtomicYield},
		Asm: &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{
			ReinterpretCast: {Parse: parseReinterpret, Print: printReinterpret}, SubView: sliceAsm("", "to"),
			GenericAtomicRMW: {Parse: parseGenericAtomic, Print: printGenericAtomic},
		}},
	}
	bufferizationDialect = &ir.Dialect{
		Name: "bufferization", Doc: "between tensors and memory", Ops: []*ir.OpDef{ToTensor, Materialize},
		Asm: &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{ToTensor: {Parse: parseToTensor, Print: printToTensor}}},
	}
)
