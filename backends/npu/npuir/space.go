package npuir

import (
	"strings"

	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// Space is a memory. The zero Space is global memory.
type Space string

// The memories of a core.
const (
	Global Space = ""
	UB     Space = "ub"  // of a vector core
	L1     Space = "l1"  // of a cube core
	L0A    Space = "l0a" // the left operand of a matmul
	L0B    Space = "l0b" // the right one
	L0C    Space = "l0c" // the result
)

// capacities are the options of passes that need the sizes of the memories: those of an
// Ascend 910B3 unless given.
var capacities = []pass.Option{
	{Name: string(UB), Default: 192 << 10, Doc: "bytes of ub"},
	{Name: string(L1), Default: 512 << 10, Doc: "bytes of l1"},
	{Name: string(L0A), Default: 64 << 10, Doc: "bytes of l0a"},
	{Name: string(L0B), Default: 64 << 10, Doc: "bytes of l0b"},
	{Name: string(L0C), Default: 128 << 10, Doc: "bytes of l0c"},
}

// widthOf is how many bits an element has in memory.
func widthOf(t ir.Type) int {
	if _, index := t.(*ir.IndexType); index {
		return 64
	}
	return ir.BitWidth(t)
}

// Attr is the space in the type of a memref.
func (s Space) Attr() string {
	if s == Global {
		return ""
	}
	return "#npuir.space<" + string(s) + ">"
}

// SpaceOf returns the space of a memref; ok is false for other types and for spaces that
// are not a core's.
func SpaceOf(c *ir.Context, t ir.Type) (s Space, ok bool) {
	m := linalg.MemRefOf(c, t)
	if m == nil {
		return Global, false
	}
	if m.Space == "" {
		return Global, true
	}
	name, found := strings.CutPrefix(m.Space, "#npuir.space<")
	s = Space(strings.TrimSuffix(name, ">"))
	switch s {
	case UB, L1, L0A, L0B, L0C:
		return s, found
	}
	return Global, false
}

// Pipe is a unit of a core that runs beside the others, as the enumeration Pipes has it.
type Pipe int64

// The pipes.
const (
	PipeS Pipe = iota
	PipeV
	PipeM
	PipeMTE1
	PipeMTE2
	PipeMTE3
	PipeFix
)

// Pipes are the keywords of the pipes.
var Pipes = []ir.EnumCase{
	{Keyword: "s", Value: int64(PipeS)},
	{Keyword: "v", Value: int64(PipeV)},
	{Keyword: "m", Value: int64(PipeM)},
	{Keyword: "mte1", Value: int64(PipeMTE1)},
	{Keyword: "mte2", Value: int64(PipeMTE2)},
	{Keyword: "mte3", Value: int64(PipeMTE3)},
	{Keyword: "fix", Value: int64(PipeFix)},
}

// transfers are the pipes that copy from a space to another.
var transfers = map[[2]Space]Pipe{
	{Global, UB}:  PipeMTE2,
	{Global, L1}:  PipeMTE2,
	{UB, Global}:  PipeMTE3,
	{UB, UB}:      PipeV,
	{L1, L0A}:     PipeMTE1,
	{L1, L0B}:     PipeMTE1,
	{L0C, Global}: PipeFix,
}

// fillers are the pipes that fill buffers.
var fillers = map[Space]Pipe{UB: PipeV, L1: PipeMTE2, L0A: PipeMTE1, L0B: PipeMTE1, L0C: PipeM}

// PipeOf returns the pipe that runs an operation.
func PipeOf(op *ir.Operation) Pipe {
	space := func(i int) Space {
		s, _ := SpaceOf(op.Context(), op.Operand(i).Type())
		return s
	}
	switch op.Def() {
	case DMA:
		return transfers[[2]Space{space(0), space(1)}]
	case Fill:
		return fillers[space(1)]
	case Gather:
		if space(0) == Global {
			return PipeMTE2
		}
		return PipeV
	case Scatter:
		if space(1) == Global {
			return PipeMTE3
		}
		return PipeV
	case Iota, Vector, Broadcast, Transpose, Reduce:
		return PipeV
	case MMAD:
		return PipeM
	}
	return PipeS
}
