package std_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/testseed"
)

// Random programs of integers with loops, conditions, branches and calls store
// the same values in the same order after any of the passes as before.
func TestPassesKeepMeaning(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	pipelines := [][]*pass.Pass{
		{std.Canonicalize},
		{std.CSE},
		{std.SCCP},
		{std.SCCP, std.Canonicalize},
		{std.Inline, std.SymbolDCE},
		{std.Inline, std.Canonicalize, std.CSE, std.SymbolDCE, std.Canonicalize},
	}
	changed := 0
	for range 400 {
		src := randomProgram(r)
		for _, passes := range pipelines {
			m, err := text.Parse(dialect.NewContext(), "random.mlir", []byte(src))
			if err != nil {
				t.Fatalf("%v\n%s", err, src)
			}
			want := run(m)
			rows := make([]pass.Row, len(passes))
			for i, p := range passes {
				rows[i].Pass = p
			}
			before := text.String(m)
			if _, err := (&pass.Runner{VerifyEach: true}).Run(m, rows, nil); err != nil {
				t.Fatalf("%v\n%s", err, src)
			}
			after := text.String(m)
			if got := run(m); !slices.Equal(got, want) {
				t.Fatalf("%s: stores %v, want %v\nbefore\n%s\nafter\n%s", pass.Format(rows), got, want, before, after)
			}
			if before != after {
				changed++
			}
		}
	}
	if changed < 800 {
		t.Errorf("the passes changed only %d programs", changed)
	}
}

// program writes random functions of i32 values; every value is named and typed
// i32, or i1 where it is a condition.
type program struct {
	r    *rand.Rand
	out  strings.Builder
	next int
	deep int
}

func randomProgram(r *rand.Rand) string {
	p := &program{r: r}
	p.out.WriteString("module {\n")
	p.out.WriteString("tt.func public @main(%p: !tt.ptr<i32>, %x: i32, %y: i32) {\n")
	scope := []string{"%x", "%y"}
	p.block(&scope, 4+r.IntN(8))
	p.branches(&scope)
	p.out.WriteString("tt.return\n}\n")
	for i := range 2 {
		fmt.Fprintf(&p.out, "tt.func private @f%d(%%p: !tt.ptr<i32>, %%a: i32, %%b: i32) -> i32 attributes {noinline = false} {\n", i)
		scope := []string{"%a", "%b"}
		p.deep = 2
		p.block(&scope, 3)
		if r.IntN(2) == 0 { // an early return
			c := p.cond(&scope)
			fmt.Fprintf(&p.out, "cf.cond_br %s, ^bb1, ^bb2\n^bb1:\ntt.return %s : i32\n^bb2:\n", c, p.pick(scope))
		}
		fmt.Fprintf(&p.out, "tt.return %s : i32\n}\n", p.pick(scope))
	}
	p.out.WriteString("}\n")
	return p.out.String()
}

func (p *program) name() string {
	p.next++
	return fmt.Sprintf("%%v%d", p.next)
}

func (p *program) pick(scope []string) string { return scope[p.r.IntN(len(scope))] }

var integerOps = []string{
	"addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui", "addi", "subi", "muli",
}

