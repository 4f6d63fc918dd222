package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// Set is a kernel compiled ahead of time: variants of it for several targets, hints
// and constants. Load takes those for one device.
type Set struct {
	// Name of the kernel, for people.
	Name string
	// Params are the arguments of a launch in order, constants left out.
	Params []Param
	// Variants of the same constants belong together. A launch takes the constants of
	// the first variant unless it names others, and of the variants with these the
	// one whose hints hold and say most; of several, the first.
	Variants []Variant
}

// Variant is a kernel compiled once.
type Variant struct {
	// Target that it is for, such as "cuda:90"; "" says nothing of it.
	Target string
	// Stage of Code, "ptx" or "cubin" say, as driver.Properties has it.
	Stage string
	// Hints, one per parameter, say what is compiled in: 16 for a multiple of 16, 1 for
	// a number that is 1 (and which the compiled kernel does not take), 0 for neither.
	// Nil says 0 of all.
	Hints []int
	// Constants are the values of the kernel's tl.constexpr parameters: bool, int64,
	// float64, string or nil.
	Constants []Arg
	// Metadata is the JSON object that the compile returns, and Code its artifact.
	Metadata, Code []byte
}

// Function is a Set on a device. Several goroutines may launch it.
type Function struct {
	set      *Set
	device   driver.Device
	variants []*candidate // those for the device
}

// candidate is a variant of a Function.
type candidate struct {
	*Variant
	fn     *Function
	group  int // its constants: the first variant's are group 0
	needs  []need
	mu     sync.Mutex // while it is loaded
	loaded atomic.Pointer[Loaded]
}

// need is a hint other than 0.
type need struct{ param, hint int }

// Load returns the set on a device, with the variants for what the device takes. Their
// code is loaded with the first launch that wants it.
func (s *Set) Load(dev driver.Device) (*Function, error) {
	f := &Function{set: s, device: dev}
	for _, p := range s.Params {
		if _, err := kindOf(p.Type); err != nil {
			return nil, &ArgError{Name: p.Name, Text: err.Error()}
		}
	}
	props := dev.Properties()
	var groups [][]Arg
	var others []string
	for i := range s.Variants {
		v := &s.Variants[i]
		if len(v.Hints) != 0 && len(v.Hints) != len(s.Params) {
			return nil, fmt.Errorf("a variant of %s has %s for %s", s.Name, diag.Count(len(v.Hints), "hint"), diag.Count(len(s.Params), "parameter"))
		}
		if v.Stage != props.Stage || !isFor(v.Target, props.Target) {
			if what := fmt.Sprintf("%s for %s", v.Stage, v.Target); !slices.Contains(others, what) {
				others = append(others, what)
			}
			continue
		}
		c := &candidate{Variant: v, fn: f}
		if c.group = slices.IndexFunc(groups, func(g []Arg) bool { return slices.Equal(g, v.Constants) }); c.group < 0 {
			c.group = len(groups)
			groups = append(groups, v.Constants)
		}
		for p, h := range v.Hints {
			if h != 0 {
				c.needs = append(c.needs, need{p, h})
			}
		}
		f.variants = append(f.variants, c)
	}
	if len(f.variants) == 0 {
		return nil, fmt.Errorf("%s has no code for the %s, which takes %s for %s; it has %s", s.Name, props.Name, props.Stage, props.Target, strings.Join(others, ", "))
	}
	slices.SortStableFunc(f.variants, func(a, b *candidate) int { return cmp.Compare(len(b.needs), len(a.needs)) })
	return f, nil
}

// isFor reports whether code for a target is for a device of another one.
func isFor(name string, device target.Target) bool {
	if name == "" || device == (target.Target{}) {
		return true
	}
	t, err := target.Parse(name)
	return err == nil && t.Backend == device.Backend && t.Arch == device.Arch
}

