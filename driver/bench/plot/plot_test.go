package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/bench/table"
)

func example(x ...any) *table.Table {
	t := &table.Table{
		Title: "add", X: []string{"size"}, YLabel: "GB/s", XLog: true,
		Lines: []table.Line{{Name: "Triton", Unit: "GB/s", Color: "blue", Style: "--"}, {Name: "Torch", Color: "#00ff80"}, {Name: "none"}},
	}
	for i, v := range x {
		y := float64(i + 1)
		t.Rows = append(t.Rows, table.Row{X: []any{v}, Y: []table.Cell{{Value: 10 * y, Low: 9 * y, High: 11 * y}, table.Of(5 * y), table.Absent()}})
	}
	if len(x) > 2 {
		t.Rows[1].Y[1] = table.Absent() // a gap
	}
	return t
}

func svg(t *testing.T, x *table.Table) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, x, "svg"); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	}
}

func TestSVG(t *testing.T) {
	text := svg(t, example(int64(4096), int64(8192), int64(16384), int64(32768)))
	for _, want := range []string{">add<", ">size<", ">GB/s<", ">Triton (GB/s)<", ">Torch<", ">2^12<", ">2^15<", "#0000FF", "#00FF80", "stroke-dasharray"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the picture", want)
		}
	}
	if strings.Contains(text, ">none<") {
		t.Error("a line without points is in the legend")
	}
	if strings.Count(text, "fill-opacity") == 0 {
		t.Error("no band")
	}
}

// TestOdd: tables that have little to draw are drawn.
func TestOdd(t *testing.T) {
	for name, x := range map[string]*table.Table{
		"one point": example(int64(1)), "no point": example(), "names": example("tf32", "ieee"), "zero on a log axis": example(int64(0), int64(1)),
	} {
		x.YLog = name == "one point"
		if text := svg(t, x); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text := svg(t, example("tf32", "ieee")); !strings.Contains(text, ">tf32<") {
		t.Error("names are not on the axis")
	}
	bad := example(int64(1), int64(2))
	bad.Rows[0].Y[0].Value = math.Inf(1)
	svg(t, bad)
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, example(int64(1), int64(2), int64(4)), "png"); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil || img.Bounds().Dx() != 960 || img.Bounds().Dy() != 720 {
		t.Errorf("%v, %v", img.Bounds(), err)
	}
}
