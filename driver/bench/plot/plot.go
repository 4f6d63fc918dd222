// Package plot draws tables of benchmarks as Triton's perf_report does: a line for
// each of a table's lines, with a band where there is one, over the first of its X.
//
// Drawing brings fonts and image libraries of several megabytes, which take two milliseconds
// of each start: only tritonc-plot has them.
package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/tritonc/tritonc/driver/bench/table"
)

// The picture's size, matplotlib's, and its resolution as pixels.
const (
	width, height = 6.4 * vg.Inch, 4.8 * vg.Inch
	dotsPerInch   = 150
	margin        = 6 // points
)

// Filter draws the table that r has, as Encode writes it, to w.
func Filter(r io.Reader, w io.Writer, format string) error {
	t, err := table.Decode(r)
	if err != nil {
		return err
	}
	return Write(w, t, format)
}

// Write draws a table in one of table.PictureFormats.
func Write(w io.Writer, t *table.Table, format string) error {
	p, err := picture(t)
	if err != nil {
		return err
	}
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		canvas = vgsvg.New(width, height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))}
	default:
		return fmt.Errorf("BUG: no plot has the format %q", format)
	}
	p.Draw(draw.Crop(draw.New(canvas), margin, -2*margin, margin, -margin))
	_, err = canvas.WriteTo(w)
	return err
}

// picture arranges the lines.
func picture(t *table.Table) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = t.Title
	p.X.Label.Text, p.Y.Label.Text = t.XLabel, t.YLabel
	if t.XLabel == "" && len(t.X) > 0 {
		p.X.Label.Text = t.X[0]
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.X.Tick.Marker, p.Y.Tick.Marker = numbers{}, numbers{}
	p.Add(plotter.NewGrid())
	xs, names := abscissas(t)
	xlog, ylog := t.XLog && names == nil && slices.Min(append(xs, 1)) > 0, t.YLog
	for i := range t.Lines {
		if err := add(p, t, i, xs, ylog); err != nil {
			return nil, err
		}
	}
	if names != nil {
		p.NominalX(names...)
	}
	if xlog {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers{2}
	}
	if ylog {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers{10}
	} else if p.Y.Min > 0 {
		p.Y.Min = 0
	}
	if p.X.Min >= p.X.Max || math.IsInf(p.X.Min, 0) { // one point, or none
		p.X.Min, p.X.Max = p.X.Min-1, p.X.Min+1
		if math.IsInf(p.X.Min, 0) || xlog && p.X.Min <= 0 {
			p.X.Min, p.X.Max = 1, 2
		}
	}
	if math.IsInf(p.Y.Min, 0) || p.Y.Min >= p.Y.Max {
		p.Y.Min, p.Y.Max = 1, 2
	}
	return p, nil
}

// abscissas are the rows' first values, or their numbers and what is written there
// where these are not numbers.
func abscissas(t *table.Table) (xs []float64, names []string) {
	numbers := true
	for i, r := range t.Rows {
		if len(r.X) == 0 {
			xs, numbers = append(xs, float64(i)), false
			continue
		}
		x, err := strconv.ParseFloat(table.Text(r.X[0]), 64)
		numbers = numbers && err == nil
		xs = append(xs, x)
	}
	if numbers {
		return xs, nil
	}
	for i, r := range t.Rows {
		texts := make([]string, len(r.X))
		for k, x := range r.X {
			texts[k] = table.Text(x)
		}
		xs[i], names = float64(i), append(names, strings.Join(texts, " "))
	}
	return xs, names
}

