package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Compilation is one RunStages call: the kernel's form after the last stage that
// ran, and what became known of it.
type Compilation struct {
	Context context.Context // of the call; a Compilation does not outlive it
	Request sdk.RunStagesRequest
	Plan    *Plan
	// Entered is the stage whose artifact the input is; "" for the front end's
	// ttir.
	Entered string
	// Module is the kernel in the stages over MLIR, and as the last of these left
	// it.
	Module *ir.Operation
	// Artifact is what the last stage made that is not over MLIR; nil where Print gives it.
	Artifact []byte
	// Print writes the artifact of a stage that made it in memory, for those who ask for it.
	Print func() []byte
	// File is what the user gave last: the input, or what an IROverride put in its place.
	File string
	Meta Metadata

	backend *Backend
	ahead   map[*ToolKind]chan search // of FindAhead
	order   []sdk.Stage               // of Plan.Stages
	at      int                       // the stage whose artifact Module or Artifact is; -1 is the front end's ttir
	kept    map[int]kept
	meter   *work.Meter
	began   time.Time
	current string // the stage that runs
	resp    sdk.RunStagesResponse
}

// Warn tells the user of something beside the compile's result.
func (c *Compilation) Warn(d sdk.Diagnostic) { c.resp.Diagnostics = append(c.resp.Diagnostics, d) }

// Crashed is the error of a pass or lowering that panicked; the reproducer goes to the host.
func (c *Compilation) Crashed(crash *pass.Crash) error { return toHost(crash, &c.resp.Reproducer) }

// BackendName is the name in the facts of the backend.
func (c *Compilation) BackendName() string { return c.backend.def.Facts.Name }

// Response is what the call has made so far.
func (c *Compilation) Response() *sdk.RunStagesResponse { return &c.resp }

// indexOf is the place of a stage in the plan, or -1.
func (c *Compilation) indexOf(name string) int {
	return slices.IndexFunc(c.Plan.Stages, func(s Stage) bool { return s.Name == name })
}

// BelowMLIR reports whether the kernel entered as an artifact below MLIR.
func (c *Compilation) BelowMLIR() bool {
	i := c.indexOf(c.Entered)
	return i >= 0 && !c.Plan.Stages[i].overMLIR()
}

// kept is the form of the kernel after a stage that several others take it from.
type kept struct {
	module   *ir.Operation
	artifact []byte
	print    func() []byte
}

// back gives the kernel the form that it had after a stage.
func (c *Compilation) back(stage int) {
	k, ok := c.kept[stage]
	if !ok {
		panic("BUG: what the stage " + c.order[stage].Name + " made is gone")
	}
	c.Module, c.Artifact, c.Print, c.at = nil, k.artifact, k.print, stage
	if k.module != nil {
		c.Module = k.module.Clone(ir.NewMapping())
	}
}

// keep remembers the form of the kernel where a stage after the next to run takes it, too.
func (c *Compilation) keep(later []int) {
	if !slices.ContainsFunc(later, func(i int) bool { return sdk.StageBefore(c.order, i) == c.at }) {
		return
	}
	k := kept{artifact: c.Artifact, print: c.Print}
	if c.Module != nil {
		k.module = c.Module.Clone(ir.NewMapping())
	}
	c.kept[c.at] = k
}

// set puts the content of a file in the place of a stage's artifact. The stage next,
// nil for none, begins with it.
func (c *Compilation) set(s *Stage, file string, data []byte, next *Stage) error {
	c.File = file
	if s.overMLIR() {
		return c.setModule(file, data, next)
	}
	c.Artifact, c.Print = data, nil
	return nil
}

// Text is the artifact of the last stage that is not over MLIR.
func (c *Compilation) Text() []byte {
	if c.Artifact == nil && c.Print != nil {
		c.Artifact = c.Print()
	}
	return c.Artifact
}

// get is a stage's artifact.
func (c *Compilation) get(s *Stage) []byte {
	if s.overMLIR() {
		return text.Append(nil, c.Module, text.Options{Locations: true, MLIR: s.MLIR})
	}
	return c.Text()
}

