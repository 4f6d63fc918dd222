package npuir

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/passtest"
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
		if op.Def().Dialect() == Name && op.NumOperands() > 0 {
			pipes = append(pipes, Pipes[PipeOf(op)].Keyword)
		}
		return ir.Advance
	})
	if got, want := strings.Join(pipes, " "), "mte2 v v v v v v v mte2 mte3 mte3 mte3 mte2 mte1 mte1 m m fix fix"; got != want {
		t.Errorf("the pipes are %s, want %s", got, want)
	}
}

func TestPass(t *testing.T) {
	known := []*pass.Pass{LinalgToNPUIR, ForwardCopies, AlignOperands, MapBlocks, Multibuffer, PlanBuffers, InsertFlags}
	passtest.RunIn(t, append(dialect.All(), append(linalg.Dialects(), Dialect, hivm.Dialect)...), "testdata", known, known...)
}

// TestRefused: instructions on memory that their pipe cannot access do not verify.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ args, body, want string }{
		{"%a: memref<8xf32>, %b: memref<8xf32>", "npuir.dma %a, %b : memref<8xf32> to memref<8xf32>", "no pipe copies from global memory to global memory"},
		{"%a: memref<8xf32>, %b: f32", "npuir.dma %a, %b : memref<8xf32> to f32", "operand 1 must be memory"},
		{"%a: memref<8xf32>, %b: memref<8xf32, #npuir.space<l2>>", "npuir.dma %a, %b : memref<8xf32> to memref<8xf32, #npuir.space<l2>>", "operand 1 must be memory"},
		{"%a: memref<8xf32>, %b: f32", "npuir.fill %b, %a : f32, memref<8xf32>", "the target must be a buffer"},
		{"%b: f32", "npuir.fill %b, %b : f32, f32", "the target must be a buffer"},
		{"%a: memref<8x8xf32>", "npuir.mmad %a, %a, %a : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>", "operand 0 must be in l0a"},
		{"%a: memref<8xf32>, %b: memref<8xf32, #npuir.space<ub>>", "npuir.dma %a, %b atomic \"arith.addf\" : memref<8xf32> to memref<8xf32, #npuir.space<ub>>", "only transfers to global memory are atomic"},
		{"%a: memref<8xf32>, %b: memref<8xf32, #npuir.space<ub>>", "npuir.dma %b, %a atomic \"arith.mulf\" : memref<8xf32, #npuir.space<ub>> to memref<8xf32>", "no atomic transfer computes arith.mulf"},
		{"%a: memref<8xf16>, %b: memref<8xf32, #npuir.space<ub>>", "npuir.dma %b, %a : memref<8xf32, #npuir.space<ub>> to memref<8xf16>", "only transfers from l0c convert elements"},
		{"%a: memref<8xf32>, %b: memref<8xi32, #npuir.space<ub>>", "npuir.gather %a[%b], %a : memref<8xf32>, memref<8xi32, #npuir.space<ub>>, memref<8xf32>", "operand 2 must be in ub"},
		{"%a: memref<8x1xf32>, %b: memref<8xi32, #npuir.space<ub>>", "npuir.scatter %b, %a[%b] : memref<8xi32, #npuir.space<ub>>, memref<8x1xf32>, memref<8xi32, #npuir.space<ub>>", "operand 1 must have one dimension"},
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

// TestNoInstruction: what has no instruction is a diagnostic of the pass.
func TestNoInstruction(t *testing.T) {
	for _, tt := range []struct{ args, body, want string }{
		{"%x: tensor<4xf32>", "%y = arith.addf %x, %x : tensor<4xf32>", "a tensor of any content has no buffer"},
		{"%x: f64", "%e = tensor.empty() : tensor<4x4xf64>\n%a = linalg.fill ins(%x : f64) outs(%e : tensor<4x4xf64>) -> tensor<4x4xf64>\n%y = linalg.matmul ins(%a, %a : tensor<4x4xf64>, tensor<4x4xf64>) outs(%a : tensor<4x4xf64>) -> tensor<4x4xf64>", "does not multiply matrices of f64"},
	} {
		f, err := text.ParseFile(newContext(), "k", []byte("module {\nfunc.func @k("+tt.args+") {\n"+tt.body+"\nfunc.return\n}\n}"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = new(pass.Runner).Run(f.Op, []pass.Row{{Pass: LinalgToNPUIR}}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.body, err, tt.want)
		}
	}
}

// TestCarried: a buffer that a loop carries is refused, as its life is not known.
func TestCarried(t *testing.T) {
	const src = `module {
  func.func @k(%n: index) {
    %a = memref.alloc() : memref<8xf32, #npuir.space<ub>>
    %r = scf.for %i = %n to %n step %n iter_args(%b = %a) -> (memref<8xf32, #npuir.space<ub>>) {
      scf.yield %b : memref<8xf32, #npuir.space<ub>>
    }
    func.return
  }
}`
	f, err := text.ParseFile(newContext(), "k", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, err = new(pass.Runner).Run(f.Op, []pass.Row{{Pass: PlanBuffers}}, nil)
	if err == nil || !strings.Contains(err.Error(), "scf.for does not access buffers") {
		t.Errorf("got %v", err)
	}
}

// TestOverflow: what does not fit is an error with the buffers that are alive together.
func TestOverflow(t *testing.T) {
	const src = `module {
  func.func @k(%f: f32, %out: memref<1024xf32>) {
    %a = memref.alloc() : memref<1024xf32, #npuir.space<ub>>
    npuir.fill %f, %a : f32, memref<1024xf32, #npuir.space<ub>>
    %b = memref.alloc() : memref<1024xf32, #npuir.space<ub>>
    npuir.fill %f, %b : f32, memref<1024xf32, #npuir.space<ub>>
    npuir.dma %a, %out : memref<1024xf32, #npuir.space<ub>> to memref<1024xf32>
    npuir.dma %b, %out : memref<1024xf32, #npuir.space<ub>> to memref<1024xf32>
    func.return
  }
}`
	for size, want := range map[int]string{8192: "", 8191: "ub overflow: the kernel needs 8192 bytes of it, and there are 8191"} {
		f, err := text.ParseFile(newContext(), "k", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		r := pass.Runner{Place: f.Pos}
		_, err = r.Run(f.Op, []pass.Row{{Pass: PlanBuffers, With: []pass.Setting{{Name: "ub", Value: size}}}}, nil)
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		all := diag.All(err)
		if len(all) != 1 || all[0].Message != want || len(all[0].Notes) != 1 {
			t.Fatalf("got %v, want %q with a table", err, want)
		}
		const table = "the buffers that are alive then:\n    at  bytes  elements\n     0   4096  1024xf32, of line 3\n  4096   4096  1024xf32, of line 5"
		if got, want := all[0].Notes[0].Message, table; got != want {
			t.Errorf("the note is %q, want %q", got, want)
		}
	}
}
