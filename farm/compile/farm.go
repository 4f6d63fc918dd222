package compile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	farm "github.com/tritonc/tritonc/farm/work"
)

// Farm compiles by workers. Its methods may be called from several goroutines.
type Farm struct {
	// Client has the tasks done.
	Client *farm.Client
	// Compiler and Machine are those of Handler, for this machine.
	Compiler string
	Machine  Machine
	// Fresh has kernels compiled anew that were compiled before.
	Fresh bool

	mu      sync.Mutex
	classes map[core.Target]*class
}

// class is what the farm must be to make the same bytes as this machine.
type class struct {
	once sync.Once
	own  *farm.Class
	id   string
	err  error
}

// LocalError says why a compile is not for the farm, or that the farm did not do it. The
// caller compiles.
type LocalError struct {
	// Reason is for people, and the same for all kernels that it concerns.
	Reason string
	// Help is a next step, or empty.
	Help string
	// Serious says that the user is to know it: something is wrong with the farm.
	Serious bool
	// Lasting says that it is so for all compiles for the target.
	Lasting bool
}

func (e *LocalError) Error() string { return e.Reason }

// maxNeeds bounds how often a request is sent with more modules.
const maxNeeds = 32

// Compile has a variant compiled. The error is a *LocalError, ctx's, or one that
// core.Compile returns.
func (f *Farm) Compile(ctx context.Context, src *core.Source, target core.Target, opts *core.Options, want core.Want, modules *Modules) (*core.Kernel, error) {
	ctx, s := src.Span(ctx, "farm", target)
	k, err := f.compile(ctx, src, target, opts, want, modules)
	s.End(err)
	return k, err
}

func (f *Farm) compile(ctx context.Context, src *core.Source, target core.Target, opts *core.Options, want core.Want, modules *Modules) (*core.Kernel, error) {
	start := time.Now()
	refused, err := CallerOnly(ctx, opts.Select, target, opts.Values)
	if err != nil {
		return nil, err
	}
	if refused != "" {
		return nil, &LocalError{Reason: refused}
	}
	class, err := f.class(ctx, target)
	if err != nil {
		return nil, err
	}
	fresh := ""
	if f.Fresh {
		fresh = fmt.Sprintf("%016x", rand.Uint64())
	}
	for range maxNeeds {
		r, err := NewRequest(src, target, opts, want, modules)
		if err != nil {
			return nil, &LocalError{Reason: err.Error()}
		}
		r.Fresh = fresh
		body, err := r.Encode()
		if err != nil {
			return nil, &LocalError{Reason: err.Error()}
		}
		result, err := f.Client.Do(ctx, &farm.Task{Class: class.id, Body: body})
		if err != nil {
			return nil, f.local(ctx, class, err)
		}
		if result.Kind == farm.GivenUp {
			return nil, diag.Errorf(diag.Pos{File: src.Path}, "the farm gave up '%s': %s", kernelName(src), result.Body).
				WithHelp("compile it here, without --farm, to see more")
		}
		a, k, err := decodeAnswer(result.Body)
		switch {
		case err != nil:
			return nil, &LocalError{Reason: err.Error(), Serious: true}
		case a.Refused != "":
			return nil, &LocalError{Reason: a.Refused}
		case len(a.Need) > 0:
			for _, name := range a.Need {
				if modules == nil {
					return nil, &LocalError{Reason: "a worker asks for modules of a file that imports none", Serious: true}
				}
				if _, err := modules.Import(name); err != nil {
					return nil, err
				}
			}
			continue
		}
		if a.Kernel != nil {
			for _, in := range a.Kernel.Inputs {
				if sum, err := sumOf(in.Path); err != nil || sum != in.SHA256 {
					return nil, &LocalError{Reason: fmt.Sprintf("%s has a part in it, and is another file at the worker", in.Path)}
				}
			}
		}
		if opts.Print != nil && a.Printed != "" {
			opts.Print(a.Printed)
		}
		if a.Failure != nil {
			return nil, a.Failure.err()
		}
		k.Variant = src.Variant
		k.Timings = []core.Timing{{Stage: "farm", Time: time.Since(start)}}
		return k, nil
	}
	return nil, &LocalError{Reason: "the file imports modules that import others, too many for the farm"}
}

// kernelName is what a message calls a variant.
func kernelName(src *core.Source) string {
	if known := src.Known(); known != nil {
		return known.Kernel
	}
	return src.Path
}

// local makes a LocalError of why a farm did not do a task. Errors of ctx pass.
func (f *Farm) local(ctx context.Context, c *class, err error) error {
	var untrusted *farm.UntrustedError
	var mismatch *farm.MismatchError
	var away *farm.UnavailableError
	switch {
	case errors.As(err, new(*farm.TooLargeError)):
		return &LocalError{Reason: err.Error()}
	case errors.As(err, new(*farm.NoWorkerError)):
		reason := "the farm has no worker for " + c.own.Target
		if others := f.Client.Others(ctx, c.own); len(others) > 0 {
			reason = fmt.Sprintf("the farm's workers for %s have %s", c.own.Target, strings.Join(others, ", or "))
		}
		return &LocalError{
			Reason: reason, Serious: true, Lasting: true,
			Help: "tritonc worker starts one; with the same tritonc, backend and tools it makes the same kernels",
		}
	case errors.As(err, &away):
		return &LocalError{Reason: err.Error(), Serious: true, Lasting: true}
	case errors.As(err, &untrusted):
		return &LocalError{
			Reason: untrusted.Error(), Serious: true,
			Help: "the table [farm.trusted] of tritonc.toml lists the signers whose results are taken",
		}
	case errors.As(err, &mismatch):
		return &LocalError{
			Reason: mismatch.Error(), Serious: true,
			Help: "neither is used; one of the machines is at fault, or a compile that should be the same each time is not",
		}
	}
	return err
}

// Class is that of compiles for a target, of which it tells the farm.
func (f *Farm) Class(ctx context.Context, target core.Target) (*farm.Class, error) {
	c, err := f.class(ctx, target)
	if err != nil {
		return nil, err
	}
	return c.own, nil
}

// class is that of compiles for a target, which the farm is told of once.
func (f *Farm) class(ctx context.Context, target core.Target) (*class, error) {
	f.mu.Lock()
	if f.classes == nil {
		f.classes = map[core.Target]*class{}
	}
	c := f.classes[target]
	if c == nil {
		c = &class{}
		f.classes[target] = c
	}
	f.mu.Unlock()
	c.once.Do(func() {
		var err error
		if c.own, _, err = f.Machine.class(ctx, f.Compiler, target); err != nil {
			c.err = &LocalError{Reason: fmt.Sprintf("nobody else compiles the same for %s: %v", target, err), Serious: true, Lasting: true}
			return
		}
		c.id = c.own.ID()
		if err := f.Client.Announce(ctx, c.own); err != nil {
			c.err = f.local(ctx, c, &farm.UnavailableError{Err: err})
		}
	})
	return c, c.err
}
