package frontend

import (
	"context"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
)

// tunes notes what @triton.autotune says beside its configurations.
func (b *binder) tunes() {
	a := b.fn.Params.Autotune()
	if a == nil {
		return
	}
	t := &Tuning{Graph: a.Graph, OwnBench: a.DoBench, Hooked: a.PreHook != nil || a.PostHook != nil || b.config != nil && b.config.PreHook != nil}
	t.Key = b.tuneNames("key", a.Key, false)
	t.ResetToZero = b.tuneNames("reset_to_zero", a.ResetToZero, true)
	t.RestoreValue = b.tuneNames("restore_value", a.RestoreValue, true)
	for _, ms := range []struct {
		name string
		from any
		to   *float64
	}{{"warmup", a.Warmup, &t.Warmup}, {"rep", a.Rep, &t.Rep}} {
		if ms.from == nil {
			continue
		}
		v, ok := eval.AsFloat(ms.from)
		if !ok || v < 0 {
			b.tuneError("%s of @triton.autotune is %s, which is not a number of milliseconds", ms.name, eval.Repr(ms.from))
		}
		*ms.to = v
	}
	b.tuning = t
}

func (b *binder) tuneError(format string, args ...any) {
	at := b.e.placeOf(b.fn, autotuneName)
	d := diag.Errorf(at.Pos, format, args...)
	d.EndCol, d.Line = at.EndCol, at.Line
	b.errs = append(b.errs, d)
}

// tuneNames reads a list of names of arguments. Triton passes over unknown ones in a
// key alone.
func (b *binder) tuneNames(what string, list []any, must bool) (names []string) {
	for _, v := range list {
		name, ok := v.(string)
		switch at := indexOf(b.params, name); {
		case !ok:
			b.tuneError("%s of @triton.autotune has %s, which is not a name of an argument", what, eval.Repr(v))
		case at >= 0:
			names = append(names, name)
		case must:
			d := "'%s' in %s of @triton.autotune is not a parameter of '%s'"
			b.tuneError(d, name, what, b.fn.Name())
		}
	}
	return names
}

// Hooks are what @triton.autotune and triton.Config have done around a launch of a
// variant. They are Python, with what goes beside it: arguments that are reset to zero,
// and those that are restored. They belong to one goroutine.
type Hooks struct {
	e      *evaluation
	k      *binding
	tune   *eval.Autotune
	copies map[string]lang.Memory
}

// Hooks returns those of a variant that was made for a launch, of whose tensors they
// change the Memory; nil where there are none.
func (p *Program) Hooks(ctx context.Context, v *Variant) (*Hooks, error) {
	t := v.Tuning
	if v.request.Launch == nil || t == nil || !t.Hooked && len(t.ResetToZero)+len(t.RestoreValue) == 0 {
		return nil, nil
	}
	h := &Hooks{e: p.start()}
	err := h.e.use(ctx, nil, nil, func(e *evaluation) (err error) {
		if h.k, err = e.bind(v); err == nil {
			h.tune = h.k.fn.Params.Autotune()
			for i, key := range h.k.args.Keys {
				lend(h.k.args.Values[i], v.request.Launch.Values[eval.Str(key)])
			}
		}
		return err
	})
	return h, err
}

// lend gives tensors among the arguments of functions their memory.
func lend(arg, launch any) {
	switch v := launch.(type) {
	case Tensor:
		if t, ok := arg.(*lang.LaunchTensor); ok {
			t.Memory = v.Memory
		}
	case Descriptor:
		if d, ok := arg.(*lang.LaunchDescriptor); ok {
			d.Base.Memory = v.Memory
		}
	case []any:
		if t, ok := arg.(*eval.Tuple); ok {
			for i := range min(len(v), len(t.Elems)) {
				lend(t.Elems[i], v[i])
			}
		}
	}
}

