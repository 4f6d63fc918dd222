package counts

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const (
	// choiceFile has what each choice of option llvm_passes costs each job.
	choiceFile = "testdata/choice.tsv"
	// meansFile has the means of choiceFile; the backend chooses by it.
	meansFile = "../../backends/nvidia/llvmpasses.tsv"
	// kernelTimesFile has the time of jobs on a GPU, as lines of job, choice and
	// microseconds.
	kernelTimesFile = "testdata/kerneltimes.tsv"
	// kernelTimesEnv names a file to add to kernelTimesFile.
	kernelTimesEnv = "TRITONC_KERNEL_TIMES"
)

// An optimization is a row of meansFile: a name, and passes in the grammar of
// opt -passes, or "-" for none.
type optimization struct {
	name, passes string
	means        []string // as they are in the file
}

func optimizations(t testing.TB) (rows []optimization, comment string) {
	t.Helper()
	for _, f := range tableLines(t, meansFile) {
		if strings.HasPrefix(f[0], "#") {
			comment += strings.Join(f, "\t") + "\n"
			continue
		}
		rows = append(rows, optimization{f[0], f[1], f[2:]})
	}
	return rows, comment
}

// tableLines are the columns of a file's lines.
func tableLines(t testing.TB, file string) [][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return lines
}

// A cost is what a kernel costs under one choice of what runs before llc.
type cost struct {
	sass, warp int
	// ms is the user time of opt, llc and ptxas together.
	ms float64
}

