package launch

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
)

// hook calls the pre_hook of a configuration, as Triton does before each launch, and
// finds the variant for what it leaves: it may write to memory, and change the blocks
// of descriptors. Hooks of @triton.autotune are for measuring, and are not called.
func (f *Function) hook(ctx context.Context, fr *frame, config int) (*variant, error) {
	fr.config, fr.hooked = strconv.Itoa(config), true
	lent := &lender{}
	src, _, _, err := f.specialize(ctx, fr, lent)
	if err != nil {
		return nil, err
	}
	hooks, err := src.Hooks(ctx)
	if err != nil {
		return nil, named(err)
	}
	if err := hooks.Config(ctx, f.opts.Compile.Print); err != nil {
		return nil, err
	}
	if lent.err != nil {
		return nil, fmt.Errorf("pre_hook of a configuration of %s: %w", f.info.Name, lent.err)
	}
	blocks := hooks.Blocks()
	for i := range fr.args {
		d, ok := fr.args[i].(*kernel.Descriptor)
		if !ok {
			continue
		}
		if b := narrow(blocks[f.info.Params[i].Name]); !slices.Equal(b, d.Block) {
			c := *d // the caller's stays as it is
			c.Block = b
			fr.args[i] = &c
		}
	}
	return f.variant(ctx, fr)
}

func narrow(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// lender gives hooks the memory of a launch's arguments, and keeps the first error of
// the device.
type lender struct{ err error }

// tensor is memory as functions of the file see it; a nil lender lends none.
func (f *Function) tensor(m kernel.Memory, shape []int, l *lender) frontend.Tensor {
	t := frontend.Tensor{Type: m.Type().Name, Shape: widen(shape)}
	addr := m.Addr() // the function that follows is kept, and shall not keep the memory
	t.Address = func() (uint64, bool) {
		f.byAddress.Store(true)
		return addr, true
	}
	if l != nil {
		t.Memory = &tensor{l, m, nil}
	}
	return t
}

// tensor is memory of a device, or a copy of it.
type tensor struct {
	lender *lender
	memory kernel.Memory
	copied *array.Array
}

func (t *tensor) fetch() *array.Array {
	if t.copied != nil {
		return t.copied
	}
	a, err := kernel.Fetch(t.memory)
	if err != nil {
		t.lender.fail(err)
		return array.New(t.memory.Type(), t.memory.Len())
	}
	return a
}

func (t *tensor) store(a *array.Array) {
	if t.copied != nil {
		copy(t.copied.Data, a.Data)
		return
	}
	t.lender.fail(kernel.Store(t.memory, a))
}

func (l *lender) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Fill implements frontend.Memory.
func (t *tensor) Fill(v float64) {
	a := t.copied
	if a == nil {
		a = array.New(t.memory.Type(), t.memory.Len())
	}
	t.store(a.Fill(v))
}

// Copy implements frontend.Memory.
func (t *tensor) Copy(from frontend.Memory) error {
	a, b := t.fetch(), from.(*tensor).fetch() // a launch has no others
	if a.Type != b.Type || a.Len() != b.Len() {
		return fmt.Errorf("%s cannot be copied to %s", b, a)
	}
	t.store(b)
	return nil
}

// Clone implements frontend.Memory.
func (t *tensor) Clone() frontend.Memory { return &tensor{t.lender, t.memory, t.fetch().Clone()} }
