package nvidia

import (
	"context"
	"errors"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// RunPasses implements sdk.PassRunner.
func (b *Backend) RunPasses(ctx context.Context, req sdk.RunPassesRequest) (resp sdk.RunPassesResponse, err error) {
	memory, err := memoryLimit(req.Settings)
	if err != nil {
		return resp, err
	}
	meter := work.Start(work.WithMemory(ctx, memory))
	defer meter.End()
	defer func() {
		if over := new(work.OverMemory); errors.As(err, &over) {
			err = &sdk.Diagnostic{File: req.InputName, Message: over.Error(), Help: work.OverMemoryHelp}
		}
	}()
	defer work.Catch(&err)
	a, err := archOf(req.Target)
	if err != nil {
		return resp, err
	}
	rows, err := pass.Parse(passes, req.Pipeline)
	if err != nil {
		return resp, sdk.Errorf("%v", err)
	}
	if err := pass.CheckNames(req.DumpAfter, rows); err != nil {
		return resp, sdk.Errorf("%v", err)
	}
	file, err := parseModule(meter, req.InputName, []byte(req.Input))
	if err != nil {
		return resp, wire.ErrorToSDK(err)
	}
	m := file.Op
	runner := newRunner(req.Target)
	runner.VerifyEach = req.VerifyEach
	if len(req.DumpAfter) > 0 {
		runner.After = func(row pass.Row, m *ir.Operation) {
			if pass.Selects(req.DumpAfter, row) {
				resp.Dumps = append(resp.Dumps, sdk.PassText{Name: row.Pass.Name, Text: string(printModule(m))})
			}
		}
	}
	timings, err := runner.Run(m, rows, facts(a, options{NumCTAs: 1}))
	for _, t := range timings {
		resp.Timings = append(resp.Timings, sdk.Timing{Name: t.Pass, Nanoseconds: t.Duration.Nanoseconds(), Did: t.Did()})
	}
	if err != nil {
		return resp, toHost(err, &resp.Reproducer)
	}
	resp.Output = string(printModule(m))
	place := func(m *ir.Operation) (*allocation.Result, membar.Foreign, error) {
		return lower.Allocate(m, &gpu.Target{CC: a.cc})
	}
	for _, name := range req.Analyses {
		text, err := report.Text(name, m, place)
		if err != nil {
			return resp, userError(err)
		}
		resp.Analyses = append(resp.Analyses, sdk.PassText{Name: name, Text: text})
	}
	return resp, nil
}

// userError makes a mistake of the user's of an error that may be one already.
func userError(err error) error {
	if work.IsStop(err) {
		return err
	}
	if diag.All(err) != nil {
		return wire.ErrorToSDK(err)
	}
	return sdk.Errorf("%v", err)
}