// Reset does what Triton does once before it launches what it has chosen: pre_hook with
// reset_only, or reset_to_zero.
func (h *Hooks) Reset(ctx context.Context, print func(text string)) error {
	return h.do(ctx, print, func(s *eval.Session) {
		h.before(s, []eval.Keyword{{Name: "reset_only", Value: true}}, false)
	})
}

// Config calls the pre_hook of the variant's configuration.
func (h *Hooks) Config(ctx context.Context, print func(text string)) error {
	return h.do(ctx, print, h.config)
}

// Before does what comes before a launch that is measured: pre_hook of the
// configuration, then that of the decorator, or reset_to_zero and restore_value.
func (h *Hooks) Before(ctx context.Context, print func(text string)) error {
	return h.do(ctx, print, func(s *eval.Session) {
		h.config(s)
		h.before(s, nil, true)
	})
}

// After does what comes after a launch that is measured: post_hook, or restore_value.
func (h *Hooks) After(ctx context.Context, print func(text string)) error {
	return h.do(ctx, print, func(s *eval.Session) {
		if h.tune.PostHook != nil {
			call(s, h.tune.PostHook, h.k.args, eval.Keyword{Name: "exception", Value: nil})
			return
		}
		for name, copied := range h.copies {
			if err := h.memory(name).Copy(copied); err != nil {
				eval.Fail("restore_value of '%s': %v", name, err)
			}
		}
		h.copies = nil
	})
}

// Blocks are the shapes of the blocks of descriptors, which a hook may have changed, by
// parameter.
func (h *Hooks) Blocks() map[string][]int64 {
	blocks := map[string][]int64{}
	for i, key := range h.k.args.Keys {
		if d, ok := h.k.args.Values[i].(*lang.LaunchDescriptor); ok {
			blocks[eval.Str(key)] = slices.Clone(d.Block)
		}
	}
	return blocks
}

func (h *Hooks) config(s *eval.Session) {
	if c := h.k.config; c != nil && c.PreHook != nil {
		call(s, c.PreHook, h.k.args)
	}
}

// before calls the decorator's pre_hook, or does what it does where there is none.
func (h *Hooks) before(s *eval.Session, kw []eval.Keyword, keep bool) {
	if h.tune.PreHook != nil {
		call(s, h.tune.PreHook, h.k.args, kw...)
		return
	}
	for _, name := range h.k.tuning.ResetToZero {
		h.memory(name).Fill(0)
	}
	if !keep {
		return
	}
	h.copies = map[string]lang.Memory{}
	for _, name := range h.k.tuning.RestoreValue {
		h.copies[name] = h.memory(name).Clone()
	}
}

// call calls a hook, which may be a lambda that returns what it was to do.
func call(s *eval.Session, hook any, args *eval.Dict, kw ...eval.Keyword) {
	if m, ok := s.Apply(hook, []any{args}, kw).(*eval.Missing); ok {
		m.Fail()
	}
}

// memory is that of an argument.
func (h *Hooks) memory(name string) lang.Memory {
	v, _ := h.k.args.Get(name)
	t, ok := v.(*lang.LaunchTensor)
	if !ok || t.Memory == nil {
		eval.Fail("'%s' in reset_to_zero or restore_value of @triton.autotune is not a tensor", name)
	}
	return t.Memory
}

// do has f call functions of the file. What they cannot do is an error with its place.
func (h *Hooks) do(ctx context.Context, print func(text string), f func(s *eval.Session)) error {
	return h.e.use(ctx, nil, print, func(e *evaluation) error {
		e.session.Effects = true
		fail := eval.Try(func() { f(e.session) })
		e.session.Effects = false
		if fail == nil {
			return nil
		}
		d := fail.Diagnostic()
		if d.Pos == (diag.Pos{}) {
			at := e.placeOf(h.k.fn, autotuneName)
			d.Pos, d.EndCol, d.Line = at.Pos, at.EndCol, at.Line
		}
		d.Message = "a hook of '" + h.k.fn.Name() + "' cannot be called: " + d.Message
		return d
	})
}
