package nvidia

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Names of the stages.
const (
	stageTTIR  = "ttir"
	stageTTGIR = "ttgir"
	stageLLIR  = "llir"
	stagePTX   = "ptx"
	stageCubin = "cubin"
)

// stage is a row of the table of stages. Its name is also the file ending of
// its artifact.
type stage struct {
	name   string
	binary bool
	doc    string
	// rows are the passes of a stage over MLIR; nil for others.
	rows func(arch, options) []pass.Row
	// run makes the stage's artifact out of that of the stage before it.
	run func(*compilation) error
	// get returns the artifact, and set puts the content of a file in the place
	// of the one that run would make.
	get func(*compilation) []byte
	set func(c *compilation, file string, data []byte) error
}

// stages of a compile, in order.
var stages = []stage{
	{
		name: stageTTIR, doc: "Triton IR, inlined and simplified",
		rows: ttirRows, run: (*compilation).makeTTIR,
		get: func(c *compilation) []byte { return printModule(c.module) },
		set: (*compilation).setModule,
	},
	{
		name: stageTTGIR, doc: "Triton GPU IR: every tensor with the layout that it has on the device",
		rows: ttgirRows, run: (*compilation).makeTTGIR,
		get: func(c *compilation) []byte { return printModule(c.module) },
		set: (*compilation).setModule,
	},
	{
		name: stageLLIR, doc: "LLVM IR for one thread",
		run: (*compilation).makeLLIR,
		get: func(c *compilation) []byte { return []byte(c.llir) },
		set: func(c *compilation, _ string, data []byte) error { c.llir = string(data); return nil },
	},
	{
		name: stagePTX, doc: "PTX assembly, by LLVM's llc",
		run: (*compilation).makePTX,
		get: func(c *compilation) []byte { return []byte(c.ptx) },
		set: func(c *compilation, _ string, data []byte) error { c.ptx = string(data); return nil },
	},
	{
		name: stageCubin, binary: true, doc: "machine code, by NVIDIA's ptxas",
		run: (*compilation).makeCubin,
		get: func(c *compilation) []byte { return c.cubin },
		set: func(c *compilation, _ string, data []byte) error { c.cubin = data; return nil },
	},
}

// indexOf is the place of a stage in the table, or -1.
func indexOf(name string) int {
	return slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
}

// compilation is one RunStages call: the kernel's form after the last stage that
// ran, and what became known of it.
type compilation struct {
	backend *Backend
	ctx     context.Context // of the call; a compilation does not outlive it
	meter   *work.Meter
	req     sdk.RunStagesRequest
	arch    arch // of the target
	early   arch // that the stages before ptx compile for: option arch
	opts    options
	// entered is the stage whose artifact the input is; "" for the front end's
	// ttir.
	entered string

	module *ir.Operation // in the stages ttir and ttgir
	llir   string
	ptx    string
	cubin  []byte
	meta   metadata

	current string // the stage that runs
	resp    sdk.RunStagesResponse
}

// runStages runs req.First to req.Last.
func (c *compilation) runStages() (err error) {
	defer func() { err = c.overMemory(err) }()
	defer work.Catch(&err)
	first, last := indexOf(c.req.First), indexOf(c.req.Last)
	if first < 0 || last < first {
		return sdk.Errorf("there are no stages %q to %q", c.req.First, c.req.Last).WithHelp("the stages are %s", stageList())
	}
	for _, w := range c.req.Want {
		if i := indexOf(w); i < first || i > last {
			return sdk.Errorf("the stage %q is not among those to run, %s to %s", w, c.req.First, c.req.Last)
		}
	}
	if err := c.meta.read(c.req.MetadataJSON); err != nil {
		return err
	}
	if first > 0 {
		c.entered = stages[first-1].name
	}
	if err := c.enter(first); err != nil {
		return err
	}
	for i := first; i <= last; i++ {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := c.runStage(&stages[i]); err != nil {
			return err
		}
		if i == last || slices.Contains(c.req.Want, stages[i].name) {
			c.resp.Artifacts = append(c.resp.Artifacts, sdk.Artifact{Stage: stages[i].name, Data: stages[i].get(c)})
		}
	}
	return c.finish()
}

// enter takes the input.
func (c *compilation) enter(first int) error {
	if c.entered == "" {
		return stages[0].set(c, c.req.InputName, c.req.Input)
	}
	if err := stages[first-1].set(c, c.req.InputName, c.req.Input); err != nil {
		return err
	}
	if c.entered == stagePTX {
		return c.describeFromPTX()
	}
	return nil
}

