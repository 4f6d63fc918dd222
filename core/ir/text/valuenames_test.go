package text_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Every name that Names gives is in the text, where the value is defined.
func TestNames(t *testing.T) {
	m, err := text.Parse(dialect.NewContext(), "k.ttir", []byte(`module {
  tt.func public @k(%n: i32, %arg1: i1) {
    %x = arith.addi %n, %n : i32
    %0 = arith.muli %x, %n : i32
    %1:2 = scf.if %arg1 -> (i32, i32) {
      scf.yield %x, %0 : i32, i32
    } else {
      scf.yield %0, %x : i32, i32
    }
    %2 = scf.for %i = %n to %x step %0 iter_args(%acc = %1#1) -> (i32)  : i32 {
      scf.yield %acc : i32
    }
    tt.return
  }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	names := text.Names(m)
	var got []string
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		for _, r := range op.Results() {
			got = append(got, names[r])
		}
		for _, r := range op.Regions() {
			for b := range r.Blocks() {
				for _, a := range b.Args() {
					got = append(got, names[a])
				}
			}
		}
		return ir.Advance
	})
	if s, want := strings.Join(got, " "), "%n %arg1 %x %0 %1#0 %1#1 %2 %i %acc"; s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}
