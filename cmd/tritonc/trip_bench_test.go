package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// inProcess is a backend without its process, to measure the compiler alone.
type inProcess struct{ sdk.Backend }

func (b inProcess) Facts(ctx context.Context) (*sdk.Facts, error) {
	facts, err := b.Describe(ctx)
	return &facts, err
}

func (b inProcess) Module(ctx context.Context, name string) (sdk.Module, error) {
	facts, err := b.Describe(ctx)
	m, _ := facts.Module(name)
	return m, err
}

// BenchmarkTrip measures parsing, the front end, all passes and the lowering to
// LLVM IR, with the IR crossing as text, and reports each stage beside the sum.
// Run it with -cpu 1 for the figures of docs/testing.md.
func BenchmarkTrip(b *testing.B) {
	for _, name := range []string{"vector_add", "row_softmax", "layer_norm"} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join("..", "..", "examples", name+".py")
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			backend := inProcess{nvidia.New()}
			opts := core.Options{
				Stages: []string{"llir"},
				Select: func(context.Context, core.Target) (core.Backend, core.Target, error) {
					return backend, core.Target{Backend: "cuda", Arch: "80", WarpSize: 32}, nil
				},
			}
			sums := map[string]time.Duration{}
			var rows []string
			for b.Loop() {
				variants, err := core.Variants(&core.Source{Path: path, Text: text}, "", "")
				if err != nil {
					b.Fatal(err)
				}
				k, err := core.Compile(b.Context(), variants[0], core.Target{}, &opts)
				if err != nil {
					b.Fatal(err)
				}
				for _, row := range k.Timings {
					if row.Step != "" {
						continue
					}
					if _, ok := sums[row.Stage]; !ok {
						rows = append(rows, row.Stage)
					}
					sums[row.Stage] += row.Time
				}
			}
			for _, row := range rows {
				b.ReportMetric(float64(sums[row].Nanoseconds())/1e6/float64(b.N), metricName(row))
			}
		})
	}
}
