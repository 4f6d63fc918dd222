package npu

import "github.com/tritonc/tritonc/driver/sim/simt"

// line is how many bytes of global memory L2 holds or lacks as a whole.
const line = 128

// traffic counts accesses to global memory, by line. A line that is read several times in a
// launch comes from HBM once, and one that is written several times goes there once: L2 is
// taken to hold all that a launch accesses. Who comes first depends on time, so each access
// has an equal part of it.
type traffic map[*simt.Buffer][]uses

// uses are the accesses to a line.
type uses struct {
	reads, writes uint32
	made          bool // written before it was read: L2 has it
}

func (t traffic) of(b *simt.Buffer) []uses {
	lines := t[b]
	if lines == nil {
		lines = make([]uses, (len(b.Data)+line-1)/line)
		t[b] = lines
	}
	return lines
}

// count notes an access to n bytes of a buffer.
func (t traffic) count(b *simt.Buffer, off, n int, kind accessKind) {
	lines := t.of(b)
	for i := off / line; i*line < off+n; i++ {
		u := &lines[i]
		u.made = u.made || u.reads == 0 && !kind.reads()
		if kind.reads() {
			u.reads++
		}
		if kind.writes() {
			u.writes++
		}
	}
}

// far is the part of a transfer's bytes that HBM gives or takes.
func (t traffic) far(b *simt.Buffer, v *view, outward bool) float64 {
	lines, origin := t.of(b), int64(b.Addr())
	all, part := 0.0, 0.0
	v.runs(func(at, n int64) {
		for lo := at - origin; lo < at-origin+n; {
			i := lo / line
			hi := min((i+1)*line, at-origin+n)
			u, bytes := &lines[i], float64(hi-lo)
			all += bytes
			switch {
			case outward:
				part += bytes / float64(u.writes)
			case !u.made:
				part += bytes / float64(u.reads)
			}
			lo = hi
		}
	})
	return part / all
}

// settle says of each transfer what of it is between HBM and L2, when all cores have run.
func (r *run) settle(traces []*trace) {
	for _, t := range traces {
		for i := range t.events {
			e := &t.events[i]
			if e.bytes == 0 {
				continue
			}
			e.far = e.bytes
			if e.at != nil {
				e.far *= r.traffic.far(r.mem.At(uint64(e.at.base)), e.at, e.outward)
				e.at = nil
			}
		}
	}
}
