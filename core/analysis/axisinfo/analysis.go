package axisinfo

import (
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Result holds what is known of each value of a module. It is read-only.
type Result struct {
	infos map[*ir.Value]Info
}

// Of is what is known of v. A value that the analysis has not seen, such as one
// made after it ran, or one that is neither integer nor pointer, is unknown.
func (r *Result) Of(v *ir.Value) Info {
	if i, ok := r.infos[v]; ok {
		return i
	}
	return unknown(len(shapeOf(v.Type())))
}

// Known reports whether v is a value that the analysis looked at: an integer or a
// pointer, or a tensor of these.
func (r *Result) Known(v *ir.Value) bool {
	_, ok := r.infos[v]
	return ok
}

// Analyze runs the analysis over every function of a module, or over root
// itself when it is a function. Callers come before their callees, so that a
// function that the module keeps to itself knows what it is called with.
func Analyze(root *ir.Operation) *Result {
	a := &analysis{
		Result: Result{infos: make(map[*ir.Value]Info, 256)},
		funcs:  map[string]*ir.Operation{},
		passed: map[*ir.Operation][]Info{},
	}
	for _, f := range a.callersFirst(root) {
		a.function(f)
	}
	return &a.Result
}

type analysis struct {
	Result
	funcs  map[string]*ir.Operation
	passed map[*ir.Operation][]Info // what calls seen so far hand to a function
	// recursive functions are called before they have been seen to the end.
	recursive map[*ir.Operation]bool
	changed   bool
}

// callersFirst lists the functions in an order of the call graph.
func (a *analysis) callersFirst(root *ir.Operation) []*ir.Operation {
	var all []*ir.Operation
	ir.Walk(root, func(op *ir.Operation) ir.WalkResult {
		if !op.Is(tt.Func) {
			return ir.Advance
		}
		all = append(all, op)
		a.funcs[tt.AsFunc(op).SymName()] = op
		return ir.Skip
	})
	a.recursive = map[*ir.Operation]bool{}
	const (
		open = iota + 1
		done
	)
	state := map[*ir.Operation]int{}
	var post []*ir.Operation
	var visit func(f *ir.Operation)
	visit = func(f *ir.Operation) {
		state[f] = open
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			if callee := a.callee(op); callee != nil {
				switch state[callee] {
				case 0:
					visit(callee)
				case open:
					a.recursive[callee] = true
				}
			}
			return ir.Advance
		})
		state[f] = done
		post = append(post, f)
	}
	for _, f := range all {
		if state[f] == 0 {
			visit(f)
		}
	}
	for i, j := 0, len(post)-1; i < j; i, j = i+1, j-1 {
		post[i], post[j] = post[j], post[i]
	}
	return post
}

func (a *analysis) callee(op *ir.Operation) *ir.Operation {
	if !op.Is(tt.Call) {
		return nil
	}
	return a.funcs[tt.AsCall(op).Callee()]
}

func (a *analysis) function(f *ir.Operation) {
	entry := f.Body()
	if entry == nil {
		return
	}
	argAttrs, _ := tt.AsFunc(f).ArgAttrs().(*ir.ArrayAttr)
	private := tt.AsFunc(f).SymVisibility() != "public"
	for i, arg := range entry.Args() {
		info := unknown(len(shapeOf(arg.Type())))
		if calls := a.passed[f]; private && calls != nil && !a.recursive[f] {
			info = calls[i]
		}
		if argAttrs != nil && i < len(argAttrs.Elems) {
			if d, ok := argAttrs.Elems[i].(*ir.DictAttr); ok {
				info = hinted(info, d.Get)
			}
		}
		a.infos[arg] = info
	}
	a.region(tt.AsFunc(f).Body())
}

// region visits the blocks until what flows between them is stable.
func (a *analysis) region(r *ir.Region) {
	outer := a.changed
	for {
		a.changed = false
		for b := range r.Blocks() {
			for op := range b.Ops() {
				a.operation(op)
			}
		}
		if !a.changed || r.First() == r.Last() {
			break
		}
	}
	a.changed = a.changed || outer
}

// flow joins info into a block argument or a result where control flow meets.
func (a *analysis) flow(to *ir.Value, info Info) {
	have, ok := a.infos[to]
	if ok {
		info = join(have, info)
		if info.Equal(have) {
			return
		}
	}
	a.infos[to] = info
	a.changed = true
}

func (a *analysis) operation(op *ir.Operation) {
	switch op.Def() {
	case scf.For:
		a.forLoop(op)
	case scf.If:
		for _, r := range op.Regions() {
			a.region(r)
		}
		for _, r := range op.Regions() {
			if b := r.First(); b != nil && b.Terminator() != nil {
				a.flowAll(op.Results(), b.Terminator().OperandValues())
			}
		}
	case scf.While:
		a.whileLoop(op)
	case cf.Br, cf.CondBr:
		a.branch(op)
	case tt.Call:
		a.call(op)
	case ttg.WarpSpecialize:
		split := ttg.AsWarpSpecialize(op)
		a.region(split.DefaultRegion())
		if b := split.DefaultRegion().First(); b != nil && b.Terminator() != nil {
			a.flowAll(op.Results(), b.Terminator().OperandValues())
		}
		for _, r := range split.PartitionOpHolder().First().First().Regions() {
			a.flowAll(r.First().Args(), split.ExplicitCaptures())
			a.region(r)
		}
	default:
		a.transfer(op)
	}
}

