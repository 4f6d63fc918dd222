package npu

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/driver/sim/npu"
)

// measured is a kernel whose cycles are set against what the chip could do.
type measured struct {
	name              string
	file              string
	kernel, signature string
	grid              int
	args              []any // numbers of floats of an argument in memory, or scalars
	elem              ir.FloatKind
	// elements are what the vector unit computes on, one operation an element; products
	// are multiply-adds of the cube unit. Bytes go between HBM and the cores at least once.
	elements, products, bytes float64
}

func addOf(n, block int) measured {
	return measured{
		name: fmt.Sprintf("vector add, %d f32, blocks of %d", n, block), file: "examples/vector_add.py",
		kernel: "vector_add", signature: fmt.Sprintf("*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=%d", block),
		grid: (n + block - 1) / block, args: []any{n, n, n, int32(n)}, elem: ir.F32,
		elements: float64(n), bytes: 12 * float64(n),
	}
}

func softmaxOf(rows, cols int) measured {
	n := rows * cols
	return measured{
		name: fmt.Sprintf("softmax, (%d, %d) f32", rows, cols), file: "examples/row_softmax.py",
		kernel: "row_softmax", signature: fmt.Sprintf("*fp32:16, *fp32:16, i32:16, i32:16, i32:16, BLOCK=%d", cols),
		grid: rows, args: []any{n, n, int32(cols), int32(cols), int32(cols)}, elem: ir.F32,
		elements: 10 * float64(n), // two reductions of 3.5 and three operations
		bytes:    8 * float64(n),
	}
}

func matmulOf(m, n, k, bm, bn, bk int, elem ir.FloatKind) measured {
	typ, width := "fp16", 2.0
	if elem == ir.F32 {
		typ, width = "fp32", 4
	}
	return measured{
		name: fmt.Sprintf("matmul, (%d, %d) · (%d, %d) %s, tiles of %d × %d × %d", m, k, k, n, strings.Replace(typ, "fp", "f", 1), bm, bn, bk), file: "core/frontend/testdata/kernels.py",
		kernel: "matmul", signature: strings.ReplaceAll(fmt.Sprintf("*T:16, *T:16, *T:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, BM=%d, BN=%d, BK=%d, GROUP=4", bm, bn, bk), "T", typ),
		grid: (m + bm - 1) / bm * ((n + bn - 1) / bn), elem: elem,
		args:     []any{m * k, k * n, m * n, int32(m), int32(n), int32(k), int32(k), int32(n), int32(n)},
		products: float64(m) * float64(n) * float64(k), bytes: width * float64(m*k+k*n+m*n),
	}
}

// launch runs the kernel with the default options and returns the report.
func (m measured) launch(t *testing.T) *npu.Report {
	t.Helper()
	path := filepath.Join("../..", m.file)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := compile(t, path, src, m.kernel, m.signature, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := simProgram(t, artifact, true)
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of("ascend910b3")
	d := npu.New(npu.Options{Chip: c, Costs: chip.CostsOf(c), NoChecks: true})
	args := make([]any, len(m.args))
	for i, a := range m.args {
		n, memory := a.(int)
		if !memory {
			args[i] = a
			continue
		}
		size := 4
		if m.elem == ir.F16 {
			size = 2
		}
		b, err := d.Alloc(fmt.Sprint("argument ", i), size*n)
		if err != nil {
			t.Fatal(err)
		}
		for k := range n {
			x := float64(k%7) - 3
			if size == 4 {
				binary.LittleEndian.PutUint32(b.Data[4*k:], math.Float32bits(float32(x)))
			} else {
				binary.LittleEndian.PutUint16(b.Data[2*k:], uint16(ir.FloatToBits(ir.F16, x)))
			}
		}
		args[i] = b
	}
	rep, err := d.Launch(t.Context(), p, [3]int{m.grid, 1, 1}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestLimits sets the cycles of kernels against what the units of the chip need at their
// rates: HBM for all bytes once, the vector units for the elements, the cube units for the
// products.
func TestLimits(t *testing.T) {
	c := chip.Of("ascend910b3")
	k := chip.CostsOf(c)
	var table strings.Builder
	table.WriteString("| kernel | cycles | HBM | vector | cube | of the limit | busiest pipe | without starts |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range []measured{
		addOf(1<<16, 1024), addOf(1<<20, 8192), addOf(1<<22, 8192),
		softmaxOf(400, 1024), softmaxOf(400, 8192), softmaxOf(4000, 1024),
		matmulOf(512, 512, 512, 128, 128, 64, ir.F16), matmulOf(1280, 1024, 1024, 128, 256, 64, ir.F16),
		matmulOf(1280, 1024, 1024, 128, 256, 128, ir.F16), matmulOf(1280, 512, 512, 128, 128, 64, ir.F32),
	} {
		rep := m.launch(t)
		hbm := m.bytes / (k.HBMRead * float64(c.Cubes))
		vector := 4 * m.elements / (k.Vector * float64(c.Vectors))
		rate := k.Cube16
		if m.elem == ir.F32 {
			rate = k.Cube32
		}
		cube := m.products / (rate * float64(c.Cubes))
		busiest := npu.PipeS
		for p := range rep.Pipes {
			if rep.Pipes[p] > rep.Pipes[busiest] {
				busiest = npu.Pipe(p)
			}
		}
		all := rep.Cycles * float64(len(rep.CoreCycles))
		free := k
		free.DMAStart, free.VectorStart, free.CubeStart = 0, 0, 0
		part := max(hbm, vector, cube) / rep.Cycles
		fmt.Fprintf(&table, "| %s | %.0f | %s | %s | %s | %.1f %% | %s, %.0f %% | %.0f %% |\n", m.name, rep.Cycles, whole(hbm), whole(vector), whole(cube),
			100*part, busiest, 100*rep.Pipes[busiest]/all, 100*rep.At(free).Cycles/rep.Cycles)
	}
	document(t, "../../docs/npu.md", "limits", table.String())
}

// whole is a number of cycles, where there are any.
func whole(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", x)
}
