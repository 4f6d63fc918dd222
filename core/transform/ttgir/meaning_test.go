package ttgir_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/internal/testseed"
)

// Layouts carry no meaning: whatever moves between them, random programs with
// nested loops and conditions store the same values in the same order.
func TestRemoveConversionsKeepsMeaning(t *testing.T) {
	keepsMeaning(t, testseed.Seed())
}

// The copy of a value that was made in a loop took the place of one before it, where
// the way there is a conversion that moves nothing.
func TestRemoveConversionsGivenElsewhere(t *testing.T) {
	keepsMeaning(t, 20261123)
}

func keepsMeaning(t *testing.T, seed uint64) {
	t.Helper()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	removed := 0
	for range 150 {
		g := newGenerator(r)
		g.body(3)
		g.b.Op(tt.Return, nil)
		before := text.String(g.m)
		if err := ir.Verify(g.m); err != nil {
			t.Fatalf("%v\n%s", err, before)
		}
		want := interpret(g.m)
		n := countConversions(g.m)
		runner := pass.Runner{VerifyEach: true}
		if _, err := runner.Run(g.m, []pass.Row{{Pass: layouts.RemoveConversions}}, nil); err != nil {
			if c, ok := err.(*pass.Crash); ok {
				t.Log(c.Stack)
			}
			t.Fatalf("%v\n%s", err, before)
		}
		if got := interpret(g.m); !slices.Equal(got, want) {
			t.Fatalf("stores\n%v\nwant\n%v\nbefore\n%s\nafter\n%s", got, want, before, text.String(g.m))
		}
		removed += n - countConversions(g.m)
	}
	if removed < 150 {
		t.Errorf("only %d conversions were removed in all", removed)
	}
}

func countConversions(m *ir.Operation) int {
	_, n := accesses(m)
	return n
}

const elems = 256

type generator struct {
	r      *rand.Rand
	m      *ir.Operation
	b      *ir.Builder
	encs   []ir.Attribute
	n      *ir.Value   // an i32 argument
	cond   *ir.Value   // an i1 argument
	ptr    *ir.Value   // a scalar pointer argument
	values []*ir.Value // tensors in scope
	// bounds are what loops go from and to, if not from 0 to n; those in scope.
	bounds []*ir.Value
}

func newGenerator(r *rand.Rand) *generator {
	c := dialect.NewContext()
	m := builtin.NewModule(c, c.UnknownLoc())
	m.SetAttr(ttg.NumWarpsAttr, c.I32Attr(4))
	m.SetAttr(ttg.ThreadsPerWarpAttr, c.I32Attr(32))
	m.SetAttr(ttg.NumCTAsAttr, c.I32Attr(1))
	args := []ir.Type{c.I32(), c.I1(), tt.Ptr(c, c.I32())}
	f := ir.NewOperation(tt.Func, &ir.State{Ctx: c, Regions: 1, Attrs: []ir.NamedAttr{
		{Name: "sym_name", Attr: c.StringAttr("f")},
		{Name: "sym_visibility", Attr: c.StringAttr("public")},
		{Name: "function_type", Attr: c.TypeAttr(c.Func(args, nil))},
	}})
	m.Body().Append(f)
	g := &generator{r: r, m: m, b: ir.NewBuilder(c)}
	entry := f.Region(0).AddBlock()
	g.n = entry.AddArg(args[0], c.UnknownLoc())
	g.cond = entry.AddArg(args[1], c.UnknownLoc())
	g.ptr = entry.AddArg(args[2], c.UnknownLoc())
	g.b.SetToEnd(entry)
	for _, size := range []int{1, 2, 4} {
		g.encs = append(g.encs, encoding.Of(c, &layout.Blocked{
			SizePerThread: []int{size}, ThreadsPerWarp: []int{32}, WarpsPerCTA: []int{4}, Order: []int{0},
		}))
	}
	return g
}

func (g *generator) typ(elem ir.Type, enc ir.Attribute) *ir.TensorType {
	return g.b.Context().Tensor([]int64{elems}, elem, enc)
}

func (g *generator) pick() ir.Attribute { return g.encs[g.r.IntN(len(g.encs))] }

