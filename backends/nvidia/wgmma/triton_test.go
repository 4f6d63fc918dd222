package wgmma_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/internal/passtest"
)

// The archives of testdata/triton come from Triton and are never rewritten.

// TestAgainstTriton: accelerate-matmul and what removes its conversions make of
// Triton's modules for cuda:90 what Triton makes of them, apart from what canonicalize
// and cse remove.
func TestAgainstTriton(t *testing.T) {
	paths, err := filepath.Glob("testdata/triton/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	canonicalize := std.NewCanonicalize(layouts.ConvertPatterns())
	tidy := []pass.Row{{Pass: canonicalize}, {Pass: std.CSE}, {Pass: canonicalize}, {Pass: std.CSE}}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		module := func(t *testing.T, name string) *ir.Operation {
			for _, f := range archive.Files {
				if f.Name == name {
					m, err := text.Parse(dialect.NewContext(ttng.Dialect()), name, f.Data)
					if err != nil {
						t.Fatal(err)
					}
					return m
				}
			}
			t.Fatalf("%s has no section %s", path, name)
			return nil
		}
		for _, step := range []struct {
			from, to string
			passes   []*pass.Pass
		}{
			{"ttgir", "accelerated", []*pass.Pass{layouts.OptimizeThreadLocality, matrix.NewAccelerateMatmul(wgmma.Unit{})}},
			{"accelerated", "settled", []*pass.Pass{layouts.RemoveConversions}},
		} {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+step.to, func(t *testing.T) {
				ours, theirs := module(t, step.from+".mlir"), module(t, step.to+".mlir")
				for _, p := range step.passes {
					passtest.Apply(t, ours, pass.Row{Pass: p})
				}
				passtest.Apply(t, ours, tidy...)
				passtest.Apply(t, theirs, tidy...)
				if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
					t.Error(d)
				}
			})
		}
	}
}
