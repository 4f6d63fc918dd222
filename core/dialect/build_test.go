package dialect_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

const built = `module {
  tt.func @f(%arg0: i32, %arg1: i1) {
    %0 = scf.for %arg2 = %arg0 to %arg0 step %arg0 iter_args(%arg3 = %arg0) -> (i32)  : i32 {
      %3 = arith.addi %arg3, %arg2 : i32
      scf.yield %3 : i32
    }
    %1 = scf.while (%arg2 = %0) : (i32) -> i32 {
      scf.condition(%arg1) %arg2 : i32
    } do {
    ^bb0(%arg2: i32):
      scf.yield %arg2 : i32
    }
    scf.if %arg1 {
    }
    cf.cond_br %arg1, ^bb1(%1 : i32), ^bb2
  ^bb1(%2: i32):  // pred: ^bb0
    cf.br ^bb2
  ^bb2:  // 2 preds: ^bb0, ^bb1
    tt.return
  }
}
`

// What the constructors build verifies, prints as expected and reads back.
func TestBuilders(t *testing.T) {
	c := dialect.NewContext()
	m := builtin.NewModule(c, nil)
	b := ir.NewBuilder(c)
	b.SetToEnd(m.Body())
	in := []ir.Type{c.I32(), c.I1()}
	f := b.Create(tt.Func, ir.State{Regions: 1, Attrs: []ir.NamedAttr{
		{Name: "sym_name", Attr: c.StringAttr("f")}, {Name: "function_type", Attr: c.TypeAttr(c.Func(in, nil))},
	}})
	entry := f.Region(0).AddBlock()
	n, cond := entry.AddArg(in[0], nil), entry.AddArg(in[1], nil)
	b.SetToEnd(entry)

	loop := scf.NewFor(b, n, n, n, n)
	b.SetToEnd(loop.Body())
	scf.NewYield(b, arith.Binary(b, arith.AddI, scf.IterArgs(loop)[0], scf.InductionVar(loop)))

	b.SetToEnd(entry)
	while := scf.NewWhile(b, loop.Results(), c.I32())
	b.SetToEnd(while.Region(0).First())
	scf.NewCondition(b, cond, while.Region(0).First().Arg(0))
	b.SetToEnd(while.Region(1).First())
	scf.NewYield(b, while.Region(1).First().Arg(0))

	b.SetToEnd(entry)
	yes := scf.NewIf(b, cond, false)
	b.SetToEnd(yes.Body())
	scf.NewYield(b)

	b.SetToEnd(entry)
	one, two := f.Region(0).AddBlock(), f.Region(0).AddBlock()
	one.AddArg(c.I32(), nil)
	br := cf.NewCondBr(b, cond, one, while.Results(), two, nil)
	b.SetToEnd(one)
	cf.NewBr(b, two)
	b.SetToEnd(two)
	b.Op(tt.Return, nil)

	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, m, text.Options{})); got != built {
		t.Errorf("got\n%s", got)
	}
	if args := cf.SuccessorArgs(br, 0); len(args) != 1 || args[0] != while.Result(0) || len(cf.SuccessorArgs(br, 1)) != 0 {
		t.Errorf("successor arguments %v", args)
	}
	if builtin.Lookup(m, "f") != f || builtin.Lookup(m, "g") != nil {
		t.Error("Lookup")
	}
}