// value is some tensor in the given layout: one in scope, converted if need be.
func (g *generator) value(enc ir.Attribute) *ir.Value {
	if len(g.values) == 0 || g.r.IntN(6) == 0 {
		c := g.b.Context()
		switch g.r.IntN(3) {
		case 0:
			return arith.Int(g.b, g.typ(c.I32(), enc), int64(g.r.IntN(9)))
		case 1:
			return g.b.Op(tt.Splat, []*ir.Value{g.n}, g.typ(c.I32(), enc)).Result(0)
		default:
			return g.b.Create(tt.MakeRange, ir.State{
				Types: []ir.Type{g.typ(c.I32(), enc)},
				Attrs: []ir.NamedAttr{{Name: "start", Attr: c.I32Attr(0)}, {Name: "end", Attr: c.I32Attr(elems)}},
			}).Result(0)
		}
	}
	return ttg.NewConvertLayout(g.b, g.values[g.r.IntN(len(g.values))], enc)
}

// pointers are a tensor of pointers with offsets in the given layout.
func (g *generator) pointers(enc ir.Attribute) *ir.Value {
	base := g.b.Op(tt.Splat, []*ir.Value{g.ptr}, g.typ(g.ptr.Type(), enc)).Result(0)
	return g.b.Op(tt.AddPtr, []*ir.Value{base, g.value(enc)}).Result(0)
}

// body adds operations to the block at hand; depth bounds the nesting.
func (g *generator) body(depth int) {
	scope := len(g.values)
	for range 3 + g.r.IntN(4) {
		enc := g.pick()
		switch k := g.r.IntN(10); {
		case k < 4:
			def := []*ir.OpDef{arith.AddI, arith.MulI, arith.XorI}[g.r.IntN(3)]
			g.values = append(g.values, g.b.Op(def, []*ir.Value{g.value(enc), g.value(enc)}).Result(0))
		case k < 5:
			g.values = append(g.values, tt.NewLoad(g.b, g.pointers(enc), nil, nil, tt.Access{}))
		case k < 7:
			tt.NewStore(g.b, g.pointers(enc), g.value(enc), nil, tt.Access{})
		case depth == 0:
		case k < 9:
			g.loop(depth)
		default:
			g.condition(depth)
		}
	}
	if depth < 3 {
		g.values = g.values[:scope]
	}
}

// some is a list of values to carry or to yield, in layouts of their own.
func (g *generator) some(encs []ir.Attribute) []*ir.Value {
	vs := make([]*ir.Value, len(encs))
	for i, enc := range encs {
		vs[i] = g.value(enc)
	}
	return vs
}

func (g *generator) layouts() []ir.Attribute {
	encs := make([]ir.Attribute, g.r.IntN(4))
	for i := range encs {
		encs[i] = g.pick()
	}
	return encs
}

// inside runs f with the builder at the end of block, and comes back. The
// values of f are out of scope afterwards.
func (g *generator) inside(block *ir.Block, f func()) {
	p, scope := g.b.Save(), slices.Clone(g.values)
	g.b.SetToEnd(block)
	f()
	g.b.Restore(p)
	g.values = scope
}

func (g *generator) loop(depth int) {
	encs := g.layouts()
	c0, c1 := arith.Int(g.b, g.n.Type(), 0), arith.Int(g.b, g.n.Type(), 1)
	lo, hi := c0, g.n
	if len(g.bounds) > 0 {
		lo, hi = g.bounds[g.r.IntN(len(g.bounds))], g.bounds[g.r.IntN(len(g.bounds))]
		defer func(outer []*ir.Value) { g.bounds = outer }(g.bounds)
	}
	op := scf.NewFor(g.b, lo, hi, c1, g.some(encs)...)
	g.inside(op.Body(), func() {
		if len(g.bounds) > 0 {
			g.bounds = append(slices.Clone(g.bounds), op.Body().Arg(0))
		}
		g.values = append(g.values, op.Body().Args()[1:]...)
		g.body(depth - 1)
		g.b.Op(scf.Yield, g.some(encs))
	})
	g.values = append(g.values, op.Results()...)
}

func (g *generator) condition(depth int) {
	encs := g.layouts()
	types := make([]ir.Type, len(encs))
	for i, enc := range encs {
		types[i] = g.typ(g.b.Context().I32(), enc)
	}
	op := scf.NewIf(g.b, g.cond, true, types...)
	for _, region := range op.Regions() {
		g.inside(region.First(), func() {
			g.body(depth - 1)
			g.b.Op(scf.Yield, g.some(encs))
		})
	}
	g.values = append(g.values, op.Results()...)
}

