package core

import (
	"context"
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/span"
)

// Want says which kernels of a Python file are to be compiled, and how.
type Want struct {
	// Kernel's name; empty when the file has only one, or with comments.
	Kernel string
	// Signature in Triton's ahead-of-time grammar asks for one variant of the
	// kernel. Without there is one for each signature in the file's comments, of
	// the kernel alone where it is named.
	Signature string
	// Launch, when there, says that the variant is for one launch.
	Launch *Launch
}

// Launch is what is known of a launch: the values of its arguments, which
// functions of @triton.autotune and @triton.heuristics look at.
type Launch = frontend.Launch

// AllConfigs as a Source's Config asks for every configuration.
const AllConfigs = frontend.AllConfigs

// Variants parses a Python file and returns what is to be compiled of it for a
// target. Options are those of the compile: their Values go before what the file
// says. A src that Variants has returned before is not parsed again.
func Variants(ctx context.Context, src *Source, target Target, opts *Options, want Want) (variants []*Source, err error) {
	defer func() { err = overMemory(src.Path, err) }()
	ctx, s := src.Span(ctx, "read", target)
	defer func() { s.Set(span.Int("tritonc.variants", len(variants))); s.End(err) }()
	p, err := src.open(target, opts)
	if err != nil {
		return nil, err
	}
	list, err := p.program.Variants(ctx, &frontend.Request{
		Kernel: want.Kernel, Signature: want.Signature, Config: src.Config, Options: opts.Values, Launch: want.Launch,
	})
	if err != nil {
		return nil, err
	}
	variants = make([]*Source, len(list))
	for i, f := range list {
		v := *src
		v.python, v.variant, v.Variant = p, f, f.Name
		v.Options = make(map[string]any, len(f.Options))
		for _, o := range f.Options {
			v.Options[o.Name] = o.Value
		}
		variants[i] = &v
	}
	return variants, nil
}

// Kernels lists the kernels of a Python file with their parameters, as a target
// sees them.
func Kernels(ctx context.Context, src *Source, target Target, opts *Options) ([]frontend.KernelInfo, error) {
	p, err := src.open(target, opts)
	if err != nil {
		return nil, err
	}
	infos, err := p.program.Kernels(ctx)
	return infos, overMemory(src.Path, err)
}

// Known is what is known of the variant before it is compiled: its constants and
// its configuration. It is nil for a Source that does not come from Variants.
func (s *Source) Known() *frontend.Variant { return s.variant }

// Hooks returns what @triton.autotune and triton.Config have done around a launch of a
// variant that was made for one; nil where there is nothing to do.
func (s *Source) Hooks(ctx context.Context) (*frontend.Hooks, error) {
	if s.variant == nil {
		return nil, nil
	}
	return s.python.program.Hooks(ctx, s.variant)
}

// toCompile returns src, or the one variant that the file of a Source asks for
// that does not come from Variants.
func (s *Source) toCompile(ctx context.Context, target Target, opts *Options) (*Source, error) {
	if !s.IsPython() {
		return s, nil
	}
	if s.variant != nil {
		if s.python.target != target {
			return nil, fmt.Errorf("%s was read for %s, and is to be compiled for %s", s.Path, s.python.target, target)
		}
		return s, nil
	}
	variants, err := Variants(ctx, s, target, opts, Want{})
	if err != nil {
		return nil, err
	}
	if len(variants) > 1 {
		return nil, diag.Errorf(diag.Pos{File: s.Path}, "the file asks for %s, which are compiled one by one", diag.Count(len(variants), "variant"))
	}
	return variants[0], nil
}
