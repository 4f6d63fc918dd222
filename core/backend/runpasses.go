package backend

import (
	"context"
	"errors"

	"github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// RunPasses implements sdk.PassRunner.
func (b *Backend) RunPasses(ctx context.Context, req sdk.RunPassesRequest) (resp sdk.RunPassesResponse, err error) {
	memory, err := b.memoryLimit(req.Settings)
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
	plan, err := b.def.PassPlan(req.Target)
	if err != nil {
		return resp, err
	}
	rows, err := PassRows(b.def.Passes, &req)
	if err != nil {
		return resp, sdk.Errorf("%v", err)
	}
	if b.def.PassFor != nil {
		for i := range rows {
			rows[i].Pass = b.def.PassFor(rows[i].Pass, req.Settings)
		}
	}
	file, err := b.Parse(meter, req.InputName, []byte(req.Input))
	if err != nil {
		return resp, wire.ErrorToSDK(err)
	}
	if m := file.Op; m.HasAttr(ttg.NumWarpsAttr) && !m.HasAttr(ttg.ThreadsPerWarpAttr) && plan.Device.WarpSize != ttg.DefaultThreadsPerWarp {
		if laidOut, _ := facts.NoLayouts.Broken(m); laidOut == nil { // else the layouts are for the default
			m.SetAttr(ttg.ThreadsPerWarpAttr, m.Context().I32Attr(int64(plan.Device.WarpSize)))
		}
	}
	runner := Runner(req.Target)
	runner.Place = file.Pos
	if err := RunRows(file.Op, rows, &req, &resp, runner, plan); err != nil {
		return resp, toHost(err, &resp.Reproducer)
	}
	resp.Output = string(Print(file.Op))
	return resp, nil
}

// PassRows are the passes that a request names, of those that are known.
func PassRows(known []*pass.Pass, req *sdk.RunPassesRequest) ([]pass.Row, error) {
	rows, err := pass.Parse(known, req.Pipeline)
	if err == nil {
		err = pass.CheckNames(req.DumpAfter, rows)
	}
	return rows, err
}

// RunRows runs passes on m as a request asks, then its analyses, and fills in what
// the response says of both. A nil plan is that of no target, where passes have no
// facts and analyses no shared memory. An error is the user's mistake, or a
// *pass.Crash.
func RunRows(m *ir.Operation, rows []pass.Row, req *sdk.RunPassesRequest, resp *sdk.RunPassesResponse, runner pass.Runner, plan *Plan) error {
	runner.VerifyEach, runner.CheckNeeds = req.VerifyEach, true
	if len(req.DumpAfter) > 0 {
		runner.After = func(row pass.Row, m *ir.Operation) {
			if pass.Selects(req.DumpAfter, row) {
				resp.Dumps = append(resp.Dumps, sdk.PassText{Name: row.Pass.Name, Text: runner.Print(m)})
			}
		}
	}
	var facts pass.Facts
	var place report.Place
	if plan != nil {
		facts, place = plan.Facts, plan.Allocate
	}
	timings, err := runner.Run(m, rows, facts)
	for _, t := range timings {
		resp.Timings = append(resp.Timings, sdk.Timing{Name: t.Pass, Nanoseconds: t.Duration.Nanoseconds(), Did: t.Did()})
		resp.Diagnostics = append(resp.Diagnostics, wire.ListToSDK(t.Said)...)
	}
	if err != nil {
		return err
	}
	for _, name := range req.Analyses {
		text, err := report.Text(name, m, place)
		if err != nil {
			return err
		}
		resp.Analyses = append(resp.Analyses, sdk.PassText{Name: name, Text: text})
	}
	return nil
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
