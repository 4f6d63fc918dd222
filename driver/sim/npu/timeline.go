package npu

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
)

// Sizes of the picture, in pixels.
const (
	lineLeft, lineRight = 64, 90
	lineTop, lineBottom = 44, 40
	lineWidth           = 1100 // of the time
	laneHeight, laneGap = 26, 8
	// What lies closer than near is drawn as one where it is narrower than a pixel.
	near = 0.5
)

// laneOrder are the pipes from top to bottom: in, compute, out.
var laneOrder = [...]Pipe{PipeMTE2, PipeMTE1, PipeS, PipeV, PipeM, PipeFix, PipeMTE3}

// laneColors are the colours of the pipes.
var laneColors = [numPipes]string{
	PipeS: "#8a94a6", PipeV: "#2f9e6e", PipeM: "#b3541e", PipeMTE1: "#6f5bd0", PipeMTE2: "#2f6fd0", PipeMTE3: "#c2396b", PipeFix: "#a8862a",
}

// box is a time that a pipe is busy with one instruction, or with several short ones.
type box struct {
	from, to float64 // cycles
	inst     int32   // or -1
	count    int
}

// WriteTimeline draws what the pipes of the core did that ends last, over time, as SVG.
func (r *Report) WriteTimeline(w io.Writer) error {
	core := 0
	for i, n := range r.CoreCycles {
		if n > r.CoreCycles[core] {
			core = i
		}
	}
	lanes := r.lanes(core)
	height := lineTop + lineBottom + len(lanes)*(laneHeight+laneGap)
	width := lineLeft + lineWidth + lineRight
	scale := 0.0
	if r.Cycles > 0 {
		scale = lineWidth / r.Cycles
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height, width, height)
	title := fmt.Sprintf("%s on %s: core %d of %d, %.0f cycles, %v", r.Kernel, r.Chip, core, len(r.CoreCycles), r.Cycles, r.Time())
	fmt.Fprintf(b, `<title>%s</title>`+"\n"+`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", html.EscapeString(title), width, height)
	fmt.Fprintf(b, `<text x="%d" y="24" font-size="14" fill="#1d2330">%s</text>`+"\n", lineLeft, html.EscapeString(title))
	bottom := height - lineBottom
	for _, at := range ticks(r.Cycles) {
		x := lineLeft + at*scale
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#dfe3ea"/><text x="%.1f" y="%d" text-anchor="middle" fill="#667085">%s</text>`+"\n",
			x, lineTop-6, x, bottom, x, bottom+16, strconv.FormatFloat(at, 'f', -1, 64))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#667085">cycles at %g MHz</text>`+"\n", lineLeft, bottom+32, r.clock)
	for i, l := range lanes {
		y := lineTop + i*(laneHeight+laneGap)
		busy := 0.0
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end" fill="#1d2330">%s</text><rect x="%d" y="%d" width="%d" height="%d" fill="#f3f5f8"/>`+"\n",
			lineLeft-10, y+laneHeight-8, l.pipe, lineLeft, y, lineWidth, laneHeight)
		for _, x := range l.boxes {
			busy += x.to - x.from
		}
		for _, x := range merged(l.boxes, scale) {
			fmt.Fprintf(b, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="#ffffff" stroke-width="0.3"><title>%s</title></rect>`+"\n",
				lineLeft+x.from*scale, y, max((x.to-x.from)*scale, 0.3), laneHeight, laneColors[l.pipe], html.EscapeString(r.describe(x)))
		}
		part := 0.0
		if r.Cycles > 0 {
			part = 100 * busy / r.Cycles
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="#667085">%.1f %% busy</text>`+"\n", lineLeft+lineWidth+8, y+laneHeight-8, part)
	}
	b.WriteString("</svg>\n")
	return b.Flush()
}

// lane is a pipe with what it did.
type lane struct {
	pipe  Pipe
	boxes []box
}

// lanes are the pipes of a core that did anything, each with its events in order.
func (r *Report) lanes(core int) []lane {
	var all [numPipes][]box
	if core < len(r.traces) {
		t, times := r.traces[core], &r.times[core]
		for i := range t.events {
			e := &t.events[i]
			if times.ends[i] > times.starts[i] {
				all[e.pipe] = append(all[e.pipe], box{times.starts[i], times.ends[i], e.inst, 1})
			}
		}
	}
	var list []lane
	for _, p := range laneOrder {
		if len(all[p]) > 0 {
			list = append(list, lane{p, all[p]})
		}
	}
	return list
}

// merged joins boxes that are too narrow to be told apart, so that a picture of a long
// launch has no more of them than fit.
func merged(boxes []box, scale float64) []box {
	var out []box
	for _, x := range boxes {
		if n := len(out); n > 0 {
			last := &out[n-1]
			narrow := (last.to-last.from)*scale < 1 || (x.to-x.from)*scale < 1
			if narrow && (x.from-last.to)*scale < near {
				last.to, last.count = x.to, last.count+x.count
				if last.inst != x.inst {
					last.inst = -1
				}
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

// describe says what a box stands for.
func (r *Report) describe(x box) string {
	text := "scalar instructions"
	if x.count > 1 {
		text = strconv.Itoa(x.count) + " instructions"
	}
	if x.inst >= 0 {
		in := &r.prog.code[x.inst]
		text = r.prog.textOf(in) + "\n" + in.loc.String()
		if x.count > 1 {
			text = fmt.Sprintf("%d times %s", x.count, text)
		}
	}
	return fmt.Sprintf("%s\ncycles %.0f to %.0f", text, x.from, x.to)
}

// ticks are round numbers from 0 to a most, about ten of them.
func ticks(most float64) []float64 {
	if most <= 0 {
		return []float64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(most/10)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= 10 {
			step *= f
			break
		}
	}
	var list []float64
	for at := 0.0; at <= most; at += step {
		list = append(list, at)
	}
	return list
}