func (p *program) cond(scope *[]string) string {
	c := p.name()
	if p.r.IntN(5) == 0 {
		fmt.Fprintf(&p.out, "%s = arith.constant %v\n", c, p.r.IntN(2) == 0)
		return c
	}
	pred := []string{"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}[p.r.IntN(10)]
	fmt.Fprintf(&p.out, "%s = arith.cmpi %s, %s, %s : i32\n", c, pred, p.pick(*scope), p.pick(*scope))
	if p.r.IntN(3) == 0 { // its negation
		t, n := p.name(), p.name()
		fmt.Fprintf(&p.out, "%s = arith.constant true\n%s = arith.xori %s, %s : i1\n", t, n, c, t)
		return n
	}
	return c
}

func (p *program) block(scope *[]string, n int) {
	for range n {
		p.statement(scope)
	}
}

func (p *program) statement(scope *[]string) {
	v := p.name()
	switch k := p.r.IntN(20); {
	case k < 3:
		fmt.Fprintf(&p.out, "%s = arith.constant %d : i32\n", v, p.r.IntN(7)-2)
	case k < 9:
		fmt.Fprintf(&p.out, "%s = arith.%s %s, %s : i32\n", v, integerOps[p.r.IntN(len(integerOps))], p.pick(*scope), p.pick(*scope))
	case k < 11:
		c := p.cond(scope)
		fmt.Fprintf(&p.out, "%s = arith.select %s, %s, %s : i32\n", v, c, p.pick(*scope), p.pick(*scope))
	case k < 12: // through other widths
		w := p.name()
		from, to := []string{"8", "16", "64"}[p.r.IntN(3)], []string{"extsi", "extui"}[p.r.IntN(2)]
		if from == "64" {
			fmt.Fprintf(&p.out, "%s = arith.%s %s : i32 to i64\n%s = arith.trunci %s : i64 to i32\n", w, to, p.pick(*scope), v, w)
		} else {
			fmt.Fprintf(&p.out, "%s = arith.trunci %s : i32 to i%s\n%s = arith.%s %s : i%s to i32\n", w, p.pick(*scope), from, v, to, w, from)
		}
	case k < 14:
		fmt.Fprintf(&p.out, "tt.store %%p, %s : !tt.ptr<i32>\n", p.pick(*scope))
		return
	case k < 15:
		fmt.Fprintf(&p.out, "%s = tt.load %%p : !tt.ptr<i32>\n", v)
	case k < 16 && p.deep == 0:
		fmt.Fprintf(&p.out, "%s = tt.call @f%d(%%p, %s, %s) : (!tt.ptr<i32>, i32, i32) -> i32\n", v, p.r.IntN(2), p.pick(*scope), p.pick(*scope))
	case k < 18 && p.deep < 3:
		p.conditional(v, scope)
	case p.deep < 3:
		p.loop(v, scope)
	default:
		return
	}
	*scope = append(*scope, v)
}

func (p *program) inner(scope []string, more ...string) []string {
	return append(slices.Clone(scope), more...)
}

func (p *program) conditional(v string, scope *[]string) {
	c := p.cond(scope)
	p.deep++
	fmt.Fprintf(&p.out, "%s:2 = scf.if %s -> (i32, i32) {\n", v, c)
	for i := range 2 {
		s := p.inner(*scope)
		p.block(&s, p.r.IntN(3))
		fmt.Fprintf(&p.out, "scf.yield %s, %s : i32, i32\n", p.pick(s), p.pick(s))
		if i == 0 {
			p.out.WriteString("} else {\n")
		}
	}
	p.out.WriteString("}\n")
	p.deep--
	*scope = append(*scope, v+"#1")
}

func (p *program) loop(v string, scope *[]string) {
	lo, hi, step := p.name(), p.name(), p.name()
	fmt.Fprintf(&p.out, "%s = arith.constant %d : i32\n%s = arith.constant %d : i32\n%s = arith.constant %d : i32\n",
		lo, p.r.IntN(3), hi, p.r.IntN(5), step, 1+p.r.IntN(3))
	i, a, b := p.name(), p.name(), p.name()
	p.deep++
	fmt.Fprintf(&p.out, "%s:2 = scf.for %s = %s to %s step %s iter_args(%s = %s, %s = %s) -> (i32, i32)  : i32 {\n",
		v, i, lo, hi, step, a, p.pick(*scope), b, p.pick(*scope))
	s := p.inner(*scope, i, a, b)
	p.block(&s, 1+p.r.IntN(3))
	yields := [][2]string{{p.pick(s), p.pick(s)}, {a, p.pick(s)}, {p.pick(s), b}}[p.r.IntN(3)]
	fmt.Fprintf(&p.out, "scf.yield %s, %s : i32, i32\n}\n", yields[0], yields[1])
	p.deep--
	*scope = append(*scope, v+"#1")
}

// branches ends main's entry in blocks that meet again.
func (p *program) branches(scope *[]string) {
	c := p.cond(scope)
	fmt.Fprintf(&p.out, "cf.cond_br %s, ^bb1, ^bb2(%s : i32)\n^bb1:\n", c, p.pick(*scope))
	s := p.inner(*scope)
	p.deep = 3
	p.block(&s, p.r.IntN(4))
	fmt.Fprintf(&p.out, "cf.br ^bb3(%s, %s : i32, i32)\n^bb2(%%w: i32):\n", p.pick(s), p.pick(*scope))
	s = p.inner(*scope, "%w")
	p.block(&s, p.r.IntN(3))
	fmt.Fprintf(&p.out, "cf.br ^bb3(%s, %s : i32, i32)\n^bb3(%%m: i32, %%n: i32):\ntt.store %%p, %%m : !tt.ptr<i32>\n", p.pick(s), p.pick(*scope))
	*scope = append(*scope, "%m", "%n")
	p.deep = 0
}

// machine interprets a module: one word of memory, whose stores are its trace.
type machine struct {
	funcs  map[string]*ir.Operation
	memory uint64
	trace  []uint64
}

func run(m *ir.Operation) []uint64 {
	x := &machine{funcs: std.Functions(m)}
	x.call(x.funcs["main"], []uint64{0, 3, 0xfffffff0})
	return x.trace
}

func (x *machine) call(f *ir.Operation, args []uint64) []uint64 {
	env := make(map[*ir.Value]uint64)
	b := f.Body()
	for {
		for i, a := range b.Args() {
			env[a] = args[i]
		}
		end := x.ops(b, env)
		switch {
		case end.Is(tt.Return):
			return values(end.OperandValues(), env)
		case end.Is(cf.CondBr):
			way := 1 - int(env[end.Operand(0)]&1)
			b, args = end.Successor(way), values(cf.SuccessorArgs(end, way), env)
		default:
			b, args = end.Successor(0), values(end.OperandValues(), env)
		}
	}
}

func values(vs []*ir.Value, env map[*ir.Value]uint64) []uint64 {
	out := make([]uint64, len(vs))
	for i, v := range vs {
		out[i] = env[v]
	}
	return out
}

// ops runs a block up to its terminator, which it returns.
func (x *machine) ops(b *ir.Block, env map[*ir.Value]uint64) *ir.Operation {
	for op := range b.Ops() {
		if op.IsTerminator() {
			return op
		}
		res := x.op(op, values(op.OperandValues(), env), env)
		for i, r := range op.Results() {
			env[r] = mask(res[i], r.Type())
		}
	}
	panic("no terminator")
}

func mask(v uint64, t ir.Type) uint64 {
	if w := ir.BitWidth(t); w > 0 && w < 64 {
		return v & (1<<w - 1)
	}
	return v
}

func signed(v uint64, t ir.Type) int64 {
	w := ir.BitWidth(t)
	return int64(v) << (64 - w) >> (64 - w)
}

func (x *machine) region(b *ir.Block, args []uint64, env map[*ir.Value]uint64) []uint64 {
	for i, a := range b.Args() {
		env[a] = args[i]
	}
	return values(x.ops(b, env).OperandValues(), env)
}

func (x *machine) op(op *ir.Operation, v []uint64, env map[*ir.Value]uint64) []uint64 {
	switch op.Def() {
	case arith.Constant:
		return []uint64{uint64(op.Attr("value").(*ir.IntegerAttr).Value)}
	case arith.Select:
		if v[0]&1 == 1 {
			return v[1:2]
		}
		return v[2:3]
	case arith.CmpI:
		pred, _ := op.IntAttr("predicate")
		if arith.CompareInts(pred, v[0], v[1], ir.BitWidth(op.Operand(0).Type())) {
			return []uint64{1}
		}
		return []uint64{0}
	case arith.ExtSI:
		return []uint64{uint64(signed(v[0], op.Operand(0).Type()))}
	case arith.ExtUI, arith.TruncI:
		return v
	case tt.Store:
		x.memory = v[1]
		x.trace = append(x.trace, v[1])
		return nil
	case tt.Load:
		return []uint64{x.memory}
	case tt.Call:
		return x.call(x.funcs[op.Attr("callee").(*ir.SymbolRefAttr).Root], v)
	case scf.If:
		b := op.Region(int(1 - v[0]&1)).First()
		if b == nil {
			return nil
		}
		return x.region(b, nil, env)
	case scf.For:
		t := op.Operand(0).Type()
		carried := v[3:]
		for i := signed(v[0], t); i < signed(v[1], t); i += signed(v[2], t) {
			carried = x.region(op.Body(), append([]uint64{mask(uint64(i), t)}, carried...), env)
		}
		return carried
	}
	return []uint64{binary(op, v)}
}

func binary(op *ir.Operation, v []uint64) uint64 {
	t := op.Operand(0).Type()
	a, b := v[0], v[1]
	sa, sb := signed(a, t), signed(b, t)
	switch op.Def() {
	case arith.AddI:
		return a + b
	case arith.SubI:
		return a - b
	case arith.MulI:
		return a * b
	case arith.AndI:
		return a & b
	case arith.OrI:
		return a | b
	case arith.XorI:
		return a ^ b
	case arith.MinSI:
		return uint64(min(sa, sb))
	case arith.MaxSI:
		return uint64(max(sa, sb))
	case arith.MinUI:
		return min(a, b)
	case arith.MaxUI:
		return max(a, b)
	}
	panic("no meaning for " + op.Name())
}
