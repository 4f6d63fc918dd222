package npu

import "math"

// clocks is what a pipe knows of the others: how many instructions of each had completed
// before its own next one begins.
type clocks [numPipes]uint32

func (k *clocks) join(other *clocks) {
	for i := range k {
		k[i] = max(k[i], other[i])
	}
}

// granule is how many bytes of a core's memory a record of the shadow is about.
const granule = 32

// touch is the last access of a pipe to a granule: its number on the pipe, the bytes, and
// the instruction.
type touch struct {
	clock uint32
	mask  uint32
	inst  int32
}

// record has the last reads and writes of a granule, by pipe.
type record struct {
	reads, writes [numPipes]touch
	pipes         uint8 // that have accessed it
}

// shadow remembers who accessed a memory of a core.
type shadow struct{ records []record }

func newShadow(size int) *shadow { return &shadow{make([]record, (size+granule-1)/granule)} }

// note remembers an access.
func (t *touch) note(clock, mask uint32, inst int32) {
	if t.mask&^mask != 0 {
		mask |= t.mask // an earlier access to other bytes counts as if it were this one
	}
	*t = touch{clock, mask, inst}
}

// order reports an access that is not ordered after one of another pipe, and remembers it.
// Order comes from flags and barriers, not from the time that instructions happen to take.
func (c *core) order(in *inst, s *shadow, space Space, at, n int64, kind accessKind) {
	p := in.pipe
	mine := &c.clocks[p]
	index := int32(in.index)
	for end := at + n; at < end; {
		g := at / granule
		next := min((g+1)*granule, end)
		mask := uint32(math.MaxUint32) >> (32 - (next - at)) << (at % granule)
		r := &s.records[g]
		if r.pipes&^(1<<p) != 0 {
			for q := range numPipes {
				if q == p || r.pipes&(1<<q) == 0 {
					continue
				}
				if w := &r.writes[q]; w.mask&mask != 0 && w.clock > mine[q] {
					c.unordered(in, kind.writes(), q, int(w.inst), true, space)
				}
				if rd := &r.reads[q]; kind.writes() && rd.mask&mask != 0 && rd.clock > mine[q] {
					c.unordered(in, true, q, int(rd.inst), false, space)
				}
			}
		}
		r.pipes |= 1 << p
		if kind.reads() {
			r.reads[p].note(mine[p], mask, index)
		}
		if kind.writes() {
			r.writes[p].note(mine[p], mask, index)
		}
		at = next
	}
}

// unordered reports that a pipe does not wait for another.
func (c *core) unordered(in *inst, writes bool, q Pipe, other int, wrote bool, space Space) {
	what := map[bool]string{false: "reads", true: "writes"}
	o := &c.p.code[other]
	f := c.report(in, MissingFlag, "pipe %s %s %s that pipe %s %s, and does not wait for it: no flag from %s to %s is between them",
		in.pipe, what[writes], bytesIn(space), q, what[wrote], q, in.pipe)
	if f != nil {
		f.Other, f.OtherText = o.loc, c.p.textOf(o)
	}
}

func bytesIn(s Space) string {
	if s == GM {
		return "global memory"
	}
	return "bytes of " + s.String()
}

// reach is an access of a pipe to global memory that others may not know of yet.
type reach struct {
	pipe   Pipe
	write  bool
	clock  uint32
	inst   int32
	lo, hi int64
	v      *view
}

// maxReaches is how many accesses to global memory a core remembers; older ones are no
// longer compared.
const maxReaches = 1024

// orderGlobal is order for global memory: the accesses of a core's pipes to it, of which
// those that all pipes know of are dropped.
func (c *core) orderGlobal(in *inst, v *view, kind accessKind) {
	lo, hi, _ := v.span()
	mine := &c.clocks[in.pipe]
	kept := c.reaches[:0]
	for _, r := range c.reaches {
		known := true
		for q := range numPipes {
			known = known && (q == r.pipe || !c.p.touches[q] || c.clocks[q][r.pipe] >= r.clock)
		}
		if known {
			continue
		}
		kept = append(kept, r)
		if r.pipe != in.pipe && r.clock > mine[r.pipe] && (r.write || kind.writes()) && r.lo < hi && lo < r.hi && overlap(r.v, v) {
			c.unordered(in, kind.writes(), r.pipe, int(r.inst), r.write, GM)
		}
	}
	if len(kept) >= maxReaches {
		kept = append(kept[:0], kept[1:]...)
	}
	c.reaches = append(kept, reach{in.pipe, kind.writes(), mine[in.pipe], int32(in.index), lo, hi, v})
}

// overlap reports whether two views, whose spans overlap, have a byte in common.
func overlap(a, b *view) bool {
	common := false
	a.runs(func(at, n int64) {
		if common {
			return
		}
		b.runs(func(bt, m int64) { common = common || at < bt+m && bt < at+n })
	})
	return common
}

// flag is one of the flags from a pipe to another.
type flag struct {
	set   bool
	known clocks
	inst  int // that set it
	event int32
}
