package backend

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Parse reads and verifies MLIR text, in a context of its own. Making a
// backend's dialect of its declaration takes as long as all passes do over a small
// kernel, so it is loaded for a text that names it.
func (b *Backend) Parse(meter *work.Meter, name string, src []byte) (*text.File, error) {
	ctx := dialect.NewContext()
	ctx.SetMeter(meter)
	for _, d := range b.def.Dialects {
		if bytes.Contains(src, []byte(d.Name+".")) {
			ctx.Load(d.Make())
		}
	}
	file, err := text.ParseFile(ctx, name, src)
	if err != nil {
		return nil, err
	}
	if !file.Op.Is(builtin.Module) { // as MLIR's tools read a file of one function
		m := builtin.NewModule(ctx, file.Op.Loc())
		m.Body().Append(file.Op)
		file.Op = m
	}
	if err := file.Verify(); err != nil {
		return nil, err
	}
	return file, nil
}

// Print is the text in which a module leaves the process.
func Print(m *ir.Operation) []byte {
	return text.Append(nil, m, text.Options{Locations: true})
}

// setModule takes MLIR text in the place of what stages made. The stage next, unless
// it is nil, begins with the module.
func (c *Compilation) setModule(file string, src []byte, next *Stage) error {
	f, err := c.backend.Parse(c.meter, file, src)
	if err != nil {
		return wire.ErrorToSDK(err)
	}
	if c.Entered != "" { // a user's file: what it does not say of the source is said of itself
		f.Locate()
	}
	c.Module = f.Op
	if err := c.checkStage(file); err != nil {
		return err
	}
	if err := c.describeModule(file); err != nil {
		return err
	}
	if _, ok := c.Module.IntAttr(ttg.NumWarpsAttr); ok {
		c.complete()
	}
	if next != nil {
		for _, need := range next.Needs {
			if d := need.Unmet(c.Module, "the stage "+next.Name, f.Pos); d != nil {
				return wire.ErrorToSDK(d.WithSource(string(src)))
			}
		}
	}
	made, is := c.Module.StringAttr(ttg.TargetAttr), c.Plan.LayoutTarget
	if made != "" && made != is {
		c.Warn(sdk.Diagnostic{
			Severity: sdk.Warning, File: file,
			Message: fmt.Sprintf("the layouts of this module were chosen for %s; it is compiled for %s", made, is),
		})
	}
	return nil
}

// complete adds what a module with layouts may leave out: the lanes of a warp are the
// device's, and a program is one CTA.
func (c *Compilation) complete() {
	for _, a := range []struct {
		name string
		n    int
	}{{ttg.NumCTAsAttr, 1}, {ttg.ThreadsPerWarpAttr, c.Plan.Device.WarpSize}} {
		if !c.Module.HasAttr(a.name) {
			c.Module.SetAttr(a.name, c.Module.Context().I32Attr(int64(a.n)))
		}
	}
}

// RunPasses runs a pipeline on the module, for rows whose conditions ask f, and
// times its passes.
func (c *Compilation) RunPasses(rows []pass.Row, f pass.Facts) error {
	runner := Runner(c.Request.Target)
	var err error
	if runner.VerifyEach, err = c.verifies(); err != nil {
		return err
	}
	timings, err := runner.Run(c.Module, rows, f)
	for _, t := range timings {
		c.resp.Timings = append(c.resp.Timings, sdk.Timing{Stage: c.current, Name: t.Pass, Nanoseconds: t.Duration.Nanoseconds(), Did: t.Did()})
		c.Meta.remark(t.Remarks)
	}
	if err != nil {
		return toHost(err, &c.resp.Reproducer)
	}
	return c.describeModule(c.Request.InputName)
}

// checkNeeds checks what a stage needs of the module that the stage before left. What
// that surely gives is checked in compiles that verify alone; the rest is missing where
// users leave out the pass that gives it.
func (c *Compilation) checkNeeds(s *Stage) error {
	if c.at < 0 || c.Module == nil || !c.Plan.Stages[c.at].overMLIR() {
		return nil
	}
	on, err := c.verifies()
	if err != nil {
		return err
	}
	before := &c.Plan.Stages[c.at]
	given, err := pass.Check(pass.Effective(before.Passes, c.Plan.Facts), before.Needs)
	if err != nil {
		panic("BUG: the stage " + before.Name + ": " + err.Error())
	}
	for _, f := range s.Needs {
		if given.Has(f) && !on {
			continue
		}
		d := f.Unmet(c.Module, "the stage "+s.Name, nil)
		switch {
		case d != nil && given.Has(f):
			return toHost(&pass.Crash{Pass: "the last of the stage " + before.Name, Reason: d.Message}, &c.resp.Reproducer)
		case d != nil:
			return wire.ErrorToSDK(d)
		}
	}
	return nil
}

