package codegen

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// gen compiles one function.
type gen struct {
	u      *unit
	fn     *eval.Function
	file   *eval.File
	dedent int // columns that the function's text is indented by

	scope scope
	defs  []string // names assigned since the current region began

	prefix string      // the variable being assigned
	node   syntax.Span // the node being visited
	loops  int         // scf loops and conditionals around

	returned bool
	result   any
	outer    *gen
	after    []*undefined // the variables of loops, after them
}

func (u *unit) newGen(fn *eval.Function) *gen {
	g := &gen{u: u, fn: fn, file: fn.Module.File, dedent: int(fn.Span().Col), outer: u.gen, node: fn.Span()}
	u.gen = g
	return g
}

// locate gives a passing failure the place that g is at.
func (g *gen) locate() {
	if r := recover(); r != nil {
		if f, ok := r.(*eval.Failure); ok {
			f.At(g.file, g.node)
		}
		panic(r)
	}
}

// body compiles the statements into c's entry block and completes c.
func (g *gen) body(c *compiled) {
	u := g.u
	u.b.SetToEnd(c.op.Body())
	u.b.Loc = u.defLoc(g.fn)
	g.block(g.fn.Def.Body)
	hs := lang.Flatten(g.result, nil)
	for i, h := range hs { // the end, which few paths reach
		hs[i] = ub.NewPoison(u.b, h.Type())
	}
	end := u.b.Block()
	u.b.Op(tt.Return, hs)
	if len(u.errs) == 0 { // else the module is not whole, and goes nowhere
		if reached := dropUnreached(tt.AsFunc(c.op).Body()); len(hs) > 0 && reached[end] {
			g.node = g.fn.Span()
			g.u.WarnHelp("end it with a return", "%s() can end without a return statement, and then returns zeros", g.fn.Name())
			for _, h := range hs {
				g.makeZero(h)
			}
		}
		g.defineUndefined()
	}
	if hs := lang.Flatten(g.result, nil); len(hs) > 0 {
		types := make([]ir.Type, len(hs))
		for i, h := range hs {
			types[i] = h.Type()
		}
		tt.AsFunc(c.op).SetFunctionType(u.ctx.Func(tt.Signature(c.op).In, types))
	}
	c.result, c.done = g.result, true
	u.gen = g.outer
}

// dropUnreached erases the blocks that follow a return, and returns the others;
// nil where there is one block.
func dropUnreached(r *ir.Region) map[*ir.Block]bool {
	if r.First() == r.Last() {
		return nil
	}
	reached := make(map[*ir.Block]bool)
	for _, b := range ir.ReversePostorder(r) {
		reached[b] = true
	}
	var dead []*ir.Block
	for b := range r.Blocks() {
		if reached[b] {
			continue
		}
		dead = append(dead, b)
		for op := range b.Ops() { // which may use one another's values, across blocks
			dropOperands(op)
		}
	}
	for _, b := range dead {
		b.Erase()
	}
	return reached
}

func dropOperands(op *ir.Operation) {
	op.SetOperands(nil)
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			for inner := range b.Ops() {
				dropOperands(inner)
			}
		}
	}
}

// at moves the builder's location to a node.
func (g *gen) at(s syntax.Span) {
	g.node = s
	var l ir.Location = g.u.ctx.FileLoc(g.file.Name, int(s.Line), max(int(s.Col)-g.dedent, 0))
	if g.prefix != "" {
		l = g.u.ctx.NameLoc(g.prefix, l)
	}
	g.u.b.Loc = l
}

// nameValues puts a variable's name around the locations of v's SSA values.
func (g *gen) nameValues(name string, hs []*ir.Value) {
	for _, h := range hs {
		l := g.u.ctx.NameLoc(name, h.Loc())
		if op := h.Def(); op != nil {
			op.SetLoc(l)
		} else {
			h.SetLoc(l)
		}
	}
}

// toEnd sets the insertion point to the end of b and takes the location of its
// last operation.
func (g *gen) toEnd(b *ir.Block) {
	g.u.b.SetToEnd(b)
	if op := b.Last(); op != nil {
		g.u.b.Loc = op.Loc()
	}
}

// scope maps names to values in order of first definition.
type scope struct {
	vars  []variable
	index map[string]int // where a name was last seen in vars; checked on use
}

type variable struct {
	name  string
	value any
	// fixed: the value is in a constexpr of Triton's, not by itself.
	fixed bool
}

func (s *scope) find(name string) int {
	if i, ok := s.index[name]; ok && i < len(s.vars) && s.vars[i].name == name {
		return i
	}
	for i := range s.vars {
		if s.vars[i].name == name {
			s.index[name] = i
			return i
		}
	}
	return -1
}

func (s *scope) get(name string) (any, bool) {
	if i := s.find(name); i >= 0 {
		return s.vars[i].value, true
	}
	return nil, false
}

// fix is set for a value in a constexpr.
func (s *scope) fix(name string, v any) {
	s.set(name, v)
	s.vars[s.find(name)].fixed = true
}

func (s *scope) isFixed(name string) bool {
	i := s.find(name)
	return i >= 0 && s.vars[i].fixed
}

func (s *scope) set(name string, v any) {
	if i := s.find(name); i >= 0 {
		s.vars[i].value, s.vars[i].fixed = v, false
		return
	}
	if s.index == nil {
		s.index = make(map[string]int, 16)
	}
	s.index[name] = len(s.vars)
	s.vars = append(s.vars, variable{name: name, value: v})
}

// snapshot copies the variables; restore goes back to a copy.
func (s *scope) snapshot() []variable     { return append([]variable(nil), s.vars...) }
func (s *scope) restore(saved []variable) { s.vars = append(s.vars[:0:0], saved...) }
func valueIn(vars []variable, name string) any {
	for i := range vars {
		if vars[i].name == name {
			return vars[i].value
		}
	}
	return nil
}

// define sets a variable and remembers that this region did.
func (g *gen) define(name string, v any) {
	g.scope.set(name, v)
	for _, d := range g.defs {
		if d == name {
			return
		}
	}
	g.defs = append(g.defs, name)
}

// region runs f with the variables as they are and restores them after, as a
// nested region must not leak what it defines. It returns what f left.
func (g *gen) region(f func()) (left []variable, defs []string) {
	saved, savedDefs := g.scope.snapshot(), g.defs
	g.defs = nil
	f()
	left, defs = g.scope.vars, g.defs
	g.scope.restore(saved)
	g.defs = savedDefs
	return left, defs
}
