package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/inspect"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// neutralPasses are the passes of no target in particular.
func neutralPasses() []*pass.Pass {
	return slices.Concat(
		[]*pass.Pass{std.Inline, std.NewCanonicalize(layouts.ConvertPatterns(), layouts.SpecializePatterns()), std.CSE, std.SCCP, std.SymbolDCE, std.ConvertSCFToCF},
		[]*pass.Pass{ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll, ttir.TestLoopPeeling},
		ttgir.Passes(), inspect.Passes(),
	)
}

// runNeutralPasses runs passes in this process, on the module of file itself.
func runNeutralPasses(env *environment, file *text.File, req *sdk.RunPassesRequest) (resp sdk.RunPassesResponse, err error) {
	rows, err := backend.PassRows(env.passes, req)
	if err != nil {
		return resp, diag.Errorf(diag.Pos{}, "%v", err).WithHelp("with --target, or in a module with ttg.target, there are those of the backend, too")
	}
	err = backend.RunRows(file.Op, rows, req, &resp, pass.Runner{Print: text.String, Place: file.Pos}, nil)
	var crash *pass.Crash
	if errors.As(err, &crash) {
		err = fmt.Errorf("%w\n%s", err, crash.Stack)
		return resp, explainRun(err, req, crash.Reproducer)
	}
	return resp, explainRun(err, req, "")
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
