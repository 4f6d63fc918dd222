package gpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// copyPointers copies by pointers what copyToShared copies by offsets.
const copyPointers = `%%places = tt.splat %%x : !tt.ptr<%[1]s> -> tensor<32x64x!tt.ptr<%[1]s>, #tile>
    %%sources = tt.addptr %%places, %%5 : tensor<32x64x!tt.ptr<%[1]s>, #tile>, tensor<32x64xi32, #tile>
    %%token = ttg.async_copy_global_to_local %%sources, %%buffer %[2]s : tensor<32x64x!tt.ptr<%[1]s>, #tile> -> <32x64x%[1]s, #shared, #smem, mutable>
`

// TestCopiesToLDS copies tiles by the instructions that write to LDS, where the lanes of
// a wave write neighbours of a width that the chip has, and through registers elsewhere,
// with masks at any column.
func TestCopiesToLDS(t *testing.T) {
	const rows, columns = 32, 64
	for _, c := range []struct {
		kind   string
		tile   string // elements of a thread, threads of a warp
		shared string // the first three fields of the buffer's layout
		masked string
		n      int    // columns that the mask leaves
		direct string // chips whose instructions copy from a buffer
		loads  string // and those whose instructions copy from pointers
	}{
		{"f32", "[1, 4], [4, 16]", "1, 1, 1", "", 64, "gfx950", "gfx950"},
		{"f32", "[1, 4], [4, 16]", "1, 1, 1", "mask", 48, "gfx950", ""},
		{"f32", "[1, 4], [4, 16]", "1, 1, 1", "mask other", 48, "", ""},
		{"f32", "[1, 1], [1, 64]", "1, 1, 1", "", 64, "gfx942 gfx950", "gfx942 gfx950"},
		{"f32", "[1, 1], [1, 64]", "1, 1, 1", "mask", 41, "gfx942 gfx950", ""},
		{"f32", "[1, 1], [1, 64]", "1, 1, 1", "mask other", 41, "", ""},
		{"f32", "[1, 4], [4, 16]", "4, 1, 8", "mask", 48, "", ""}, // lanes are swizzled
		{"f32", "[1, 1], [2, 32]", "1, 1, 1", "", 64, "", ""},     // waves write two pieces
		{"f32", "[1, 2], [2, 32]", "1, 1, 1", "", 64, "", ""},     // no instruction has 8 bytes
		{"f16", "[1, 8], [8, 8]", "1, 1, 1", "", 64, "gfx950", "gfx950"},
		{"f16", "[1, 8], [8, 8]", "1, 1, 1", "mask", 16, "gfx950", ""},
		{"f16", "[1, 2], [2, 32]", "1, 1, 1", "mask", 32, "gfx942 gfx950", ""},
		{"f16", "[1, 1], [1, 64]", "1, 1, 1", "mask", 41, "", ""},
	} {
		for _, chip := range []string{"gfx942", "gfx950"} {
			for _, pointers := range []bool{false, true} {
				name := fmt.Sprintf("%s/%s/%s/%s/%s", chip, c.kind, c.tile, c.shared, c.masked)
				if pointers {
					name += "/pointers"
				}
				t.Run(name, func(t *testing.T) {
					array := map[string]string{"f16": "fp16", "f32": "fp32"}[c.kind]
					x, out := kerneltest.Randint(kerneltest.Rand(t), -100, 100, array, rows*columns), kerneltest.Zeros(array, rows*columns)
					want := make([]float64, rows*columns)
					for i := range rows {
						for j := range columns {
							v := x.At(i*columns + j)
							if j >= c.n {
								v = 0
								if strings.Contains(c.masked, "other") {
									v = 7
								}
							}
							want[j*rows+i] = v
						}
					}
					text := copyText(c.kind, c.tile, c.shared, c.masked, chip, pointers)
					if c.n%16 != 0 {
						text = strings.Replace(text, "%n: i32 {tt.divisibility = 16 : i32}", "%n: i32", 1)
					}
					kerneltest.Replace = func(_ kerneltest.Kernel, _ core.Target, args []launch.Arg) (*core.Source, []launch.Arg) {
						return &core.Source{Path: "k.ttgir", Text: []byte(text)}, args
					}
					defer func() { kerneltest.Replace = nil }()
					res := kernelOf(chip, "def k(x, out, n):\n    pass\n", nil).Run(t, kerneltest.Grid(1), x, out, c.n)
					kerneltest.Near(t, "transposed", out, want, 0, 0)
					direct, by := strings.Contains(res.PTX, " lds\n"), c.direct
					if pointers {
						direct, by = strings.Contains(res.PTX, "global_load_lds_"), c.loads
					}
					if direct != strings.Contains(by, chip) {
						t.Errorf("an instruction copies to LDS: %t", direct)
					}
				})
			}
		}
	}
}

// copyText is copyToShared for layouts, a chip, and a mask with or without another value.
func copyText(kind, tile, shared, masked, chip string, pointers bool) string {
	each, threads, _ := strings.Cut(tile, "], ")
	f := strings.Split(shared, ", ")
	operands, otherType := "", ""
	if masked != "" {
		operands = "mask = %mask"
	}
	if strings.Contains(masked, "other") {
		operands += " other = %other"
		otherType = "tensor<32x64x" + kind + ", #tile>"
	}
	text := copyToShared
	if pointers {
		_, rest, _ := strings.Cut(text, "    %token = ")
		line, _, _ := strings.Cut(rest, "\n")
		by := ""
		if masked != "" {
			by = strings.Replace(strings.Replace(operands, "mask =", "mask", 1), "other =", "other", 1)
		}
		text = strings.Replace(text, "%token = "+line+"\n", fmt.Sprintf(copyPointers, kind, by), 1)
	}
	if !pointers { // by instructions
		text = strings.Replace(text, "ttg.async_wait %group {num = 0 : i32}", "amdg.async_wait %token {num_inst = 0 : i32}", 1)
	}
	return strings.NewReplacer(
		"sizePerThread = [1, 4], threadsPerWarp = [4, 16]", "sizePerThread = "+each+"], threadsPerWarp = "+threads,
		"vec = 4, perPhase = 1, maxPhase = 8", fmt.Sprintf("vec = %s, perPhase = %s, maxPhase = %s", f[0], f[1], f[2]),
		"%n: i32)", "%n: i32 {tt.divisibility = 16 : i32})",
		"OTHER", otherType, "MASKED", operands, "TYPE", kind, "CHIP", chip,
	).Replace(text)
}
