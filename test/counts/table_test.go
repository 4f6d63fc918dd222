package counts

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
			text, err := os.ReadFile(filepath.Join(dir, "sm"+strings.TrimPrefix(target, "cuda:"), j.Name+".ptx"))
			if err != nil {
				continue // Triton does not compile this one
			}
			r := newRow(target, j.Name)
			r.ptx = ptxInstructions(string(text))
			if _, err := r.assemble(t, string(text)); err != nil {
				t.Errorf("%s %s: %v", target, j.Name, err)
			}
			ours := compile(t, j, target)
			theirs := &compiled{kernel: ours.kernel, ptx: string(text), threads: reqntid(string(text))}
			if err := r.simulate(t, theirs, 200<<10, shapeOf(j)); err != nil {
				t.Logf("%s %s: not simulated: %v", target, j.Name, err)
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

// mostPasses is the same for passes through the banks of shared memory and exchanges
// between lanes, which take the same way: a reduction over warps saves one of Triton's
// two barriers by letting all warps read what one would.
const mostPasses = 1.15

// mostPTX is how many instructions of PTX ours may have for one of Triton's.
const mostPTX = 1.1

// reference is Triton's row to compare with: where our dots are those of mma.sync on
// cuda:90, and Triton's own may be others, they are held against its code for cuda:80.
func reference(triton map[string]row, r row, ptx string) (row, bool) {
	if strings.Contains(ptx, "mma.sync") {
		theirs, ok := triton["cuda:80 "+r.job]
		return theirs, ok
	}
	theirs, ok := triton[r.target+" "+r.job]
	return theirs, ok
}

// TestAgainstTriton compiles every job and compares with what Triton makes of it:
// the instructions of the text, and on the simulated GPU the traffic.
func TestAgainstTriton(t *testing.T) {
	triton := facts(t, factsFile)
	for _, target := range targets {
		for _, j := range jobs(t) {
			if !compiles(j, target) {
				continue
			}
			t.Run(target+"/"+j.Name, func(t *testing.T) {
				r := newRow(target, j.Name)
				k := compile(t, j, target)
				theirs, ok := reference(triton, r, k.ptx)
				if !ok {
					return // nothing of Triton's to compare with
				}
				r.ptx = ptxInstructions(k.ptx)
				if float64(r.ptx) > mostPTX*float64(theirs.ptx) {
					t.Errorf("%d instructions of PTX, Triton's code has %d", r.ptx, theirs.ptx)
				}
				if target != "cuda:80" {
					return // the traffic is that of cuda:80
				}
				if err := r.simulate(t, k, k.shared, shapeOf(j)); err != nil {
					t.Fatal(err)
				}
				for _, c := range []struct {
					name         string
					ours, theirs int
				}{
					{"sectors", r.sectors, theirs.sectors},
					{"passes and exchanges", r.passes + r.exchanges, int(mostPasses * float64(theirs.passes+theirs.exchanges))},
					{"barriers", r.barriers, theirs.barriers},
				} {
					if c.ours > c.theirs {
						t.Errorf("%d %s, %d are allowed beside Triton's code", c.ours, c.name, c.theirs)
					}
				}
			})
		}
	}
}

// compiles reports whether the target has what a job needs.
func compiles(j job, target string) bool {
	return target != "cuda:80" || j.Name != "casts_fp8" && j.Name != "matmul_fp8e4nv"
}
