package npu

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/backends/npu/npusim"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/driver/sim/npu"
)

// The study: the minimum of each row of a matrix of (16, 262144), by the kernels of
// examples/npu/min.py. docs/examples/npu-min.md tells of it.
const (
	studyFile             = "../../examples/npu/min.py"
	studyRows, studyWidth = 16, 262144
)

// step is a kernel of the study with its blocks.
type step struct {
	kernel      string
	bm, bn, sub int
}

// The rows of the study. The two sizes of blocks that a public study of this task names
// are 8, 8192, 1024 and 16, 8192, 512.
var (
	rowsOverCores    = step{"min_rows", 1, 4096, 0}
	columnsOverCores = step{"min_columns", 8, 8192, 1024}
	accumulated      = step{"min_blocks", 8, 8192, 1024}
	once             = step{"min_once", 8, 8192, 1024}
	published        = step{"min_blocks", 16, 8192, 512}
	fullUB           = step{"min_blocks", 16, 6656, 832}
)

var studySteps = []step{rowsOverCores, columnsOverCores, accumulated, once, published, fullUB}

// claims are the orders that hold, as pairs of steps of which the second takes fewer
// cycles: with one buffer for what is copied, and with two.
var claims = map[bool][][2]step{
	false: {{rowsOverCores, columnsOverCores}, {columnsOverCores, accumulated}, {accumulated, published}, {published, fullUB}},
	true:  {{rowsOverCores, columnsOverCores}, {columnsOverCores, fullUB}, {accumulated, fullUB}, {published, fullUB}},
}

func (s step) String() string { return fmt.Sprintf("%s %d × %d / %d", s.kernel, s.bm, s.bn, s.sub) }

// constants are the step's, as in a signature.
func (s step) constants() string {
	m := "M=i32"
	if s.kernel == "min_once" {
		m = fmt.Sprintf("M=%d", studyRows)
	}
	c := fmt.Sprintf("%s, N=i32:16, BLOCK_SIZE_M=%d, BLOCK_SIZE_N=%d", m, s.bm, s.bn)
	if s.sub > 0 {
		c += fmt.Sprintf(", SUB_BLOCK_SIZE_N=%d", s.sub)
	}
	return c
}

func (s step) programs() int {
	if s.kernel == "min_rows" {
		return (studyRows + s.bm - 1) / s.bm
	}
	return (studyWidth + s.bn - 1) / s.bn
}

// program compiles a step for the simulated NPU.
func (s step) program(t *testing.T, multibuffer bool) (*npu.Program, error) {
	t.Helper()
	src, err := os.ReadFile(studyFile)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := compile(t, studyFile, src, s.kernel, "inp=*fp32:16, out=*fp32:16, "+s.constants(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return simProgram(t, artifact, multibuffer)
}

// simProgram is a kernel of the stage ttadapter for the simulated NPU.
func simProgram(t *testing.T, artifact []byte, multibuffer bool) (*npu.Program, error) {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(npuir.Dialect), "ttadapter", artifact)
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of("ascend910b3")
	if _, err := new(pass.Runner).Run(f.Op, npuirRows(c, multibuffer), nil); err != nil {
		return nil, err
	}
	file, err := npusim.Write(f.Op, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npu.Read("kernel.npusim", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return p, nil
}

// matrix is the input of the study, as it lies in memory, with the minima of its rows.
type matrix struct {
	data []byte
	want []float32
}

func newMatrix(t *testing.T) *matrix {
	r := newRand(t)
	m := &matrix{data: make([]byte, 4*studyRows*studyWidth)}
	for i := range studyRows {
		least := float32(math.Inf(1))
		for k := range studyWidth {
			v := float32(r.Float64()*2 - 1)
			least = min(least, v)
			binary.LittleEndian.PutUint32(m.data[4*(i*studyWidth+k):], math.Float32bits(v))
		}
		m.want = append(m.want, least)
	}
	return m
}

// run executes a step and checks the minima.
func (s step) run(t *testing.T, p *npu.Program, m *matrix, checks bool) *npu.Report {
	t.Helper()
	c := chip.Of("ascend910b3")
	d := npu.New(npu.Options{Chip: c, Costs: chip.CostsOf(c), NoChecks: !checks})
	in, err := d.Alloc("inp", len(m.data))
	if err != nil {
		t.Fatal(err)
	}
	copy(in.Data, m.data)
	in.MarkWritten(0, len(m.data))
	out, err := d.Alloc("out", 4*studyRows)
	if err != nil {
		t.Fatal(err)
	}
	for i := range studyRows {
		binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(float32(math.Inf(1))))
	}
	out.MarkWritten(0, 4*studyRows)
	args := []any{in, out, int32(studyRows), int32(studyWidth)}
	if s.kernel == "min_once" {
		args = slices.Delete(args, 2, 3)
	}
	rep, err := d.Launch(t.Context(), p, [3]int{s.programs(), 1, 1}, args...)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	for i, want := range m.want {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*i:])); got != want {
			t.Fatalf("%s: row %d: %g, want %g", s, i, got, want)
		}
	}
	return rep
}

