package axisinfo_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/internal/testseed"
)

// A sample is a value of a random program with the elements that it has.
type sample struct {
	v     *ir.Value
	elems []int64 // row-major
}

const (
	rows, cols = 8, 16
	tooLarge   = 1 << 20 // keeps clear of wrapping
)

// Whatever the analysis says of the values of random programs is true of their
// elements.
func TestSound(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	checked := 0
	for range 200 {
		p := newProgram(r)
		for range 40 {
			p.step()
		}
		res := axisinfo.Analyze(p.m)
		for _, s := range p.values {
			info := res.Of(s.v)
			shape := ir.ShapeOf(s.v.Type())
			if msg := violation(info, shape, s.elems); msg != "" {
				t.Fatalf("%s of %v: %v\nelements %v", s.v.Def().Name(), shape, msg, s.elems)
			}
			for _, a := range info.Axes {
				if a.Contiguity > 1 || a.Divisibility > 1 || a.Constancy > 1 {
					checked++
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d claims were checked", checked)
	}
}

// Where numbers are negative, too, the elements of EqualRuns are equal, and what counts as
// not negative is not.
func TestSoundBelowZero(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	equal, signs := 0, 0
	for range 400 {
		p := newProgram(r)
		p.least = -tooLarge
		for range 40 {
			p.step()
		}
		res := axisinfo.Analyze(p.m)
		for _, s := range append(p.values, p.bools...) {
			shape := ir.ShapeOf(s.v.Type())
			stride := int64(1)
			runs := res.EqualRuns(s.v)
			for d := len(shape) - 1; d >= 0; d-- {
				for i := range s.elems {
					at := int64(i) / stride % shape[d]
					if s.elems[i] != s.elems[int64(i)-at%runs[d]*stride] {
						t.Fatalf("%s: not equal in runs of %v: %v", s.v.Def().Name(), runs, s.elems)
					}
				}
				if runs[d] > 1 {
					equal++
				}
				stride *= shape[d]
			}
			if res.Of(s.v).NonNegative {
				signs++
				if slices.Min(s.elems) < 0 {
					t.Fatalf("%s: negative: %v", s.v.Def().Name(), s.elems)
				}
			}
		}
	}
	if equal < 1000 || signs < 1000 {
		t.Errorf("only %d runs and %d signs were checked", equal, signs)
	}
}

// violation names the first claim of info that the elements break.
func violation(info axisinfo.Info, shape, elems []int64) string {
	for _, e := range elems {
		if info.IsConst && e != info.Const {
			return "not constant: " + info.String()
		}
	}
	stride := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		a := info.Axes[d]
		for i := range elems {
			at := int64(i) / stride % shape[d]
			first := elems[int64(i)-at%a.Contiguity*stride]
			if elems[i] != first+at%a.Contiguity {
				return "not contiguous: " + info.String()
			}
			if first%a.Divisibility != 0 {
				return "not divisible: " + info.String()
			}
			if elems[i] != elems[int64(i)-at%a.Constancy*stride] {
				return "not constant in runs: " + info.String()
			}
		}
		stride *= shape[d]
	}
	return ""
}

type program struct {
	r      *rand.Rand
	m      *ir.Operation
	b      *ir.Builder
	values []sample // tensors of rows×cols
	bools  []sample
	least  int64 // of all elements
}

func newProgram(r *rand.Rand) *program {
	c := dialect.NewContext()
	m := builtin.NewModule(c, c.UnknownLoc())
	f := ir.NewOperation(tt.Func, &ir.State{Ctx: c, Regions: 1, Attrs: []ir.NamedAttr{
		{Name: "sym_name", Attr: c.StringAttr("f")},
		{Name: "sym_visibility", Attr: c.StringAttr("public")},
		{Name: "function_type", Attr: c.TypeAttr(c.Func(nil, nil))},
	}})
	m.Body().Append(f)
	p := &program{r: r, m: m, b: ir.NewBuilder(c)}
	p.b.SetToEnd(f.Region(0).AddBlock())
	return p
}

func (p *program) typ() *ir.TensorType {
	return p.b.Context().Tensor([]int64{rows, cols}, p.b.Context().I32(), nil)
}

// step adds a value: a leaf, or an operation on those that are there.
func (p *program) step() {
	c := p.b.Context()
	if len(p.values) < 2 || p.r.IntN(4) == 0 {
		p.values = append(p.values, p.leaf())
		return
	}
	x, y := p.values[p.r.IntN(len(p.values))], p.values[p.r.IntN(len(p.values))]
	out := make([]int64, len(x.elems))
	apply := func(f func(a, b int64) int64) bool {
		for i := range out {
			out[i] = f(x.elems[i], y.elems[i])
			if out[i] < p.least || out[i] > tooLarge {
				return false // what is said of negative dividends is only presumed, as in Triton
			}
		}
		return true
	}
	positive := slices.Min(y.elems) > 0 // divisors are, says the analysis
	small := slices.Min(y.elems) >= 0 && slices.Max(y.elems) < 8
	unsigned := slices.Min(x.elems) >= 0 && slices.Min(y.elems) >= 0
	binary := func(def *ir.OpDef, ok bool) {
		if ok {
			p.values = append(p.values, sample{p.b.Op(def, []*ir.Value{x.v, y.v}).Result(0), out})
		}
	}
	switch p.r.IntN(14) {
	case 0:
		binary(arith.AddI, apply(func(a, b int64) int64 { return a + b }))
	case 1:
		binary(arith.SubI, apply(func(a, b int64) int64 { return a - b }))
	case 2:
		binary(arith.MulI, apply(func(a, b int64) int64 { return a * b }))
	case 3:
		binary(arith.DivSI, positive && apply(func(a, b int64) int64 { return a / b }))
	case 4:
		binary(arith.RemSI, positive && apply(func(a, b int64) int64 { return a % b }))
	case 5:
		binary(arith.ShLI, small && apply(func(a, b int64) int64 { return a << b }))
	case 6:
		binary(arith.ShRUI, unsigned && small && apply(func(a, b int64) int64 { return a >> b }))
	case 7:
		binary(arith.AndI, apply(func(a, b int64) int64 { return a & b }))
	case 8:
		binary(arith.OrI, apply(func(a, b int64) int64 { return a | b }))
	case 9:
		binary(arith.XorI, apply(func(a, b int64) int64 { return a ^ b }))
	case 10:
		binary(arith.MaxSI, apply(func(a, b int64) int64 { return max(a, b) }))
	case 11:
		binary(arith.MinUI, unsigned && apply(func(a, b int64) int64 { return min(a, b) }))
	case 12:
		preds := []struct {
			n int64
			f func(a, b int64) bool
		}{
			{arith.SLT, func(a, b int64) bool { return a < b }},
			{arith.SLE, func(a, b int64) bool { return a <= b }},
			{arith.SGT, func(a, b int64) bool { return a > b }},
			{arith.UGE, func(a, b int64) bool { return a >= b }},
			{arith.EQ, func(a, b int64) bool { return a == b }},
		}
		pred := preds[p.r.IntN(len(preds))]
		if pred.n == arith.UGE && !unsigned {
			return
		}
		for i := range out {
			if pred.f(x.elems[i], y.elems[i]) {
				out[i] = 1
			}
		}
		s := sample{arith.Compare(p.b, arith.CmpI, pred.n, x.v, y.v), out}
		p.bools = append(p.bools, s)
		wide := p.b.Op(arith.ExtUI, []*ir.Value{s.v}, c.WithElem(s.v.Type(), c.I32())).Result(0)
		p.values = append(p.values, sample{wide, out})
	default:
		if len(p.bools) == 0 {
			return
		}
		cond := p.bools[p.r.IntN(len(p.bools))]
		for i := range out {
			out[i] = y.elems[i]
			if cond.elems[i] != 0 {
				out[i] = x.elems[i]
			}
		}
		p.values = append(p.values, sample{arith.NewSelect(p.b, cond.v, x.v, y.v), out})
	}
}

// leaf is a range along one of the dimensions, or a constant.
func (p *program) leaf() sample {
	c := p.b.Context()
	out := make([]int64, rows*cols)
	if p.r.IntN(3) == 0 {
		n := int64(p.r.IntN(20))
		if p.r.IntN(2) == 0 {
			n = 1 << p.r.IntN(6)
		}
		for i := range out {
			out[i] = n
		}
		return sample{arith.Int(p.b, p.typ(), n), out}
	}
	axis := p.r.IntN(2)
	size := int64(rows)
	if axis == 1 {
		size = cols
	}
	start := int64(p.r.IntN(4)) << p.r.IntN(6)
	if p.least < 0 && p.r.IntN(2) == 0 {
		start = -start
	}
	rng := p.b.Create(tt.MakeRange, ir.State{
		Types: []ir.Type{c.Tensor([]int64{size}, c.I32(), nil)},
		Attrs: []ir.NamedAttr{{Name: "start", Attr: c.I32Attr(start)}, {Name: "end", Attr: c.I32Attr(start + size)}},
	}).Result(0)
	wide := p.b.Create(tt.ExpandDims, ir.State{
		Operands: []*ir.Value{rng}, Attrs: []ir.NamedAttr{{Name: "axis", Attr: c.I32Attr(int64(1 - axis))}},
	}).Result(0)
	for i := range out {
		at := int64(i / cols)
		if axis == 1 {
			at = int64(i % cols)
		}
		out[i] = start + at
	}
	return sample{p.b.Op(tt.Broadcast, []*ir.Value{wide}, p.typ()).Result(0), out}
}
