package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
)

// Options say which file's code runs, and on what.
type Options struct {
	// Source is a Python file.
	Source *core.Source
	Target core.Target
	// Compile is as for core.Compile; Stages is not looked at. Its Values hold for
	// every launch, beside those that the code gives.
	Compile core.Options
	Device  driver.Device
	// Bench is how do_bench measures, where the code does not say.
	Bench bench.Options
	// Seed is that of random tensors, until the code sets one.
	Seed uint64
}

// Program is a file whose host code runs. It belongs to one goroutine.
type Program struct {
	ctx    context.Context
	opts   Options
	module *eval.Module
	rand   *rand.Rand

	// recording is the measurement under way, or nil.
	recording *recording
	// owned are the tensors' memories on the device, of a Measure or of the module.
	owned []*storage
	// untimed are what a do_bench ran beside kernels.
	untimed []string
	tuned   map[string]int
	failure error // of a device or a compile, which the code cannot catch
}

// Run evaluates a file and has do work with it. The file's top level runs as far as
// what do asks for needs it.
func Run(ctx context.Context, opts Options, do func(p *Program) error) error {
	src := *opts.Source
	src.Define = withDevice(src.Define, opts.Device.Properties())
	opts.Source = &src
	p := &Program{ctx: ctx, opts: opts, rand: rand.New(rand.NewPCG(opts.Seed, 0)), tuned: map[string]int{}}
	defer func() { p.release(0) }()
	return core.Host(ctx, opts.Source, opts.Target, &opts.Compile, &modules{p}, func(m *eval.Module) error {
		p.module = m
		return do(p)
	})
}

// withDevice adds to definitions what code asks of the device at hand, where the
// user does not say it.
func withDevice(given []core.Definition, props driver.Properties) []core.Definition {
	const processors = "device.multiprocessor_count"
	if slices.ContainsFunc(given, func(d core.Definition) bool { return d.Name == processors }) {
		return given
	}
	return append(slices.Clone(given), core.Definition{Name: processors, Value: strconv.Itoa(props.Multiprocessors)})
}

// Call calls a function of the file, and returns what it returns.
func (p *Program) Call(name string, args ...any) (any, error) {
	var result any
	err := p.try(func() {
		fn, ok := p.module.Lookup(name)
		if !ok {
			eval.Fail("%s has no function '%s'", p.opts.Source.Path, name)
		}
		result = p.module.Session.Apply(fn, args, nil)
	})
	return result, err
}

// Missing is the error of code that needs what only torch, or another module that
// is not here, has.
type Missing struct {
	// Name is what is missing: "torch.softmax".
	Name string
	// Diagnostic is the whole story, at the line that needs it.
	Diagnostic *diag.Diagnostic
}

func (e *Missing) Error() string { return e.Diagnostic.Error() }

// Unwrap gives the diagnostic.
func (e *Missing) Unwrap() error { return e.Diagnostic }

// try runs code of the file.
func (p *Program) try(f func()) error {
	p.failure = nil
	fail := eval.Try(f)
	var mistake diag.List
	switch {
	case fail == nil:
		return nil
	case p.failure != nil && p.ctx.Err() != nil:
		return p.ctx.Err()
	case errors.As(p.failure, &mistake):
		return p.failure // of a compile, which has a place
	}
	d := fail.Diagnostic()
	if fail.Missing != nil {
		name, _, _ := strings.Cut(fail.Missing.Name, "()")
		return &Missing{name, d}
	}
	if p.failure != nil {
		return &failed{d, p.failure}
	}
	return d
}

// failed is an error of the device, at the line whose code met it.
type failed struct {
	*diag.Diagnostic
	err error
}

func (e *failed) Unwrap() []error { return []error{e.Diagnostic, e.err} }

// fail ends the code because of an error that is not Python's.
func (p *Program) fail(what string, err error) {
	if p.failure == nil {
		p.failure = err
	}
	eval.Fail("%s: %v", what, err)
}

// missing ends the code because it needs something of torch's own.
func missing(format string, args ...any) {
	name := fmt.Sprintf(format, args...)
	m := &eval.Missing{Name: name}
	panic(&eval.Failure{
		Msg: "'" + name + "' is torch's own, which is not here", Missing: m,
	})
}

// release frees the device's memory of tensors beyond the first n.
func (p *Program) release(n int) {
	for _, s := range p.owned[n:] {
		s.free()
	}
	p.owned = p.owned[:n]
}

// note remembers something that do_bench cannot time.
func (p *Program) note(what string) {
	if p.recording != nil && !slices.Contains(p.untimed, what) {
		p.untimed = append(p.untimed, what)
	}
}
