package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// plot is the picture of a roofline: both axes are logarithmic.
type plot struct {
	Width, Height int
	Roof          string // points of the line
	X, Y, Reached int    // of the launch: below the roof, and by the estimated time
	Left, Bottom  int
	Ticks         []tick
	Unit, At      string
	Title         string
}

// tick is a mark of an axis with its label.
type tick struct {
	X1, Y1, X2, Y2 int
	LabelX, LabelY int
	Anchor, Label  string
}

// Sizes of the picture.
const (
	plotWidth, plotHeight = 460, 260
	plotLeft, plotRight   = 88, 16
	plotTop, plotBottom   = 16, 40
)

// plotOf draws a roofline; nil of none.
func plotOf(f *simt.Roofline) *plot {
	if f == nil || f.Intensity() <= 0 || f.Roof() <= 0 {
		return nil
	}
	// Decades that hold the launch, the ridge, and some room.
	x0, x1 := math.Floor(math.Log10(min(f.Intensity(), f.Ridge())/3)), math.Ceil(math.Log10(max(f.Intensity(), f.Ridge())*3))
	low := min(f.Roof(), math.Pow(10, x0)*f.Bandwidth)
	if f.Reached > 0 {
		low = min(low, f.Reached)
	}
	y0, y1 := math.Floor(math.Log10(low)), math.Ceil(math.Log10(f.Peak*1.2))
	x := func(v float64) int {
		return plotLeft + int(math.Round((math.Log10(v)-x0)/(x1-x0)*(plotWidth-plotLeft-plotRight)))
	}
	y := func(v float64) int {
		return plotHeight - plotBottom - int(math.Round((math.Log10(v)-y0)/(y1-y0)*(plotHeight-plotTop-plotBottom)))
	}
	start, end := math.Pow(10, x0), math.Pow(10, x1)
	p := &plot{
		Width: plotWidth, Height: plotHeight, Left: plotLeft, Bottom: plotHeight - plotBottom,
		Roof: fmt.Sprintf("%d,%d %d,%d %d,%d", x(start), y(start*f.Bandwidth), x(f.Ridge()), y(f.Peak), x(end), y(f.Peak)),
		X:    x(f.Intensity()), Y: y(f.Roof()), Unit: visible(f.Unit),
		At: fmt.Sprintf("%.3g FLOPs per byte", f.Intensity()), Title: visible(f.String()),
	}
	if f.Reached > 0 {
		p.Reached = y(f.Reached)
	}
	for e := x0; e <= x1; e++ {
		at := x(math.Pow(10, e))
		p.Ticks = append(p.Ticks, tick{at, plotTop, at, p.Bottom, at, p.Bottom + 16, "middle", strconv.FormatFloat(math.Pow(10, e), 'g', -1, 64)})
	}
	step := math.Ceil((y1 - y0) / 6)
	for e := y0; e <= y1; e += step {
		at := y(math.Pow(10, e))
		p.Ticks = append(p.Ticks, tick{plotLeft, at, plotWidth - plotRight, at, plotLeft - 6, at + 4, "end", rate(e)})
	}
	return p
}

// rate writes ten to the power of e operations a second.
func rate(e float64) string {
	units := []string{"", "k", "M", "G", "T", "P", "E"}
	i := min(max(int(math.Floor(e/3)), 0), len(units)-1)
	return fmt.Sprintf("%.3g %sFLOP/s", math.Pow(10, e-3*float64(i)), units[i])
}
