// Package llvm is the table of the part of the llvm dialect that occurs in Triton's
// IR: the intrinsics before the lowering to LLVM, and the functions, globals and
// simple operations of modules that are half lowered, which tritonc reads and prints
// but does not make.
package llvm

//go:generate go run github.com/tritonc/tritonc/internal/opviews llvm

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Assume tells the optimiser that its operand is true.
var Assume = &ir.OpDef{
	Name: "llvm.intr.assume", Doc: "the condition holds; the optimiser may use that",
	Operands: []ir.Operand{{Name: "cond", Type: ir.Bool}},
	Asm:      "$cond attr-dict `:` type($cond)",
	Effects:  ir.Effects{Write: true},
}

// LoopAnnotationAttr is the discardable attribute of a loop that says what LLVM may
// do with it.
const LoopAnnotationAttr = "llvm.loop_annotation"

func one(name string) ir.Operand       { return ir.Operand{Name: name, Type: ir.AnyType} }
func result() []ir.Result              { return []ir.Result{{Name: "res", Type: ir.AnyType}} }
func optional(a ir.AttrDef) ir.AttrDef { a.Optional = true; return a }

// Functions and globals.
var (
	Func = &ir.OpDef{
		Name: "llvm.func", Doc: "a function of LLVM",
		Attrs: []ir.AttrDef{
			{Name: "sym_name", Kind: ir.AttrString},
			{Name: "function_type", Kind: ir.AttrType},
			optional(ir.AttrDef{Name: "linkage", Kind: ir.AttrAny}),
			optional(ir.AttrDef{Name: "sym_visibility", Kind: ir.AttrString}),
			optional(ir.AttrDef{Name: "arg_attrs", Kind: ir.AttrArray}),
			optional(ir.AttrDef{Name: "res_attrs", Kind: ir.AttrArray}),
		},
		Regions: []ir.RegionDef{{Name: "body"}},
		Traits:  ir.IsolatedFromAbove | ir.Symbol,
		Effects: ir.Effects{Unknown: true},
		Verify:  verifyFunc,
	}
	Return = &ir.OpDef{
		Name: "llvm.return", Doc: "the end of a function, with its result",
		Operands: []ir.Operand{{Name: "arg", Type: ir.AnyType, Arity: ir.Optional}}, Traits: ir.Terminator,
		Asm: "($arg^ `:` type($arg))? attr-dict",
	}
	Global = &ir.OpDef{
		Name: "llvm.mlir.global", Doc: "a variable of the module",
		Attrs: []ir.AttrDef{
			{Name: "sym_name", Kind: ir.AttrString},
			{Name: "global_type", Kind: ir.AttrType},
			{Name: "linkage", Kind: ir.AttrAny},
			{Name: "constant", Kind: ir.AttrUnit},
			optional(ir.AttrDef{Name: "value", Kind: ir.AttrAny}),
		},
		Regions: []ir.RegionDef{{Name: "initializer"}},
		Traits:  ir.IsolatedFromAbove | ir.Symbol,
		Effects: ir.Effects{Unknown: true},
	}
	AddressOf = &ir.OpDef{
		Name: "llvm.mlir.addressof", Doc: "the address of a global",
		Results: result(), Attrs: []ir.AttrDef{{Name: "global_name", Kind: ir.AttrSymbol}},
		Asm: "$global_name attr-dict `:` qualified(type($res))",
	}
)