// Runner makes a runner whose reproducers run for the target.
func Runner(t sdk.Target) pass.Runner {
	return pass.Runner{
		Print:   func(m *ir.Operation) string { return string(Print(m)) },
		Command: "tritonc opt --target " + t.String(),
	}
}

// toHost makes an error of passes or of the lowering fit for the host. A crash of
// ours leaves its reproducer in *reproducer.
func toHost(err error, reproducer *string) error {
	var crash *pass.Crash
	if !errors.As(err, &crash) {
		return userError(err)
	}
	*reproducer = crash.Reproducer
	d := &sdk.Diagnostic{
		Kind: sdk.Bug, Message: crash.Error(),
		Help: "this is a mistake in tritonc, not in your kernel; please report it",
	}
	if crash.Stack != "" {
		d.Notes = []sdk.Diagnostic{{Severity: sdk.Note, Message: crash.Stack}}
	}
	return d
}

// kernelOf is the first function of a module that is not private, whichever dialect has
// it at this stage; nil without one.
func kernelOf(m *ir.Operation) *ir.Operation {
	for op := range m.Body().Ops() {
		if op.IsFunction() && !op.IsPrivate() {
			return op
		}
	}
	return nil
}

// describeModule fills in what the module, of that file, says of its kernel.
func (c *Compilation) describeModule(file string) error {
	kernel := kernelOf(c.Module)
	if kernel == nil {
		return &sdk.Diagnostic{File: file, Message: "there is no kernel here: no public function", Help: "the file may be cut short"}
	}
	c.Meta.Name = kernel.SymbolName()
	wrong := func(format string, args ...any) error {
		return &sdk.Diagnostic{File: file, Message: fmt.Sprintf(format, args...)}
	}
	for op := range c.Module.Body().Ops() {
		if d := c.reservedName(op, c.Meta.Name); d != nil {
			return d
		}
	}
	device := &c.Plan.Device
	if n, ok := c.Module.IntAttr(ttg.NumWarpsAttr); ok && (n < 1 || n > int64(device.MaxWarps) || n&(n-1) != 0) {
		return wrong("attribute %q: %d is not a power of two between 1 and %d", ttg.NumWarpsAttr, n, device.MaxWarps)
	}
	c.Meta.NumWarps = c.Plan.NumWarps
	for _, name := range []string{ttg.NumWarpsAttr, ttg.TotalNumWarpsAttr} {
		if n, ok := c.Module.IntAttr(name); ok {
			c.Meta.NumWarps = int(n)
		}
	}
	if n, ok := c.Module.IntAttr(ttg.NumCTAsAttr); ok {
		c.Meta.NumCTAs = int(n)
	}
	if lanes, ok := c.Module.IntAttr(ttg.ThreadsPerWarpAttr); ok && int(lanes) != device.WarpSize {
		return &sdk.Diagnostic{
			File: file, Message: fmt.Sprintf("the module is for warps of %d threads; those of %s have %d", lanes, c.Request.Target, device.WarpSize),
			Help: "the kernel's ttir, or its source, can be compiled for any target",
		}
	}
	return nil
}

// reservedName is the diagnostic of a function that cannot have its name on the
// target; nil for others. Kernel is the kernel's name.
func (c *Compilation) reservedName(op *ir.Operation, kernel string) *sdk.Diagnostic {
	name := op.SymbolName()
	if name == "" || c.Plan.Reserved == nil {
		return nil
	}
	why := c.Plan.Reserved(name, name == kernel)
	if why == "" {
		return nil
	}
	d := &sdk.Diagnostic{Message: fmt.Sprintf("a function cannot be named %s here: %s", name, why), Help: "another name will do"}
	if at := ir.FileLocOf(op.Loc()); at != nil {
		d.File, d.Line, d.Column = at.File, at.Line, at.Col+1
	}
	return d
}

// checkStage finds a user's file whose ending names another stage than it is of.
func (c *Compilation) checkStage(file string) error {
	_, hasWarps := c.Module.IntAttr(ttg.NumWarpsAttr)
	d := &sdk.Diagnostic{File: file}
	switch {
	case c.Entered == "ttir" && hasWarps:
		d.Message = fmt.Sprintf("the module has its layouts already: attribute %q", ttg.NumWarpsAttr)
		d.Help = "the name of such a file ends in .ttgir"
	case c.Entered == "ttgir" && !hasWarps:
		d.Message = fmt.Sprintf("the module has no layouts yet: it lacks the attribute %q", ttg.NumWarpsAttr)
		d.Help = "the name of such a file ends in .ttir"
	default:
		return nil
	}
	return d
}
