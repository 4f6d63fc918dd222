package sim

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
	"github.com/tritonc/tritonc/internal/testseed"
)

// load reads a kernel of testdata.
func load(t testing.TB, name string) *Module {
	t.Helper()
	if machine != nil {
		return machine.load(t, name)
	}
	dir := "testdata"
	if d := os.Getenv("SIM_PTX"); d != "" {
		dir = d // the same kernels from another compiler
	}
	path := filepath.Join(dir, name+".ptx")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// onHardware, where a GPU is at hand, repeats a launch there: before and after
// are the contents of the buffers, nil for other arguments.
var onHardware func(t testing.TB, m *Module, kernel string, grid, block [3]int, shared int, args []any, before, after [][]byte, rep *Report)

// launch runs a kernel that must not be reported on.
func launch(t testing.TB, d *Device, m *Module, kernel string, grid, block [3]int, shared int, args ...any) *Report {
	t.Helper()
	if machine != nil {
		block, shared = machine.put(d, block)
	}
	before := contents(args)
	rep, err := d.Launch(m, kernel, grid, block, shared, args...)
	if err != nil {
		t.Fatal(err)
	}
	if onHardware != nil {
		onHardware(t, m, kernel, grid, block, shared, args, before, contents(args), rep)
	}
	return rep
}

func contents(args []any) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		if b, ok := a.(*Buffer); ok && b != nil && onHardware != nil {
			out[i] = b.Read()
		}
	}
	return out
}

// randn fills a slice with normal values times scale.
func randn(r *rand.Rand, n int, scale float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64() * scale)
	}
	return out
}

// near compares results with a float64 reference.
func near(t testing.TB, what string, got []float32, want []float64, rtol, atol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	bad := 0
	for i := range got {
		g, w := float64(got[i]), want[i]
		if math.Abs(g-w) <= atol+rtol*math.Abs(w) || g != g && w != w || g == w {
			continue
		}
		if bad++; bad <= 5 {
			t.Errorf("%s[%d] = %v, want %v", what, i, g, w)
		}
	}
	if bad > 5 {
		t.Errorf("%s: %d of %d values differ", what, bad, len(got))
	}
}

func cdiv(a, b int) int { return (a + b - 1) / b }