// Values.
var (
	Constant = &ir.OpDef{
		Name: "llvm.mlir.constant", Doc: "a constant",
		Results: result(), Attrs: []ir.AttrDef{{Name: "value", Kind: ir.AttrAny}},
		Asm: "`(` $value `)` attr-dict `:` type($res)",
	}
	Undef = nullary("llvm.mlir.undef", "a value that may be anything")
	Zero  = nullary("llvm.mlir.zero", "zero, or the null pointer")
	Load  = &ir.OpDef{
		Name: "llvm.load", Doc: "a value from memory",
		Operands: []ir.Operand{one("addr")}, Results: result(),
		Attrs:   []ir.AttrDef{{Name: "volatile_", Kind: ir.AttrUnit}},
		Effects: ir.Effects{Read: true},
		Asm:     "(`volatile` $volatile_^)? $addr attr-dict `:` qualified(type($addr)) `->` type($res)",
	}
	Store = &ir.OpDef{
		Name: "llvm.store", Doc: "a value to memory",
		Operands: []ir.Operand{one("value"), one("addr")},
		Attrs:    []ir.AttrDef{{Name: "volatile_", Kind: ir.AttrUnit}},
		Effects:  ir.Effects{Write: true},
		Asm:      "(`volatile` $volatile_^)? $value `,` $addr attr-dict `:` type($value) `,` qualified(type($addr))",
	}
	GetElementPtr = &ir.OpDef{
		Name: "llvm.getelementptr", Doc: "the address of an element; an index is a constant or an operand",
		Operands: []ir.Operand{one("base"), {Name: "dynamicIndices", Type: ir.AnyType, Arity: ir.Variadic}}, Results: result(),
		Attrs:  []ir.AttrDef{{Name: "rawConstantIndices", Kind: ir.AttrDenseI32}, {Name: "elem_type", Kind: ir.AttrType}},
		Verify: verifyGetElementPtr,
	}
)

func nullary(name, doc string) *ir.OpDef {
	return &ir.OpDef{Name: name, Doc: doc, Results: result(), Asm: "attr-dict `:` type($res)"}
}

// binary is an operation on two values of one type.
func binary(name, doc string) *ir.OpDef {
	return &ir.OpDef{
		Name: "llvm." + name, Doc: doc, Operands: []ir.Operand{one("lhs"), one("rhs")}, Results: result(),
		Traits: ir.SameOperandsAndResultType, Asm: "$lhs `,` $rhs attr-dict `:` type($res)",
	}
}

// cast makes a value of another type.
func cast(name, doc string) *ir.OpDef {
	return &ir.OpDef{
		Name: "llvm." + name, Doc: doc, Operands: []ir.Operand{one("arg")}, Results: result(),
		Asm: "$arg attr-dict `:` type($arg) `to` type($res)",
	}
}

// Arithmetic and casts.
var (
	Add           = binary("add", "sum of integers")
	Sub           = binary("sub", "difference of integers")
	Mul           = binary("mul", "product of integers")
	UDiv          = binary("udiv", "quotient of integers without sign")
	SDiv          = binary("sdiv", "quotient of integers with sign")
	URem          = binary("urem", "remainder of integers without sign")
	SRem          = binary("srem", "remainder of integers with sign")
	And           = binary("and", "bits of both")
	Or            = binary("or", "bits of either")
	Xor           = binary("xor", "bits of one alone")
	Shl           = binary("shl", "shift to the left")
	LShr          = binary("lshr", "shift to the right, zeros shifted in")
	AShr          = binary("ashr", "shift to the right, the sign shifted in")
	FAdd          = binary("fadd", "sum of floats")
	FSub          = binary("fsub", "difference of floats")
	FMul          = binary("fmul", "product of floats")
	FDiv          = binary("fdiv", "quotient of floats")
	PtrToInt      = cast("ptrtoint", "a pointer as an integer")
	IntToPtr      = cast("inttoptr", "an integer as a pointer")
	Bitcast       = cast("bitcast", "the same bits as another type")
	AddrSpaceCast = cast("addrspacecast", "a pointer to another address space")
	ZExt          = cast("zext", "wider, with zeros")
	SExt          = cast("sext", "wider, with the sign")
	Trunc         = cast("trunc", "the low bits")
)

// Dialect is the llvm dialect.
var Dialect = &ir.Dialect{
	Name: "llvm", Doc: "LLVM's intrinsics, functions, globals and simple operations",
	Ops: []*ir.OpDef{
		Assume, Func, Return, Global, AddressOf, Constant, Undef, Zero, Load, Store, GetElementPtr,
		Add, Sub, Mul,
		UDiv, SDiv,
		URem, SRem,
		And, Or, Xor,
		Shl, LShr, AShr,
		FAdd, FSub, FMul, FDiv,
		PtrToInt, IntToPtr, Bitcast,
		AddrSpaceCast, ZExt, SExt, Trunc,
	},
	Asm: &text.Dialect{
		ParseType: parseType, PrintType: printType,
		Ops: map[*ir.OpDef]text.OpAsm{
			Func: {Parse: parseFunc, Print: printFunc}, Global: {Parse: parseGlobal, Print: printGlobal},
			GetElementPtr: {Parse: parseGetElementPtr, Print: printGetElementPtr},
		},
	},
}
