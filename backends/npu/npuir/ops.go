package npuir

//go:generate go run github.com/tritonc/tritonc/internal/opviews npuir

import "github.com/tritonc/tritonc/core/ir"

// Name is the dialect's name.
const Name = "npuir"

// OffsetAttr is the attribute of a memref.alloc that says at which byte of its space the
// buffer begins, and of a npuir.workspace, in the workspace of the core.
const OffsetAttr = "npuir.offset"

// Attributes of a func.func that npuir-map-blocks has made the program of a core: which
// core runs it, and how many bytes of workspace it needs.
const (
	CoreAttr      = "npuir.core"
	WorkspaceAttr = "npuir.workspace"
)

// The values of CoreAttr.
const (
	VectorCore = "vector"
	AICore     = "ai" // a cube core with a vector core
)

// Events is how many flags there are from a pipe to another.
const Events = 8

func one(name string) ir.Operand { return ir.Operand{Name: name, Type: ir.AnyType} }

func many(name string) ir.Operand {
	return ir.Operand{Name: name, Type: ir.AnyType, Arity: ir.Variadic}
}

func maybe(name string) ir.Operand {
	return ir.Operand{Name: name, Type: ir.AnyType, Arity: ir.Optional}
}

func pipe(name string) ir.AttrDef {
	return ir.AttrDef{Name: name, Kind: ir.AttrEnum, Enum: Pipes, Width: 64}
}

// The instructions.
var (
	DMA = &ir.OpDef{
		Name: "npuir.dma", Doc: "a block copied from a space to another",
		Operands: []ir.Operand{one("source"), one("target")},
		Attrs:    []ir.AttrDef{{Name: "atomic", Kind: ir.AttrString, Optional: true}},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: verifyDMA,
		Asm: "$source `,` $target (`atomic` $atomic^)? attr-dict `:` type($source) `to` type($target)",
	}
	Fill = &ir.OpDef{
		Name: "npuir.fill", Doc: "a scalar written to all elements of a buffer",
		Operands: []ir.Operand{one("value"), one("target")},
		Effects:  ir.Effects{Write: true}, Verify: verifyFill,
		Asm: "$value `,` $target attr-dict `:` type($value) `,` type($target)",
	}
	Iota = &ir.OpDef{
		Name: "npuir.iota", Doc: "the index of each element along a dimension",
		Operands: []ir.Operand{one("target")},
		Attrs:    []ir.AttrDef{{Name: "dimension", Kind: ir.AttrI64}},
		Effects:  ir.Effects{Write: true}, Verify: inUB,
		Asm: "$target `along` $dimension attr-dict `:` type($target)",
	}
	Vector = &ir.OpDef{
		Name: "npuir.vector", Doc: "an operation on the elements of buffers and scalars",
		Operands: []ir.Operand{many("inputs"), one("target")},
		Attrs: []ir.AttrDef{
			{Name: "op", Kind: ir.AttrString},
			{Name: "predicate", Kind: ir.AttrI64, Optional: true},
		},
		Effects: ir.Effects{Read: true, Write: true}, Verify: inUB,
		Asm: "$op `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $target `:` type($target) `)` attr-dict",
	}
	Broadcast = &ir.OpDef{
		Name: "npuir.broadcast", Doc: "elements repeated along dimensions that the source lacks",
		Operands: []ir.Operand{one("source"), one("target")},
		Attrs:    []ir.AttrDef{{Name: "dimensions", Kind: ir.AttrDenseI64}},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: inUB,
		Asm: "$source `along` $dimensions `into` $target attr-dict `:` type($source) `,` type($target)",
	}
	Transpose = &ir.OpDef{
		Name: "npuir.transpose", Doc: "dimensions permuted: target dimension i is source dimension permutation[i]",
		Operands: []ir.Operand{one("source"), one("target")},
		Attrs:    []ir.AttrDef{{Name: "permutation", Kind: ir.AttrDenseI64}},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: inUB,
		Asm: "$source `by` $permutation `into` $target attr-dict `:` type($source) `,` type($target)",
	}
	Reduce = &ir.OpDef{
		Name: "npuir.reduce", Doc: "elements along a dimension combined into those of the target",
		Operands: []ir.Operand{one("source"), one("target")},
		Attrs:    []ir.AttrDef{{Name: "op", Kind: ir.AttrString}, {Name: "dimension", Kind: ir.AttrI64}},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: inUB,
		Asm: "$op $source `along` $dimension `into` $target attr-dict `:` type($source) `,` type($target)",
	}
	Gather = &ir.OpDef{
		Name: "npuir.gather", Doc: "elements of memory at indices, where a mask says so",
		Operands: []ir.Operand{one("source"), one("indices"), one("target"), maybe("mask")},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: verifyGather,
		Asm: "$source `[` $indices `]` `,` $target (`mask` $mask^)? attr-dict `:` type($source) `,` type($indices) `,` type($target) (`,` type($mask)^)?",
	}
	Scatter = &ir.OpDef{
		Name: "npuir.scatter", Doc: "elements written to memory at indices, where a mask says so",
		Operands: []ir.Operand{one("source"), one("target"), one("indices"), maybe("mask")},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: verifyScatter,
		Asm: "$source `,` $target `[` $indices `]` (`mask` $mask^)? attr-dict `:` type($source) `,` type($target) `,` type($indices) (`,` type($mask)^)?",
	}
	MMAD = &ir.OpDef{
		Name: "npuir.mmad", Doc: "the product of two matrices, added to the target or in place of it",
		Operands: []ir.Operand{one("a"), one("b"), one("target")},
		Attrs:    []ir.AttrDef{{Name: "init", Kind: ir.AttrUnit}},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: verifyMMAD,
		Asm: "$a `,` $b `,` $target (`init` $init^)? attr-dict `:` type($a) `,` type($b) `,` type($target)",
	}
)

