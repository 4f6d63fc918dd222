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
	"github.com/tritonc/tritonc/core/span"
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
	ctx, s := span.Start(ctx, "front end")
	defer func() { s.End(err) }()
	opts, err := t.frontendOptions()
	if err != nil {
		return err
	}
	meter := work.Start(ctx)
	defer meter.End()
	defer func() { err = overMemory(t.src.Path, err) }()
	defer work.Catch(&err) // of printing what the front end built
	opts.Meter = meter
	c := dialect.NewContext()
	c.SetLoader(t.dialect) // for what functions of the backend's modules make
	module, err := t.src.python.program.Build(ctx, c, t.src.variant, opts)
	if err != nil {
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
	for op := range module.Body().Ops() {
		if op.Is(tt.Func) && tt.AsFunc(op).SymVisibility() == "public" {
			return tt.AsFunc(op).SymName()
		}
	}
	panic("BUG: core: the front end built a module without a kernel")
}

// frontendOptions are what the front end must know of the options as the backend
// has completed them.
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
	return &frontend.Options{
		NumWarps: values.NumWarps, NumStages: values.NumStages, NumCTAs: values.NumCTAs,
		Debug: values.Debug, SanitizeOverflow: values.SanitizeOverflow,
		DefaultDotPrecision: values.DefaultDotPrecision,
		MaxNumImpreciseAcc:  values.MaxNumImpreciseAcc,
		Print:               t.print,
		Warn:                func(d *diag.Diagnostic) { t.warnings = append(t.warnings, d) },
	}, nil
}
