package table

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
)

func example() *Table {
	nan := math.NaN()
	return &Table{
		Title: "matmul-performance", X: []string{"M", "P"}, XLog: true, YLabel: "TFLOPS", Device: "H200", Measure: "do_bench",
		Lines: []Line{{Name: "Triton", Unit: "TFLOPS", More: []string{"q0.2"}}, {Name: "cuBLAS", Unit: "TFLOPS"}},
		Rows: []Row{
			{X: []any{int64(256), "tf32"}, Y: []Cell{{Value: 9.5, Low: 9, High: 10, More: []float64{9}}, Absent()}},
			{X: []any{int64(512), "ieee"}, Y: []Cell{{Value: 0.0000125, Low: nan, High: nan}, Of(60)}},
		},
	}
}

func TestMeasured(t *testing.T) {
	if none := (&Table{Rows: []Row{{Y: []Cell{Absent()}}}}); none.Measured() || !example().Measured() {
		t.Error("what is measured")
	}
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := example().Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `matmul-performance:
     M     P  Triton (TFLOPS)  Triton q0.2 (TFLOPS)  cuBLAS (TFLOPS)
0  256  tf32         9.500000              9.000000                -
1  512  ieee         1.25e-05                     -        60.000000
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := example().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	const want = "M,P,Triton (TFLOPS),Triton q0.2 (TFLOPS),cuBLAS (TFLOPS)\n256,tf32,9.5,9,\n512,ieee,1.25e-05,,60\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	list, err := Read(b.Bytes(), []string{"M", "P"})
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; got.Lines[1].Name != "Triton q0.2" || got.Lines[2].Unit != "TFLOPS" || got.Rows[1].Y[2].Value != 60 ||
		got.Rows[0].X[0] != int64(256) || got.Rows[0].X[1] != "tf32" || !math.IsNaN(got.Rows[0].Y[2].Value) {
		t.Errorf("read %+v", got)
	}
}

// TestJSON: what is written is read again.
func TestJSON(t *testing.T) {
	var b, again bytes.Buffer
	if err := WriteJSON(&b, []*Table{example(), {Title: "one", Lines: []Line{{Name: "l"}}, Rows: []Row{{Y: []Cell{Of(1)}}}}}); err != nil {
		t.Fatal(err)
	}
	list, err := Read(b.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || !reflect.DeepEqual(list[0].X, example().X) || list[0].Rows[0].Y[0].High != 10 || list[0].Device != "H200" || list[0].Measure != "do_bench" || !list[0].XLog {
		t.Errorf("read %+v", list[0])
	}
	for _, l := range []string{`"value": null`, `"low": 9,`, `"q0.2": 9`, `"x": []`} {
		if !strings.Contains(b.String(), l) {
			t.Errorf("no %s in\n%s", l, b.String())
		}
	}
	if err := WriteJSON(&again, list); err != nil || strings.Count(again.String(), "256") != strings.Count(b.String(), "256") {
		t.Errorf("written again: %v\n%s", err, again.String())
	}
}

// perfReport is what Triton's perf_report saves.
const perfReport = "N,Triton (GB/s),Torch (GB/s)\n256.000000,470.0,480.25\n384.000000,600.000000,\n"

func TestJoin(t *testing.T) {
	list, err := Read([]byte(perfReport), []string{"N"})
	if err != nil {
		t.Fatal(err)
	}
	own := &Table{X: []string{"M", "N"}, Lines: []Line{{Name: "softmax", Unit: "GB/s"}}}
	for _, n := range []int64{128, 256, 384} {
		own.Rows = append(own.Rows, Row{X: []any{int64(4096), n}, Y: []Cell{Of(1)}})
	}
	if err := own.Join(list[0]); err == nil || !strings.Contains(err.Error(), "it has no M") {
		t.Errorf("without M: %v", err)
	}
	own.X = []string{"N"}
	for i := range own.Rows {
		own.Rows[i].X = own.Rows[i].X[1:]
	}
	if err := own.Join(list[0]); err != nil {
		t.Fatal(err)
	}
	if len(own.Lines) != 3 || own.Lines[2].Header() != "Torch (GB/s)" || !math.IsNaN(own.Rows[0].Y[1].Value) ||
		own.Rows[1].Y[2].Value != 480.25 || !math.IsNaN(own.Rows[2].Y[2].Value) {
		t.Errorf("joined %+v", own)
	}
}

func TestReadMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"":              "it is empty",
		"n,a\n1,2\n":    "it has no column N; its columns are n, a",
		"N,a\n1,fast\n": `line 2: "fast" in the column a is not a number`,
		"N,a\n1\n":      "wrong number of fields",
		`[{"x": 1}]`:    "cannot unmarshal",
		`[{"x": ["a", "b"], "lines": [{"name": "l", "points": [{"x": [1], "value": 2}]}]}]`: "a point of l has the values [1] for a, b",
	} {
		if _, err := Read([]byte(text), []string{"N"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}
