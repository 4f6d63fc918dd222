package perftable

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tritonEnv names a folder with what Triton made of the jobs: its facts are
// measured afresh and written to testdata/triton.tsv.
const tritonEnv = "TRITONC_TRITON_PTX"

const factsFile = "testdata/triton.tsv"

var targets = []string{"cuda:80", "cuda:90"}

// facts reads a table of rows, by target and job.
func facts(t testing.TB, file string) map[string]row {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]row{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) < 2 {
			continue
		}
		r := newRow(f[0], f[1])
		for i, n := range r.numbers() {
			if i+2 < len(f) && f[i+2] != "-" {
				if *n, err = strconv.Atoi(f[i+2]); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			}
		}
		out[f[0]+" "+f[1]] = r
	}
	return out
}

func (r row) line() string {
	out := r.target + "\t" + r.job
	for _, n := range r.numbers() {
		if *n < 0 {
			out += "\t-"
		} else {
			out += "\t" + strconv.Itoa(*n)
		}
	}
	return out + "\n"
}

// TestTriton measures Triton's own PTX.
func TestTriton(t *testing.T) {
	dir := os.Getenv(tritonEnv)
	if dir == "" {
		t.Skipf("%s names no folder of Triton's PTX", tritonEnv)
	}
	var b strings.Builder
	b.WriteString("# What Triton 3.6.0 makes of the jobs, for ptxas of CUDA 12.4: TestTriton writes this.\n")
	b.WriteString("# target\tjob\t" + strings.Join(columns, "\t") + "\n")
	for _, target := range targets {
		for _, j := range jobs(t) {
			text, err := os.ReadFile(filepath.Join(dir, "sm"+strings.TrimPrefix(target, "cuda:"), j.name+".ptx"))
			if err != nil {
				continue // Triton does not compile this one
			}
			r := newRow(target, j.name)
			r.ptx = ptxInstructions(string(text))
			if _, err := r.assemble(t, string(text)); err != nil {
				t.Errorf("%s %s: %v", target, j.name, err)
			}
			ours := compile(t, j, target)
			theirs := &compiled{kernel: ours.kernel, ptx: string(text), threads: reqntid(string(text))}
			if err := r.simulate(t, theirs, 200<<10, shapeOf(j)); err != nil {
				t.Logf("%s %s: not simulated: %v", target, j.name, err)
			}
			b.WriteString(r.line())
		}
	}
	if err := os.WriteFile(factsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// reqntid is the number of threads that PTX asks for.
func reqntid(ptx string) int {
	_, rest, _ := strings.Cut(ptx, ".reqntid ")
	n := 0
	fmt.Sscan(rest, &n)
	return n
}
