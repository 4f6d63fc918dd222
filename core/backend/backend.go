package backend

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Definition is a backend.
type Definition struct {
	// Facts are the answer to Describe. New adds the program's hash and the settings
	// of Tools and of their limits.
	Facts sdk.Facts
	// Modules makes what kernels may import, if that is anything.
	Modules func() []sdk.Module
	// Dialects are those beside core's own.
	Dialects []Dialect
	// Tools are those that it may run.
	Tools []*ToolKind
	// WhenRun are those of Tools that decide on the kernels that they run for alone. Of two
	// machines that differ in one, each takes of what the other compiled all else.
	WhenRun []*ToolKind
	// Files are files beside those tools that a compile finds, there or not, by a setting that
	// a tool has among its Folders: of two machines on which they differ, neither takes what
	// the other compiled. nil: none.
	Files func(settings map[string]string) []string
	// Passes are all that RunPasses knows by name.
	Passes []*pass.Pass
	// ParseOptions checks a user's options for a target, as JSON, and completes
	// them. What it returns is canonical.
	ParseOptions func(t sdk.Target, given string) (string, error)
	// Plan prepares a compile for a target with options that ParseOptions made.
	Plan func(t sdk.Target, options string) (*Plan, error)
	// PassPlan readies a run of single passes for a target: a Plan of which only
	// Facts, Allocate and the warp size of Device count.
	PassPlan func(t sdk.Target) (*Plan, error)
	// PassFor is the pass of p's name that RunPasses runs with the machine's settings;
	// nil: p itself.
	PassFor func(p *pass.Pass, settings map[string]string) *pass.Pass
}

// Dialect is one that a backend brings. It is loaded for a text that names it.
type Dialect struct {
	Name        string
	Declaration string // for hosts, which have no other knowledge of it
	Make        func() *ir.Dialect
}

// Plan is how a kernel is compiled for one target with one set of options.
type Plan struct {
	// Stages in order. The input of the first is the front end's ttir. The last is what a
	// user gets who names none.
	Stages []Stage
	// Facts are what conditions of rows ask about.
	Facts pass.Facts
	// Allocate places the buffers of a module in shared memory, for analyses that tell of
	// them; nil for machines without it.
	Allocate report.Place
	// LayoutTarget is the target that layouts are chosen for, as the attribute
	// ttg.target says it.
	LayoutTarget string
	// Device holds the target's limits.
	Device Device
	// NumWarps and NumCTAs are options of every GPU backend, which hold of modules
	// that do not say theirs.
	NumWarps, NumCTAs int
	// IROverride is a file that replaces the result of the stage that its ending
	// names; "" for none.
	IROverride string
	// Reserved says why a function cannot have a name, or ""; nil reserves none.
	// Entry is true of the kernel's own.
	Reserved func(name string, entry bool) string
	// Place finds the kernel's source in an artifact that is not MLIR; nil where
	// none tells.
	Place func(artifact []byte, kernel string) (file string, line, column int)
}

// Check follows facts through the stages of the plan: each row's pass has what it needs,
// and each stage gets it from the one before, also where a user's file, of which
// nothing else is known, takes the place of that one's result.
func (p *Plan) Check() error {
	known := make([]pass.FactSet, len(p.Stages))
	order := p.order()
	for i := range p.Stages {
		s, before := &p.Stages[i], sdk.StageBefore(order, i)
		if s.From != "" && before < 0 {
			return fmt.Errorf("the stage %s takes what %s makes, and there is none of that name before it", s.Name, s.From)
		}
		for _, f := range s.Needs {
			if before >= 0 && !known[before].Has(f) {
				return fmt.Errorf("the stage %s needs %s (%s), which %s does not give", s.Name, f.Name, f.Doc, p.Stages[before].Name)
			}
		}
		var err error
		if known[i], err = pass.Check(pass.Effective(s.Passes, p.Facts), s.Needs); err != nil {
			return fmt.Errorf("the stage %s: %w", s.Name, err)
		}
	}
	return nil
}

// order has what sdk.StageBefore and its like look at.
func (p *Plan) order() []sdk.Stage {
	list := make([]sdk.Stage, len(p.Stages))
	for i := range p.Stages {
		list[i] = sdk.Stage{Name: p.Stages[i].Name, From: p.Stages[i].From}
	}
	return list
}

// Device holds limits of a target.
type Device struct {
	WarpSize     int
	MaxWarps     int   // of a block, a power of two
	SharedMemory int64 // bytes of a block
}

