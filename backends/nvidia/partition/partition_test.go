package partition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := partition.Passes()
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect(), nvws.Dialect()), "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
}

// refused checks that a pass refuses a module with a diagnostic that has the words want.
func refused(t *testing.T, name, src string, p *pass.Pass, want string) {
	t.Helper()
	ctx := ir.NewContext(append(dialect.All(), ttng.Dialect(), nvws.Dialect())...)
	file, err := text.ParseFile(ctx, "mistake.mlir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&pass.Runner{VerifyEach: true}).Run(file.Op, []pass.Row{{Pass: p}}, nil)
	var d *diag.Diagnostic
	if !errors.As(err, &d) || !strings.Contains(d.Message, want) {
		t.Errorf("%s: %v, want a diagnostic with %q", name, err, want)
	}
}

// An operation of no dialect may end a block; it stays there.
func TestPartitionLoopsKeepsTheEnd(t *testing.T) {
	src := `
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @f(%n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      "use"(%i) {ttg.partition = array<i32: 0, 1>} : (i32) -> ()
    } {ttg.partition.stages = [0, 0], ttg.warp_specialize.tag = 0 : i32, ttg.partition = array<i32: 0, 1>}
    "end"() {ttg.partition = array<i32: 1>, ttg.warp_specialize.tag = 0 : i32} : () -> ()
  }
}
`
	refused(t, "the end of a function", src, partition.PartitionLoops, "end goes with a loop of partitions, but ends its block")
}

// A loop in which a partition uses what another one computes, here or in the next
// iteration, stays as it is, buffers for results included, and a warning says where.
func TestPartitionLoopsCrossing(t *testing.T) {
	const loop = `#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @f(%n: i32, %x: tensor<128xf32, #blocked>) -> tensor<128xf32, #blocked> {
    %r:2 = scf.for %i = %n to %n step %n iter_args(%k = %n, %y = %x) -> (i32, tensor<128xf32, #blocked>)  : i32 {
      %v = "make"(%i) {ttg.partition = array<i32: 0>} : (i32) -> i32
      %z = "sum"(%y) {ttg.partition = array<i32: 1>} : (tensor<128xf32, #blocked>) -> tensor<128xf32, #blocked>
      "use"(VALUE) {ttg.partition = array<i32: 1>} : (i32) -> ()
      scf.yield {ttg.partition = array<i32: 0, 1>} %v, %z : i32, tensor<128xf32, #blocked>
    } {ttg.partition = array<i32: 0, 1>, ttg.partition.outputs = [array<i32: 0>, array<i32: 1>], ttg.partition.stages = [0, 0], ttg.warp_specialize.tag = 0 : i32}
    tt.return %r#1 : tensor<128xf32, #blocked>
  }
}
`
	for value, distance := range map[string]string{"%v": "0", "%k": "1"} {
		ctx := ir.NewContext(append(dialect.All(), ttng.Dialect(), nvws.Dialect())...)
		file, err := text.ParseFile(ctx, "crossing.mlir", []byte(strings.Replace(loop, "VALUE", value, 1)))
		if err != nil {
			t.Fatal(err)
		}
		before := text.String(file.Op)
		timings, err := (&pass.Runner{VerifyEach: true, Place: file.Pos}).Run(file.Op, []pass.Row{{Pass: partition.PartitionLoops}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if after := text.String(file.Op); after != before {
			t.Errorf("%s: the loop became\n%s", value, after)
		}
		said := timings[0].Said
		if len(said) != 1 || len(said[0].Notes) != 1 {
			t.Fatalf("%s: %v, want a warning with a note", value, said)
		}
		if w := said[0]; w.Severity != diag.Warning || w.Pos.Line != 5 || w.Message != "non-root partition #0 has direct SSA consumer" {
			t.Errorf("%s: %v", value, w)
		}
		if n := said[0].Notes[0]; n.Pos.Line != 7 || n.Message != "use at distance "+distance+" in partition #1 here" {
			t.Errorf("%s: note %v", value, n)
		}
	}
}