// TestStudy: each step is right, the simulator finds nothing wrong in it, and the orders
// hold that are claimed, also where a cost is 30 % higher or lower.
func TestStudy(t *testing.T) {
	m := newMatrix(t)
	base := chip.CostsOf(chip.Of("ascend910b3"))
	for multibuffer, pairs := range claims {
		reports := make(map[step]*npu.Report)
		var table strings.Builder
		for _, s := range studySteps {
			p, err := s.program(t, multibuffer)
			if err != nil {
				t.Fatal(err)
			}
			reports[s] = s.run(t, p, m, true)
			fmt.Fprintf(&table, "%s: %.0f cycles, %d bytes of ub\n", s, reports[s].Cycles, reports[s].Used[npu.UB])
		}
		check := func(what string, costs chip.Costs) {
			cycles := make(map[step]float64)
			fmt.Fprintf(&table, "%s:", what)
			for _, s := range studySteps {
				cycles[s] = reports[s].At(costs).Cycles
				fmt.Fprintf(&table, " %.0f", cycles[s])
			}
			table.WriteString("\n")
			for _, p := range pairs {
				if cycles[p[1]] >= cycles[p[0]] {
					t.Errorf("multibuffer=%v, %s: %s takes %.0f cycles, %s %.0f", multibuffer, what, p[0], cycles[p[0]], p[1], cycles[p[1]])
				}
			}
		}
		check("as they are", base)
		for i := range reflect.TypeFor[chip.Costs]().NumField() {
			name := reflect.TypeFor[chip.Costs]().Field(i).Tag.Get("cost")
			for _, factor := range []float64{0.7, 1.3} {
				costs := base
				f := reflect.ValueOf(&costs).Elem().Field(i)
				f.SetFloat(f.Float() * factor)
				check(fmt.Sprintf("%s × %g", name, factor), costs)
			}
		}
		t.Logf("multibuffer=%v\n%s", multibuffer, table.String())
	}
}

// sweep are the blocks that are tried: powers of two.
func sweep(kernel string) (list []step) {
	for bm := 1; bm <= 16; bm *= 2 {
		for bn := 1024; bn <= 65536; bn *= 2 {
			for sub := 128; sub <= 8192; sub *= 2 {
				list = append(list, step{kernel, bm, bn, sub})
			}
		}
	}
	return list
}

// TestStudySweep: of all sizes of blocks, those that do not fit in ub are refused, and the
// published ones are near the best.
func TestStudySweep(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: a minute of simulation")
	}
	m := newMatrix(t)
	cycles := make(map[step]float64)
	var taken []step
	refused := 0
	for _, s := range sweep("min_blocks") {
		p, err := s.program(t, true)
		// A block and what it is accumulated to; the minima of rows are less than 1 KiB.
		if fits := 2*4*s.bm*s.sub <= 192<<10-1<<10; fits != (err == nil) {
			t.Errorf("%s: error %v", s, err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "ub overflow") {
				t.Errorf("%s: %v", s, err)
			}
			refused++
			continue
		}
		cycles[s] = s.run(t, p, m, false).Cycles
		taken = append(taken, s)
	}
	slices.SortFunc(taken, func(a, b step) int { return cmp.Compare(cycles[a], cycles[b]) })
	var table strings.Builder
	for i, s := range taken[:20] {
		fmt.Fprintf(&table, "%d. %s: %.0f cycles, %d programs\n", i+1, s, cycles[s], s.programs())
	}
	t.Logf("%d refused\n%s", refused, &table)
	for _, s := range []step{accumulated, published} {
		t.Logf("%s: %.1f %% more than the best", s, 100*(cycles[s]/cycles[taken[0]]-1))
	}
}
