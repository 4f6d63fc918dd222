package host

import (
	"github.com/tritonc/tritonc/core/frontend/eval"
)

// application is one call of an autograd function: what its backward needs.
type application struct {
	class  *eval.Class
	ctx    *gradContext
	inputs []any
	count  int // of its results
}

// autograd is torch.autograd.
func (p *Program) autograd() any {
	return &overlay{"torch.autograd", map[string]any{"Function": &gradFunction{}}, nil, func(name string) any {
		return ownOfTorch("torch.autograd." + name)
	}}
}

// gradFunction is torch.autograd.Function, a base of classes.
type gradFunction struct{}

func (*gradFunction) TypeName() string { return "type" }

// ClassAttr gives apply, which runs forward and remembers what made its results.
func (*gradFunction) ClassAttr(class *eval.Class, name string) (any, bool) {
	if name != "apply" {
		return nil, false
	}
	return &eval.Native{Name: "apply", Fn: func(s *eval.Session, args []any, kw []eval.Keyword) any {
		forward, ok := class.Attr("forward")
		if !ok {
			eval.Fail("%s has no forward()", class.Name)
		}
		a := &application{class: class, ctx: &gradContext{vars: map[string]any{}}, inputs: args}
		result := s.Apply(forward, append([]any{a.ctx}, args...), kw)
		results := []any{result}
		if t, ok := result.(*eval.Tuple); ok {
			results = t.Elems
		}
		a.count = len(results)
		for _, v := range results {
			if t, ok := v.(*Tensor); ok {
				t.made = a
			}
		}
		return result
	}}, true
}

// gradContext is the ctx of forward and backward.
type gradContext struct {
	vars  map[string]any
	saved []any
}

// Attr gives what the functions set, and what they saved.
func (c *gradContext) Attr(name string) (any, bool) {
	switch name {
	case "save_for_backward":
		return function(name, "*tensors", nil, func(k *call) any { c.saved = k.rest; return nil }), true
	case "saved_tensors":
		return eval.NewTuple(c.saved...), true
	case "mark_non_differentiable", "set_materialize_grads", "mark_dirty":
		return function(name, "*args", nil, func(*call) any { return nil }), true
	case "needs_input_grad":
		return &everything{}, true
	}
	v, ok := c.vars[name]
	return v, ok
}

// everything answers True at any index.
type everything struct{}

// Index of anything.
func (*everything) Index(any) any { return true }

// SetAttr keeps what the functions hand on.
func (c *gradContext) SetAttr(name string, v any) bool {
	c.vars[name] = v
	return true
}
func (c *gradContext) TypeName() string { return "FunctionCtx" }

// backward runs the backward of the function that made t, and gives the gradients
// to the tensors that it was applied to. Gradients that are there already are not
// added to: that would be a kernel of torch's.
func (t *Tensor) backward(c *call) any {
	a := t.made
	if a == nil {
		missing("torch.Tensor.backward")
	}
	if a.count != 1 {
		missing("torch.Tensor.backward (of one of several results)")
	}
	backward, ok := a.class.Attr("backward")
	if !ok {
		eval.Fail("%s has no backward()", a.class.Name)
	}
	result := c.s.Apply(backward, []any{a.ctx, c.need("gradient")}, nil)
	grads := []any{result}
	if g, ok := result.(*eval.Tuple); ok {
		grads = g.Elems
	}
	for i, g := range grads {
		if i >= len(a.inputs) {
			break
		}
		t, ok := a.inputs[i].(*Tensor)
		if !ok || !t.requiresGrad || g == nil {
			continue
		}
		if t.grad != nil {
			t.program.note("the addition to a gradient")
			continue
		}
		if t.made != nil {
			missing("torch.Tensor.backward (through several functions)")
		}
		t.grad = g
	}
	return nil
}
