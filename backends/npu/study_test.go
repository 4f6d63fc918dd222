package npu

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"reflect"
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

// step is a kernel of the study with its constants and programs.
type step struct {
	kernel, constants string
	programs          int
}

var (
	rowsOverCores    = step{"min_rows", "M=i32, N=i32:16, BLOCK_SIZE_M=1, BLOCK_SIZE_N=4096", 16}
	columnsOverCores = step{"min_columns", "M=i32, N=i32:16, BLOCK_SIZE_M=8, BLOCK_SIZE_N=8192, SUB_BLOCK_SIZE_N=1024", 32}
	accumulated      = step{"min_blocks", "M=i32, N=i32:16, BLOCK_SIZE_M=8, BLOCK_SIZE_N=8192, SUB_BLOCK_SIZE_N=1024", 32}
	otherBlocks      = step{"min_blocks", "M=i32, N=i32:16, BLOCK_SIZE_M=16, BLOCK_SIZE_N=8192, SUB_BLOCK_SIZE_N=512", 32}
)

// program compiles a step for the simulated NPU.
func (s step) program(t *testing.T, multibuffer bool) *npu.Program {
	t.Helper()
	src, err := os.ReadFile(studyFile)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := compile(t, studyFile, src, s.kernel, "inp=*fp32:16, out=*fp32:16, "+s.constants, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := text.ParseFile(dialect.NewContext(npuir.Dialect), "ttadapter", artifact)
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of("ascend910b3")
	if _, err := new(pass.Runner).Run(f.Op, npuirRows(c, multibuffer), nil); err != nil {
		t.Fatal(err)
	}
	file, err := npusim.Write(f.Op, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npu.Read("min.npusim", file)
	if err != nil {
		t.Fatal(err)
	}
	return p
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

// run executes a step with the costs and checks the minima. It returns the cycles.
func (s step) run(t *testing.T, p *npu.Program, m *matrix, costs chip.Costs, checks bool) float64 {
	t.Helper()
	d := npu.New(npu.Options{Chip: chip.Of("ascend910b3"), Costs: costs, NoChecks: !checks})
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
	rep, err := d.Launch(t.Context(), p, [3]int{s.programs, 1, 1}, in, out, int32(studyRows), int32(studyWidth))
	if err != nil {
		t.Fatalf("%s: %v", s.kernel, err)
	}
	for i, want := range m.want {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*i:])); got != want {
			t.Fatalf("%s: row %d: %g, want %g", s.kernel, i, got, want)
		}
	}
	return rep.Cycles
}

// TestStudy: each step is right, and without double buffering each of the first three is
// faster than the one before. With it, transfers hide the reductions, so that the third
// step gains nothing.
func TestStudy(t *testing.T) {
	m := newMatrix(t)
	costs := chip.CostsOf(chip.Of("ascend910b3"))
	for _, multibuffer := range []bool{false, true} {
		var cycles []float64
		for _, s := range []step{rowsOverCores, columnsOverCores, accumulated, otherBlocks} {
			cycles = append(cycles, s.run(t, s.program(t, multibuffer), m, costs, true))
		}
		t.Logf("multibuffer=%v: %.0f cycles", multibuffer, cycles)
		if cycles[1] >= cycles[0] || !multibuffer && cycles[2] >= cycles[1] {
			t.Errorf("multibuffer=%v: %.0f cycles do not fall", multibuffer, cycles)
		}
	}
}

// TestStudyHolds: the order of the first three steps is the same where a cost is 30 %
// higher or lower.
func TestStudyHolds(t *testing.T) {
	m := newMatrix(t)
	steps := []step{rowsOverCores, columnsOverCores, accumulated}
	var programs []*npu.Program
	for _, s := range steps {
		programs = append(programs, s.program(t, false))
	}
	base := chip.CostsOf(chip.Of("ascend910b3"))
	var table strings.Builder
	for i := range reflect.TypeOf(base).NumField() {
		name := reflect.TypeOf(base).Field(i).Tag.Get("cost")
		for _, factor := range []float64{0.7, 1.3} {
			costs := base
			f := reflect.ValueOf(&costs).Elem().Field(i)
			f.SetFloat(f.Float() * factor)
			var cycles []float64
			for k, s := range steps {
				cycles = append(cycles, s.run(t, programs[k], m, costs, false))
			}
			fmt.Fprintf(&table, "%s × %g: %.0f\n", name, factor, cycles)
			if cycles[1] >= cycles[0] || cycles[2] >= cycles[1] {
				t.Errorf("%s × %g: %.0f cycles do not fall", name, factor, cycles)
			}
		}
	}
	t.Log("\n" + table.String())
}
