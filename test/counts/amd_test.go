package counts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/backends/amd"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/driver/sim/simt"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// amdgcnEnv names a folder with what Triton made of the jobs for gfx942, as NAME.amdgcn:
// its facts are measured afresh and written to testdata/triton_gfx942.tsv.
const amdgcnEnv = "TRITONC_TRITON_AMDGCN"

const amdFactsFile = "testdata/triton_gfx942.tsv"

// An amdRow is what is known of the assembly of one kernel for gfx942.
type amdRow struct {
	job string
	// by the metadata: vector registers with accumulation registers, scalar registers,
	// and registers that are spilled
	vgpr, sgpr, spills int
	// bytes of LDS: of ours those of the metadata, of Triton's the fewest that it runs with
	lds int
	// of the text: loads of global memory, and those of 16 bytes
	loads, wide int
	// executed, -1 where it does not run: all instructions, those that access global
	// memory, and matrix instructions; then what accesses take, and barriers
	warp, global, matrix, sectors, passes, barriers int
}

var amdColumns = []string{
	"vgpr", "sgpr", "spills", "lds", "loads", "wide", "warp", "global", "matrix", "sectors", "passes", "barriers",
}

func (r *amdRow) numbers() []*int {
	return []*int{
		&r.vgpr, &r.sgpr, &r.spills, &r.lds, &r.loads, &r.wide, &r.warp, &r.global, &r.matrix, &r.sectors, &r.passes, &r.barriers,
	}
}

func (r *amdRow) line() string {
	out := r.job
	for _, n := range r.numbers() {
		out += "\t" + strconv.Itoa(*n)
	}
	return out + "\n"
}

func amdFacts(t testing.TB) map[string]amdRow {
	t.Helper()
	text, err := os.ReadFile(amdFactsFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]amdRow{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != len(amdColumns)+1 {
			continue
		}
		r := amdRow{job: f[0]}
		for i, n := range r.numbers() {
			if *n, err = strconv.Atoi(f[i+1]); err != nil {
				t.Fatalf("%s: %v", amdFactsFile, err)
			}
		}
		out[r.job] = r
	}
	return out
}

var (
	amdMeta    = regexp.MustCompile(`(?m)^    \.(vgpr_count|sgpr_count|vgpr_spill_count|sgpr_spill_count): +(\d+)$`)
	amdKernel  = regexp.MustCompile(`(?m)^    \.name: +(\S+)$`)
	amdThreads = regexp.MustCompile(`(?m)^    \.max_flat_workgroup_size: (\d+)$`)
	amdLoad    = regexp.MustCompile(`(?m)^\s+(?:global|buffer|flat)_load_(\w+)`)
)

// wideLoad is the type of loads of 16 bytes.
const wideLoad = "dwordx4"

// read takes what assembly says of itself.
func (r *amdRow) read(text string) {
	for _, m := range amdMeta.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[2])
		switch m[1] {
		case "vgpr_count":
			r.vgpr = n
		case "sgpr_count":
			r.sgpr = n
		default:
			r.spills += n
		}
	}
	for _, m := range amdLoad.FindAllStringSubmatch(text, -1) {
		r.loads++
		if m[1] == wideLoad {
			r.wide++
		}
	}
}

// roomy is an MI300X with more LDS, of which Triton's matmul of 128×256 takes 144 KiB.
var roomy = func() sim.Chip {
	c := sim.MI300X
	c.SharedSM, c.SharedBlock = 3*c.SharedSM, 3*c.SharedBlock
	return c
}()

// simulate counts a launch on an MI300X with so much LDS.
func (r *amdRow) simulate(text string, s shape, lds int) error {
	return r.simulateOn(roomy, text, s, lds)
}

