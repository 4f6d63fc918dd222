package npu

import "github.com/tritonc/tritonc/driver/sim/simt"

// owners are the programs that accessed each byte of a buffer in a launch: the program's
// number plus 1, or several.
type owners struct{ readers, writers, atomics []uint16 }

// several stands for more than one program.
const several = 1<<16 - 1

// conflict reports accesses of two programs to a byte of global memory of which one is a
// write, unless both are atomic: nothing says which comes first.
func (c *core) conflict(in *inst, b *simt.Buffer, off, n int, kind accessKind) {
	if c.run.programs == 1 {
		return
	}
	o := c.run.owners[b]
	if o == nil {
		size := len(b.Data)
		o = &owners{make([]uint16, size), make([]uint16, size), make([]uint16, size)}
		c.run.owners[b] = o
	}
	me := uint16(c.number%(several-1)) + 1
	mine, others := o.readers, [][]uint16{o.writers, o.atomics}
	switch kind {
	case write:
		mine, others = o.writers, [][]uint16{o.readers, o.writers, o.atomics}
	case atomic:
		mine, others = o.atomics, [][]uint16{o.readers, o.writers}
	}
	for _, other := range others {
		for i, who := range other[off : off+n] {
			if who != 0 && who != me {
				c.report(in, Conflict, "byte %d of buffer %s is accessed by several programs, one of which writes it: nothing says which comes first", off+i, b.Name)
				break
			}
		}
	}
	for i, who := range mine[off : off+n] {
		switch who {
		case me, several:
		case 0:
			mine[off+i] = me
		default:
			mine[off+i] = several
		}
	}
}
