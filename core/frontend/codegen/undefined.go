package codegen

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// undefined is a value of the variables of loops, after them.
type undefined struct {
	name  string
	at    syntax.Span // of the loop
	value *ir.Value
	said  bool
}

// undefined makes the value that a loop's variable has after the loop, which is
// unknown until it is used: most are not.
func (g *gen) undefined(t ir.Type, name string, at syntax.Span) *ir.Value {
	v := ub.NewPoison(g.u.b, t)
	g.after = append(g.after, &undefined{name: name, at: at, value: v})
	return v
}

// warnUndefined warns where a loop's variable is read after the loop.
func (g *gen) warnUndefined(v any) {
	t, ok := v.(*lang.Tensor)
	if !ok {
		return
	}
	for _, u := range g.after {
		if u.value == t.V && !u.said {
			u.said = true
			g.u.WarnHelp(undefinedHelp(u.name), "'%s' is read after its loop, where Triton leaves its value open; it is 0 here", u.name)
		}
	}
}

func undefinedHelp(name string) string {
	return "Python's would be that of the last iteration: keep that in the loop, last = " + name + ", in a variable with a value before it"
}

// defineUndefined makes zeros of the variables that are used after their loops:
// one value, whatever is computed of it.
func (g *gen) defineUndefined() {
	for _, u := range g.after {
		if !u.value.HasUses() {
			continue
		}
		if !u.said { // no expression reads it, but a conditional passes it on
			g.node = u.at
			g.u.WarnHelp(undefinedHelp(u.name), "'%s' is used after its loop, where Triton leaves its value open; it is 0 here", u.name)
		}
		g.makeZero(u.value)
	}
}

// makeZero puts a zero in the place of a poison value.
func (g *gen) makeZero(v *ir.Value) {
	op, t := v.Def(), v.Type()
	b := g.u.b
	point := b.Save()
	b.At(op)
	switch elem := ir.ElemOf(t); {
	case ir.IsInt(elem, 0):
		v.ReplaceAllUsesWith(arith.Int(b, t, 0))
	case ir.IsFloat(elem):
		v.ReplaceAllUsesWith(arith.Float(b, t, 0))
	default: // a pointer, which the lowering makes a null one
		b.Restore(point)
		return
	}
	op.Erase()
	b.Restore(point)
}
