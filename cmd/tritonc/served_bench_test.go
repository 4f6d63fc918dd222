package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
)

// BenchmarkServed compiles kernels to PTX as a process, as a process while a server
// runs, and by a call of a client that is connected, and reports the least time of each,
// and what the call takes beside the stages. TRITONC_BENCH_OPTION is an option of the
// backend's to compile with. Rows that end in cpu are the time of the processor: on a
// machine that does other things it varies less. Bare plugin is what a program takes
// that starts a plugin by go-plugin and asks it one thing.
func BenchmarkServed(b *testing.B) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	for _, trip := range trips[:len(trips)-1] {
		if trip.name == "row_softmax" {
			continue // its file asks for two variants, and -o - writes one
		}
		b.Run(trip.name, func(b *testing.B) {
			bin := buildProgram(b)
			bare := filepath.Join(filepath.Dir(bin), "pair")
			buildStatic(b, bare, "./testdata/pair")
			socket := startServer(b, bin)
			args := []string{"-t", "cuda:80", "--no-cache", "--emit", "ptx", "-o", "-", filepath.Join(root, filepath.FromSlash(trip.file))}
			if trip.signature != "" {
				args = append(args, "-n", trip.kernel, "-s", trip.signature)
			}
			if option := os.Getenv("TRITONC_BENCH_OPTION"); option != "" {
				args = append(args, "--option", option)
			}
			var least leastOf
			process := func(name, socket, bin string, args ...string) {
				cmd := exec.Command(bin, args...)
				cmd.Env = append(os.Environ(), socketVar+"="+socket)
				start := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				least.add(name, time.Since(start))
				least.add(name+" cpu", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) // its backend's, too
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
				process("bare plugin", serverOff, bare)
				process("process", serverOff, bin, args...)
				process("process with server", socket, bin, args...)
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

// BenchmarkAssembled compiles a kernel to PTX and to the cubin by calls of a connected
// client, and has ptxas assemble the same PTX alone: it reports the least time of each, and
// what the cubin takes beside the other two. The kernel has another name in each
// iteration, since a backend assembles equal PTX once.
func BenchmarkAssembled(b *testing.B) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	for _, trip := range []struct{ name, file, kernel, signature string }{
		{"vector_add", "examples/vector_add.py", "vector_add", ""},
		{"matmul", "bench/kernels.py", "matmul", matmulSignature},
	} {
		b.Run(trip.name, func(b *testing.B) {
			ptxas := assembler(b)
			env := append(os.Environ(), "TRITONC_PTXAS="+ptxas)
			bin := buildProgram(b)
			socket := startServer(b, bin)
			client, err := serve.Dial(socket)
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			build := serverStatus(b, socket).Build
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(trip.file)))
			if err != nil {
				b.Fatal(err)
			}
			dir := b.TempDir()
			call := func(stage, file, kernel string) []byte {
				args := []string{"-t", "cuda:80", "--no-cache", "--emit", stage, "-o", "-", file}
				if trip.signature != "" {
					args = append(args, "-n", kernel, "-s", trip.signature)
				}
				if option := os.Getenv("TRITONC_BENCH_OPTION"); option != "" {
					args = append(args, "--option", option)
				}
				var sink keepingSink
				if code, err := client.Compile(b.Context(), &serve.Request{Build: build, Dir: dir, Env: env, Args: args}, &sink); err != nil || code != 0 {
					b.Fatalf("code %d, %v\n%s", code, err, sink.stderr.String())
				}
				return sink.stdout.Bytes()
			}
			var least leastOf
			timed := func(name string, f func()) {
				start := time.Now()
				f()
				least.add(name, time.Since(start))
			}
			n := 0
			for b.Loop() {
				n++
				kernel := trip.kernel + "_" + strconv.Itoa(n)
				file := filepath.Join(dir, kernel+".py")
				if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(trip.kernel), []byte(kernel)), 0o600); err != nil {
					b.Fatal(err)
				}
				var ptx []byte
				timed("ptx", func() { ptx = call("ptx", file, kernel) })
				timed("cubin", func() { call("cubin", file, kernel) })
				path := filepath.Join(dir, "kernel.ptx")
				if err := os.WriteFile(path, ptx, 0o600); err != nil {
					b.Fatal(err)
				}
				timed("ptxas", func() {
					if out, err := exec.Command(ptxas, "-lineinfo", "-v", "--gpu-name=sm_80", path, "-o", path+".cubin").CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
				})
			}
			least.report(b)
			b.ReportMetric(float64((least.times["cubin"]-least.times["ptx"]-least.times["ptxas"]).Nanoseconds())/1e6, "beside-both-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// keepingSink keeps what a command writes to its standard streams.
type keepingSink struct {
	countingSink
	stdout bytes.Buffer
}

func (s *keepingSink) Stdout(p []byte) error {
	s.stdout.Write(p)
	return nil
}

// assembler is the ptxas of TRITONC_PTXAS, of make toolchain, or of the PATH.
func assembler(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("TRITONC_PTXAS"); path != "" {
		return path
	}
	if cache, err := os.UserCacheDir(); err == nil {
		path := filepath.Join(cache, "tritonc", "toolchain", "bin", "ptxas")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("ptxas")
	if err != nil {
		b.Skip("there is no ptxas; make toolchain provides it")
	}
	return path
}
