package npuir

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

func newContext() *ir.Context { return dialect.NewContext(append(linalg.Dialects(), Dialect)...) }

// TestRoundTrip reads a program with all instructions and prints it again, the same to
// the byte.
func TestRoundTrip(t *testing.T) {
	const sample = "testdata/all.npuir"
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	f, err := text.ParseFile(newContext(), sample, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	got := string(text.Append(nil, f.Op, text.Options{}))
	if got != string(src) {
		t.Errorf("printed:\n%s", got)
	}
	for _, op := range Dialect.Ops {
		if !strings.Contains(got, op.Name) {
			t.Errorf("the sample lacks %s", op.Name)
		}
	}
	var pipes []string
	ir.Walk(f.Op, func(op *ir.Operation) ir.WalkResult {
		if op.Is(DMA) || op.Is(Vector) || op.Is(MMAD) {
			pipes = append(pipes, Pipes[PipeOf(op)].Keyword)
		}
		return ir.Advance
	})
	if got, want := strings.Join(pipes, " "), "mte2 v v mte3 mte2 mte1 mte1 m fix"; got != want {
		t.Errorf("the pipes are %s, want %s", got, want)
	}
}

// TestRefused: instructions on memory that their pipe cannot access do not verify.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ args, body, want string }{
		{"%a: memref<8xf32>, %b: memref<8xf32>", "npuir.dma %a, %b : memref<8xf32> to memref<8xf32>", "no pipe copies from global memory to global memory"},
		{"%a: memref<8xf32>, %b: f32", "npuir.dma %a, %b : memref<8xf32> to f32", "operand 1 must be memory"},
		{"%a: memref<8xf32>, %b: memref<8xf32, #npuir.space<l2>>", "npuir.dma %a, %b : memref<8xf32> to memref<8xf32, #npuir.space<l2>>", "operand 1 must be memory"},
		{"%a: memref<8xf32>, %b: f32", "npuir.fill %b, %a : f32, memref<8xf32>", "operand 1 must be in ub, not in global memory"},
		{"%b: f32", "npuir.fill %b, %b : f32, f32", "the target must be a buffer"},
		{"%a: memref<8x8xf32>", "npuir.mmad %a, %a, %a : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>", "operand 0 must be in l0a"},
	} {
		f, err := text.ParseFile(newContext(), "k", []byte("module {\nfunc.func @k("+tt.args+") {\n"+tt.body+"\nfunc.return\n}\n}"))
		if err == nil {
			err = f.Verify()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.body, err, tt.want)
		}
	}
}