// newRand seeds by the clock and logs the seed, so that inputs are fresh and a
// failure can be repeated.
func newRand(t testing.TB) *rand.Rand {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestVectorAdd(t *testing.T) {
	m := load(t, "vector_add")
	r := newRand(t)
	for _, n := range []int{16, 1008, 1024, 4112, 100000} {
		d := New(Options{})
		x, y := randn(r, n, 1), randn(r, n, 1)
		out := d.Alloc("out", 4*n)
		launch(t, d, m, "vector_add", Dim(cdiv(n, 1024)), Dim(128), 0, Upload(d, "x", x), Upload(d, "y", y), out, int32(n))
		for i, v := range Download[float32](out) {
			if v != x[i]+y[i] {
				t.Fatalf("n=%d: out[%d] = %v, want %v", n, i, v, x[i]+y[i])
			}
		}
	}
}

func TestRowSoftmax(t *testing.T) {
	m := load(t, "row_softmax")
	r := newRand(t)
	for _, n := range []int{16, 528, 1040, 2048} {
		const rows = 7
		d := New(Options{})
		x := randn(r, rows*n, 3)
		out := d.Alloc("out", 4*rows*n)
		launch(t, d, m, "row_softmax", Dim(rows), Dim(256), 64, out, Upload(d, "in", x), int32(n), int32(n), int32(n))
		want := make([]float64, rows*n)
		for row := range rows {
			top, sum := math.Inf(-1), 0.0
			for _, v := range x[row*n : (row+1)*n] {
				top = max(top, float64(v))
			}
			for i := range n {
				want[row*n+i] = math.Exp(float64(x[row*n+i]) - top)
				sum += want[row*n+i]
			}
			for i := range n {
				want[row*n+i] /= sum
			}
		}
		near(t, "softmax", Download[float32](out), want, 2e-6, 1e-9)
	}
}

// TestCounters holds the counters of a launch: they depend on nothing but the
// program and its arguments, the number of host cores included.
func TestCounters(t *testing.T) {
	m := load(t, "row_softmax")
	const rows, n = 6, 1040
	x := make([]float32, rows*n)
	var first simt.Counters
	for workers := 1; workers <= 3; workers++ {
		d := New(Options{Workers: workers})
		out := d.Alloc("out", 4*rows*n)
		rep := launch(t, d, m, "row_softmax", Dim(rows), Dim(256), 64, out, Upload(d, "in", x), int32(n), int32(n), int32(n))
		if workers == 1 {
			first = rep.Counters
		} else if rep.Counters != first {
			t.Errorf("%d workers count\n%+v, one\n%+v", workers, rep.Counters, first)
		}
	}
	// Every row is read and written once, 130 sectors of it.
	if first.GlobalSectors != 2*rows*130 || first.GlobalSectorsNeeded != 2*rows*130 {
		t.Errorf("%d sectors, %d needed, want %d", first.GlobalSectors, first.GlobalSectorsNeeded, 2*rows*130)
	}
	if got := first.BytesRead[simt.SpaceGlobal]; got != 4*rows*n {
		t.Errorf("%d bytes read, want %d", got, 4*rows*n)
	}
	// Five barriers of eight warps.
	if first.Barriers != 5*8*rows || first.SharedWavefronts != first.SharedWavefrontsNeeded || first.Atomics != 0 {
		t.Errorf("counters are %+v", first)
	}
}

func TestTrace(t *testing.T) {
	m := load(t, "vector_add")
	var steps []simt.TraceStep
	d := New(Options{TraceBlock: 1, TraceWarp: 3, Trace: func(s simt.TraceStep) { steps = append(steps, s) }})
	const n = 2048
	x := Upload(d, "x", make([]float32, n))
	rep := launch(t, d, m, "vector_add", Dim(2), Dim(128), 0, x, x, d.Alloc("out", 4*n), int32(n))
	// Two blocks of four warps execute the same instructions.
	if uint64(len(steps))*8 != rep.Counters.WarpInstructions || steps[0].Text != "ld.param.b64" || steps[len(steps)-1].Text != "ret" {
		t.Errorf("%d steps of %d instructions, from %+v", len(steps), rep.Counters.WarpInstructions, steps[0])
	}
}

func TestReportTable(t *testing.T) {
	m := load(t, "row_softmax")
	d := New(Options{})
	x := Upload(d, "in", make([]float32, 1024))
	rep := launch(t, d, m, "row_softmax", Dim(1), Dim(256), 64, d.Alloc("out", 4096), x, int32(1024), int32(1024), int32(1024))
	var b strings.Builder
	if err := rep.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"row_softmax", "256 (256 needed)", "file 1:20"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Kernel   string
		Counters struct {
			Sectors uint64            `json:"global_sectors"`
			ByClass map[string]uint64 `json:"warp_instructions_by_class"`
			Read    map[string]uint64 `json:"bytes_read"`
		}
		Lines    []struct{ Line int }
		Findings []any
	}
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back.Kernel != "row_softmax" ||
		back.Counters.Sectors != rep.Counters.GlobalSectors || back.Counters.ByClass["integer"] != rep.Counters.ByClass[0] ||
		back.Counters.Read["global"] != rep.Counters.BytesRead[simt.SpaceGlobal] ||
		len(back.Lines) != len(rep.Lines) || back.Lines[0].Line != rep.Lines[0].Loc.Line || back.Findings == nil {
		t.Errorf("%v: the report reads back as %+v", err, back)
	}
}

// TestWaves: blocks that read one row find it in the cache, in their wave and in
// the next.
func TestWaves(t *testing.T) {
	body := `mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; ld.global.b32 %r6, [%rd3];
		mad.lo.u32 %r7, %r3, 32, %r2; mul.wide.u32 %rd4, %r7, 4; add.s64 %rd4, %rd2, %rd4; st.global.b32 [%rd4], %r6;`
	m, err := Load("snippet.ptx", []byte(snippet(body)))
	if err != nil {
		t.Fatal(err)
	}
	chip := A100
	chip.SMs, chip.MaxBlocks = 2, 4
	for workers := 1; workers <= 2; workers++ {
		d := New(Options{Chip: chip, Waves: true, Workers: workers})
		const grid = 20 // three waves of eight blocks
		rep := launch(t, d, m, "k", Dim(grid), Dim(32), 0, Upload(d, "p", make([]int32, 32)), d.Alloc("q", 128*grid), int32(0))
		k := &rep.Counters
		if k.GlobalSectors != 8*grid || k.WaveSectors != 3*4+4*grid || k.L2Misses != 4+4*grid {
			t.Errorf("%d sectors, %d of waves, %d misses", k.GlobalSectors, k.WaveSectors, k.L2Misses)
		}
	}
}
