package perftable

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// An optimization is what LLVM's optimizer may do between the lowering and llc:
// passes in the grammar of opt -passes, or "" for none.
type optimization struct{ name, passes string }

// optimizations are the choices that docs/performance.md measures.
var optimizations = []optimization{
	{name: "none"},
	{name: "short", passes: "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)"},
	{name: "O3", passes: "default<O3>"},
}

// backendChoice is the index of what the NVIDIA backend's stage ptx does: it hands
// what the lowering made to llc at once.
const backendChoice = 0

const choiceFile = "testdata/choice.tsv"

// A cost is what a kernel costs under one choice of what runs before llc.
type cost struct {
	sass, warp int
	// ms is the user time of opt, llc and ptxas together.
	ms float64
}

// tool runs a program of LLVM on text and returns its user time in milliseconds.
func tool(t testing.TB, input string, name string, args ...string) (string, float64) {
	t.Helper()
	path := toolchain(name)
	if path == "" {
		t.Skipf("%s is not installed", name)
	}
	cmd := exec.Command(path, args...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, problems.String())
	}
	return out.String(), cmd.ProcessState.UserTime().Seconds() * 1e3
}

// try assembles the LLVM IR of a kernel after the passes of a choice.
func try(t testing.TB, j job, k *compiled, choice optimization) cost {
	var c cost
	ll := strings.ReplaceAll(k.llir, "emissionKind: LineTablesOnly", "emissionKind: DebugDirectivesOnly")
	ms := 0.0
	if choice.passes != "" {
		ll, ms = tool(t, ll, "opt-22", "-S", "-mcpu=sm_80", "-passes="+choice.passes)
	}
	ptx, llc := tool(t, ll, "llc-22", "-march=nvptx64", "-mcpu=sm_80", "-mattr=+ptx84",
		"--nvptx-short-ptr", "-nvptx-mad-wide-opt", "-O3", "-fp-contract=fast", "-o", "-", "-")
	r := newRow("cuda:80", j.name)
	s, err := r.assemble(t, ptx)
	if err != nil {
		t.Fatal(err)
	}
	after := *k
	after.ptx = ptx
	if err := r.simulate(t, &after, k.shared, shapeOf(j)); err != nil {
		t.Fatalf("%s after %s: %v", j.name, choice.name, err)
	}
	c.sass, c.warp, c.ms = r.sass, r.warp, ms+llc+s*1e3
	return c
}

// TestDocumentChoice measures the choices on every job.
func TestDocumentChoice(t *testing.T) {
	needDocument(t)
	var file, table strings.Builder
	file.WriteString("# What LLVM's optimizer does to the jobs before llc, for cuda:80: TestDocumentChoice writes this.\n# job")
	table.WriteString("| kernel |")
	rule := "|---|"
	for _, o := range optimizations {
		fmt.Fprintf(&file, "\t%s: SASS\twarp instructions\tms", o.name)
		fmt.Fprintf(&table, " %s: SASS | warp instructions | ms |", o.name)
		rule += "---|---|---|"
	}
	file.WriteString("\n")
	table.WriteString("\n" + rule + "\n")
	for _, j := range jobs(t) {
		if !compiles(j, "cuda:80") {
			continue
		}
		k := compile(t, j, "cuda:80")
		file.WriteString(j.name)
		table.WriteString("| " + j.name + " |")
		for _, o := range optimizations {
			c := try(t, j, k, o)
			fmt.Fprintf(&file, "\t%d\t%d\t%.0f", c.sass, c.warp, c.ms)
			fmt.Fprintf(&table, " %d | %d | %.0f |", c.sass, c.warp, c.ms)
		}
		file.WriteString("\n")
		table.WriteString("\n")
	}
	if err := os.WriteFile(choiceFile, []byte(file.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	table.WriteString("| *relative to the first: geometric means, sum of time* |")
	for _, m := range choiceMeans(t) {
		fmt.Fprintf(&table, " %.3f | %.3f | %.2f |", m[0], m[1], m[2])
	}
	table.WriteString("\n")
	section(t, "choice", table.String())
}

// choiceMeans are, for each choice, the geometric means of SASS instructions and of
// instructions that warps execute, and the sum of time, relative to the first.
func choiceMeans(t testing.TB) [][3]float64 {
	t.Helper()
	text, err := os.ReadFile(choiceFile)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][3]float64, len(optimizations))
	rows, total := 0, make([]float64, len(out))
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) != 1+3*len(out) {
			t.Fatalf("%s has %d columns, there are %d choices", choiceFile, len(f), len(out))
		}
		rows++
		for i := range out {
			for c := range 3 {
				x, err := strconv.ParseFloat(f[1+3*i+c], 64)
				first, err1 := strconv.ParseFloat(f[1+c], 64)
				if err != nil || err1 != nil {
					t.Fatalf("%s: %q", choiceFile, line)
				}
				if c == 2 { // one kernel's time is short for the clock
					total[i] += x
				} else {
					out[i][c] += math.Log(x / first)
				}
			}
		}
	}
	for i := range out {
		for c := range 2 {
			out[i][c] = math.Exp(out[i][c] / float64(rows))
		}
		out[i][2] = total[i] / total[0]
	}
	return out
}

// worth is how much better code must be, in instructions executed or assembled,
// to be worth any time of the compiler.
const worth = 0.02

// TestChoice: what the backend does is what the table says: of the choices whose
// code is as good as the best, but for worth, the one that takes least time.
func TestChoice(t *testing.T) {
	means := choiceMeans(t)
	best := [2]float64{math.Inf(1), math.Inf(1)}
	for _, m := range means {
		best[0], best[1] = min(best[0], m[0]), min(best[1], m[1])
	}
	choice := -1
	for i, m := range means {
		if m[0] <= best[0]*(1+worth) && m[1] <= best[1]*(1+worth) && (choice < 0 || m[2] < means[choice][2]) {
			choice = i
		}
	}
	if choice != backendChoice {
		t.Errorf("the backend chooses %q; the means (SASS, instructions, time) are %.3f", optimizations[backendChoice].name, means)
	}
}