// simulateOn counts a launch on a chip with so much LDS.
func (r *amdRow) simulateOn(chip sim.Chip, text string, s shape, lds int) error {
	for _, n := range []*int{&r.warp, &r.global, &r.matrix, &r.sectors, &r.passes, &r.barriers} {
		*n = -1
	}
	mod, err := sim.LoadAMDGCN(r.job+".amdgcn", []byte(text))
	if err != nil {
		return err
	}
	name, threads := amdKernel.FindAllStringSubmatch(text, -1), amdThreads.FindStringSubmatch(text)
	if len(name) == 0 || threads == nil {
		return fmt.Errorf("the metadata name no kernel")
	}
	n, _ := strconv.Atoi(threads[1])
	d := sim.New(sim.Options{NoChecks: true, Workers: 1, Chip: chip})
	k := &compiled{kernel: name[len(name)-1][1], threads: n}
	rep, err := s.launch(d, mod, k, lds)
	if err != nil {
		return err
	}
	c := &rep.Counters
	r.warp, r.global, r.matrix = int(c.WarpInstructions), int(c.ByClass[simt.ClassGlobalMem]), int(c.ByClass[simt.ClassMatrix])
	r.sectors, r.passes, r.barriers = int(c.GlobalSectors), int(c.SharedWavefronts), int(c.Barriers)
	return nil
}

// ldsHeld is how much LDS the hardware gives to a program that asks for so many bytes: it
// hands out 128 words at a time.
func ldsHeld(bytes int) int {
	const granule = 128 * 4
	return (bytes + granule - 1) / granule * granule
}

// leastLDS finds how much LDS code needs that runs with what roomy has.
func leastLDS(r amdRow, text string, s shape) int {
	const unit = 16 // bytes
	return unit * sort.Search(roomy.SharedBlock/unit, func(n int) bool { return r.simulate(text, s, unit*n) == nil })
}

var addAMD = sync.OnceFunc(func() {
	kerneltest.AddBackend(amd.New(), func(_ context.Context, t sdk.Target, out io.Writer) (driver.Device, error) {
		return simulated.New(t, simulated.Options{Output: out})
	})
})

// pointerEntry is a pointer's entry in a signature.
var pointerEntry = regexp.MustCompile(`=\*\w+(:16)?`)

// compileAMD takes a job from Python to gfx942's assembly; small says of all buffers that
// they have less than 2 GiB. lds is how much LDS a launch gives it.
func compileAMD(t testing.TB, j job, small bool) (text string, lds int, err error) {
	return compileFor(t, "gfx942", j, small)
}

// compileFor is compileAMD for a chip whose warps have 64 lanes.
func compileFor(t testing.TB, arch string, j job, small bool) (text string, lds int, err error) {
	t.Helper()
	addAMD()
	source, err := os.ReadFile(filepath.Join(kernelDir, j.File))
	if err != nil {
		t.Fatal(err)
	}
	to := core.Target{Backend: "hip", Arch: arch, WarpSize: 64}
	opts := &core.Options{Select: kerneltest.Select, Values: j.Options, Stages: []string{"amdgcn"}, AllowUnlaunchable: true}
	signature := j.Signature
	if small {
		signature = pointerEntry.ReplaceAllString(signature, "$0:S")
	}
	variants, err := core.Variants(t.Context(), &core.Source{Path: j.File, Text: source}, to, opts, core.Want{Kernel: j.Kernel, Signature: signature})
	if err != nil {
		return "", 0, err
	}
	k, err := core.Compile(t.Context(), variants[0], to, opts)
	if err != nil {
		return "", 0, err
	}
	var meta struct{ Shared int }
	if err := json.Unmarshal(k.Metadata, &meta); err != nil {
		return "", 0, err
	}
	return string(k.Artifact("amdgcn").Data), meta.Shared, nil
}

