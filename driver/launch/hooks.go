package launch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
)

// Hooks are what the file has done around a launch: pre_hook, post_hook, reset_to_zero
// and restore_value of @triton.autotune, pre_hook of triton.Config. They change the
// arrays that are the launch's arguments. They belong to one goroutine.
type Hooks struct {
	hooks   *frontend.Hooks
	changed map[*array.Array]bool
	print   func(text string)
	// called says that the configuration's hook was called in advance, to learn of the
	// blocks that it gives to descriptors.
	called bool
	// reset says that what was measured before is to be reset once.
	reset bool
}

// Before does what comes before a launch that is measured, and returns the arrays that
// it changed.
func (h *Hooks) Before(ctx context.Context) ([]*array.Array, error) {
	return h.do(func() error { return h.hooks.Before(ctx, h.print) })
}

// After does what comes after it.
func (h *Hooks) After(ctx context.Context) ([]*array.Array, error) {
	return h.do(func() error { return h.hooks.After(ctx, h.print) })
}

// run does what comes before a launch whose configuration has been chosen.
func (h *Hooks) run(ctx context.Context) error {
	if h.reset {
		h.reset = false
		if err := h.hooks.Reset(ctx, h.print); err != nil {
			return err
		}
	}
	if h.called {
		h.called = false
		return nil
	}
	return h.hooks.Config(ctx, h.print)
}

func (h *Hooks) do(f func() error) ([]*array.Array, error) {
	clear(h.changed)
	err := f()
	return slices.Collect(maps.Keys(h.changed)), err
}

// contents are an array as hooks see it.
type contents struct {
	x       *array.Array
	changed map[*array.Array]bool // nil of a copy
}

func (m *contents) change() {
	m.x.Unset = false
	if m.changed != nil {
		m.changed[m.x] = true
	}
}

func (m *contents) Fill(v float64) {
	if len(m.x.Data) > 0 { // else it is known by its type and shape alone
		m.x.Fill(v)
	}
	m.change()
}

func (m *contents) Copy(from frontend.Memory) error {
	f := from.(*contents) // frontend makes none
	if f.x.Type != m.x.Type || len(f.x.Data) != len(m.x.Data) {
		return fmt.Errorf("%s cannot be copied to %s", f.x, m.x)
	}
	copy(m.x.Data, f.x.Data)
	m.change()
	return nil
}

func (m *contents) Clone() frontend.Memory { return &contents{x: m.x.Clone()} }

// hook takes up the hooks of a variant. One of a configuration may give the blocks of
// descriptors another shape, which the kernel is compiled for.
func (p *Prepared) hook(ctx context.Context) error {
	hooks, err := p.variant.Hooks(ctx)
	if err != nil || hooks == nil {
		return named(err)
	}
	h := &Hooks{hooks: hooks, changed: p.kernel.changed, print: p.req.Options.Print, reset: p.Known.Configs > 1}
	args := slices.Clone(p.req.Args)
	if !slices.ContainsFunc(args, func(a Arg) bool { _, ok := a.Value.(*Descriptor); return ok }) {
		p.kernel.Hooks = h
		return nil
	}
	if err := hooks.Config(ctx, h.print); err != nil {
		return err
	}
	h.called = true
	blocks, differ := hooks.Blocks(), false
	for i := range args {
		d, ok := args[i].Value.(*Descriptor)
		if !ok {
			continue
		}
		to := narrow(blocks[args[i].Name])
		if !slices.Equal(to, d.Block) {
			differ = true
			c := *d
			c.Block = to
			args[i].Value = &c
		}
	}
	if differ {
		if err := p.respecialize(ctx, args); err != nil {
			return err
		}
	}
	p.kernel.Hooks = h
	return nil
}

// respecialize prepares the kernel anew for arguments that differ, with the
// configuration that was chosen.
func (p *Prepared) respecialize(ctx context.Context, args []Arg) error {
	known := *p.Known
	req := p.req
	src := *req.Source
	req.Source, req.Args = &src, args
	if known.Config >= 0 {
		src.Config = strconv.Itoa(known.Config)
	}
	p.kernel = Kernel{changed: p.kernel.changed, early: p.kernel.early}
	variant, err := p.kernel.specialize(ctx, &req)
	if err != nil {
		return err
	}
	p.req, p.variant, p.Known = req, variant, variant.Known()
	p.Known.Chosen, p.Known.Left = known.Chosen, known.Left
	return nil
}