// userTime runs a program of LLVM on text and returns its user time in
// milliseconds.
func userTime(t testing.TB, input, name string, args ...string) float64 {
	t.Helper()
	path := toolchain(name)
	if path == "" {
		t.Skipf("%s is not installed", name)
	}
	cmd := exec.Command(path, append(args, "-o", os.DevNull, "-")...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return cmd.ProcessState.UserTime().Seconds() * 1e3
}

// try compiles and launches a job with a choice. Plain is the job compiled with
// the choice that does nothing.
func try(t testing.TB, j job, choice optimization, plain *compiled) cost {
	t.Helper()
	var c cost
	j.Options = maps.Clone(j.Options)
	j.Options["llvm_passes"] = choice.name
	k := compile(t, j, "cuda:80")
	r := newRow("cuda:80", j.Name)
	s, err := r.assemble(t, k.ptx)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.simulate(t, k, k.shared, shapeOf(j)); err != nil {
		t.Fatalf("%s after %s: %v", j.Name, choice.name, err)
	}
	c.sass, c.warp = r.sass, r.warp
	if choice.passes != "-" {
		c.ms = userTime(t, plain.llir, "opt-22", "-S", "-mcpu=sm_80", "-passes="+choice.passes)
	}
	c.ms += s*1e3 + userTime(t, k.llir, "llc-22", "-march=nvptx64", "-mcpu=sm_80", "-mattr=+ptx84",
		"--nvptx-short-ptr", "-nvptx-mad-wide-opt", "-O3", "-fp-contract=fast")
	return c
}

// TestDocumentChoice measures the choices on every job, and writes the tables of
// the document, of this package and of the backend.
func TestDocumentChoice(t *testing.T) {
	needDocument(t)
	choices, comment := optimizations(t)
	addKernelTimes(t, choices)
	var file, table strings.Builder
	file.WriteString("# What LLVM's optimizer does to the jobs before llc, for cuda:80: TestDocumentChoice writes this.\n# job")
	table.WriteString("| kernel |")
	rule := "|---|"
	for _, o := range choices {
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
		file.WriteString(j.Name)
		table.WriteString("| " + j.Name + " |")
		j.Options["llvm_passes"] = choices[0].name
		plain := compile(t, j, "cuda:80")
		for _, o := range choices {
			c := try(t, j, o, plain)
			fmt.Fprintf(&file, "\t%d\t%d\t%.0f", c.sass, c.warp, c.ms)
			fmt.Fprintf(&table, " %d | %d | %.0f |", c.sass, c.warp, c.ms)
		}
		file.WriteString("\n")
		table.WriteString("\n")
	}
	write(t, choiceFile, file.String())
	table.WriteString("| *relative to the first: geometric means, sum of time* |")
	means := comment
	for i, m := range choiceMeans(t, choices) {
		fmt.Fprintf(&table, " %s | %s | %s |", m[0], m[1], m[3])
		means += choices[i].name + "\t" + choices[i].passes + "\t" + strings.Join(m, "\t") + "\n"
	}
	table.WriteString("\n")
	write(t, meansFile, means)
	section(t, "choice", table.String())
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// addKernelTimes takes over the times that kernelTimesEnv names.
func addKernelTimes(t testing.TB, choices []optimization) {
	t.Helper()
	from := os.Getenv(kernelTimesEnv)
	if from == "" {
		return
	}
	known := kernelTimes(t, kernelTimesFile)
	maps.Copy(known, kernelTimes(t, from))
	out := "# Time of jobs on a GPU by choice of option llvm_passes: job, choice, microseconds.\n"
	for _, j := range jobs(t) {
		for _, o := range choices {
			if us, ok := known[[2]string{j.Name, o.name}]; ok {
				out += fmt.Sprintf("%s\t%s\t%g\n", j.Name, o.name, us)
			}
		}
	}
	write(t, kernelTimesFile, out)
}

// kernelTimes reads microseconds by job and choice.
func kernelTimes(t testing.TB, file string) map[[2]string]float64 {
	t.Helper()
	out := map[[2]string]float64{}
	for _, f := range tableLines(t, file) {
		if strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 3 {
			t.Fatalf("%s: %q is not a job, a choice and microseconds", file, f)
		}
		us, err := strconv.ParseFloat(f[2], 64)
		if err != nil || us <= 0 {
			t.Fatalf("%s: %q", file, f)
		}
		out[[2]string{f[0], f[1]}] = us
	}
	return out
}

// choiceMeans are the columns of meansFile: for each choice, relative to the
// first, the geometric means of SASS instructions, of instructions that warps
// execute and of kernel time ("-" where it is not known of every choice), and the
// sum of the time of compiling.
func choiceMeans(t testing.TB, choices []optimization) [][]string {
	t.Helper()
	logs, total := make([][2]float64, len(choices)), make([]float64, len(choices))
	rows := 0
	for _, f := range tableLines(t, choiceFile) {
		if strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 1+3*len(choices) {
			t.Fatalf("%s has %d columns, there are %d choices", choiceFile, len(f), len(choices))
		}
		rows++
		for i := range choices {
			for c := range 3 {
				x, err := strconv.ParseFloat(f[1+3*i+c], 64)
				first, err1 := strconv.ParseFloat(f[1+c], 64)
				if err != nil || err1 != nil {
					t.Fatalf("%s: %q", choiceFile, f)
				}
				if c == 2 { // one kernel's time is short for the clock
					total[i] += x
				} else {
					logs[i][c] += math.Log(x / first)
				}
			}
		}
	}
	kernels := kernelMeans(t, choices)
	out := make([][]string, len(choices))
	for i := range out {
		mean := func(c int) string { return fmt.Sprintf("%.3f", math.Exp(logs[i][c]/float64(rows))) }
		out[i] = []string{mean(0), mean(1), kernels[i], fmt.Sprintf("%.2f", total[i]/total[0])}
	}
	return out
}

// kernelMeans is the column of kernel time, over the jobs that were measured
// with every choice.
func kernelMeans(t testing.TB, choices []optimization) []string {
	t.Helper()
	times := kernelTimes(t, kernelTimesFile)
	logs, n := make([]float64, len(choices)), 0
	for _, j := range jobs(t) {
		all := true
		for _, o := range choices {
			all = all && times[[2]string{j.Name, o.name}] > 0
		}
		if !all {
			continue
		}
		n++
		for i, o := range choices {
			logs[i] += math.Log(times[[2]string{j.Name, o.name}] / times[[2]string{j.Name, choices[0].name}])
		}
	}
	out := make([]string, len(choices))
	for i := range out {
		if out[i] = "-"; n > 0 {
			out[i] = fmt.Sprintf("%.3f", math.Exp(logs[i]/float64(n)))
		}
	}
	return out
}

// TestChoice: the table that the backend chooses by says what was measured.
func TestChoice(t *testing.T) {
	choices, _ := optimizations(t)
	for i, m := range choiceMeans(t, choices) {
		if got := strings.Join(choices[i].means, " "); got != strings.Join(m, " ") {
			t.Errorf("%s: %s has %s, the measurements mean %s", choices[i].name, meansFile, got, strings.Join(m, " "))
		}
	}
}

// drift is how far the compiler may go from what the table was measured of.
const drift = 0.1

// TestChoicesRun: every choice makes kernels that run, and that are about what the
// table says of them.
func TestChoicesRun(t *testing.T) {
	choices, _ := optimizations(t)
	for _, f := range tableLines(t, choiceFile) {
		if f[0] != "row_softmax" && f[0] != "matmul_fp16" && f[0] != "cumsum_rows" {
			continue
		}
		for i, o := range choices {
			j := jobNamed(t, f[0])
			j.Options = maps.Clone(j.Options)
			j.Options["llvm_passes"] = o.name
			k := compile(t, j, "cuda:80")
			r := newRow("cuda:80", j.Name)
			if err := r.simulate(t, k, k.shared, shapeOf(j)); err != nil {
				t.Fatalf("%s after %s: %v", j.Name, o.name, err)
			}
			if want, err := strconv.Atoi(f[2+3*i]); err != nil || math.Abs(float64(r.warp-want)) > drift*float64(want) {
				t.Errorf("%s after %s executes %d instructions, the table has %s: run make performance", j.Name, o.name, r.warp, f[2+3*i])
			}
		}
	}
}