// Stage is one step of a compile. Its name is also the file ending of its
// artifact.
type Stage struct {
	Name string
	// From is the stage whose artifact it takes, before it in the list; "" is the one just
	// before it.
	From   string
	Binary bool
	Doc    string
	// Needs are the facts that the stage needs of the module that it begins with, of
	// the stage before or of a user's file. Plan.Check holds the rows against them.
	Needs []*pass.Fact
	// MLIR is the version of MLIR whose syntax the artifact is printed in, where it is not
	// Triton's.
	MLIR int
	// Passes are the rows of a stage over MLIR, whose artifact is the module.
	Passes []pass.Row
	// Tools are rows to show for a stage that runs no passes of ours.
	Tools []sdk.PassRow
	// Run makes the stage's artifact of that of the stage before it: it changes
	// the Compilation's Module, or sets its Artifact. A stage with Passes and no
	// Run runs these.
	Run func(c *Compilation) error
	// Describe fills in the metadata of a kernel that entered below MLIR, out of
	// the stage's artifact; nil where it tells nothing.
	Describe func(c *Compilation) error
}

// overMLIR reports whether the stage's artifact is a module.
func (s *Stage) overMLIR() bool { return s.Passes != nil }

// Backend is a Definition at work: it implements the contract of plugin-sdk.
type Backend struct {
	def  Definition
	memo *toolMemo
	made *madeSet
}

var (
	_ sdk.Backend       = (*Backend)(nil)
	_ sdk.OptionParser  = (*Backend)(nil)
	_ sdk.StageRunner   = (*Backend)(nil)
	_ sdk.DialectLoader = (*Backend)(nil)
	_ sdk.ModuleMapper  = (*Backend)(nil)
	_ sdk.PassRunner    = (*Backend)(nil)
	_ sdk.ToolLister    = (*Backend)(nil)
)

// New makes the backend of a definition. It reads nothing yet.
func New(def Definition) *Backend {
	def.Facts.Hash = sdk.ProgramHash()
	for _, k := range def.Tools {
		def.Facts.Settings = append(def.Facts.Settings, k.Setting)
	}
	def.Facts.Settings = append(append(def.Facts.Settings, limitSettings(def.Tools)...), verifyPasses)
	file := ""
	if dir := cmp.Or(sdk.CacheDir(), cacheDir()); dir != "" {
		file = filepath.Join(dir, "tools.json")
	}
	return &Backend{def: def, memo: filememo.New[identity](file), made: newMadeSet(maxMadeBytes)}
}

// Plan is how the backend compiles for a target with options that ParseOptions made.
func (b *Backend) Plan(t sdk.Target, options string) (*Plan, error) { return b.def.Plan(t, options) }

// Describe implements sdk.Backend.
func (b *Backend) Describe(context.Context) (sdk.Facts, error) { return b.def.Facts, nil }

// LoadDialects implements sdk.DialectLoader.
func (b *Backend) LoadDialects(context.Context) ([]sdk.Dialect, error) {
	var list []sdk.Dialect
	for _, d := range b.def.Dialects {
		list = append(list, sdk.Dialect{Name: d.Name, Declaration: d.Declaration})
	}
	return list, nil
}

// GetModuleMap implements sdk.ModuleMapper.
func (b *Backend) GetModuleMap(context.Context) ([]sdk.Module, error) {
	if b.def.Modules == nil {
		return nil, nil
	}
	return b.def.Modules(), nil
}

// ParseOptions implements sdk.OptionParser.
func (b *Backend) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	text, err := b.def.ParseOptions(req.Target, req.OptionsJSON)
	return sdk.ParseOptionsResponse{OptionsJSON: text}, err
}

// AddStages implements sdk.Backend.
func (b *Backend) AddStages(_ context.Context, req sdk.AddStagesRequest) ([]sdk.Stage, error) {
	plan, err := b.def.Plan(req.Target, req.OptionsJSON)
	if err != nil {
		return nil, err
	}
	var stages []sdk.Stage
	for i := range plan.Stages {
		s := &plan.Stages[i]
		row := sdk.Stage{Name: s.Name, From: s.From, Binary: s.Binary, Ending: s.Name, Doc: s.Doc, Passes: s.Tools}
		if s.overMLIR() {
			row.Passes, row.Pipeline = tableOf(s.Passes, plan.Facts)
		}
		stages = append(stages, row)
	}
	return stages, nil
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

// RunStages implements sdk.StageRunner.
func (b *Backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	work.GrowStack()
	c, err := b.NewCompilation(ctx, req)
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	defer c.meter.End()
	err = c.runStages()
	return c.resp, err
}

// NewCompilation readies a RunStages call none of whose stages has run.
func (b *Backend) NewCompilation(ctx context.Context, req sdk.RunStagesRequest) (*Compilation, error) {
	plan, err := b.def.Plan(req.Target, req.OptionsJSON)
	if err != nil {
		return nil, err
	}
	memory, err := b.memoryLimit(req.Settings)
	if err != nil {
		return nil, err
	}
	meter := work.Start(work.WithMemory(ctx, memory))
	return &Compilation{Context: ctx, Request: req, Plan: plan, Meta: newMetadata(plan), backend: b, meter: meter, began: time.Now()}, nil
}
