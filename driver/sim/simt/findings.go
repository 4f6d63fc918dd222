package simt

// findings are those of a launch, or of one of its clusters: one for an instruction
// and kind.
type findings struct {
	list []*Finding
	seen map[findingKey]*Finding
}

type findingKey struct {
	kind FindingKind
	pc   int
}

// add takes a finding in. Of several at one instruction the first by position stays.
func (s *findings) add(f *Finding) {
	key := findingKey{f.Kind, f.pc}
	if old := s.seen[key]; old != nil {
		n := old.Count + f.Count
		if f.order < old.order {
			*old = *f
		}
		old.Count = n
		return
	}
	if s.seen == nil {
		s.seen = make(map[findingKey]*Finding)
	}
	s.seen[key] = f
	s.list = append(s.list, f)
}

// order sorts findings at one instruction by block, warp and lane.
func (w *warp) order(lane int) int {
	return (w.cta.index*len(w.cta.warps)+w.id)*MaxLanes + max(lane, 0)
}

// fault takes the fault of a block that cannot go on, if any. It ends the launch for
// the clusters that are executed after the block's. Those before it run to their ends,
// or to faults of their own, so that what is found does not depend on which of them
// run at a time; in a program whose blocks wait for one another all end.
func (r *launch) fault(c *cta) {
	if c.fault == nil {
		return
	}
	c.cluster.found.add(c.fault)
	c.fault = nil
	if r.prog.Ordered {
		r.stop.Store(true)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first.Store(min(r.first.Load(), int64(c.cluster.number)))
}

// ended takes the findings of a cluster that ran in parallel with others, after those
// of all clusters before it; none of those after a fault.
func (r *launch) ended(cl *cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[cl.number] = cl.found.list
	if len(cl.found.list) > 0 {
		cl.found = &findings{}
	}
	for int64(r.merged) <= r.first.Load() {
		list, ok := r.pending[r.merged]
		if !ok {
			break
		}
		for _, f := range list {
			r.found.add(f)
		}
		delete(r.pending, r.merged)
		r.merged++
	}
}
