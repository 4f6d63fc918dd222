package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkProcess runs the whole program, backends and tools included, on the
// first example, and reports the rows of --time beside the wall time.
func BenchmarkProcess(b *testing.B) {
	for _, stage := range []string{"ttir", "ptx", "cubin"} {
		b.Run(stage, func(b *testing.B) {
			bin := buildProgram(b)
			sums := map[string]float64{}
			var rows []string
			for b.Loop() {
				cmd := exampleCommand(bin, stage)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if err := cmd.Run(); err != nil {
					b.Fatalf("%v\n%s", err, stderr.Bytes())
				}
				for row, ms := range timeRows(stderr.String()) {
					if _, ok := sums[row]; !ok {
						rows = append(rows, row)
					}
					sums[row] += ms
				}
			}
			for _, row := range rows {
				b.ReportMetric(sums[row]/float64(b.N), metricName(row))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "total-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCached runs the whole program on a kernel that it has compiled before.
func BenchmarkCached(b *testing.B) {
	bin := buildProgram(b)
	b.Setenv(cacheDirVar, b.TempDir())
	again := func() {
		cmd := exec.Command(bin, "--target", "cuda:80", "--emit", "cubin", "-o", "-", filepath.Join("..", "..", "examples", "vector_add.py"))
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
	again()
	for b.Loop() {
		again()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "total-ms")
	b.ReportMetric(0, "ns/op")
}

// metricName is the unit under which a row of --time is reported.
func metricName(row string) string { return strings.ReplaceAll(row, " ", "-") + "-ms" }

// buildProgram builds tritonc and its backends into one folder, as make build
// does, and returns tritonc's path.
func buildProgram(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(buildBackends(b), "tritonc")
	buildStatic(b, bin, ".")
	return bin
}

// buildStatic builds the program in dir as make build does.
func buildStatic(b *testing.B, bin, dir string) {
	b.Helper()
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", bin, dir)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
}

// exampleCommand compiles the first example. TRITONC_BENCH_OPTION is an option of the
// backend's to compile with.
func exampleCommand(bin, stage string) *exec.Cmd {
	args := []string{"--target", "cuda:80", "--no-cache", "--no-server", "--time", "--emit", stage, "-o", "-"}
	if option := os.Getenv("TRITONC_BENCH_OPTION"); option != "" {
		args = append(args, "--option", option)
	}
	return exec.Command(bin, append(args, filepath.Join("..", "..", "examples", "vector_add.py"))...)
}

// timeRows parses what --time prints: milliseconds by row, the total left out.
func timeRows(text string) map[string]float64 {
	rows := map[string]float64{}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:len(lines)-1] {
		number, row, ok := strings.Cut(strings.TrimSpace(line), " ms  ")
		if ms, err := strconv.ParseFloat(number, 64); ok && err == nil {
			rows[row] = ms
		}
	}
	return rows
}

// BenchmarkPeakMemory reports the most memory that tritonc, its backend and the
// running tool held at one time, resident pages added up (shared ones count
// once per process, so the truth is a little less), and the most that one of these
// processes held. Linux only.
func BenchmarkPeakMemory(b *testing.B) {
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		b.Skip("no /proc")
	}
	for _, stage := range []string{"ptx", "cubin"} {
		b.Run(stage, func(b *testing.B) {
			bin := buildProgram(b)
			// The first has all backends describe themselves.
			if out, err := exampleCommand(bin, stage).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			peak, most := 0, 0
			for b.Loop() {
				cmd := exampleCommand(bin, stage)
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				for running := true; running; {
					select {
					case err := <-done:
						if err != nil {
							b.Fatal(err)
						}
						running = false
					default:
						sum := residentPages(cmd.Process.Pid, &most)
						peak = max(peak, sum)
						time.Sleep(200 * time.Microsecond)
					}
				}
			}
			b.ReportMetric(float64(peak*os.Getpagesize())/1e6, "peak-MB")
			b.ReportMetric(float64(most*os.Getpagesize())/1e6, "process-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// residentPages adds up the resident pages of a process and all below it. most becomes
// what one of them has, if that is more.
func residentPages(pid int, most *int) int {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(proc, "statm"))
	if err != nil {
		return 0 // it has ended
	}
	pages := 0
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ = strconv.Atoi(fields[1])
		*most = max(*most, pages)
	}
	// A child belongs to the thread that started it.
	threads, _ := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	for _, path := range threads {
		children, _ := os.ReadFile(path)
		for _, child := range strings.Fields(string(children)) {
			n, err := strconv.Atoi(child)
			if err == nil && program(n) != program(pid) { // else it has yet to begin its program, in its parent's memory
				pages += residentPages(n, most)
			}
		}
	}
	return pages
}

// program is the file that a process runs.
func program(pid int) string {
	path, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return path
}
