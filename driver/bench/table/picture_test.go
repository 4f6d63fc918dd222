package table

import (
	"bytes"
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	for path, want := range map[string]string{"a.svg": "svg", "b/c.PNG": "png", "d.pdf": "", "svg": ""} {
		if got := PictureFormat(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// TestEncode: a table comes back with all kinds of values, absent ones and empty rows.
func TestEncode(t *testing.T) {
	in := &Table{
		Title: "add", X: []string{"n", "type"}, XLog: true, YLabel: "GB/s",
		Lines: []Line{{Name: "a", Unit: "GB/s", Color: "blue", Style: "--", More: []string{"q0.2"}}, {Name: "b"}},
		Rows: []Row{
			{X: []any{int64(1), "fp16"}, Y: []Cell{{Value: 2, Low: 1, High: 3, More: []float64{2.5}}, Absent()}},
			{X: []any{0.5, true}, Y: []Cell{Of(math.Inf(1)), Of(0)}},
			{},
		},
	}
	var text, again bytes.Buffer
	if err := in.Encode(&text); err != nil {
		t.Fatal(err)
	}
	bytes := text.String()
	out, err := Decode(&text)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Encode(&again); err != nil || again.String() != bytes {
		t.Errorf("%v; it has become %+v", err, out)
	}
	if out.Rows[0].X[0] != int64(1) || out.Rows[1].X[1] != true || !math.IsNaN(out.Rows[0].Y[1].Value) || out.Lines[0].Color != "blue" {
		t.Errorf("it has become %+v", out)
	}
}