// runStages runs req.First to req.Last.
func (c *Compilation) runStages() (err error) {
	defer func() { err = c.overMemory(err) }()
	defer work.Catch(&err)
	stages := c.Plan.Stages
	first, last := c.indexOf(c.Request.First), c.indexOf(c.Request.Last)
	if first < 0 || last < first {
		return sdk.Errorf("there are no stages %q to %q", c.Request.First, c.Request.Last).WithHelp("the stages are %s", c.stageList())
	}
	c.order, c.kept = c.Plan.order(), map[int]kept{}
	wanted := []int{last}
	for _, w := range c.Request.Want {
		i := c.indexOf(w)
		if i < first || i > last {
			return sdk.Errorf("the stage %q is not among those to run, %s to %s", w, c.Request.First, c.Request.Last)
		}
		wanted = append(wanted, i)
	}
	c.at = sdk.StageBefore(c.order, first)
	run := sdk.StagesFor(c.order, c.at, wanted...)
	if run == nil {
		return sdk.Errorf("not all of %s are made of what the stage %s takes", strings.Join(append([]string{c.Request.Last}, c.Request.Want...), ", "), c.Request.First)
	}
	if err := c.Meta.read(c.Request.MetadataJSON); err != nil {
		return err
	}
	if c.at >= 0 {
		c.Entered = stages[c.at].Name
	}
	if err := c.enter(first); err != nil {
		return err
	}
	for k, i := range run {
		if err := c.Context.Err(); err != nil {
			return err
		}
		if b := sdk.StageBefore(c.order, i); b != c.at {
			c.back(b)
		}
		c.keep(run[k+1:])
		if err := c.runStage(&stages[i], run[k+1:]); err != nil {
			return err
		}
		if k < len(run)-1 {
			if err := c.refused(); err != nil {
				return err
			}
		}
		c.at = i
		if i == last || slices.Contains(c.Request.Want, stages[i].Name) {
			c.resp.Artifacts = append(c.resp.Artifacts, sdk.Artifact{Stage: stages[i].Name, Data: c.get(&stages[i])})
		}
	}
	return c.finish()
}

// enter takes the input.
func (c *Compilation) enter(first int) error {
	s := &c.Plan.Stages[max(c.at, 0)]
	var next *Stage // to which a user's file is new; the front end's ttir has what it needs
	if c.Entered != "" {
		next = &c.Plan.Stages[first]
	}
	if err := c.set(s, c.Request.InputName, c.Request.Input, next); err != nil {
		return err
	}
	return c.describe(s)
}

// runStage runs one stage, times it, and lets the plan's IROverride replace its
// result. Later are the places of the stages that run after it.
func (c *Compilation) runStage(s *Stage, later []int) error {
	c.current = s.Name
	sdk.ReportProgress(c.Context, sdk.Progress{Stage: s.Name})
	at := len(c.resp.Timings)
	start := time.Now()
	c.resp.Timings = append(c.resp.Timings, sdk.Timing{Stage: s.Name, Start: start.Sub(c.began).Nanoseconds()})
	err := c.checkNeeds(s)
	if err != nil {
		return err
	}
	if s.Run != nil {
		err = s.Run(c)
	} else {
		err = c.RunPasses(s.Passes, c.Plan.Facts)
	}
	c.resp.Timings[at].Nanoseconds = time.Since(start).Nanoseconds()
	if err != nil {
		return err
	}
	if path := c.Plan.IROverride; path != "" && filepath.Ext(path) == "."+s.Name {
		c.LookAt(path)
		text, err := input.ReadFile(path, input.Text)
		if err != nil {
			return fmt.Errorf("option ir_override: %w", err)
		}
		var next *Stage
		at := c.indexOf(s.Name)
		if i := slices.IndexFunc(later, func(i int) bool { return sdk.StageBefore(c.order, i) == at }); i >= 0 {
			next = &c.Plan.Stages[later[i]]
		}
		if err := c.set(s, path, text, next); err != nil {
			return err
		}
	}
	return c.describe(s)
}

// describe finds out of a kernel that entered below MLIR what the stages before
// would have told.
func (c *Compilation) describe(s *Stage) error {
	if s.Describe == nil || !c.BelowMLIR() {
		return nil
	}
	err := s.Describe(c)
	var d *sdk.Diagnostic
	if errors.As(err, &d) && d.File == "" {
		d.File = c.Request.InputName
	}
	return err
}