// Launch runs the kernel on arguments: one per parameter, in order or Named, and Named
// constants that choose among the variants. A parameter takes a *Buffer, a
// *Descriptor, or a number, which is converted to the parameter's type.
func (f *Function) Launch(ctx context.Context, grid Grid, args ...any) (*driver.Result, error) {
	l, to, b, err := f.choose(grid, args)
	if err != nil {
		return nil, err
	}
	r, err := l.Launch(ctx, to, b.args)
	bindings.Put(b.clear())
	return r, err
}

// Bind returns the variant that Launch would run and the launch, for those who run it
// themselves: to time it, say.
func (f *Function) Bind(grid Grid, args ...any) (driver.Kernel, driver.Launch, error) {
	l, to, b, err := f.choose(grid, args)
	if err != nil {
		return nil, driver.Launch{}, err
	}
	launch, err := l.Bind(to, b.args)
	return l.kernel, launch, err
}

// binding is one launch's arguments.
type binding struct {
	args  []any // by parameter
	given []bool
	named []Arg // constants
}

var bindings = sync.Pool{New: func() any { return new(binding) }}

func (b *binding) clear() *binding {
	clear(b.args)
	clear(b.named)
	b.args, b.given, b.named = b.args[:0], b.given[:0], b.named[:0]
	return b
}

// choose finds the variant for a launch.
func (f *Function) choose(grid Grid, args []any) (*Loaded, driver.Launch, *binding, error) {
	b := bindings.Get().(*binding)
	c, to, err := f.bind(b, grid, args)
	if err == nil {
		var l *Loaded
		if l, err = c.load(); err == nil {
			return l, to, b, nil
		}
	}
	bindings.Put(b.clear())
	return nil, to, nil, err
}

func (f *Function) bind(b *binding, grid Grid, args []any) (*candidate, driver.Launch, error) {
	var none driver.Launch
	if err := f.match(b, args); err != nil {
		return nil, none, err
	}
	c, err := f.pick(b)
	if err != nil {
		return nil, none, err
	}
	if !grid.IsFunc() {
		to, err := grid.Resolve(nil)
		return c, to, err
	}
	to, err := grid.Resolve(func(name string) (any, bool) {
		for i := range f.set.Params {
			if f.set.Params[i].Name == name {
				return b.args[i], true
			}
		}
		i := slices.IndexFunc(c.Constants, func(a Arg) bool { return a.Name == name })
		if i < 0 {
			return nil, false
		}
		return c.Constants[i].Value, true
	})
	return c, to, err
}

// match gives each parameter its argument.
func (f *Function) match(b *binding, args []any) error {
	params := f.set.Params
	b.args = slices.Grow(b.args[:0], len(params))[:len(params)]
	b.given = slices.Grow(b.given[:0], len(params))[:len(params)]
	clear(b.given)
	next := 0
	for _, a := range args {
		at := next
		named, ok := a.(Arg)
		if ok {
			a = named.Value
		}
		if named.Name == "" {
			next++
		} else if at = slices.IndexFunc(params, func(p Param) bool { return p.Name == named.Name }); at < 0 {
			b.named = append(b.named, named)
			continue
		}
		switch {
		case at >= len(params):
			return wrongArg("", "%s takes %s and no more: %s", f.set.Name, diag.Count(len(params), "argument"), f.usage())
		case b.given[at]:
			return wrongArg(params[at].Name, "it is given twice")
		}
		if IsNull(a) {
			a = nil
		}
		b.args[at], b.given[at] = a, true
	}
	var missing []string
	for i, ok := range b.given {
		if !ok {
			missing = append(missing, params[i].Name)
		}
	}
	if missing != nil {
		e := wrongArg("", "%s lacks arguments: %s; it is %s", f.set.Name, strings.Join(missing, ", "), f.usage())
		e.Missing = missing
		return e
	}
	return nil
}

// usage is the kernel as its launches see it.
func (f *Function) usage() string {
	parts := make([]string, len(f.set.Params))
	for i, p := range f.set.Params {
		parts[i] = p.Name + ": " + p.Type
	}
	return f.set.Name + "(" + strings.Join(parts, ", ") + ")"
}

