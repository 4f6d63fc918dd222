package core

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// python is a Python file as one target sees it, shared by its variants.
type python struct {
	file    *frontend.File
	parsing time.Duration
	program *frontend.Program
	target  Target
	// What it was parsed of, as in Source.
	path, name, module string
	text               []byte

	mu       sync.Mutex // guards imported
	imported map[string]imported
}

// imported is what was found for a module's name: a nil file for nothing.
type imported struct {
	file *frontend.File
	from importedFile
}

// open parses a file, or takes it as it was parsed for other variants, and puts
// it into its environment. What it imports is looked for anew.
func (s *Source) open(target Target, opts *Options) (*python, error) {
	p := &python{
		path: s.Path, name: s.Name, module: s.Module, text: s.Text, target: target, imported: map[string]imported{},
	}
	if old := s.python; old != nil && old.path == s.Path && old.name == s.Name && old.module == s.Module && bytes.Equal(old.text, s.Text) {
		p.file, p.parsing = old.file, old.parsing
	} else {
		start := time.Now()
		var err error
		if p.file, err = frontend.ParseModule(s.Path, s.Name, s.Module, s.Text); err != nil {
			return nil, err
		}
		p.parsing = time.Since(start)
	}
	asked := &question{target: target, choose: opts.Select}
	env := frontend.Environment{Facts: asked.facts, Module: asked.module, Define: s.Define}
	if s.Import != nil {
		env.Open = func(module string) (*frontend.File, error) { return p.load(module, s.Import) }
	}
	if s.Configs != nil {
		var err error
		if env.Configs, err = frontend.ParseConfigs(s.Configs.Path, s.Configs.Text); err != nil {
			return nil, err
		}
	}
	p.program = p.file.In(env)
	return p, nil
}

// load reads a file that the Python file imports, once for all of its variants.
func (p *python) load(module string, find func(module string) (*Source, error)) (*frontend.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.imported[module]; ok {
		return known.file, nil
	}
	src, err := find(module)
	var file *frontend.File
	switch {
	case err != nil || src == nil:
	case src.Installed:
		file = frontend.ParseInstalled(src.Path, src.name(), module, src.Text)
	default:
		file, err = frontend.ParseModule(src.Path, src.name(), module, src.Text)
	}
	if err != nil {
		return nil, err
	}
	p.imported[module] = imported{file, identify(module, src)}
	return file, nil
}

// question is what the front end asks of a target's backend. The backend is
// looked for, and started, with the first question.
type question struct {
	target Target
	choose func(ctx context.Context, target Target) (Backend, Target, error)

	backend Backend // once facts has been asked, which goes before all else
}

func (q *question) facts(ctx context.Context) (*frontend.Facts, error) {
	if q.choose == nil {
		return nil, fmt.Errorf("BUG: core: the options have no Select")
	}
	backend, target, err := q.choose(ctx, q.target)
	if err != nil {
		return nil, err
	}
	facts, err := wire.KnownFacts(ctx, backend)
	if err != nil {
		return nil, err
	}
	q.backend = backend
	return frontendFacts(facts, target), nil
}

// module asks for a module of the facts.
func (q *question) module(ctx context.Context, name string) (string, []frontend.Extern, error) {
	whole, err := q.backend.GetModule(ctx, name)
	if err != nil {
		return "", nil, err
	}
	externs := make([]frontend.Extern, len(whole.Externs))
	for i, e := range whole.Externs {
		externs[i] = frontend.Extern(e)
	}
	return whole.Source, externs, nil
}

// frontendFacts are the facts of a target as the front end knows them.
func frontendFacts(facts *sdk.Facts, target Target) *frontend.Facts {
	row, _ := facts.For(target)
	f := &frontend.Facts{
		Backend: target.Backend, Arch: target.Arch, WarpSize: target.WarpSize,
		FP8: row.FP8Kinds, DeprecatedFP8Dot: row.DeprecatedFP8DotOperands,
		AnyBlockSizes: facts.Has(sdk.CapAnyBlockSizes), HalfMath: facts.Has(sdk.CapHalfMath),
		DotPrecisions: row.DotInputPrecisions, DefaultDotPrecision: row.DefaultDotInputPrecision,
	}
	for _, m := range row.MinDotSizes {
		f.MinDot = append(f.MinDot, frontend.MinDot(m))
	}
	for _, p := range []frontend.Property{
		{Name: "max_shared_mem", Value: row.Limits.MaxSharedMemory},
		{Name: "max_num_regs", Value: row.Limits.RegistersPerMultiprocessor},
	} {
		if p.Value != 0 { // else it is not known
			f.Properties = append(f.Properties, p)
		}
	}
	for _, m := range facts.Modules {
		for _, alias := range m.Aliases {
			f.Aliases = append(f.Aliases, frontend.Alias{From: alias, To: m.Name})
		}
		f.Modules = append(f.Modules, frontend.ModuleSource{Module: m.Name, Name: m.Name + ".py"})
	}
	return f
}
