package nvidia

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Version is the backend's version, for people.
const Version = "0.1.0"

// Backend implements the contract.
type Backend struct {
	facts sdk.Facts
	memo  *toolMemo
}

var (
	_ sdk.Backend    = (*Backend)(nil)
	_ sdk.PassRunner = (*Backend)(nil)
)

// New makes the backend. It reads nothing yet.
func New() *Backend {
	file := ""
	if dir := cacheDir(); dir != "" {
		file = filepath.Join(dir, "tools.json")
	}
	return &Backend{facts: describe(), memo: filememo.New[identity](file)}
}

// describe makes the answer to Describe.
func describe() sdk.Facts {
	f := sdk.Facts{
		Name:     "nvidia",
		Version:  Version,
		Hash:     sdk.ProgramHash(),
		Options:  optionSpecs,
		Settings: settingSpecs,
		Specialization: sdk.Specialization{
			IntDivisor:        16,
			PointerDivisor:    16,
			IntOneIsConstexpr: true,
			Attributes:        []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}},
		},
		Dialects:     []sdk.Dialect{{Name: ttng.Name, Declaration: ttng.Declaration}},
		Modules:      modules(),
		BinaryEnding: stageCubin,
	}
	for _, a := range archs {
		f.Targets = append(f.Targets, a.facts())
	}
	return f
}

// Describe implements sdk.Backend.
func (b *Backend) Describe(context.Context) (sdk.Facts, error) { return b.facts, nil }

// ParseOptions implements sdk.Backend.
func (b *Backend) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	a, err := archOf(req.Target)
	if err != nil {
		return sdk.ParseOptionsResponse{}, err
	}
	text, err := parseOptions(a, req.OptionsJSON)
	return sdk.ParseOptionsResponse{OptionsJSON: text}, err
}

// AddStages implements sdk.Backend.
func (b *Backend) AddStages(_ context.Context, req sdk.AddStagesRequest) (sdk.AddStagesResponse, error) {
	_, early, opts, err := readRequest(req.Target, req.OptionsJSON)
	if err != nil {
		return sdk.AddStagesResponse{}, err
	}
	var resp sdk.AddStagesResponse
	for i := range stages {
		s := &stages[i]
		row := sdk.Stage{Name: s.name, Binary: s.binary, Ending: s.name, Doc: s.doc}
		if s.rows != nil {
			row.Passes, row.Pipeline = tableOf(s.rows(early, opts), facts(early, opts))
		}
		if s.name == stageLLIR {
			row.Passes = []sdk.PassRow{llvmRow(opts)}
		}
		resp.Stages = append(resp.Stages, row)
	}
	return resp, nil
}

// llvmRow shows which of LLVM's own passes end the stage llir.
func llvmRow(o options) sdk.PassRow {
	choice := llvmChoiceFor(o.LLVMPasses)
	passes := choice.Passes
	if passes == "" {
		passes = "none"
	}
	return sdk.PassRow{
		Name: "llvm-passes", Options: passes,
		Doc: "LLVM's optimizer over the kernel, by opt", Why: choice.why(o.LLVMPasses),
	}
}

// tableOf is a stage's table of passes, and the pipeline of those that run.
func tableOf(rows []pass.Row, f pass.Facts) (table []sdk.PassRow, pipeline string) {
	for _, r := range rows {
		row := sdk.PassRow{Name: r.Pass.Name, Options: r.Options(), Doc: r.Pass.Doc, Why: r.Why}
		if r.When != nil {
			row.Condition, row.LeftOut = r.When.Name, !r.When.Holds(f)
		}
		table = append(table, row)
	}
	return table, pass.Format(pass.Effective(rows, f))
}

// readRequest reads what each request about a compile has: the target, the
// architecture for the stages before ptx, and the options.
func readRequest(t sdk.Target, optionsJSON string) (a, early arch, o options, err error) {
	if a, err = archOf(t); err != nil {
		return
	}
	if o, err = readOptions(optionsJSON); err != nil {
		return
	}
	early, err = archOf(sdk.Target{Backend: backendName, Arch: strings.TrimPrefix(o.Arch, "sm")})
	return
}

// RunStages implements sdk.Backend.
func (b *Backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	a, early, opts, err := readRequest(req.Target, req.OptionsJSON)
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	memory, err := memoryLimit(req.Settings)
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	meter := work.Start(work.WithMemory(ctx, memory))
	defer meter.End()
	c := &compilation{backend: b, ctx: ctx, meter: meter, req: req, arch: a, early: early, opts: opts, meta: newMetadata(opts)}
	err = c.runStages()
	return c.resp, err
}
