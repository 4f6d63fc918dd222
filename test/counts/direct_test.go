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
)

const (
	// directEnv has TestDirect assemble what it compiles, too, and compare machine code.
	directEnv = "TRITONC_DIRECT_SASS"
	// directOutEnv names a folder for TestDirectCubins.
	directOutEnv = "TRITONC_DIRECT_OUT"
	// mostDirect bounds the instructions executed of code without llc, beside llc's,
	// as the geometric mean over the jobs of a target.
	mostDirect = 1.0
)

// both compiles a job by llc and without it.
func both(t testing.TB, j job, target string) (byLLC, direct *compiled) {
	t.Helper()
	values := maps.Clone(j.Options)
	j.Options = maps.Clone(values)
	j.Options["ptx"] = "llvm"
	byLLC = compile(t, j, target)
	j.Options = maps.Clone(values)
	j.Options["ptx"] = "direct"
	return byLLC, compile(t, j, target)
}

// TestDirect compares the PTX that the backend writes with what llc makes of the same
// LLVM IR, by the instructions that warps execute. Its log has each job.
func TestDirect(t *testing.T) {
	assembled := os.Getenv(directEnv) != ""
	for _, target := range []string{"cuda:80", "cuda:90"} {
		t.Run(target, func(t *testing.T) {
			var warp, sass, regs quotients
			for _, j := range jobs(t) {
				if !compiles(j, target) {
					continue
				}
				k, d := both(t, j, target)
				old, now := newRow(target, j.Name), newRow(target, j.Name)
				for _, x := range []struct {
					r *row
					k *compiled
				}{{&old, k}, {&now, d}} {
					if assembled {
						if _, err := x.r.assemble(t, x.k.ptx); err != nil {
							t.Fatal(err)
						}
					}
					if err := x.r.simulate(t, x.k, x.k.shared, shapeOf(j)); err != nil {
						t.Fatalf("%s: %v", j.Name, err)
					}
				}
				warp.add(now.warp, old.warp)
				line := fmt.Sprintf("%-24s executed %7d %7d %.3f", j.Name, old.warp, now.warp, float64(now.warp)/float64(old.warp))
				if assembled {
					sass.add(now.sass, old.sass)
					regs.add(now.regs, old.regs)
					line += fmt.Sprintf("   sass %5d %5d %.3f   regs %3d %3d   spills %d %d", old.sass, now.sass, float64(now.sass)/float64(old.sass), old.regs, now.regs, old.spills, now.spills)
				}
				t.Log(line)
				if old.sectors != now.sectors || old.barriers != now.barriers {
					t.Errorf("%s: %d sectors and %d barriers, by llc %d and %d", j.Name, now.sectors, now.barriers, old.sectors, old.barriers)
				}
			}
			t.Logf("geometric means over %d kernels: executed %.4f, sass %.4f, registers %.4f", warp.n, warp.value(), sass.value(), regs.value())
			if warp.value() > mostDirect {
				t.Errorf("%.4f of the instructions that llc's code executes, at most %.2f is expected", warp.value(), mostDirect)
			}
		})
	}
}

// quotients are a geometric mean of quotients.
type quotients struct {
	n   int
	sum float64
}

func (m *quotients) add(now, old int) {
	m.n++
	m.sum += math.Log(float64(now) / float64(old))
}

func (m *quotients) value() float64 {
	if m.n == 0 {
		return 1
	}
	return math.Exp(m.sum / float64(m.n))
}

// TestDirectCubins writes the machine code of every job in both ways into a folder,
// as TARGET/JOB.llvm.cubin and TARGET/JOB.direct.cubin with their PTX, for timing on a GPU.
func TestDirectCubins(t *testing.T) {
	dir := os.Getenv(directOutEnv)
	if dir == "" {
		t.Skip("names no folder: " + directOutEnv)
	}
	for _, target := range []string{"cuda:80", "cuda:90"} {
		to := filepath.Join(dir, strings.ReplaceAll(target, ":", ""))
		if err := os.MkdirAll(to, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs(t) {
			if !compiles(j, target) {
				continue
			}
			k, d := both(t, j, target)
			for name, c := range map[string]*compiled{"llvm": k, "direct": d} {
				base := filepath.Join(to, j.Name+"."+name)
				write(t, base+".ptx", c.ptx)
				arch := "sm_" + strings.TrimPrefix(target, "cuda:")
				if arch == "sm_90" {
					arch += "a"
				}
				if out, err := exec.Command(toolchain("ptxas"), "-arch="+arch, "-o", base+".cubin", base+".ptx").CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", base, err, out)
				}
				write(t, base+".json", fmt.Sprintf("{\"kernel\": %q, \"threads\": %d, \"shared\": %d}\n", c.kernel, c.threads, c.shared))
			}
		}
	}
}

// BenchmarkPTX compiles jobs from Python to PTX, by llc and without it.
func BenchmarkPTX(b *testing.B) {
	for _, name := range []string{"vector_add", "matmul_fp16", "flash_fwd_full"} {
		for _, by := range []string{"llvm", "direct"} {
			b.Run(name+"/"+by, func(b *testing.B) {
				j := jobNamed(b, name)
				j.Options = maps.Clone(j.Options)
				j.Options["ptx"] = by
				for n := 0; b.Loop(); n++ {
					j.as = fmt.Sprintf("%s%d.py", by, n) // nothing remembers it
					compile(b, j, "cuda:90")
				}
			})
		}
	}
}