// pick finds the variant for the arguments.
func (f *Function) pick(b *binding) (*candidate, error) {
	group := 0
	if len(b.named) > 0 {
		if group = f.groupOf(b.named); group < 0 {
			return nil, f.noConstants(b.named)
		}
	}
	for _, c := range f.variants {
		if c.group == group && c.takes(b.args) {
			return c, nil
		}
	}
	return nil, f.noVariant(group, b.args)
}

// groupOf is the first group with constants of these values, or -1.
func (f *Function) groupOf(named []Arg) int {
	best := -1
	for _, c := range f.variants {
		if (best < 0 || c.group < best) && !slices.ContainsFunc(named, func(a Arg) bool { return !c.has(a) }) {
			best = c.group
		}
	}
	return best
}

// has reports whether a constant has a value.
func (c *candidate) has(a Arg) bool {
	return slices.ContainsFunc(c.Constants, func(k Arg) bool {
		if k.Name != a.Name {
			return false
		}
		if n, _, ok := Integer(a.Value); ok {
			m, _, ok := Integer(k.Value)
			return ok && n == m
		}
		if x, ok := Number(a.Value); ok {
			y, ok := Number(k.Value)
			return ok && x == y
		}
		return k.Value == a.Value
	})
}

// takes reports whether the hints hold.
func (c *candidate) takes(args []any) bool {
	for _, n := range c.needs {
		if !holds(args[n.param], n.hint) {
			return false
		}
	}
	return true
}

// holds reports whether an argument is what a hint says.
func holds(v any, hint int) bool {
	if v == nil {
		return hint != 1
	}
	if m, ok := v.(Memory); ok {
		return hint != 1 && m.Addr()%uint64(hint) == 0
	}
	n, _, ok := Integer(v)
	if !ok {
		return false
	}
	if hint == 1 {
		return n == 1
	}
	return n%int64(hint) == 0
}

func (f *Function) noConstants(named []Arg) error {
	known := map[string]bool{}
	for _, c := range f.variants {
		for _, k := range c.Constants {
			known[k.Name] = true
		}
	}
	var says []string
	for _, a := range named {
		if !known[a.Name] {
			return wrongArg(a.Name, "%s has neither such a parameter nor such a constant; it is %s", f.set.Name, f.usage())
		}
		says = append(says, fmt.Sprintf("%s=%v", a.Name, a.Value))
	}
	return wrongArg("", "no variant of %s is compiled for %s", f.set.Name, strings.Join(says, ", "))
}

// noVariant says which hints of a group's variants do not hold.
func (f *Function) noVariant(group int, args []any) error {
	for i, v := range args {
		for _, c := range f.variants {
			if c.group != group {
				continue
			}
			for _, n := range c.needs {
				if n.param != i || holds(v, n.hint) {
					continue
				}
				what := fmt.Sprint(v)
				if m, ok := v.(Memory); ok {
					what = fmt.Sprintf("its address 0x%x", m.Addr())
				}
				return wrongArg(f.set.Params[i].Name, "no variant of %s takes %s: it is compiled for %s", f.set.Name, what,
					map[bool]string{true: "the value 1", false: fmt.Sprintf("multiples of %d", n.hint)}[n.hint == 1])
			}
		}
	}
	panic("BUG: kernel: every variant's hints hold, and none was taken")
}

// load puts the variant's code on the device, once.
func (c *candidate) load() (*Loaded, error) {
	if l := c.loaded.Load(); l != nil {
		return l, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loaded.Load(); l != nil {
		return l, nil
	}
	set := c.fn.set
	meta, err := driver.ParseMetadata(c.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", set.Name, err)
	}
	var params []Passed
	for i, p := range set.Params {
		if len(c.Hints) == 0 || c.Hints[i] != 1 {
			params = append(params, Passed{Param: p, Arg: i})
		}
	}
	l, err := Load(c.fn.device, driver.Binary{Name: set.Name + "." + c.Stage, Code: c.Code, Metadata: meta}, params)
	if err != nil {
		return nil, err
	}
	c.loaded.Store(l)
	return l, nil
}
