package npu

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/backends/npu/npusim"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/driver/sim/npu"
)

// oneCore is a chip with one core, which runs all programs of a grid: flags are between the
// pipes of a core.
const oneCore = "ascend310b1"

// without is the program of a kernel of the stage ttadapter, less the flags of one order.
func without(t *testing.T, artifact []byte, order int) []byte {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(npuir.Dialect), "ttadapter", artifact)
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of(oneCore)
	rows := slices.Clone(npuirRows(c, true))
	last := &rows[len(rows)-1]
	last.With = []pass.Setting{{Name: npuir.Without, Value: order}}
	if _, err := new(pass.Runner).Run(f.Op, rows, nil); err != nil {
		t.Fatal(err)
	}
	file, err := npusim.Write(f.Op, c)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFlagsNeeded leaves out the flags of each order between pipes, one at a time: the
// simulator finds that they are missing, but for those that others imply.
func TestFlagsNeeded(t *testing.T) {
	r := newRand(t)
	const many = 5 // programs; of a core of a chip with more, too
	for _, k := range []struct {
		name     string
		artifact []byte
		grid     int
		sizes    []int // that the kernel is run with, so that blocks are loaded whole and in part
		args     func(n int) []any
		// spare are the orders that others imply: those of what is before a loop, or of runs
		// of an inner loop, which the flags that the loop carries order, too; and in row_softmax a
		// scalar that is read before the one after it, of which the vector unit knows.
		spare []int
	}{
		{
			"vector_add", reference(t, "vector_add", "*fp32, *fp32, *fp32, i32, BLOCK=16"), many,
			[]int{16 * many, 16*many - 3},
			func(n int) []any {
				return []any{random(t, r, "f32", 16*many), random(t, r, "f32", 16*many), blank("f32", 16*many), i32(n)}
			}, nil,
		},
		{
			"row_softmax", reference(t, "row_softmax", "*fp32, *fp32, i32, i32, i32, BLOCK=16"), many,
			[]int{16, 13},
			func(n int) []any {
				return []any{blank("f32", n*many), random(t, r, "f32", n*many), i32(n), i32(n), i32(n)}
			},
			[]int{14, 18, 19},
		},
		{
			"running", own(t, "running", "*fp32, *fp32, i32, fp32, B=16"), many,
			[]int{7, 42, 50, 64},
			func(n int) []any {
				return []any{random(t, r, "f32", n*many+16), blank("f32", n*many+16), i32(n), "5.000000e-01 : f32"}
			},
			[]int{15, 17, 18},
		},
		{
			"matmul", reference(t, "matmul", "*fp16, *fp16, *fp16, i32, i32, i32, i32, 1, i32, 1, i32, 1, BM=16, BN=16, BK=16, GROUP=2"), 3,
			[]int{50, 40},
			func(n int) []any {
				return []any{random(t, r, "f16", 48*n), random(t, r, "f16", n*16), blank("f16", 48*16), i32(48), i32(16), i32(n), i32(n), i32(16), i32(16)}
			}, nil,
		},
		{
			"row_min_split", reference(t, "row_min_split", "*fp32, *fp32, i32, i32, i32, BM=4, BN=64, SUB=16"), 2,
			[]int{64 * 2, 64*2 - 5},
			func(n int) []any {
				return []any{random(t, r, "f32", 5*n), random(t, r, "f32", 5), i32(5), i32(n), i32(n)}
			},
			[]int{6},
		},
	} {
		t.Run(k.name, func(t *testing.T) {
			all := without(t, k.artifact, -1)
			var spare []int
			for n := 0; ; n++ {
				file := without(t, k.artifact, n)
				if bytes.Equal(file, all) {
					t.Logf("%d orders, %d of them spare", n, len(spare))
					if n == 0 {
						t.Error("there are no flags")
					}
					break
				}
				p, err := npu.Read("kernel.npusim", file)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(k.sizes, func(size int) bool { return faulty(t, p, k.grid, k.args(size)) }) {
					continue
				}
				if spare = append(spare, n); !slices.Contains(k.spare, n) {
					t.Errorf("without order %d nothing is found:\n%s", n, lacks(all, file))
				}
			}
			if !slices.Equal(spare, k.spare) {
				t.Errorf("the spare orders are %v, want %v", spare, k.spare)
			}
		})
	}
}

// faulty reports whether the simulator finds a fault of a program.
func faulty(t *testing.T, p *npu.Program, grid int, values []any) bool {
	t.Helper()
	c := chip.Of(oneCore)
	d := npu.New(npu.Options{Chip: c, Costs: chip.CostsOf(c)})
	var args []any
	for i, arg := range values {
		args = append(args, simArgument(t, d, i, arg))
	}
	_, err := d.Launch(t.Context(), p, [3]int{grid, 1, 1}, args...)
	var found *npu.FindingsError
	if err != nil && !errors.As(err, &found) {
		t.Fatal(err)
	}
	return found != nil
}

// lacks are the lines of a file that another lacks.
func lacks(all, file []byte) string {
	var out []byte
	rest := bytes.Split(file, []byte("\n"))
	for line := range bytes.SplitSeq(all, []byte("\n")) {
		if len(rest) > 0 && bytes.Equal(line, rest[0]) {
			rest = rest[1:]
		} else {
			out = append(append(out, line...), '\n')
		}
	}
	return string(out)
}
