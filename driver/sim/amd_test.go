package sim

import (
	"os"
	"path/filepath"
	"testing"
)

// A processor has the kernels of testdata compiled for one of AMD's processors.
type processor struct {
	name string
	chip Chip
}

var processors = []*processor{{"gfx942", MI300X}, {"gfx1100", RX7900}}

// machine has load and launch take the kernels of a processor of AMD; nil is PTX.
var machine *processor

// amdFolder names a folder with folders gfx942 and gfx1100 of the same kernels from
// another compiler, as files NAME.amdgcn.
const amdFolder = "SIM_AMDGCN"

// load reads a kernel, or skips the test where there is none for the processor.
func (p *processor) load(t testing.TB, name string) *Module {
	t.Helper()
	dir := "testdata"
	if d := os.Getenv(amdFolder); d != "" {
		dir = d
	}
	path := filepath.Join(dir, p.name, filepath.Base(name)+".amdgcn")
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("no %s; %s can name a folder that has it", path, amdFolder)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadAMDGCN(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put makes a device the processor, whose blocks have as many warps as those of PTX,
// and all of its shared memory.
func (p *processor) put(d *Device, block [3]int) ([3]int, int) {
	d.opt.Chip = p.chip
	block[0] *= p.chip.Lanes / A100.Lanes
	return block, p.chip.SharedBlock
}

// TestAMD runs the tests of kernels on the code of AMD's processors.
func TestAMD(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T)
	}{
		{"vector_add", TestVectorAdd},
		{"row_softmax", TestRowSoftmax},
		{"layer_norm_fwd", TestLayerNormForward},
		{"layer_norm_bwd", TestLayerNormBackward},
		{"cumsum_rows", TestCumsumRows},
		{"row_min_split", TestRowMinSplit},
		{"prod_mid", TestProdMid},
		{"reductions", TestReductions},
		{"reduce_tuple", TestReduceTuple},
		{"scans", TestScans},
		{"sorts", TestSorts},
		{"casts", TestCasts},
		{"casts_fp8", TestCastsFP8},
		{"promotions", TestPromotions},
		{"control_flow", TestControlFlow},
		{"calls", TestCalls},
		{"shapes", TestShapes},
		{"atomics", TestAtomics},
		{"block_ptrs", TestBlockPointers},
		{"descriptors", TestDescriptors},
		{"maths", TestMaths},
		{"randoms", TestRandoms},
		{"hints", TestHints},
		{"transpose2d", TestTranspose},
		{"matmul", TestMatmul},
		{"matmul_desc", TestMatmulDescriptors},
		{"matmul_fp8e4nv", TestMatmulFP8},
		{"flash_fwd_causal", TestFlashForwardCausal},
		{"dots", TestDots},
		{"dot_chain", TestDotChain},
		{"dot_scaled", TestDotScaled},
	}
	for _, p := range processors {
		t.Run(p.name, func(t *testing.T) {
			machine = p
			defer func() { machine = nil }()
			for _, test := range tests {
				t.Run(test.name, test.run)
			}
		})
	}
}