// TestTritonAMD measures Triton's own assembly.
func TestTritonAMD(t *testing.T) {
	dir := os.Getenv(amdgcnEnv)
	if dir == "" {
		t.Skipf("%s names no folder of Triton's assembly", amdgcnEnv)
	}
	var b strings.Builder
	b.WriteString("# What Triton 3.6.0 makes of the jobs for gfx942: TestTritonAMD writes this.\n")
	b.WriteString("# job\t" + strings.Join(amdColumns, "\t") + "\n")
	for _, j := range jobs(t) {
		text, err := os.ReadFile(filepath.Join(dir, j.Name+".amdgcn"))
		if err != nil {
			continue // Triton does not compile this one
		}
		r := amdRow{job: j.Name}
		r.read(string(text))
		if err := r.simulate(string(text), shapeOf(j), roomy.SharedBlock); err != nil {
			t.Logf("%s: not simulated: %v", j.Name, err)
			r.lds = -1
		} else {
			r.lds = leastLDS(r, string(text), shapeOf(j))
		}
		b.WriteString(r.line())
	}
	if err := os.WriteFile(amdFactsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// means are geometric means of ours by Triton's, by column.
type means map[string]struct {
	logs float64
	n    int
}

func (m means) add(column string, ours, theirs int) {
	if ours > 0 && theirs > 0 {
		x := m[column]
		x.logs += math.Log(float64(ours) / float64(theirs))
		x.n++
		m[column] = x
	}
}

func (m means) of(column string) float64 {
	x := m[column]
	if x.n == 0 {
		return 0
	}
	return math.Exp(x.logs / float64(x.n))
}

// mostAMD is the greatest geometric mean of ours by Triton's that each column may have: of
// code for the same arguments, whose accesses are by addresses of 64 bits where Triton's
// are, and of code for small buffers.
var mostAMD = map[bool]map[string]float64{
	false: {"vgpr": 0.9, "sgpr": 1, "lds": 1, "warp": 0.9, "global": 1, "matrix": 1, "sectors": 1, "passes": 0.9, "barriers": 0.7},
	true:  {"vgpr": 0.85, "lds": 1, "warp": 0.85, "global": 1, "matrix": 1, "sectors": 1.005, "passes": 0.9, "barriers": 0.7},
}

// printing is the kernel whose loads in Triton's code are mostly those of ROCm's functions,
// which print.
const printing = "debugging"

// TestAMDBesideTriton compiles every job for gfx942, as Triton's files were and with small
// buffers, and shows the table of ours beside Triton's. Nothing may spill that Triton
// keeps in registers, and no kernel load with fewer bytes at a time.
func TestAMDBesideTriton(t *testing.T) {
	if _, err := exec.LookPath("llc-22"); err != nil {
		t.Skip("llc-22 is not installed: there is nothing to make assembly with")
	}
	triton := amdFacts(t)
	for _, small := range []bool{false, true} {
		t.Run(map[bool]string{false: "asTriton", true: "smallBuffers"}[small], func(t *testing.T) {
			m := means{}
			var table strings.Builder
			for _, j := range jobs(t) {
				theirs, ok := triton[j.Name]
				if !ok {
					continue
				}
				text, lds, err := compileAMD(t, j, small)
				if err != nil {
					t.Errorf("%s: %v", j.Name, kerneltest.Text(err))
					continue
				}
				r := amdRow{job: j.Name, lds: lds}
				r.read(text)
				if err := r.simulate(text, shapeOf(j), lds); err != nil {
					t.Errorf("%s: %v", j.Name, err)
				}
				if r.spills > theirs.spills {
					t.Errorf("%s spills %d registers, Triton's code %d", j.Name, r.spills, theirs.spills)
				}
				if r.wide*theirs.loads < theirs.wide*r.loads && j.Name != printing {
					t.Errorf("%s: %d of %d loads have 16 bytes, %d of %d of Triton's", j.Name, r.wide, r.loads, theirs.wide, theirs.loads)
				}
				fmt.Fprintf(&table, "%-24s", j.Name)
				theirNumbers := theirs.numbers()
				for i, n := range r.numbers() {
					if amdColumns[i] == "lds" {
						m.add("lds", ldsHeld(*n), ldsHeld(*theirNumbers[i]))
					} else {
						m.add(amdColumns[i], *n, *theirNumbers[i])
					}
					fmt.Fprintf(&table, " %13s", fmt.Sprintf("%d/%d", *n, *theirNumbers[i]))
				}
				table.WriteString("\n")
			}
			head, foot := fmt.Sprintf("%-24s", "ours/Triton's"), fmt.Sprintf("%-24s", "geometric mean")
			for _, c := range amdColumns {
				head += fmt.Sprintf(" %13s", c)
				foot += fmt.Sprintf(" %13.3f", m.of(c))
			}
			t.Logf("\n%s\n%s%s", head, table.String(), foot)
			for c, most := range mostAMD[small] {
				if x := m.of(c); x == 0 || x > most {
					t.Errorf("%s: the geometric mean is %.3f of Triton's, and %.3f is allowed", c, x, most)
				}
			}
		})
	}
}