// add draws line i, in pieces where points are missing.
func add(p *plot.Plot, t *table.Table, i int, xs []float64, log bool) error {
	l := &t.Lines[i]
	c := colorOf(l.Color, i)
	band := color.NRGBAModel.Convert(c).(color.NRGBA)
	band.A = 38 // matplotlib's alpha of 0.15
	first := true
	flush := func(points, low, high plotter.XYs) error {
		if len(points) == 0 {
			return nil
		}
		if len(low) == len(points) {
			slices.Reverse(high)
			area, err := plotter.NewPolygon(append(slices.Clone(low), high...))
			if err != nil {
				return err
			}
			area.Color, area.LineStyle.Width = band, 0
			p.Add(area)
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Dashes, line.Width = c, dashes(l.Style), vg.Points(1.5)
		marks.Color, marks.Shape, marks.Radius = c, draw.CircleGlyph{}, vg.Points(1.5)
		p.Add(line, marks)
		if first {
			p.Legend.Add(l.Header(), line)
			first = false
		}
		return nil
	}
	var points, low, high plotter.XYs
	for n, r := range t.Rows {
		cell := r.Y[i]
		if math.IsNaN(cell.Value) || math.IsInf(cell.Value, 0) || log && cell.Value <= 0 {
			if err := flush(points, low, high); err != nil {
				return err
			}
			points, low, high = nil, nil, nil
			continue
		}
		points = append(points, plotter.XY{X: xs[n], Y: cell.Value})
		if !math.IsNaN(cell.Low) && !math.IsNaN(cell.High) && !(log && cell.Low <= 0) {
			low, high = append(low, plotter.XY{X: xs[n], Y: cell.Low}), append(high, plotter.XY{X: xs[n], Y: cell.High})
		}
	}
	return flush(points, low, high)
}

// colors are those that benchmarks name.
var colors = map[string]color.Color{
	"blue": rgb(0x0000ff), "green": rgb(0x008000), "red": rgb(0xff0000), "orange": rgb(0xffa500), "purple": rgb(0x800080),
	"black": rgb(0x000000), "gray": rgb(0x808080), "grey": rgb(0x808080), "cyan": rgb(0x00bfbf), "magenta": rgb(0xbf00bf),
	"yellow": rgb(0xbfbf00), "brown": rgb(0xa52a2a), "pink": rgb(0xffc0cb), "olive": rgb(0x808000), "teal": rgb(0x008080),
	"b": rgb(0x0000ff), "g": rgb(0x008000), "r": rgb(0xff0000), "c": rgb(0x00bfbf), "m": rgb(0xbf00bf), "y": rgb(0xbfbf00), "k": rgb(0),
}

func rgb(v uint32) color.Color {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}

// colorOf is a color by its name or #rrggbb, or one of the palette.
func colorOf(name string, i int) color.Color {
	name = strings.ToLower(strings.TrimPrefix(name, "tab:"))
	if c, ok := colors[name]; ok {
		return c
	}
	if digits, ok := strings.CutPrefix(name, "#"); ok && len(digits) == 6 {
		if v, err := strconv.ParseUint(digits, 16, 32); err == nil {
			return rgb(uint32(v))
		}
	}
	return plotutil.Color(i)
}

// dashes are those of matplotlib's line styles.
func dashes(style string) []vg.Length {
	p := func(list ...float64) []vg.Length {
		out := make([]vg.Length, len(list))
		for i, n := range list {
			out[i] = vg.Points(n)
		}
		return out
	}
	switch style {
	case "--", "dashed":
		return p(5, 3)
	case ":", "dotted":
		return p(1.5, 2)
	case "-.", "dashdot":
		return p(6, 2, 1.5, 2)
	}
	return nil
}

// numbers are gonum's ticks, with labels as short as they can be.
type numbers struct{}

// Ticks labels what gonum labels.
func (numbers) Ticks(least, greatest float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, greatest)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 8, 64)
		}
	}
	return ticks
}

// powers are ticks at the powers of a base.
type powers struct{ base float64 }

// Ticks are at most ten with labels, and one at each power.
func (t powers) Ticks(least, greatest float64) []plot.Tick {
	if least <= 0 {
		return nil
	}
	log := func(v float64) float64 { return math.Log(v) / math.Log(t.base) }
	from, to := math.Floor(log(least)+1e-9), math.Ceil(log(greatest)-1e-9)
	every := max(1, math.Ceil((to-from)/9))
	var ticks []plot.Tick
	for e := from; e <= to; e++ {
		tick := plot.Tick{Value: math.Pow(t.base, e)}
		if math.Mod(e-from, every) == 0 {
			tick.Label = strconv.FormatFloat(tick.Value, 'g', 6, 64)
			if e >= 10 && t.base == 2 {
				tick.Label = fmt.Sprintf("2^%d", int(e))
			}
		}
		ticks = append(ticks, tick)
	}
	return ticks
}
