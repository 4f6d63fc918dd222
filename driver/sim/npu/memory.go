package npu

import (
	"encoding/binary"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
)

// local is a memory of a core.
type local struct {
	data    []byte
	written []bool
	shadow  *shadow
}

// bytesOf is the memory of a view, whose accesses are then in it: data[at-origin] is the
// byte at an address. It reports what leaves the memory, and is nil then.
func (c *core) bytesOf(in *inst, v *view, write bool) (data []byte, origin int64) {
	lo, hi, ok := v.span()
	if v.space != GM {
		m := c.mem[v.space].data
		if !ok || lo < 0 || hi > int64(len(m)) {
			c.stop(in, OutOfBounds, "the instruction %s bytes %d to %d of %s, which has %d", verb(write), lo, hi, v.space, len(m))
			return nil, 0
		}
		return m, 0
	}
	b := c.run.mem.At(uint64(v.base))
	if b == nil {
		c.stop(in, OutOfBounds, "the instruction %s global memory at %#x: %s", verb(write), uint64(v.base), c.run.mem.Describe(uint64(v.base)))
		return nil, 0
	}
	origin = int64(b.Addr())
	if !ok || lo < origin || hi > origin+int64(len(b.Data)) {
		c.stop(in, OutOfBounds, "the instruction %s bytes %d to %d of buffer %s, which has %s", verb(write), lo-origin, hi-origin, b.Name, diag.Count(len(b.Data), "byte"))
		return nil, 0
	}
	return b.Data, origin
}

func verb(write bool) string {
	if write {
		return "writes"
	}
	return "reads"
}

// access is the memory of a view that an instruction reads or writes: it checks bounds,
// that what is read was written, and the order of pipes and programs.
type access struct {
	data   []byte
	origin int64
	v      *view
	// written is which bytes of the memory were written, nil where it is global; whole is
	// whether all that is accessed were.
	written []bool
	whole   bool
}

// reads is for what must have been written. What was not is reported.
func (c *core) reads(in *inst, v *view) (access, bool) { return c.accesses(in, v, read) }

// peeks is for what is computed with: elements that were never written make others that
// count as never written.
func (c *core) peeks(in *inst, v *view) (access, bool) { return c.accesses(in, v, peek) }

func (c *core) writes(in *inst, v *view) (access, bool) { return c.accesses(in, v, write) }

// accessKind is how memory is accessed.
type accessKind uint8

const (
	read accessKind = iota
	peek
	write
	atomic // both, as one step
)

func (k accessKind) writes() bool { return k >= write }
func (k accessKind) reads() bool  { return k != write }

func (c *core) accesses(in *inst, v *view, kind accessKind) (access, bool) {
	data, origin := c.bytesOf(in, v, kind.writes())
	if data == nil {
		return access{}, false
	}
	a := access{data: data, origin: origin, v: v, whole: true}
	if v.space != GM {
		if v.space == UB && in.pipe != PipeS && !c.single && v.base%alignment(UB) != 0 {
			c.stop(in, Misaligned, "the instruction accesses ub from byte %d on; instructions and transfers begin at multiples of %d", v.base, alignment(UB))
			return access{}, false
		}
		a.written = c.mem[v.space].written
		a.whole = c.accessLocal(in, v, kind)
	} else {
		c.accessGlobal(in, v, kind)
	}
	return a, true
}

// accessLocal checks and marks an access to a memory of the core. It reports whether all of
// it was written before.
func (c *core) accessLocal(in *inst, v *view, kind accessKind) (whole bool) {
	m := &c.mem[v.space]
	size := int64(v.elem.Size())
	whole = true
	v.runs(func(at, n int64) {
		known := m.written[at : at+n]
		if kind.reads() {
			if i := slices.Index(known, false); i >= 0 {
				if whole = false; kind == read {
					c.report(in, Unwritten, "an element of type %s is read at byte %d of %s, which was never written", v.elem, at+int64(i)/size*size, v.space)
				}
			}
		}
		if kind.writes() {
			for i := range known {
				known[i] = true
			}
		}
		if m.shadow != nil {
			c.order(in, m.shadow, v.space, at, n, kind)
		}
	})
	return whole
}

// defined reports whether the element at an address was written.
func (a *access) defined(at int64) bool {
	return a.whole || !slices.Contains(a.written[at:at+int64(a.v.elem.Size())], false)
}

// undefine marks elements as never written: those of the list in row-major order.
func (a *access) undefine(bad []bool) {
	if bad == nil || a.written == nil {
		return
	}
	i := 0
	for w := a.v.walk(); ; i++ {
		if bad[i] {
			for k := range a.v.elem.Size() {
				a.written[w.at+int64(k)] = false
			}
		}
		if !w.next() {
			return
		}
	}
}

// accessGlobal checks and marks an access to global memory.
func (c *core) accessGlobal(in *inst, v *view, kind accessKind) {
	b := c.run.mem.At(uint64(v.base))
	origin := int64(b.Addr())
	check := !c.run.opt.NoChecks
	v.runs(func(at, n int64) {
		off := int(at - origin)
		if kind.reads() && check {
			if bad := b.Unwritten(off, int(n)); bad >= 0 {
				c.report(in, Unwritten, "byte %d of buffer %s is read and was never written", bad, b.Name)
			}
		}
		if kind.writes() {
			b.Wrote(off, int(n))
		}
		c.run.traffic.count(b, off, int(n), kind)
		if check {
			c.conflict(in, b, off, int(n), kind)
		}
	})
	if check && !c.single {
		c.orderGlobal(in, v, kind)
	}
	moved := v.count() * int64(v.elem.Size())
	if kind.reads() {
		c.bytesIn += moved
	}
	if kind.writes() {
		c.bytesOut += moved
	}
}

// get is the element at an address, put writes it.
func get(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func put(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

func (a *access) get(at int64) uint64 {
	return get(a.data[at-a.origin:], a.v.elem.Size()) & a.v.elem.mask()
}

func (a *access) put(at int64, v uint64) { put(a.data[at-a.origin:], a.v.elem.Size(), v) }
