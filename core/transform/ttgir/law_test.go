package ttgir_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/internal/testseed"
)

// Random programs with nested loops and conditions store the same values in the
// same order after each of the passes around loops.
func TestLoopPassesKeepMeaning(t *testing.T) {
	rows := [][]pass.Row{
		{{Pass: loops.LoopAwareCSE}},
		{{Pass: loops.LICM}},
		{{Pass: loops.FuseNestedLoops}},
		{{Pass: loops.FuseNestedLoops}, {Pass: canonicalize}, {Pass: loops.LoopAwareCSE}, {Pass: canonicalize}},
		{{Pass: loops.CombineSelectAndIf}},
		{{Pass: loops.LICM}, {Pass: canonicalize}, {Pass: loops.CombineSelectAndIf}, {Pass: loops.ReorderInstructions}},
	}
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	fuse := []string{tt.FlattenAttr, tt.AlwaysFuseAttr}
	fused := 0
	changed := make([]int, len(rows))
	for i := range 40 * len(rows) {
		which := i % len(rows)
		g := newGenerator(r)
		if i/len(rows)%4 > 1 { // loops with few iterations or none, and bounds that change
			g.bounds = []*ir.Value{arith.Int(g.b, g.n.Type(), 0), arith.Int(g.b, g.n.Type(), 2), g.n}
		}
		g.body(3)
		g.b.Op(tt.Return, nil)
		ir.Walk(g.m, func(op *ir.Operation) ir.WalkResult {
			if op.Is(scf.For) {
				op.SetAttr(fuse[i/len(rows)%2], op.Context().Unit())
			}
			return ir.Advance
		})
		before := text.String(g.m)
		want := interpret(g.m)
		runner := pass.Runner{VerifyEach: true}
		timings, err := runner.Run(g.m, rows[which], nil)
		if err != nil {
			if c, ok := err.(*pass.Crash); ok {
				t.Log(c.Stack)
			}
			t.Fatalf("%v\n%s", err, before)
		}
		for _, timing := range timings {
			for _, c := range timing.Counters {
				if c.Name == "fused" {
					fused += c.N
				}
			}
		}
		after := text.String(g.m)
		if got := interpret(g.m); !slices.Equal(got, want) {
			t.Fatalf("%s: stores\n%v\nwant\n%v\nbefore\n%s\nafter\n%s", pass.Format(rows[which]), got, want, before, after)
		}
		if before != after {
			changed[which]++
		}
	}
	if fused < 10 || changed[0] < 20 || changed[1] < 20 {
		t.Errorf("only %d loops were fused, and %v of 40 programs each changed", fused, changed)
	}
}