// Where a program runs, and the global memory of its core.
var (
	CoreID = &ir.OpDef{
		Name: "npuir.core_id", Doc: "the number of the core that runs the program, from 0", Results: result(),
		Effects: ir.Effects{Read: true}, Asm: "attr-dict `:` type($result)",
	}
	NumCores = &ir.OpDef{
		Name: "npuir.num_cores", Doc: "how many cores run the program", Results: result(),
		Effects: ir.Effects{Read: true}, Asm: "attr-dict `:` type($result)",
	}
	Workspace = &ir.OpDef{
		Name: "npuir.workspace", Doc: "global memory that only this core accesses", Results: result(),
		Effects: ir.Effects{Alloc: true}, Asm: "attr-dict `:` type($result)",
	}
)

func result() []ir.Result { return []ir.Result{{Name: "result", Type: ir.AnyType}} }

// Order between pipes.
var (
	SetFlag  = flag("set_flag", "a flag set when a pipe has completed what it was given")
	WaitFlag = flag("wait_flag", "a flag that a pipe waits for, and takes back")
	Barrier  = &ir.OpDef{
		Name: "npuir.barrier", Doc: "wait until a pipe has completed what it was given",
		Attrs: []ir.AttrDef{pipe("pipe")}, Effects: ir.Effects{Unknown: true},
		Asm: "$pipe attr-dict",
	}
	// SyncBlock is by the scalar unit, which waits for all pipes of its core first. The mode is
	// a hivm.Mode.
	SyncBlock = &ir.OpDef{
		Name: "npuir.sync_block", Doc: "wait until all cores of the launch have completed what they were given",
		Attrs:   []ir.AttrDef{{Name: "mode", Kind: ir.AttrString}, {Name: "event", Kind: ir.AttrI64}},
		Effects: ir.Effects{Unknown: true},
		Asm:     "$mode $event attr-dict",
	}
)

func flag(name, doc string) *ir.OpDef {
	return &ir.OpDef{
		Name: Name + "." + name, Doc: doc,
		Attrs:   []ir.AttrDef{pipe("from"), pipe("to"), {Name: "event", Kind: ir.AttrI64}},
		Effects: ir.Effects{Unknown: true},
		Asm:     "$from `to` $to $event attr-dict",
	}
}

// Dialect is the dialect npuir.
var Dialect = &ir.Dialect{
	Name: Name, Doc: "tile programs of NPU cores",
	Ops: []*ir.OpDef{
		DMA, Fill, Iota, Vector, Broadcast, Transpose, Reduce, Gather, Scatter, MMAD,
		CoreID, NumCores, Workspace, SetFlag, WaitFlag, Barrier, SyncBlock,
	},
}
