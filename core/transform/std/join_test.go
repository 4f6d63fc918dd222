package std_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/testseed"
)

// Random functions of many small blocks that are alike store the same after
// their equal blocks were joined.
func TestJoinEqualBlocks(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 11))
	joined, passed := 0, 0
	for range 2000 {
		body := joinedBlocks(t, alikeBlocks(r))
		if body == nil {
			continue
		}
		joined++
		for b := range body.Blocks() {
			if !b.IsEntry() && b.NumArgs() > 1 {
				passed++
				break
			}
		}
	}
	t.Logf("blocks were joined in %d functions, with values passed in %d", joined, passed)
	if joined < 300 || passed < 5 {
		t.Errorf("blocks were joined in %d functions, with values passed in %d", joined, passed)
	}
}

// Branches to two groups of equal blocks, of which one takes values: joining those
// gives the branches more operands.
func TestJoinEqualBlocksOfOneBranch(t *testing.T) {
	if joinedBlocks(t, `module {
tt.func public @main(%p: !tt.ptr<i32>, %c0: i1, %c1: i1, %c2: i1, %c3: i1, %x: i32, %y: i32) {
  cf.cond_br %c2, ^bb1, ^bb3(%y : i32)
^bb1:
  tt.store %p, %x : !tt.ptr<i32>
  cf.cond_br %c0, ^bb2(%y : i32), ^bb4(%x : i32)
^bb2(%a2: i32):
  cf.cond_br %c1, ^bb5, ^bb4(%y : i32)
^bb3(%a3: i32):
  tt.store %p, %a3 : !tt.ptr<i32>
  tt.return
^bb4(%a4: i32):
  cf.cond_br %c3, ^bb7, ^bb5
^bb5:
  %s5 = arith.addi %y, %y : i32
  tt.store %p, %s5 : !tt.ptr<i32>
  tt.return
^bb6:
  tt.store %p, %x : !tt.ptr<i32>
  cf.cond_br %c2, ^bb8(%y : i32), ^bb9
^bb7:
  tt.store %p, %y : !tt.ptr<i32>
  cf.cond_br %c0, ^bb8(%x : i32), ^bb10
^bb8(%a8: i32):
  %s8 = arith.addi %x, %x : i32
  tt.store %p, %s8 : !tt.ptr<i32>
  tt.return
^bb9:
  tt.store %p, %x : !tt.ptr<i32>
  tt.return
^bb10:
  tt.store %p, %y : !tt.ptr<i32>
  tt.return
}
}
`) == nil {
		t.Error("no blocks were joined")
	}
}

// joinedBlocks joins the equal blocks of the function main and returns its body,
// which must store what it stored; nil where there were none.
func joinedBlocks(t *testing.T, src string) *ir.Region {
	t.Helper()
	m, err := text.Parse(dialect.NewContext(), "blocks.mlir", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	traces := func() (all [][]uint64) {
		for i := range uint64(16) {
			x := &machine{funcs: std.Functions(m)}
			x.call(x.funcs["main"], []uint64{0, i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3 & 1, 100, 200})
			all = append(all, x.trace)
		}
		return all
	}
	want, before := traces(), text.String(m)
	body := std.Functions(m)["main"].Region(0)
	if !std.JoinEqualBlocks(body) {
		return nil
	}
	after := text.String(m)
	if err := ir.Verify(m); err != nil {
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, before, after)
	}
	if got := traces(); !slices.EqualFunc(got, want, slices.Equal[[]uint64]) {
		t.Fatalf("stores %v, want %v\nbefore\n%s\nafter\n%s", got, want, before, after)
	}
	return body
}

// alikeBlocks is a function whose blocks go forward only, each of one of a few
// forms.
func alikeBlocks(r *rand.Rand) string {
	var out strings.Builder
	out.WriteString("module {\ntt.func public @main(%p: !tt.ptr<i32>, %c0: i1, %c1: i1, %c2: i1, %c3: i1, %x: i32, %y: i32) {\n")
	n := 4 + r.IntN(8)
	takes := make([]bool, n) // blocks with an argument
	for i := range takes {
		takes[i] = i > 0 && r.IntN(3) == 0
	}
	value := func(i int) string {
		names := []string{"%x", "%y"}
		if takes[i] {
			names = append(names, fmt.Sprintf("%%a%d", i))
		}
		return names[r.IntN(len(names))]
	}
	to := func(i int) string {
		j := min(i+1+r.IntN(3), n-1)
		if takes[j] {
			return fmt.Sprintf("^bb%d(%s : i32)", j, value(i))
		}
		return fmt.Sprintf("^bb%d", j)
	}
	for i := range n {
		switch {
		case takes[i]:
			fmt.Fprintf(&out, "^bb%d(%%a%d: i32):\n", i, i)
		case i > 0:
			fmt.Fprintf(&out, "^bb%d:\n", i)
		}
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&out, "tt.store %%p, %s : !tt.ptr<i32>\n", value(i))
		case 1:
			fmt.Fprintf(&out, "%%s%d = arith.addi %s, %s : i32\ntt.store %%p, %%s%[1]d : !tt.ptr<i32>\n", i, value(i), value(i))
		}
		switch {
		case i == n-1 || i > 2 && r.IntN(3) == 0:
			out.WriteString("tt.return\n")
		case i < 3 || r.IntN(2) == 0:
			fmt.Fprintf(&out, "cf.cond_br %%c%d, %s, %s\n", r.IntN(4), to(i), to(i))
		default:
			fmt.Fprintf(&out, "cf.br %s\n", to(i))
		}
	}
	out.WriteString("}\n}\n")
	return out.String()
}
