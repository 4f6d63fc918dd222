package mma_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{
		matrix.NewAccelerateMatmul(mma.Unit{}), matrix.NewOptimizeDotOperands(mma.Unit{}),
		matrix.NewReduceDataDuplication(mma.Unit{}), pipeline.NewPrefetch(mma.Unit{}),
	}
	known := append([]*pass.Pass{std.NewCanonicalize(layouts.ConvertPatterns())}, ours...)
	passtest.Run(t, "testdata", known, ours...)
}

func TestCheck(t *testing.T) {
	for target, want := range map[string]string{
		"cuda:80": "", "cuda:90": "",
		"":           "no attribute ttg.target, which says for which GPU it is; convert-triton-to-tritongpu gives it one",
		"hip:gfx942": `the module is for the target "hip:gfx942"; NVIDIA's matrix instructions need cuda:NN, as cuda:90`,
		"cuda:sm_90": `the module is for the target "cuda:sm_90"`,
	} {
		err := mma.Unit{}.Check(target)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", target, err, want)
		}
	}
}

// ldmatrix reads eight vectors of 16 bytes at once, at one place along K of eight
// rows or columns. In a buffer whose fastest dimension is K they are in different banks.
func TestBufferHasNoConflicts(t *testing.T) {
	result := &layout.NvidiaMMA{VersionMajor: 2, WarpsPerCTA: []int{2, 2}, InstrShape: []int{16, 8}}
	for _, bits := range []int{8, 16, 32} {
		vector := 128 / bits
		for _, k := range []int{16, 32, 64, 128} {
			for idx, order := range [][]int{{1, 0}, {0, 1}} {
				shape := []int64{64, int64(k)}
				if idx == 1 {
					shape = []int64{int64(k), 64}
				}
				operand := &layout.DotOp{OpIdx: idx, Parent: result, KWidth: 32 / bits}
				l, err := mma.Unit{}.Buffer(operand, dots.Buffer{Shape: shape, Order: order, Bits: bits}).Linear(shape)
				if err != nil {
					t.Fatal(err)
				}
				place := l.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1)).Invert()
				for at := 0; at < k; at += vector {
					banks := make(map[int]bool) // groups of four, which serve a vector
					for row := range 8 {
						coords := []int{row, at}
						if idx == 1 {
							coords = []int{at, row}
						}
						banks[place.Apply(coords...)[0]/vector%8] = true
					}
					if len(banks) != 8 {
						t.Errorf("operand %d of %d bits, K %d: eight vectors at %d are in %d groups of banks", idx, bits, k, at, len(banks))
					}
				}
			}
		}
	}
}

// Operands whose layout is another unit's get plain buffers, and are not cut.
func TestOthersOperands(t *testing.T) {
	other := &layout.DotOp{OpIdx: 0, KWidth: 4, Parent: &layout.AMDMFMA{Version: 3, WarpsPerCTA: []int{2, 2}, InstrShape: []int{32, 32, 8}}}
	u := mma.Unit{}
	if n := u.PartK(other); n != 32 || u.Transposes(other) {
		t.Errorf("an operand of MFMA has parts of K %d, want 32, and is transposed: %v", n, u.Transposes(other))
	}
	fma := &layout.DotOp{Parent: layout.BlockedFor([]int64{64, 64}, []int{1, 1}, []int{1, 0}, 4, 32, 1)}
	if n := u.PartK(fma); n != 0 {
		t.Errorf("an operand of a multiply-add has parts of K %d", n)
	}
	b := dots.Buffer{Shape: []int64{64, 64}, Order: []int{1, 0}, Bits: 16}
	if e := u.Buffer(other, b); !layout.Equal(e, dots.Plain(b.Order)) {
		t.Errorf("an operand of MFMA has the buffer %+v", e)
	}
}
