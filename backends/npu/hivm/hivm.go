package hivm

import (
	_ "embed"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// Name is the dialect's name.
const Name = "hivm"

// Declaration is the dialect as hosts read it.
//
//go:embed hivm.json
var Declaration string

// Dialect is the dialect hivm.
var Dialect = load()

// SyncBlock is hivm.hir.sync_block.
var SyncBlock = Dialect.Op("hivm.hir.sync_block")

func load() *ir.Dialect {
	d, err := decl.Load([]byte(Declaration))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return d
}

// Attributes of SyncBlock.
const (
	modeAttr       = "sync_block_mode"
	flagAttr       = "flag_id"
	cubePipeAttr   = "tcube_pipe"
	vectorPipeAttr = "tvector_pipe"
)

// allPipes is the pipe PIPE_ALL: a core waits for all of its pipes.
const allPipes = 7

// Mode says which cores wait for one another, by the name that kernels give it.
type Mode string

// The modes.
const (
	AllCube      Mode = "all_cube"       // the cube cores of all programs
	AllVector    Mode = "all_vector"     // their vector cores
	AllSubVector Mode = "all_sub_vector" // the vector cores of one AI core
	All          Mode = "all"            // cube and vector cores
)

// Modes are the modes, in the order of the attribute's numbers.
var Modes = []Mode{AllCube, AllVector, AllSubVector, All}

// SyncOf is the mode of a SyncBlock and its event.
func SyncOf(op *ir.Operation) (m Mode, event int64) {
	n, _ := op.IntAttr(modeAttr)
	event, _ = op.IntAttr(flagAttr)
	return Modes[n], event
}

// Sync makes a SyncBlock, which waits for all pipes of the cores of a mode.
func Sync(b *ir.Builder, m Mode, event int64) *ir.Operation {
	c := b.Context()
	attrs := []ir.NamedAttr{{Name: flagAttr, Attr: c.I64Attr(event)}}
	for i, mode := range Modes {
		if mode == m {
			attrs = append(attrs, ir.NamedAttr{Name: modeAttr, Attr: c.I64Attr(int64(i))})
		}
	}
	if m == AllCube || m == All {
		attrs = append(attrs, ir.NamedAttr{Name: cubePipeAttr, Attr: c.I64Attr(allPipes)})
	}
	if m != AllCube {
		attrs = append(attrs, ir.NamedAttr{Name: vectorPipeAttr, Attr: c.I64Attr(allPipes)})
	}
	return b.Create(SyncBlock, ir.State{Attrs: attrs})
}
