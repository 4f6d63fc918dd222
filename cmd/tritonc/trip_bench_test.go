package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/internal/inprocess"
)

// trips are the kernels that BenchmarkTrip compiles; a kernel without a signature
// has it in its file.
var trips = []struct{ name, file, kernel, signature, stage string }{
	{"vector_add", "examples/vector_add.py", "", "", "llir"},
	{"row_softmax", "examples/row_softmax.py", "", "", "llir"},
	{"layer_norm", "examples/layer_norm.py", "", "", "llir"},
	{"matmul", "bench/kernels.py", "matmul", matmulSignature, "llir"},
	{"flash_fwd", "bench/kernels.py", "flash_fwd", flashSignature + ", CAUSAL=True", "llir"},
	{"flash_fwd_to_ttir", "bench/kernels.py", "flash_fwd", flashSignature + ", CAUSAL=True", "ttir"},
}

const matmulSignature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, BM=128, BN=128, BK=64, GROUP=8"

const flashSignature = "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, fp32, i32:16, i32:16, i32:16, 1, i32:16, i32:16, BM=128, BN=64, D=64"

// tripSource is a kernel's file, and how to compile it without a process.
func tripSource(b *testing.B, file, stage string) (*core.Source, *core.Options) {
	path := filepath.Join("..", "..", filepath.FromSlash(file))
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	backend := inprocess.Backend{Kit: nvidia.New()}
	return &core.Source{Path: path, Text: text}, &core.Options{
		Stages: []string{stage},
		Select: func(context.Context, core.Target) (core.Backend, core.Target, error) {
			return backend, core.Target{Backend: "cuda", Arch: "80", WarpSize: 32}, nil
		},
	}
}

// leastOf keeps the least time of each of several things, in their order. On a
// machine that does other things too the mean says little.
type leastOf struct {
	names []string
	times map[string]time.Duration
}

func (l *leastOf) add(name string, t time.Duration) {
	old, ok := l.times[name]
	if !ok {
		l.names = append(l.names, name)
	}
	if l.times == nil {
		l.times = map[string]time.Duration{}
	}
	if !ok || t < old {
		l.times[name] = t
	}
}

func (l *leastOf) report(b *testing.B) {
	for _, name := range l.names {
		b.ReportMetric(float64(l.times[name].Nanoseconds())/1e6, metricName(name))
	}
}

// BenchmarkTrip measures parsing, the front end, all passes and the lowering to
// LLVM IR, with the IR crossing as text, and reports the least time of each stage
// and of all. Run it with -cpu 1 for the figures of docs/testing.md.
func BenchmarkTrip(b *testing.B) {
	for _, trip := range trips {
		b.Run(trip.name, func(b *testing.B) {
			src, opts := tripSource(b, trip.file, trip.stage)
			var least leastOf
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				variants, err := core.Variants(b.Context(), src, core.Target{}, opts, core.Want{Kernel: trip.kernel, Signature: trip.signature})
				if err != nil {
					b.Fatal(err)
				}
				k, err := core.Compile(b.Context(), variants[0], core.Target{}, opts)
				if err != nil {
					b.Fatal(err)
				}
				for _, row := range k.Timings {
					if row.Step == "" {
						least.add(row.Stage, row.Time)
					}
				}
				least.add("total", time.Since(start))
			}
			least.report(b)
		})
	}
}

// BenchmarkSignature compiles a file that is parsed for another signature, as far
// as the front end goes: what is spent beside "front-end", which makes the ttir,
// is the price of asking again.
func BenchmarkSignature(b *testing.B) {
	src, opts := tripSource(b, "bench/kernels.py", core.SourceStage)
	want := core.Want{Kernel: "flash_fwd", Signature: flashSignature + ", CAUSAL=True"}
	first, err := core.Variants(b.Context(), src, core.Target{}, opts, want)
	if err != nil {
		b.Fatal(err)
	}
	want.Signature = flashSignature + ", CAUSAL=False"
	var least leastOf
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		again, err := core.Variants(b.Context(), first[0], core.Target{}, opts, want)
		if err != nil {
			b.Fatal(err)
		}
		k, err := core.Compile(b.Context(), again[0], core.Target{}, opts)
		if err != nil {
			b.Fatal(err)
		}
		total := time.Since(start)
		for _, row := range k.Timings {
			if row.Stage == "front end" {
				least.add(row.Stage, row.Time)
				least.add("beside it", total-row.Time)
			}
		}
	}
	least.report(b)
}
