package compile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/work"
	farm "github.com/tritonc/tritonc/farm/work"
)

// Handler does tasks by compiling.
type Handler struct {
	// Compiler identifies this program.
	Compiler string
	// Machine says what else has a part in a compile.
	Machine Machine
	// Select is that of core.Options.
	Select func(ctx context.Context, target core.Target) (core.Backend, core.Target, error)
	// Cache has kernels that were compiled before; nil for none.
	Cache *core.Cache
	// Targets are patterns of targets to compile for; none: all.
	Targets []string

	mu       sync.Mutex
	files    []*opened // that were used last, last
	machines map[core.Target]*core.Machine
}

// opened is a file with its variants, which several requests ask for.
type opened struct {
	key      [sha256.Size]byte
	once     sync.Once
	variants []*core.Source
	err      error

	mu   sync.Mutex
	need []string // modules that the requests do not have
}

// maxOpened bounds how many files a Handler keeps.
const maxOpened = 16

// Class implements farm.Handler.
func (h *Handler) Class(ctx context.Context, name string) (*farm.Class, error) {
	if strings.Contains(name, " ") { // the target of a class that measures on a device
		return nil, farm.ErrOther
	}
	target, err := core.ParseTarget(name)
	if err != nil {
		return nil, err
	}
	if len(h.Targets) > 0 && !slices.ContainsFunc(h.Targets, target.Matches) {
		return nil, errors.New("the worker is not for this target")
	}
	class, machine, err := h.Machine.class(ctx, h.Compiler, target)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.machines == nil {
		h.machines = map[core.Target]*core.Machine{}
	}
	h.machines[target] = machine
	return class, nil
}

// machine is what the classes were made of in which the worker takes part.
func (h *Handler) machine(ctx context.Context, target core.Target) (*core.Machine, error) {
	h.mu.Lock()
	m := h.machines[target]
	h.mu.Unlock()
	if m == nil {
		if _, err := h.Class(ctx, target.String()); err != nil {
			return nil, err
		}
		h.mu.Lock()
		m = h.machines[target]
		h.mu.Unlock()
	}
	return m, nil
}

// Do implements farm.Handler.
func (h *Handler) Do(ctx context.Context, t *farm.Task) (farm.Kind, []byte, error) {
	r, err := Decode(t.Body)
	if err != nil {
		return "", nil, err
	}
	fail := func(a *answer) (farm.Kind, []byte, error) {
		body, err := a.encode(nil)
		return farm.Failed, body, err
	}
	if refused, err := h.refuses(ctx, r); err != nil || refused != "" {
		if f := failureOf(err); f != nil {
			return fail(&answer{Failure: f})
		}
		if err != nil {
			return "", nil, err
		}
		return fail(&answer{Refused: refused})
	}
	machine, err := h.machine(ctx, r.Target)
	if err != nil {
		return "", nil, err
	}
	var printed strings.Builder
	var lookedAt []string
	opts := &core.Options{
		Select: h.Select, Values: r.Values, Stages: r.Stages, AllowUnlaunchable: r.Unlaunchable,
		Print: func(text string) { printed.WriteString(text) }, LookedAt: func(paths []string) { lookedAt = paths },
	}
	if !t.Again && r.Fresh == "" {
		opts.Cache = h.Cache
	}
	src, needs, err := h.variant(ctx, r, opts)
	var k *core.Kernel
	if err == nil {
		k, err = core.Compile(ctx, src, r.Target, opts)
	}
	if names := needs(); len(names) > 0 { // whatever came of it: a module that was not there may change it
		return fail(&answer{Need: names})
	}
	switch {
	case err == nil:
		if len(machine.Ran(k.Tools)) > 0 {
			return fail(&answer{Refused: otherTool})
		}
		list, refused, err := inputs(machine, k, lookedAt)
		if err != nil {
			return "", nil, err
		}
		if refused != "" {
			return fail(&answer{Refused: refused})
		}
		body, err := ofKernel(k, list, printed.String())
		return farm.Done, body, err
	case ctx.Err() != nil, isMachines(err):
		return "", nil, err
	}
	f := failureOf(err)
	if f == nil {
		lacks := func(name string) bool { return machine.ToolText(name) == "" }
		if slices.ContainsFunc(machine.WhenRun, lacks) {
			return fail(&answer{Refused: otherTool})
		}
		return "", nil, err
	}
	return fail(&answer{Failure: f, Printed: printed.String()})
}