// runStage runs one stage, times it, and lets ir_override replace its result.
func (c *compilation) runStage(s *stage) error {
	c.current = s.name
	at := len(c.resp.Timings)
	c.resp.Timings = append(c.resp.Timings, sdk.Timing{Stage: s.name})
	start := time.Now()
	err := s.run(c)
	c.resp.Timings[at].Nanoseconds = time.Since(start).Nanoseconds()
	if err != nil {
		return err
	}
	if path := c.opts.IROverride; path != nil && filepath.Ext(*path) == "."+s.name {
		c.lookAt(*path)
		text, err := input.ReadFile(*path, input.Text)
		if err != nil {
			return fmt.Errorf("option ir_override: %w", err)
		}
		if err := s.set(c, *path, text); err != nil {
			return err
		}
	}
	if s.name == stagePTX && c.entered == stageLLIR {
		return c.describeFromPTX()
	}
	return nil
}

// describeFromPTX finds out of a kernel that entered below ttgir what the stages
// before would have told.
func (c *compilation) describeFromPTX() error {
	k, err := readPTX(c.ptx)
	if err == nil {
		err = c.meta.fromPTX(k, c.req.InputName)
	}
	var d *sdk.Diagnostic
	if errors.As(err, &d) && d.File == "" {
		d.File = c.req.InputName
	}
	return err
}

// finish writes the metadata.
func (c *compilation) finish() error {
	c.checkLaunch()
	h := sha256.New()
	for _, part := range []string{
		c.backend.facts.Hash, c.req.Target.String(), c.req.OptionsJSON, c.req.First, c.req.MetadataJSON, string(c.req.Input),
	} {
		fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	for _, t := range c.resp.Tools {
		fmt.Fprintln(h, t.Name, t.SHA256)
	}
	var err error
	c.resp.MetadataJSON, err = c.meta.json(c.req, hex.EncodeToString(h.Sum(nil)), c.resp.Tools)
	return err
}

// checkLaunch warns of a kernel that no device of the target can launch: for its
// shared memory, its threads, or its registers.
func (c *compilation) checkLaunch() {
	warn := func(help, format string, args ...any) {
		d := sdk.Diagnostic{
			Severity: sdk.Warning, Unlaunchable: true, Help: help,
			Message: "kernel " + c.meta.Name + " " + fmt.Sprintf(format, args...) + fmt.Sprintf(" on %s: it will not launch", c.req.Target),
		}
		c.resp.Diagnostics = append(c.resp.Diagnostics, d)
	}
	if n := c.meta.Shared; n != nil && int64(*n) > c.arch.sharedMemory && c.module == nil { // else its lowering told
		warn("smaller blocks or fewer stages (num_stages) use less",
			"uses %d bytes of shared memory, and a block may have %d", *n, c.arch.sharedMemory)
	}
	threads := c.meta.NumWarps * warpSize
	if threads > maxWarps*warpSize {
		warn("fewer warps (num_warps) have fewer threads", "has blocks of %d threads, and a block may have %d", threads, maxWarps*warpSize)
	}
	if u := c.meta.Usage; u != nil {
		// Registers are handed out to warps in units of 256, 8 a thread.
		if n := (u.Registers + 7) / 8 * 8 * threads; n > registers {
			warn("a lower maxnreg or fewer warps (num_warps) need less",
				"needs %d registers for the %d threads of a block, and a block may have %d", n, threads, registers)
		}
	}
}

// runTool runs a tool's command within its limits, times it and reports the tool.
// That a limit ended it is an error.
func (c *compilation) runTool(t tool, cmd sdk.Command) (*sdk.Result, error) {
	sdk.Logger(c.ctx).Debug("tool", "command", cmd.String())
	l, err := limitsFor(t.Name, c.req.Settings)
	if err != nil {
		return nil, err
	}
	cmd.Timeout, cmd.MemoryLimit = l.time, l.memory
	res, err := cmd.Run(c.ctx)
	if !slices.Contains(c.resp.Tools, t.ToolInfo) {
		c.resp.Tools = append(c.resp.Tools, t.ToolInfo)
	}
	if res != nil {
		c.resp.Timings = append(c.resp.Timings, sdk.Timing{Stage: c.current, Name: t.Name, Nanoseconds: res.Wall.Nanoseconds()})
	}
	if d := c.overLimit(t, l, res, err); d != nil {
		return nil, d
	}
	return res, err
}

// toolError makes the message for a tool that is not there.
func toolError(err error) error {
	var missing *toolNotFound
	if errors.As(err, &missing) {
		return missing.diagnostic()
	}
	return err
}

func stageList() string {
	s := ""
	for i := range stages {
		if i > 0 {
			s += ", "
		}
		s += stages[i].name
	}
	return s
}
