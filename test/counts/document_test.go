package counts

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// documentEnv, when "1", has the tables of docs/results/performance.md measured and
// written.
const documentEnv = "TRITONC_PERFORMANCE"

const document = "../../docs/results/performance.md"

// section replaces what is in the document between two marks of a name.
func section(t testing.TB, name, text string) {
	t.Helper()
	sectionOf(t, document, name, text)
}

func sectionOf(t testing.TB, document, name, text string) {
	t.Helper()
	old, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- table: "+name+" -->\n", "<!-- end: "+name+" -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks of %s", document, name)
	}
	if err := os.WriteFile(document, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pair prints ours and Triton's.
func pair(ours, theirs int) string {
	if theirs < 0 {
		return fmt.Sprintf("%d · –", ours)
	}
	return fmt.Sprintf("%d · %d", ours, theirs)
}

func needDocument(t testing.TB) {
	t.Helper()
	if os.Getenv(documentEnv) != "1" {
		t.Skipf("%s=1 writes %s", documentEnv, document)
	}
}

// mean is the geometric mean of ours over Triton's: of the instructions of PTX and
// of SASS, and of those that warps execute.
type mean struct {
	logs [3]float64
	n    int
}

func (m *mean) add(ours, theirs row) {
	m.n++
	for i, p := range [][2]int{{ours.ptx, theirs.ptx}, {ours.sass, theirs.sass}, {ours.warp, theirs.warp}} {
		m.logs[i] += math.Log(float64(p[0]) / float64(p[1]))
	}
}

// String is the cells of a table after the first.
func (m *mean) String() string {
	of := func(i int) string { return fmt.Sprintf("%.3f", math.Exp(m.logs[i]/float64(m.n))) }
	return fmt.Sprintf("%s | %s | | | %s | | | |", of(0), of(1), of(2))
}

// TestDocumentKernels writes the tables of instructions and traffic.
func TestDocumentKernels(t *testing.T) {
	needDocument(t)
	triton := facts(t, factsFile)
	for _, target := range targets {
		var b strings.Builder
		b.WriteString("| kernel | PTX | SASS | registers | spilled bytes | warp instructions | sectors | passes | barriers |\n|---|---|---|---|---|---|---|---|---|\n")
		// The means of all, and of those without dots.
		var means, others mean
		for _, j := range jobs(t) {
			if !compiles(j, target) {
				continue
			}
			r := newRow(target, j.Name)
			k := compile(t, j, target)
			r.ptx = ptxInstructions(k.ptx)
			if _, err := r.assemble(t, k.ptx); err != nil {
				t.Error(err)
			}
			if err := r.simulate(t, k, k.shared, shapeOf(j)); err != nil {
				t.Error(err)
			}
			theirs, ok := triton[target+" "+j.Name]
			if !ok {
				theirs = newRow(target, j.Name)
			} else if theirs.warp > 0 {
				means.add(r, theirs)
				if !strings.Contains(k.ptx, "mma.sync") {
					others.add(r, theirs)
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", j.Name, pair(r.ptx, theirs.ptx), pair(r.sass, theirs.sass),
				pair(r.regs, theirs.regs), pair(r.spills, theirs.spills), pair(r.warp, theirs.warp),
				pair(r.sectors, theirs.sectors), pair(r.passes, theirs.passes), pair(r.barriers, theirs.barriers))
		}
		fmt.Fprintf(&b, "| *geometric mean of ours / Triton's* | %s\n", &means)
		fmt.Fprintf(&b, "| *the same without dots* | %s\n", &others)
		section(t, target, b.String())
	}
}

// mostOfAssembler is how many times Triton's instructions ptxas may execute for
// ours: of all kernels, and of one.
const (
	mostOfAssembler    = 1.0
	mostOfOneAssembled = 1.05
)

// unrolled is assembled longer because ptxas unrolls its loop, which the kernel
// gains more by than it costs (docs/results/performance.md).
const unrolled = "row_min_split"

// TestDocumentAssembler writes how many instructions ptxas executes for our text
// and for Triton's.
func TestDocumentAssembler(t *testing.T) {
	needDocument(t)
	dir := os.Getenv(tritonEnv)
	if dir == "" {
		t.Skipf("%s names no folder of Triton's PTX", tritonEnv)
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("there is no valgrind, which counts instructions")
	}
	var b strings.Builder
	b.WriteString("| kernel | ours, millions | Triton's | ratio |\n|---|---|---|---|\n")
	var sum [2]int
	logs, n := 0.0, 0
	for _, j := range jobs(t) {
		text, err := os.ReadFile(filepath.Join(dir, "sm80", j.Name+".ptx"))
		if err != nil {
			continue
		}
		ours := assemblerInstructions(t, compile(t, j, "cuda:80").ptx, "sm_80")
		theirs := assemblerInstructions(t, string(text), "sm_80")
		ratio := float64(ours) / float64(theirs)
		if ratio > mostOfOneAssembled && j.Name != unrolled {
			t.Errorf("%s: ptxas executes %.3f times the instructions that it executes for Triton's", j.Name, ratio)
		}
		sum[0], sum[1] = sum[0]+ours, sum[1]+theirs
		logs += math.Log(ratio)
		n++
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.3f |\n", j.Name, float64(ours)/1e6, float64(theirs)/1e6, ratio)
	}
	mean := math.Exp(logs / float64(n))
	if all := float64(sum[0]) / float64(sum[1]); mean > mostOfAssembler || all > mostOfAssembler {
		t.Errorf("ptxas executes %.3f times the instructions that it executes for Triton's, %.3f in the mean", all, mean)
	}
	fmt.Fprintf(&b, "| *sum* | %.0f | %.0f | %.3f |\n", float64(sum[0])/1e6, float64(sum[1])/1e6, float64(sum[0])/float64(sum[1]))
	fmt.Fprintf(&b, "| *geometric mean* | | | %.3f |\n", mean)
	section(t, "assembler", b.String())
}

// ownStages are the stages that are all ours.
var ownStages = []string{"ttir", "ttgir", "llir"}

// stageTimes compiles a job and returns what each stage took, in milliseconds.
// The number of the try makes a compile of it that nothing remembers.
func stageTimes(t testing.TB, j job, target string, try int) map[string]float64 {
	t.Helper()
	j.as = fmt.Sprintf("kernels%d.py", try)
	times := map[string]float64{}
	for _, timing := range compile(t, j, target).timings {
		if timing.Step == "" { // not a pass or tool within a stage
			times[timing.Stage] = float64(timing.Time) / float64(time.Millisecond)
		}
	}
	return times
}

// TestDocumentStages writes how long our own stages take.
func TestDocumentStages(t *testing.T) {
	needDocument(t)
	var b strings.Builder
	b.WriteString("| kernel | target | ttir, ms | ttgir, ms | llir, ms | together | llc |\n|---|---|---|---|---|---|---|\n")
	for _, name := range []string{"vector_add", "row_softmax", "layer_norm_bwd", "matmul_fp16", "matmul_fp16_8w", "matmul_desc", "flash_fwd_full", "flash_fwd_causal", "dot_fp32_float32_ieee"} {
		j := jobNamed(t, name)
		j.Options = maps.Clone(j.Options)
		j.Options["ptx"] = "llvm"
		for _, target := range []string{"cuda:80", "cuda:90"} {
			best := map[string]float64{}
			for i := range 15 {
				for stage, ms := range stageTimes(t, j, target, i) {
					if old, ok := best[stage]; !ok || ms < old {
						best[stage] = ms
					}
				}
			}
			fmt.Fprintf(&b, "| %s | %s |", name, target)
			sum := 0.0
			for _, s := range ownStages {
				sum += best[s]
				fmt.Fprintf(&b, " %.1f |", best[s])
			}
			fmt.Fprintf(&b, " %.1f | %.1f |\n", sum, best["ptx"])
		}
	}
	section(t, "stages", b.String())
}

// tiles are sizes of matmul's blocks, for which TestDocumentPrefetch compiles it.
var tiles = []struct {
	m, n, k, warps int
}{{128, 128, 64, 4}, {128, 256, 64, 8}, {128, 128, 32, 4}, {128, 64, 64, 4}, {64, 64, 64, 4}, {64, 64, 32, 4}}

// TestDocumentPrefetch writes what option prefetch_operands does to matmul.
func TestDocumentPrefetch(t *testing.T) {
	needDocument(t)
	var b strings.Builder
	b.WriteString("| tile | warps | dots that wait for nothing | SASS | registers | spilled bytes | passes | barriers |\n|---|---|---|---|---|---|---|---|\n")
	for _, tile := range tiles {
		j := jobNamed(t, "matmul_fp16")
		j.Signature = strings.Replace(j.Signature, "BM=128, BN=128, BK=64", fmt.Sprintf("BM=%d, BN=%d, BK=%d", tile.m, tile.n, tile.k), 1)
		var r [2]row
		var free, all [2]int
		for i := range r {
			j.Options = map[string]any{"num_warps": tile.warps, "num_stages": 3, "prefetch_operands": i == 1}
			k := compile(t, j, "cuda:80")
			r[i] = newRow("cuda:80", j.Name)
			if _, err := r[i].assemble(t, k.ptx); err != nil {
				t.Fatal(err)
			}
			if err := r[i].simulate(t, k, k.shared, shapeOf(j)); err != nil {
				t.Fatal(err)
			}
			free[i], all[i] = freeProducts(t, k.ptx)
		}
		fmt.Fprintf(&b, "| %d×%d×%d | %d | %d · %d of %d |", tile.m, tile.n, tile.k, tile.warps, free[0], free[1], all[1])
		for _, p := range [][2]int{{r[0].sass, r[1].sass}, {r[0].regs, r[1].regs}, {r[0].spills, r[1].spills}, {r[0].passes, r[1].passes}, {r[0].barriers, r[1].barriers}} {
			fmt.Fprintf(&b, " %s |", pair(p[0], p[1]))
		}
		b.WriteString("\n")
	}
	section(t, "prefetch", b.String())
}