// otherTool is why workers leave a kernel to the client that a tool of Machine.WhenRun has a
// part in: two workers of a class may differ in it, and one may lack it, which all say alike.
const otherTool = "a tool has a part in it in which workers of a class may differ"

// isMachines reports whether a diagnostic is about this machine's memory: another one may
// have more.
func isMachines(err error) bool {
	return slices.ContainsFunc(diag.All(err), func(d *diag.Diagnostic) bool { return d.Help == work.OverMemoryHelp })
}

// refuses says why a request is not for workers; empty if it is.
func (h *Handler) refuses(ctx context.Context, r *Request) (string, error) {
	return CallerOnly(ctx, h.Select, r.Target, r.Values)
}

// CallerOnly says which of the options only who runs the compile may choose, since they
// name files or arguments of tools; empty if there is none.
func CallerOnly(ctx context.Context, choose func(ctx context.Context, target core.Target) (core.Backend, core.Target, error), target core.Target, values map[string]any) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	backend, _, err := choose(ctx, target)
	if err != nil {
		return "", err
	}
	facts, err := backend.Facts(ctx)
	if err != nil {
		return "", err
	}
	for i := range facts.Options {
		if o := &facts.Options[i]; o.CallerOnly {
			if _, given := values[o.Name]; given {
				return fmt.Sprintf("the option %s names files or arguments of a tool", o.Name), nil
			}
		}
	}
	return "", nil
}

// variant finds the variant that a request asks for. Calling needs gives the modules that
// the request does not have.
func (h *Handler) variant(ctx context.Context, r *Request, opts *core.Options) (_ *core.Source, needs func() []string, _ error) {
	o := &opened{}
	needs = func() []string {
		o.mu.Lock()
		defer o.mu.Unlock()
		return slices.Clone(o.need)
	}
	if !(&core.Source{Path: r.Source.Path, Ending: r.Source.Ending}).IsPython() {
		return r.open(func(string) {}), needs, nil
	}
	o, err := h.open(r)
	if err != nil {
		return nil, needs, err
	}
	o.once.Do(func() {
		src := r.open(func(name string) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if !slices.Contains(o.need, name) {
				o.need = append(o.need, name)
				slices.Sort(o.need)
			}
		})
		o.variants, o.err = core.Variants(ctx, src, r.Target, opts, core.Want{Kernel: r.Kernel, Signature: r.Signature})
		if o.err != nil && ctx.Err() != nil {
			h.forget(o)
		}
	})
	if o.err != nil {
		return nil, needs, o.err
	}
	for _, v := range o.variants {
		if v.Known().Key() == r.Key && v.Variant == r.Variant {
			return v, needs, nil
		}
	}
	return nil, needs, errors.New("BUG: farm/compile: the worker finds other variants in the file than the client")
}

// open finds a file that was opened for another variant, or makes a new entry.
func (h *Handler) open(r *Request) (*opened, error) {
	same := *r
	same.Key, same.Variant, same.Stages, same.Unlaunchable, same.Fresh = "", "", nil, false, ""
	text, err := json.Marshal(&same)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, o := range h.files {
		if o.key == key {
			h.files = append(slices.Delete(h.files, i, i+1), o)
			return o, nil
		}
	}
	o := &opened{key: key}
	h.files = append(h.files, o)
	if len(h.files) > maxOpened {
		h.files = slices.Delete(h.files, 0, 1)
	}
	return o, nil
}

// forget drops an entry that was not finished.
func (h *Handler) forget(o *opened) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files = slices.DeleteFunc(h.files, func(other *opened) bool { return other == o })
}
