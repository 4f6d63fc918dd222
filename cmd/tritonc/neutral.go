package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core"
	analysis "github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// neutralPasses are those that no vendor changes.
func neutralPasses() []*pass.Pass {
	return slices.Concat(
		[]*pass.Pass{std.Inline, std.NewCanonicalize(ttgir.ConvertPatterns()), std.CSE, std.SCCP, std.SymbolDCE},
		[]*pass.Pass{ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll},
		ttgir.Passes(),
	)
}

// runNeutralPasses runs passes in this process, on m itself.
func runNeutralPasses(env *environment, m *ir.Operation, req *sdk.RunPassesRequest) (resp sdk.RunPassesResponse, err error) {
	rows, err := pass.Parse(env.passes, req.Pipeline)
	if err != nil {
		return resp, diag.Errorf(diag.Pos{}, "%v", err).WithHelp("with --target, or in a module with ttg.target, there are those of the backend, too")
	}
	if err := pass.CheckNames(req.DumpAfter, rows); err != nil {
		return resp, diag.Errorf(diag.Pos{}, "%v", err)
	}
	runner := pass.Runner{
		VerifyEach: req.VerifyEach,
		Print:      text.String,
		After: func(row pass.Row, m *ir.Operation) {
			if pass.Selects(req.DumpAfter, row) {
				resp.Dumps = append(resp.Dumps, sdk.PassText{Name: row.Pass.Name, Text: text.String(m)})
			}
		},
	}
	timings, err := runner.Run(m, rows, nil)
	for _, t := range timings {
		resp.Timings = append(resp.Timings, sdk.Timing{Name: t.Pass, Nanoseconds: t.Duration.Nanoseconds(), Did: t.Did()})
	}
	var crash *pass.Crash
	if errors.As(err, &crash) {
		err = fmt.Errorf("%w\n%s", err, crash.Stack)
		return resp, explainRun(err, req, crash.Reproducer)
	}
	if err != nil {
		return resp, explainRun(err, req, "")
	}
	for _, name := range req.Analyses {
		out, err := analysis.Text(name, m, nil)
		if err != nil {
			return resp, err
		}
		resp.Analyses = append(resp.Analyses, sdk.PassText{Name: name, Text: out})
	}
	return resp, nil
}

// explainRun readies the error of a run of passes for the user.
func explainRun(err error, req *sdk.RunPassesRequest, reproducer string) error {
	for _, d := range diag.All(err) {
		if d.Pos.File == req.InputName {
			d.WithSource(req.Input)
		}
	}
	if err != nil && reproducer != "" {
		return &core.Crash{Err: err, Reproducer: reproducer}
	}
	return err
}

func list(names []string) string { return strings.Join(names, ", ") }
