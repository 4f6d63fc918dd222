//go:build unix

package sim

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// The benchmarks report lane instructions, active lanes counted, a second and a
// second of processor time, of the fastest launch: other work on the machine only
// ever adds time.

// mode is how a benchmark's device runs.
type mode struct {
	name string
	opt  Options
}

var modes = []mode{
	{"checks", Options{Workers: 1}},
	{"nochecks", Options{Workers: 1, NoChecks: true}},
	{"checks-2cores", Options{Workers: 2}},
	{"nochecks-2cores", Options{Workers: 2, NoChecks: true}},
}

// benchmark measures launches of what prepare makes on a device.
func benchmark(b *testing.B, modes []mode, prepare func(d *Device) func() *Report) {
	for _, c := range modes {
		b.Run(c.name, func(b *testing.B) {
			run := prepare(New(c.opt))
			best, bestCPU := 0.0, 0.0
			for b.Loop() {
				start, cpu := time.Now(), cpuTime(b)
				n := float64(run().Counters.LaneInstructions) / 1e6
				best = max(best, n/time.Since(start).Seconds())
				bestCPU = max(bestCPU, n/(cpuTime(b)-cpu).Seconds())
			}
			b.ReportMetric(best, "Mlanes/s")
			b.ReportMetric(bestCPU, "Mlanes/cpu-s")
		})
	}
}

// cpuTime is the time that this process has used of all processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func softmax(b testing.TB, rows int) func(d *Device) func() *Report {
	m := load(b, "row_softmax")
	const n = 1024
	return func(d *Device) func() *Report {
		in := Upload(d, "in", make([]float32, rows*n))
		out := d.Alloc("out", 4*rows*n)
		return func() *Report {
			return launch(b, d, m, "row_softmax", Dim(rows), Dim(256), 64, out, in, int32(n), int32(n), int32(n))
		}
	}
}

func matmul(b testing.TB, n int) func(d *Device) func() *Report {
	m := load(b, "matmul_fp16")
	r := newRand(b)
	data := halfs(randn(r, n*n, 1))
	return func(d *Device) func() *Report {
		x, y, z := Upload(d, "a", data), Upload(d, "b", data), d.Alloc("c", 2*n*n)
		n := int32(n)
		return func() *Report {
			return launch(b, d, m, "matmul", Dim(int(n/128*n/128)), Dim(128), 98304, x, y, z, n, n, n, n, n, n)
		}
	}
}

// sgemm is the kernel of the comparison with other simulators.
func sgemm(b testing.TB, n int) func(d *Device) func() *Report {
	m := load(b, "sgemm")
	return func(d *Device) func() *Report {
		x, y, z := Upload(d, "a", make([]float32, n*n)), Upload(d, "b", make([]float32, n*n)), d.Alloc("c", 4*n*n)
		return func() *Report {
			return launch(b, d, m, "sgemm", Dim(n/16, n/16), Dim(16, 16), 0, x, y, z, int32(n))
		}
	}
}

func BenchmarkSgemm(b *testing.B) { benchmark(b, modes, sgemm(b, 128)) }

func BenchmarkSoftmax(b *testing.B) { benchmark(b, modes, softmax(b, 256)) }

func BenchmarkMatmul(b *testing.B) { benchmark(b, modes, matmul(b, 512)) }

// TestNoAllocation checks that blocks and instructions allocate nothing: a launch of
// many blocks, a dozen more at least, allocates as often as one of few, but for what
// the runtime itself does meanwhile.
func TestNoAllocation(t *testing.T) {
	count := func(run func() *Report) float64 { return testing.AllocsPerRun(1, func() { run() }) }
	for _, c := range []struct {
		name      string
		few, many func(d *Device) func() *Report
	}{
		{"softmax", softmax(t, 4), softmax(t, 64)},
		{"matmul", matmul(t, 256), matmul(t, 512)},
		{"sgemm", sgemm(t, 16), sgemm(t, 64)},
	} {
		for _, m := range modes[:2] {
			few, many := count(c.few(New(m.opt))), count(c.many(New(m.opt)))
			if many > few+6 {
				t.Errorf("%s, %s: a launch of few blocks allocates %v times, one of many %v times", c.name, m.name, few, many)
			}
		}
	}
}

// BenchmarkGrid shows how time grows with the number of blocks.
func BenchmarkGrid(b *testing.B) {
	for _, rows := range []int{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("softmax-%d", rows), func(b *testing.B) { benchmark(b, modes[:2], softmax(b, rows)) })
	}
	for _, n := range []int{128, 256, 512, 1024} {
		b.Run(fmt.Sprintf("matmul-%d", n/128*n/128), func(b *testing.B) { benchmark(b, modes[:2], matmul(b, n)) })
	}
}

// BenchmarkLoad parses, decodes and binds a kernel.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"vector_add", "matmul_fp16"} {
		b.Run(name, func(b *testing.B) {
			text := load(b, name).src
			for b.Loop() {
				m, err := Load(name, []byte(text))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := New(Options{}).load(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
