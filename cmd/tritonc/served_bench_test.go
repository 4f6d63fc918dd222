package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
)

// BenchmarkServed compiles kernels to PTX as a process, as a process while a server
// runs, and by a call of a client that is connected, and reports the least time of each,
// and what the call takes beside the stages. TRITONC_BENCH_OPTION is an option of the
// backend's to compile with.
func BenchmarkServed(b *testing.B) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	for _, trip := range trips[:len(trips)-1] {
		b.Run(trip.name, func(b *testing.B) {
			bin := buildProgram(b)
			socket := startServer(b, bin)
			args := []string{"-t", "cuda:80", "--no-cache", "--emit", "ptx", "-o", "-", filepath.Join(root, filepath.FromSlash(trip.file))}
			if trip.signature != "" {
				args = append(args, "-n", trip.kernel, "-s", trip.signature)
			}
			if option := os.Getenv("TRITONC_BENCH_OPTION"); option != "" {
				args = append(args, "--option", option)
			}
			var least leastOf
			process := func(name, socket string) {
				cmd := exec.Command(bin, args...)
				cmd.Env = append(os.Environ(), socketVar+"="+socket)
				start := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				least.add(name, time.Since(start))
			}
			client, err := serve.Dial(socket)
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			build := serverStatus(b, socket).Build
			call := func(name string, args []string) {
				var sink countingSink
				start := time.Now()
				code, err := client.Compile(b.Context(), &serve.Request{Build: build, Dir: root, Env: os.Environ(), Args: args}, &sink)
				if err != nil || code != 0 {
					b.Fatalf("code %d, %v\n%s", code, err, sink.stderr.String())
				}
				least.add(name, time.Since(start))
			}
			before := serverStatus(b, socket)
			calls := 0
			for b.Loop() {
				process("process", serverOff)
				process("process with server", socket)
				call("call", args)
				calls++
			}
			after := serverStatus(b, socket)
			least.report(b)
			stages := 0.0
			for stage, s := range after.Stages {
				stages += s - before.Stages[stage]
			}
			b.ReportMetric(stages/float64(2*calls)*1e3, "mean-stages-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
