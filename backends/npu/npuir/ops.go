package npuir

//go:generate go run github.com/tritonc/tritonc/internal/opviews npuir

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

// Name is the dialect's name.
const Name = "npuir"

// OffsetAttr is the attribute of a memref.alloc that says at which byte of its space the
// buffer begins.
const OffsetAttr = "npuir.offset"

func one(name string) ir.Operand { return ir.Operand{Name: name, Type: ir.AnyType} }

func many(name string) ir.Operand {
	return ir.Operand{Name: name, Type: ir.AnyType, Arity: ir.Variadic}
}

func pipe(name string) ir.AttrDef {
	return ir.AttrDef{Name: name, Kind: ir.AttrEnum, Enum: Pipes, Width: 64}
}

// The instructions.
var (
	DMA = &ir.OpDef{
		Name: "npuir.dma", Doc: "a block copied from a space to another",
		Operands: []ir.Operand{one("source"), one("target")},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: verifyDMA,
		Asm: "$source `,` $target attr-dict `:` type($source) `to` type($target)",
	}
	Fill = &ir.OpDef{
		Name: "npuir.fill", Doc: "a scalar written to all elements of a buffer",
		Operands: []ir.Operand{one("value"), one("target")},
		Effects:  ir.Effects{Write: true}, Verify: inUB,
		Asm: "$value `,` $target attr-dict `:` type($value) `,` type($target)",
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
	Reduce = &ir.OpDef{
		Name: "npuir.reduce", Doc: "elements along a dimension combined into those of the target",
		Operands: []ir.Operand{one("source"), one("target")},
		Attrs:    []ir.AttrDef{{Name: "op", Kind: ir.AttrString}, {Name: "dimension", Kind: ir.AttrI64}},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: inUB,
		Asm: "$op $source `along` $dimension `into` $target attr-dict `:` type($source) `,` type($target)",
	}
	MMAD = &ir.OpDef{
		Name: "npuir.mmad", Doc: "the product of two matrices, added to the target",
		Operands: []ir.Operand{one("a"), one("b"), one("target")},
		Effects:  ir.Effects{Read: true, Write: true}, Verify: verifyMMAD,
		Asm: "$a `,` $b `,` $target attr-dict `:` type($a) `,` type($b) `,` type($target)",
	}
)

// Order between pipes.
var (
	SetFlag  = flag("set_flag", "a flag set when a pipe has completed what it was given")
	WaitFlag = flag("wait_flag", "a flag that a pipe waits for, and takes back")
	Barrier  = &ir.OpDef{
		Name: "npuir.barrier", Doc: "wait until a pipe has completed what it was given",
		Attrs: []ir.AttrDef{pipe("pipe")}, Effects: ir.Effects{Unknown: true},
		Asm: "$pipe attr-dict",
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
	Ops: []*ir.OpDef{DMA, Fill, Vector, Reduce, MMAD, SetFlag, WaitFlag, Barrier},
}

func verifyDMA(op *ir.Operation) error {
	var spaces [2]Space
	for i, v := range op.Operands() {
		s, ok := SpaceOf(op.Context(), v.Type())
		if !ok {
			return fmt.Errorf("operand %d must be memory", i)
		}
		spaces[i] = s
	}
	if _, ok := transfers[spaces]; !ok {
		return fmt.Errorf("no pipe copies from %s to %s", spaces[0].name(), spaces[1].name())
	}
	return nil
}

// name is the space's name in messages.
func (s Space) name() string {
	if s == Global {
		return "global memory"
	}
	return string(s)
}

// inUB verifies that what a vector instruction accesses is a scalar or in ub.
func inUB(op *ir.Operation) error {
	last := op.NumOperands() - 1
	for i, v := range op.Operands() {
		s, memory := SpaceOf(op.Context(), v.Type())
		if memory && s != UB {
			return fmt.Errorf("operand %d must be in ub, not in %s", i, s.name())
		}
		if !memory && i == last {
			return fmt.Errorf("the target must be a buffer")
		}
	}
	return nil
}

func verifyMMAD(op *ir.Operation) error {
	want := []Space{L0A, L0B, L0C}
	for i, v := range op.Operands() {
		if s, ok := SpaceOf(op.Context(), v.Type()); !ok || s != want[i] {
			return fmt.Errorf("operand %d must be in %s", i, want[i])
		}
	}
	return nil
}