// interpret runs the function for both values of the condition and lists what
// it stores. A value is its elements; a load gives a number made of the address.
func interpret(m *ir.Operation) []string {
	var all []string
	for cond := range int64(2) {
		in := &interpreter{env: map[*ir.Value][]int64{}}
		f := m.Body().First()
		for i, arg := range f.Body().Args() {
			in.env[arg] = []int64{[]int64{3, cond, 1000}[i]}
		}
		in.block(f.Body())
		all = append(all, in.stores...)
	}
	return all
}

type interpreter struct {
	env    map[*ir.Value][]int64
	stores []string
}

func (in *interpreter) get(v *ir.Value) []int64 {
	e, ok := in.env[v]
	if !ok {
		panic("BUG: a value is used before it is computed")
	}
	return e
}

func (in *interpreter) all(vs []*ir.Value) [][]int64 {
	list := make([][]int64, len(vs))
	for i, v := range vs {
		list[i] = in.get(v)
	}
	return list
}

func (in *interpreter) bind(vs []*ir.Value, to [][]int64) {
	for i, v := range vs {
		in.env[v] = to[i]
	}
}

// block runs the operations and returns what the terminator hands on.
func (in *interpreter) block(b *ir.Block) [][]int64 {
	for op := range b.Ops() {
		if op.IsTerminator() {
			return in.all(op.OperandValues())
		}
		in.operation(op)
	}
	panic("BUG: a block without a terminator")
}

func (in *interpreter) operation(op *ir.Operation) {
	each := func(f func(i int) int64) {
		n := 1
		if _, tensor := op.Result(0).Type().(*ir.TensorType); tensor {
			n = elems
		}
		out := make([]int64, n)
		for i := range out {
			out[i] = f(i)
		}
		in.env[op.Result(0)] = out
	}
	arg := func(k int) []int64 { return in.get(op.Operand(k)) }
	switch op.Def() {
	case arith.Constant:
		v, _ := arith.AttrInt(op.Attr("value"))
		if _, tensor := op.Result(0).Type().(*ir.TensorType); !tensor {
			in.env[op.Result(0)] = []int64{v}
			return
		}
		each(func(int) int64 { return v })
	case tt.Splat:
		each(func(int) int64 { return arg(0)[0] })
	case tt.MakeRange:
		each(func(i int) int64 { return int64(i) })
	case ttg.ConvertLayout:
		in.env[op.Result(0)] = arg(0)
	case arith.AddI, tt.AddPtr:
		each(func(i int) int64 { return arg(0)[i] + arg(1)[i] })
	case arith.MulI:
		each(func(i int) int64 { return arg(0)[i] * arg(1)[i] })
	case arith.XorI:
		each(func(i int) int64 { return arg(0)[i] ^ arg(1)[i] })
	case arith.SubI:
		each(func(i int) int64 { return arg(0)[i] - arg(1)[i] })
	case arith.AndI:
		each(func(i int) int64 { return arg(0)[i] & arg(1)[i] })
	case arith.MaxSI:
		each(func(i int) int64 { return max(arg(0)[i], arg(1)[i]) })
	case arith.CmpI:
		pred, _ := op.IntAttr("predicate")
		each(func(i int) int64 {
			if arith.CompareInts(pred, uint64(arg(0)[i]), uint64(arg(1)[i]), 64) {
				return 1
			}
			return 0
		})
	case arith.Select:
		each(func(i int) int64 {
			if c := arg(0); c[i%len(c)] != 0 {
				return arg(1)[i]
			}
			return arg(2)[i]
		})
	case tt.Load:
		each(func(i int) int64 { return arg(0)[i]*7919 + 13 })
	case tt.Store:
		in.stores = append(in.stores, fmt.Sprint(arg(0)[:4], arg(1)[:4], arg(1)[elems-1]))
	case scf.For:
		carried := in.all(scf.Inits(op))
		for i := arg(0)[0]; i < arg(1)[0]; i += arg(2)[0] {
			in.env[scf.InductionVar(op)] = []int64{i}
			in.bind(scf.IterArgs(op), carried)
			carried = in.block(op.Body())
		}
		in.bind(op.Results(), carried)
	case scf.If:
		region := op.Region(1)
		if arg(0)[0] != 0 {
			region = op.Region(0)
		}
		if !region.Empty() {
			in.bind(op.Results(), in.block(region.First()))
		}
	default:
		panic("BUG: the interpreter does not know " + op.Name())
	}
}
