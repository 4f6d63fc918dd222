package gpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/ptx"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/internal/testseed"
)

// kernel is a module lowered, translated to PTX and loaded into the simulator.
type kernel struct {
	*lower.Result
	src, ptx string
	mod      *sim.Module
}

func parse(t testing.TB, file, src string) *ir.Operation {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(ttng.Dialect(), tti.Dialect()), file, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	return f.Op
}

// ttgirDirEnv names a folder whose files are tested in the place of Triton's: what
// the passes make of the same kernels, say.
const ttgirDirEnv = "TRITONC_TTGIR_DIR"

// testdata reads a file that Triton 3.6 printed, or its substitute.
func testdata(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(ttgirDirEnv)
	if dir == "" {
		dir = "testdata"
	}
	return file(t, filepath.Join(dir, name+".ttgir"))
}

// given reads a file of testdata, whatever takes the place of others.
func given(t testing.TB, name string) string {
	t.Helper()
	return file(t, filepath.Join("testdata", name+".ttgir"))
}

func file(t testing.TB, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// byLLC has kernels run that LLVM's llc translated to PTX, and LLVM verify them: TestMain
// runs all tests with it, too.
var byLLC bool

// build lowers a module and translates it to PTX.
func build(t testing.TB, file, src string, cc int) *kernel {
	t.Helper()
	m := parse(t, file, src)
	runner := pass.Runner{VerifyEach: true}
	if _, err := runner.Run(m, []pass.Row{{Pass: warpspec.AllocateWarpGroups}}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := lower.Module(m, &Target{CC: cc}, lower.Options{Producer: "tritonc", LineInfo: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	cpu := fmt.Sprintf("sm_%d", cc)
	if cc >= 90 {
		cpu += "a"
	}
	translate := direct
	if byLLC {
		translate = llc
	}
	text, err := translate(r, cpu, cc)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, src, r.LLVM.Print())
	}
	mod, err := sim.Load(file+".ptx", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return &kernel{r, src, string(text), mod}
}

// direct translates as the backend does.
func direct(r *lower.Result, cpu string, cc int) ([]byte, error) {
	r.LLVM.Sweep()
	r.LLVM.Number()
	return ptx.Translate(r.LLVM, ptx.Options{CC: cc, SM: cpu, Version: 84, Fusion: true})
}

// llc translates by LLVM.
func llc(r *lower.Result, cpu string, _ int) ([]byte, error) {
	cmd := exec.Command("llc-22", "-mcpu="+cpu, "-mattr=+ptx84", "-fp-contract=fast", "--nvptx-short-ptr", "-nvptx-mad-wide-opt", "-O3", "-o", "-", "-")
	cmd.Stdin = bytes.NewReader(r.LLVM.Print())
	var problems strings.Builder
	cmd.Stderr = &problems
	text, err := cmd.Output()
	if err != nil || problems.Len() > 0 { // it verifies what it reads, and warns of invalid debug information
		return nil, fmt.Errorf("llc: %v: %s", err, problems.String())
	}
	return text, nil
}

// run launches the kernel on a device that reports races, undefined values and
// accesses out of bounds.
func (k *kernel) run(t testing.TB, d *sim.Device, grid [3]int, args ...any) *sim.Report {
	t.Helper()
	if k.GlobalScratch > 0 {
		args = append(args, d.Alloc("global scratch", grid[0]*grid[1]*grid[2]*k.GlobalScratch))
	}
	rep, err := d.Launch(k.mod, k.Kernel, grid, sim.Dim(k.Threads), k.Shared, args...)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, k.ptx, k.src)
	}
	noteOperations(k.src)
	return rep
}

// newRand seeds freshly and logs the seed.
func newRand(t testing.TB) *rand.Rand {
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func randn(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// near compares with a float64 reference.
func near(t testing.TB, what string, got []float32, want []float64, rtol, atol float64) {
	t.Helper()
	bad := 0
	for i, w := range want {
		g := float64(got[i])
		if diff := g - w; diff <= atol+rtol*abs(w) && -diff <= atol+rtol*abs(w) {
			continue
		}
		if bad++; bad <= 4 {
			t.Errorf("%s[%d] = %v, want %v", what, i, g, w)
		}
	}
	if bad > 4 {
		t.Errorf("%s: %d of %d values differ", what, bad, len(want))
	}
}

func abs(x float64) float64 { return max(x, -x) }

// randomBlocked is any blocked layout of the rank, for 4 warps.
func randomBlocked(r *rand.Rand, rank int) string {
	spread := func(total int) []int {
		s := make([]int, rank)
		for i := range s {
			s[i] = 1
		}
		for ; total > 1; total /= 2 {
			s[r.IntN(rank)] *= 2
		}
		return s
	}
	list := func(s []int) string { return strings.ReplaceAll(fmt.Sprint(s), " ", ", ") }
	return fmt.Sprintf("#ttg.blocked<{sizePerThread = %s, threadsPerWarp = %s, warpsPerCTA = %s, order = %s}>",
		list(spread(1<<r.IntN(4))), list(spread(32)), list(spread(4)), list(r.Perm(rank)))
}

// randomLinear spreads the bits of a tensor's index over registers, lanes and
// warps at random, with replicas; mixed ones move along several dimensions at
// once.
func randomLinear(r *rand.Rand, shape []int, mixed bool) string {
	var basis [][]int
	for d, n := range shape {
		for b := 1; b < n; b *= 2 {
			v := make([]int, len(shape))
			v[d] = b
			basis = append(basis, v)
		}
	}
	r.Shuffle(len(basis), func(i, j int) { basis[i], basis[j] = basis[j], basis[i] })
	if mixed {
		for i := 1; i < len(basis); i++ {
			if r.IntN(3) == 0 {
				for d, x := range basis[r.IntN(i)] {
					basis[i][d] ^= x
				}
			}
		}
	}
	take := func(n int, fill bool) string {
		var parts []string
		for range n {
			v := make([]int, len(shape))
			if len(basis) > 0 && (r.IntN(6) > 0 || !fill) {
				v, basis = basis[0], basis[1:]
			}
			parts = append(parts, strings.ReplaceAll(fmt.Sprint(v), " ", ", "))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	lane := take(5, true)
	warp := take(2, true)
	reg := take(len(basis), false)
	return fmt.Sprintf("#ttg.linear<{register = %s, lane = %s, warp = %s, block = []}>", reg, lane, warp)
}

// moduleOf wraps function text in a module of 4 warps.
func moduleOf(body string) string {
	return `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
` + body + "}\n"
}

// kernelText is a kernel that does nothing, for modules whose subject is a function
// that takes tensors, as no kernel does.
const kernelText = "  tt.func public @k() {\n    tt.return\n  }\n"

// indices is text that makes, as %name, the row-major index of each element of
// an m by n tensor with a layout.
func indices(name string, m, n int, enc string) string {
	row := fmt.Sprintf("#ttg.slice<{dim = 1, parent = %s}>", enc)
	col := fmt.Sprintf("#ttg.slice<{dim = 0, parent = %s}>", enc)
	return strings.NewReplacer("NAME", name, "ROW", row, "COL", col, "ENC", enc, "MM", fmt.Sprint(m), "NN", fmt.Sprint(n)).Replace(`
    %NAME_r = tt.make_range {end = MM : i32, start = 0 : i32} : tensor<MMxi32, ROW>
    %NAME_r2 = tt.expand_dims %NAME_r {axis = 1 : i32} : tensor<MMxi32, ROW> -> tensor<MMx1xi32, ENC>
    %NAME_n = arith.constant dense<NN> : tensor<MMx1xi32, ENC>
    %NAME_r3 = arith.muli %NAME_r2, %NAME_n : tensor<MMx1xi32, ENC>
    %NAME_c = tt.make_range {end = NN : i32, start = 0 : i32} : tensor<NNxi32, COL>
    %NAME_c2 = tt.expand_dims %NAME_c {axis = 0 : i32} : tensor<NNxi32, COL> -> tensor<1xNNxi32, ENC>
    %NAME_rb = tt.broadcast %NAME_r3 : tensor<MMx1xi32, ENC> -> tensor<MMxNNxi32, ENC>
    %NAME_cb = tt.broadcast %NAME_c2 : tensor<1xNNxi32, ENC> -> tensor<MMxNNxi32, ENC>
    %NAME = arith.addi %NAME_rb, %NAME_cb : tensor<MMxNNxi32, ENC>
`)
}

// pointers is text that makes %name_p, pointers to base at the given indices.
func pointers(name, base, index, shape, elem, enc string) string {
	return strings.NewReplacer("NAME", name, "BASE", base, "IDX", index, "SHAPE", shape, "ELEM", elem, "ENC", enc).Replace(`
    %NAME_s = tt.splat %BASE : !tt.ptr<ELEM> -> tensor<SHAPEx!tt.ptr<ELEM>, ENC>
    %NAME_p = tt.addptr %NAME_s, %IDX : tensor<SHAPEx!tt.ptr<ELEM>, ENC>, tensor<SHAPExi32, ENC>
`)
}

// lowered is the LLVM IR of a kernel of testdata.
func lowered(t testing.TB, name string) []byte {
	t.Helper()
	r, err := lower.Module(parse(t, name, testdata(t, name)), &Target{CC: 80}, lower.Options{Producer: "tritonc", LineInfo: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.LLVM.Print()
}
