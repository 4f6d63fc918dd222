package npu

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
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
	studyPage             = "../../docs/examples/npu-min.md"
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
	false: {{rowsOverCores, columnsOverCores}, {columnsOverCores, accumulated}, {accumulated, once}, {accumulated, published}, {published, fullUB}},
	true:  {{rowsOverCores, columnsOverCores}, {columnsOverCores, fullUB}, {accumulated, once}, {accumulated, published}, {published, fullUB}},
}

// blocks are the sizes as tables have them: rows by columns of a program, and the columns
// that it loads at a time.
func (s step) blocks() string {
	if s.sub == 0 {
		return fmt.Sprintf("%d × %d", s.bm, s.bn)
	}
	return fmt.Sprintf("%d × %d by %d", s.bm, s.bn, s.sub)
}

func (s step) String() string { return fmt.Sprintf("`%s` %s", s.kernel, s.blocks()) }

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
	reports := map[bool]map[step]*npu.Report{false: {}, true: {}}
	for multibuffer, made := range reports {
		for _, s := range studySteps {
			p, err := s.program(t, multibuffer)
			if err != nil {
				t.Fatal(err)
			}
			made[s] = s.run(t, p, m, true)
		}
	}
	one, two := reports[false], reports[true]
	var table strings.Builder
	table.WriteString("| kernel | blocks | programs | one buffer | UB | two buffers | UB |\n|---|---|---|---|---|---|---|\n")
	for _, s := range studySteps {
		fmt.Fprintf(&table, "| `%s` | %s | %d | %.0f | %s | %.0f | %s |\n", s.kernel, s.blocks(), s.programs(),
			one[s].Cycles, kib(one[s].Used[npu.UB]), two[s].Cycles, kib(two[s].Used[npu.UB]))
	}
	document(t, studyPage, "rows", table.String())

	table.Reset()
	table.WriteString("| buffers | fewer cycles | than | as the costs are | closest of all | where |\n|---|---|---|---|---|---|\n")
	for _, multibuffer := range []bool{false, true} {
		for _, p := range claims[multibuffer] {
			slow, fast := reports[multibuffer][p[0]], reports[multibuffer][p[1]]
			least, where := math.Inf(1), ""
			for name, costs := range varied(base, 0.7, 1.3) {
				x, y := slow.At(costs).Cycles, fast.At(costs).Cycles
				if y >= x {
					t.Errorf("multibuffer=%v, %s: %s takes %.0f cycles, %s %.0f", multibuffer, name, p[0], x, p[1], y)
				}
				if x/y < least {
					least, where = x/y, name
				}
			}
			fmt.Fprintf(&table, "| %d | %s | %s | %.1f %% | %.1f %% | %s |\n", buffers(multibuffer), p[1], p[0],
				100*(slow.Cycles/fast.Cycles-1), 100*(least-1), where)
		}
	}
	document(t, studyPage, "thirty", table.String())

	// What would have to be otherwise for the third step to gain with two buffers.
	table.Reset()
	table.WriteString("| constant | is | `min_blocks` gains from |\n|---|---|---|\n")
	for i := range reflect.TypeFor[chip.Costs]().NumField() {
		name := reflect.TypeFor[chip.Costs]().Field(i).Tag.Get("cost")
		is := reflect.ValueOf(base).Field(i).Float()
		for k := 1; k <= 100; k++ {
			found := false
			for _, factor := range []float64{1 + 0.25*float64(k), 1 / (1 + 0.25*float64(k))} {
				costs := base
				reflect.ValueOf(&costs).Elem().Field(i).SetFloat(is * factor)
				if two[accumulated].At(costs).Cycles < two[columnsOverCores].At(costs).Cycles {
					fmt.Fprintf(&table, "| %s | %g | %.4g: × %.3g |\n", name, is, is*factor, factor)
					found = true
				}
			}
			if found {
				break
			}
		}
	}
	document(t, studyPage, "decides", table.String())
}

func buffers(multibuffer bool) int {
	if multibuffer {
		return 2
	}
	return 1
}

// varied are costs of which one constant is changed by a factor, by what was changed, in
// the order of the constants.
func varied(base chip.Costs, factors ...float64) iter.Seq2[string, chip.Costs] {
	return func(yield func(string, chip.Costs) bool) {
		for i := range reflect.TypeFor[chip.Costs]().NumField() {
			for _, factor := range factors {
				costs := base
				f := reflect.ValueOf(&costs).Elem().Field(i)
				f.SetFloat(f.Float() * factor)
				if !yield(fmt.Sprintf("%s × %g", reflect.TypeFor[chip.Costs]().Field(i).Tag.Get("cost"), factor), costs) {
					return
				}
			}
		}
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

// TestStudySweep: of all sizes of blocks, those that do not fit in UB are refused; and a
// table of the fastest.
func TestStudySweep(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: a minute of simulation")
	}
	m := newMatrix(t)
	start := chip.CostsOf(chip.Of("ascend910b3")).BlockStart
	// Cycles as they are, and if each program of the grid cost a start, not only the first of
	// a core.
	cycles, started := make(map[step]float64), make(map[step]float64)
	var taken []step
	refused := 0
	for _, s := range sweep("min_blocks") {
		p, err := s.program(t, true)
		// A block and what it is accumulated to; what else there is takes less than 1 KiB.
		if fits := 2*4*s.bm*s.sub <= 191<<10; fits != (err == nil) {
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
		started[s] = cycles[s] + float64((s.programs()+39)/40-1)*start
		taken = append(taken, s)
	}
	best := map[bool]float64{}
	for _, s := range taken {
		for each, by := range map[bool]map[step]float64{false: cycles, true: started} {
			if best[each] == 0 || by[s] < best[each] {
				best[each] = by[s]
			}
		}
	}
	slices.SortFunc(taken, func(a, b step) int {
		return cmp.Or(cmp.Compare(cycles[a], cycles[b]), cmp.Compare(a.String(), b.String()))
	})
	var table strings.Builder
	fmt.Fprintf(&table, "%d sizes, of which %d do not fit in UB.\n\n", len(taken)+refused, refused)
	table.WriteString("| | blocks | programs | cycles | above the best | if each program cost a start | above the best |\n|---|---|---|---|---|---|---|\n")
	for i, s := range taken {
		named := ""
		if s == accumulated || s == published {
			named = ", published"
			if started[s] > 1.05*best[true] {
				t.Errorf("%s takes %.0f cycles, the best %.0f, if each program costs a start", s, started[s], best[true])
			}
		}
		if i < 12 || named != "" {
			fmt.Fprintf(&table, "| %d%s | %s | %d | %.0f | %.1f %% | %.0f | %.1f %% |\n", i+1, named, s.blocks(), s.programs(),
				cycles[s], 100*(cycles[s]/best[false]-1), started[s], 100*(started[s]/best[true]-1))
		}
	}
	document(t, studyPage, "sweep", table.String())
}
