package core

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/work"
)

// enter makes the input of the first stage: what the front end builds of a
// Python file, else what the file holds.
func (t *trip) enter(ctx context.Context) (err error) {
	if !t.src.IsPython() {
		t.input = t.src.Text
		t.name = strings.Trim(strings.TrimSuffix(filepath.Base(t.src.Path), "."+t.src.Kind()), "<>")
		return nil
	}
	t.timings = append(t.timings, Timing{Stage: "parse", Time: t.src.python.parsing})
	defer t.clock("front end")()
	opts, err := t.frontendOptions()
	if err != nil {
		return err
	}
	meter := work.Start(ctx)
	defer meter.End()
	defer func() { err = overMemory(t.src.Path, err) }()
	defer work.Catch(&err) // of printing what the front end built
	opts.Meter = meter
	var moduleErr error
	opts.Facts.Modules, opts.Facts.Aliases = t.modules(ctx, &moduleErr)
	imports := importer{python: t.src.python, load: t.src.Import}
	opts.Open, opts.Define = imports.open, t.src.Define
	module, err := frontend.Build(dialect.NewContext(), t.src.python.file, t.src.spec, opts)
	switch {
	case moduleErr != nil: // it explains what else went wrong
		return t.explain(moduleErr)
	case imports.err != nil: // likewise
		return imports.err
	case err != nil:
		return err
	}
	t.name = publicFunction(module)
	t.input = text.Append(nil, module, text.Options{Locations: true})
	return nil
}

// print takes what the kernel prints while it is compiled.
func (t *trip) print(text string) {
	t.printed.WriteString(text)
	if t.opts.Print != nil {
		t.opts.Print(text)
	}
}

// publicFunction is the name of a module's kernel.
func publicFunction(module *ir.Operation) string {
	for op := range module.Region(0).First().Ops() {
		if op.Def() == tt.Func && op.StringAttr("sym_visibility") == "public" {
			return op.StringAttr("sym_name")
		}
	}
	panic("BUG: core: the front end built a module without a kernel")
}

// frontendOptions are what the front end must know of the target and of the
// options: data that the backend gave.
func (t *trip) frontendOptions() (*frontend.Options, error) {
	var values struct {
		NumWarps            int    `json:"num_warps"`
		NumStages           int    `json:"num_stages"`
		NumCTAs             int    `json:"num_ctas"`
		Debug               bool   `json:"debug"`
		SanitizeOverflow    bool   `json:"sanitize_overflow"`
		DefaultDotPrecision string `json:"default_dot_input_precision"`
		MaxNumImpreciseAcc  int64  `json:"max_num_imprecise_acc_default"`
	}
	if err := json.Unmarshal([]byte(t.options), &values); err != nil {
		return nil, fmt.Errorf("the backend's answer to the options: %w", err)
	}
	facts := t.frontendFacts()
	facts.MaxNumImpreciseAcc = values.MaxNumImpreciseAcc
	return &frontend.Options{
		Facts:    facts,
		NumWarps: values.NumWarps, NumStages: values.NumStages, NumCTAs: values.NumCTAs,
		Debug: values.Debug, SanitizeOverflow: values.SanitizeOverflow,
		DefaultDotPrecision: values.DefaultDotPrecision,
		Print:               t.print,
		Warn:                func(d *diag.Diagnostic) { t.warnings = append(t.warnings, d) },
	}, nil
}

func (t *trip) frontendFacts() *frontend.Facts {
	row, _ := t.facts.For(t.target)
	f := &frontend.Facts{
		Backend: t.target.Backend, Arch: t.target.Arch, WarpSize: t.target.WarpSize,
		FP8: row.FP8Kinds, DeprecatedFP8Dot: row.DeprecatedFP8DotOperands,
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
	return f
}

// modules are those that the backend brings. Each is asked for when the kernel
// imports it; the first that cannot be had leaves its error in *failed.
func (t *trip) modules(ctx context.Context, failed *error) (list []frontend.ModuleSource, aliases []frontend.Alias) {
	for _, m := range t.facts.Modules {
		for _, alias := range m.Aliases {
			aliases = append(aliases, frontend.Alias{From: alias, To: m.Name})
		}
		load := func() (string, []frontend.Extern) {
			whole, err := t.backend.Module(ctx, m.Name)
			if err != nil && *failed == nil {
				*failed = err
			}
			externs := make([]frontend.Extern, len(whole.Externs))
			for i, e := range whole.Externs {
				externs[i] = frontend.Extern(e)
			}
			return whole.Source, externs
		}
		list = append(list, frontend.ModuleSource{Module: m.Name, Name: m.Name + ".py", Load: load})
	}
	return list, aliases
}

// importer loads the files that a Python file imports, each once for all of its
// variants, and keeps the first mistake.
type importer struct {
	python *python
	load   func(module string) (*Source, error)
	err    error
}

func (i *importer) open(module string) *frontend.File {
	if i.load == nil {
		return nil
	}
	i.python.mu.Lock()
	defer i.python.mu.Unlock()
	if known, ok := i.python.imported[module]; ok {
		return known.file
	}
	src, err := i.load(module)
	var file *frontend.File
	switch {
	case err != nil || src == nil:
	case src.Installed:
		file = frontend.ParseInstalled(src.Path, src.name(), module, src.Text)
	default:
		file, err = frontend.ParseModule(src.Path, src.name(), module, src.Text)
	}
	if err != nil {
		if i.err == nil {
			i.err = err
		}
		return nil
	}
	i.python.imported[module] = imported{file, identify(module, src)}
	return file
}
