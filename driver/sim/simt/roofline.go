package simt

// Roofline is a launch beside what the chip could do at most: with few operations for
// each byte of memory the bandwidth bounds it, with many the arithmetic (Williams,
// Waterman, Patterson: Roofline, CACM 52, 2009).
type Roofline struct {
	// FLOPs are those of the launch, Bytes its traffic with the device's memory.
	FLOPs, Bytes float64
	// Unit does most of the operations, Peak of them a second at most.
	Unit string
	Peak float64
	// Bandwidth of the memory in bytes a second, as the data sheet has it.
	Bandwidth float64
	// Reached is the operations a second by the estimated time.
	Reached float64
}

// Intensity is the operations for each byte.
func (r *Roofline) Intensity() float64 { return r.FLOPs / r.Bytes }

// Ridge is the intensity from which on arithmetic is the bound.
func (r *Roofline) Ridge() float64 { return r.Peak / r.Bandwidth }

// Roof is the operations a second that the intensity allows.
func (r *Roofline) Roof() float64 { return min(r.Peak, r.Intensity()*r.Bandwidth) }

// unit is a kind of arithmetic with its operations.
type unit struct {
	name  string
	flops float64
	peak  float64 // of a multiprocessor in a cycle
}

// dotUnit is the matrix unit's rate for a type of operands.
func (r *Rates) dotUnit(t Type) (name string, peak float64) {
	switch t.Bits() {
	case 64:
		return "f64 dots", r.DoubleDots
	case 32:
		return "tf32 dots", r.Dots / 2
	case 16:
		return "f16 dots", r.Dots
	case 8:
		return "8-bit dots", 2 * r.Dots
	}
	return "dots", r.Dots * 16 / float64(max(t.Bits(), 1))
}

// units sums the operations by the unit that does them.
func (r *Report) units(rates *Rates) []unit {
	var list []unit
	add := func(name string, flops, peak float64) {
		for i := range list {
			if list[i].name == name {
				list[i].flops += flops
				return
			}
		}
		list = append(list, unit{name, flops, peak})
	}
	for pc := range r.perPC {
		in := &r.prog.Code[pc]
		if n := r.costs[pc].flops; n > 0 {
			name, peak := rates.dotUnit(in.Mma.AType)
			add(name, float64(n), peak)
		}
		if n := flopsOf(in); n > 0 && r.perPC[pc].lanes > 0 {
			// A multiply-add is two operations of a lane, of two halves four.
			class := classOf(in)
			peak := 2 * rates.Pipes[class] * float64(r.Lanes)
			if class == ClassHalf {
				peak *= 2
			}
			add(map[InstClass]string{ClassFloat: "f32", ClassHalf: "f16", ClassDouble: "f64"}[class], float64(n*r.perPC[pc].lanes), peak)
		}
	}
	return list
}

// roofline is nil for a launch without arithmetic on floats, or without traffic.
func (r *Report) roofline(l *launch) *Roofline {
	rates := l.cfg.Rates
	scale := float64(r.Blocks) / float64(max(r.Ran, 1))
	out := &Roofline{Bandwidth: rates.PeakDRAM, Bytes: r.compulsory(l, scale)}
	most := 0.0
	for _, u := range r.units(rates) {
		out.FLOPs += u.flops * scale
		if u.flops > most {
			most, out.Unit, out.Peak = u.flops, u.name, u.peak*float64(l.cfg.SMs)*rates.Clock
		}
	}
	if out.FLOPs == 0 || out.Bytes == 0 || out.Peak == 0 {
		return nil
	}
	if e := r.Estimate; e != nil && e.Time > 0 {
		out.Reached = out.FLOPs / e.Time.Seconds()
	}
	return out
}