// finish writes the metadata.
func (c *Compilation) finish() error {
	c.checkLaunch()
	h := sha256.New()
	for _, part := range []string{
		c.backend.def.Facts.Hash, c.Request.Target.String(), c.Request.OptionsJSON, c.Request.First, c.Request.MetadataJSON, string(c.Request.Input),
	} {
		fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	for _, t := range c.resp.Tools {
		fmt.Fprintln(h, t.Name, t.SHA256)
	}
	var err error
	c.resp.MetadataJSON, err = c.Meta.json(c.Request, c.Plan.Device.WarpSize, hex.EncodeToString(h.Sum(nil)), c.resp.Tools)
	return err
}

// checkLaunch warns of a kernel that no device of the target can launch, for its
// shared memory or its threads.
func (c *Compilation) checkLaunch() {
	d := &c.Plan.Device
	if n := c.Meta.Shared; n != nil && int64(*n) > d.SharedMemory && c.Module == nil { // else its lowering told
		c.WarnUnlaunchable("smaller blocks or fewer stages (num_stages) use less",
			"uses %s of shared memory, and a block may have %d", diag.Count(*n, "byte"), d.SharedMemory)
	}
	if c.Meta.NumWarps > d.MaxWarps {
		c.WarnUnlaunchable("fewer warps (num_warps) have fewer threads",
			"has blocks of %s, and a block may have %d", diag.Count(c.Meta.NumWarps*d.WarpSize, "thread"), d.MaxWarps*d.WarpSize)
	}
}

// refused are the diagnostics if one says that no device can launch the kernel and the host
// asked for one that can be: the stages that come next would be for nothing.
func (c *Compilation) refused() error {
	if !c.Request.Launchable || !slices.ContainsFunc(c.resp.Diagnostics, func(d sdk.Diagnostic) bool { return d.Unlaunchable }) {
		return nil
	}
	list := sdk.Diagnostics(c.resp.Diagnostics)
	for i := range list {
		if list[i].Unlaunchable {
			list[i].Severity = sdk.Error
		}
	}
	c.resp.Diagnostics = nil
	return list
}

// WarnUnlaunchable tells of a kernel that no device of the target can launch. The
// format continues "kernel NAME". Whether that is an error is the host's to say.
func (c *Compilation) WarnUnlaunchable(help, format string, args ...any) {
	c.Warn(sdk.Diagnostic{
		Severity: sdk.Warning, Unlaunchable: true, Help: help,
		Message: "kernel " + c.Meta.Name + " " + fmt.Sprintf(format, args...) + fmt.Sprintf(" on %s: it will not launch", c.Request.Target),
	})
}

// AddTool reports a tool, or a file like one, that the result depends on.
func (c *Compilation) AddTool(t sdk.ToolInfo) {
	if !slices.Contains(c.resp.Tools, t) {
		c.resp.Tools = append(c.resp.Tools, t)
	}
}

// LookAt notes that the outcome depends on a file or folder, there or not.
func (c *Compilation) LookAt(path string) {
	if !slices.Contains(c.resp.LookedAt, path) {
		c.resp.LookedAt = append(c.resp.LookedAt, path)
	}
}

// RunTool runs a tool's command within its limits, times it and reports the tool.
// That a limit ended it is an error.
func (c *Compilation) RunTool(t *Tool, cmd sdk.Command) (*sdk.Result, error) {
	sdk.Logger(c.Context).Debug("tool", "command", cmd.String())
	l, err := t.kind.limits(c.Request.Settings)
	if err != nil {
		return nil, err
	}
	cmd.Timeout, cmd.MemoryLimit = l.Time, l.Memory
	res, err := cmd.Run(c.Context)
	c.AddTool(t.ToolInfo)
	if res != nil {
		c.resp.Timings = append(c.resp.Timings, res.Timing(c.current, t.Name, c.began))
	}
	if d := c.overLimit(t, l, res, err); d != nil {
		return nil, d
	}
	return res, err
}

func (c *Compilation) stageList() string {
	names := make([]string, len(c.Plan.Stages))
	for i := range names {
		names[i] = c.Plan.Stages[i].Name
	}
	return strings.Join(names, ", ")
}