// transfer applies the rule of an operation without control flow.
func (a *analysis) transfer(op *ir.Operation) {
	if op.Is(builtin.UnrealizedCast) {
		a.unrealizedCast(builtin.AsUnrealizedCast(op))
		return
	}
	if op.NumResults() != 1 || !mayKnow(op.OneResult().Type()) && !op.Is(tt.Bitcast) {
		return
	}
	var info Info
	if f := rules[op.Def()]; f != nil {
		var few [3]Info
		in := few[:0]
		for _, v := range op.Operands() {
			in = append(in, a.Of(v))
		}
		info = f(op, in)
	} else {
		info = unknown(len(shapeOf(op.OneResult().Type())))
	}
	a.infos[op.OneResult()] = hinted(info, op.Attr)
}

// unrealizedCast: what is known of a value is known of it as another type, of a tensor if
// it has as many dimensions.
func (a *analysis) unrealizedCast(op builtin.UnrealizedCastOp) {
	in, out := op.Inputs(), op.Outputs()
	if len(in) != 1 || len(out) != 1 {
		return
	}
	info, to := a.Of(in[0]), out[0].Type()
	_, tensor := to.(*ir.TensorType)
	switch rank := len(shapeOf(to)); {
	case tensor && !mayKnow(to):
		return
	case tensor && len(info.Axes) != rank:
		info = unknown(rank)
	}
	a.infos[out[0]] = info
}

// mayKnow reports whether values of type t are tracked: integers, pointers and
// what may be cast to them.
func mayKnow(t ir.Type) bool {
	switch ir.ElemOf(t).(type) {
	case *ir.IntegerType, *ir.IndexType, *tt.PtrType:
		return true
	}
	return false
}

func (a *analysis) flowAll(to, from []*ir.Value) {
	for i, v := range to {
		if i < len(from) {
			a.flow(v, a.Of(from[i]))
		}
	}
}

func (a *analysis) forLoop(op *ir.Operation) {
	loop, body := scf.AsFor(op), op.Body()
	lb, step := a.Of(loop.LowerBound()), a.Of(loop.Step())
	a.infos[scf.InductionVar(op)] = Info{
		Axes:        []Axis{{Contiguity: 1, Divisibility: gcd(lb.Axes[0].Divisibility, step.Axes[0].Divisibility), Constancy: 1}},
		NonNegative: lb.NonNegative && step.NonNegative,
	}
	inits := loop.InitArgs()
	a.flowAll(scf.IterArgs(op), inits)
	a.untilStable(func() {
		a.region(loop.Region())
		a.flowAll(scf.IterArgs(op), body.Terminator().OperandValues())
	})
	a.flowAll(op.Results(), inits)
	a.flowAll(op.Results(), body.Terminator().OperandValues())
}

func (a *analysis) whileLoop(op *ir.Operation) {
	loop := scf.AsWhile(op)
	before, after := loop.Before().First(), loop.After().First()
	a.flowAll(before.Args(), loop.Inits())
	a.untilStable(func() {
		a.region(loop.Before())
		passed := scf.AsCondition(before.Terminator()).Args()
		a.flowAll(after.Args(), passed)
		a.flowAll(op.Results(), passed)
		a.region(loop.After())
		a.flowAll(before.Args(), after.Terminator().OperandValues())
	})
}

// untilStable repeats body until no value changes any more. Every change makes
// a number smaller or drops a constant, so it ends.
func (a *analysis) untilStable(body func()) {
	outer := a.changed
	for {
		a.changed = false
		body()
		if !a.changed {
			break
		}
		outer = true
	}
	a.changed = outer
}

// branch hands a terminator's operands to the blocks that it leads to.
func (a *analysis) branch(op *ir.Operation) {
	for i, b := range op.Successors() {
		a.flowAll(b.Args(), cf.SuccessorArgs(op, i))
	}
}

func (a *analysis) call(op *ir.Operation) {
	if callee := a.callee(op); callee != nil {
		calls, seen := a.passed[callee]
		if !seen {
			calls = make([]Info, op.NumOperands())
		}
		for i, v := range op.Operands() {
			if seen {
				calls[i] = join(calls[i], a.Of(v))
			} else {
				calls[i] = a.Of(v)
			}
		}
		a.passed[callee] = calls
	}
	for _, r := range op.Results() {
		a.infos[r] = unknown(len(shapeOf(r.Type())))
	}
}

// hinted replaces what the user states to know better.
func hinted(i Info, attr func(string) ir.Attribute) Info {
	set := func(name string, to func(*Axis, int64)) {
		h := attr(name)
		if h == nil {
			return
		}
		axes := make([]Axis, len(i.Axes))
		copy(axes, i.Axes)
		i.Axes = axes
		for d := range axes {
			if v, ok := hintAt(h, d); ok {
				to(&axes[d], v)
			}
		}
	}
	set("tt.contiguity", func(a *Axis, v int64) { a.Contiguity = v })
	set("tt.divisibility", func(a *Axis, v int64) { a.Divisibility = v })
	set("tt.constancy", func(a *Axis, v int64) { a.Constancy = v })
	return i
}

// hintAt is the number for dimension d of a hint: one integer, or a list with
// one integer per dimension.
func hintAt(h ir.Attribute, d int) (int64, bool) {
	switch h := h.(type) {
	case *ir.IntegerAttr:
		return h.Value, h.Value > 0
	case *ir.DenseElementsAttr:
		if h.IsSplat() {
			d = 0
		}
		if d >= len(h.Values) || int64(h.Values[d]) <= 0 {
			return 0, false
		}
		return int64(h.Values[d]), true
	}
	return 0, false
}
