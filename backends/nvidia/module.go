package nvidia

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// parseModule reads and verifies MLIR text, in a context of its own. Making ttng
// of its declaration takes as long as all passes do over a small kernel, so it is
// loaded for a text that names it.
func parseModule(meter *work.Meter, name string, src []byte) (*text.File, error) {
	ctx := dialect.NewContext()
	ctx.SetMeter(meter)
	if bytes.Contains(src, []byte(ttng.Name+".")) {
		ctx.Load(ttng.Dialect())
	}
	file, err := text.ParseFile(ctx, name, src)
	if err != nil {
		return nil, err
	}
	if err := file.Verify(); err != nil {
		return nil, err
	}
	return file, nil
}

// printModule is the text in which a module leaves the process.
func printModule(m *ir.Operation) []byte {
	return text.Append(nil, m, text.Options{Locations: true})
}

// setModule takes MLIR text in the place of what stages made.
func (c *compilation) setModule(file string, src []byte) error {
	f, err := parseModule(c.meter, file, src)
	if err != nil {
		return wire.ErrorToSDK(err)
	}
	if c.entered != "" { // a user's file: what it does not say of the source is said of itself
		f.Locate()
	}
	c.module = f.Op
	if err := c.checkStage(file); err != nil {
		return err
	}
	if err := c.describeModule(file); err != nil {
		return err
	}
	made, is := c.module.StringAttr(ttg.TargetAttr), backendName+":"+strconv.Itoa(c.early.cc)
	if made != "" && made != is {
		c.resp.Diagnostics = append(c.resp.Diagnostics, sdk.Diagnostic{
			Severity: sdk.Warning, File: file,
			Message: fmt.Sprintf("the layouts of this module were chosen for %s; it is compiled for %s", made, is),
		})
	}
	return nil
}

func (c *compilation) makeTTIR() error { return c.runPasses(ttirRows(c.early, c.opts)) }

func (c *compilation) makeTTGIR() error {
	if n := c.opts.MaxNReg; n != nil {
		c.module.SetAttr(ttg.MaxNRegAttr, c.module.Context().I32Attr(int64(*n)))
	}
	c.warnOfWarpSpecialization()
	if !c.opts.hasTMA(c.early) || !hasDescriptors(c.module) {
		return c.runPasses(ttgirRows(c.early, c.opts))
	}
	// What is stored through descriptors takes shared memory beside the operands
	// that are copied ahead. Where that is too much, pointers do with less.
	before := c.module.Clone(ir.NewMapping())
	if err := c.runPasses(ttgirRows(c.early, c.opts)); err != nil {
		return err
	}
	placed, _, err := lower.Allocate(c.module, &gpu.Target{CC: c.early.cc})
	if err != nil || int64(placed.Size()) <= c.early.sharedMemory {
		return nil // the stage llir tells the error
	}
	sdk.Logger(c.ctx).Debug("copies by TMA take too much shared memory: pointers instead", "bytes", placed.Size())
	c.module, c.opts.TMA = before, tmaNever
	return c.runPasses(ttgirRows(c.early, c.opts))
}

// warpSpecializeAttr marks loops that shall be split over groups of warps.
const warpSpecializeAttr = "tt.warp_specialize"

// warnOfWarpSpecialization tells of loops that ask for what is not done yet.
func (c *compilation) warnOfWarpSpecialization() {
	ir.Walk(c.module, func(op *ir.Operation) ir.WalkResult {
		if op.Attr(warpSpecializeAttr) == nil || !op.Is(scf.For) {
			return ir.Advance
		}
		d := sdk.Diagnostic{
			Severity: sdk.Warning,
			Message:  "warp_specialize has no effect on this loop: tritonc does not specialize warps yet",
			Help:     "the result is the same; without warp_specialize=True the warning goes away",
		}
		if at := ir.FileLocOf(op.Loc()); at != nil {
			d.File, d.Line, d.Column = at.File, at.Line, at.Col+1
		}
		if !slices.ContainsFunc(c.resp.Diagnostics, func(o sdk.Diagnostic) bool { return o.Error() == d.Error() }) {
			c.resp.Diagnostics = append(c.resp.Diagnostics, d) // inlined twice, it is one loop
		}
		return ir.Advance
	})
}

// hasDescriptors reports whether the module's functions make descriptors.
func hasDescriptors(m *ir.Operation) bool {
	return ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.MakeTensorDesc) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// runPasses runs a pipeline on the module and times its passes.
func (c *compilation) runPasses(rows []pass.Row) error {
	runner := newRunner(c.req.Target)
	timings, err := runner.Run(c.module, rows, facts(c.early, c.opts))
	for _, t := range timings {
		c.resp.Timings = append(c.resp.Timings, sdk.Timing{Stage: c.current, Name: t.Pass, Nanoseconds: t.Duration.Nanoseconds(), Did: t.Did()})
	}
	if err != nil {
		return toHost(err, &c.resp.Reproducer)
	}
	return c.describeModule(c.req.InputName)
}

// newRunner makes a runner whose reproducers run for the target.
func newRunner(t sdk.Target) pass.Runner {
	return pass.Runner{
		Print:   func(m *ir.Operation) string { return string(printModule(m)) },
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

// describeModule fills in what the module, of that file, says of its kernel.
func (c *compilation) describeModule(file string) error {
	for op := range c.module.Body().Ops() {
		if op.Is(tt.Func) && op.StringAttr("sym_visibility") != "private" {
			c.meta.Name = op.StringAttr("sym_name")
			break
		}
	}
	if c.meta.Name == "" {
		return &sdk.Diagnostic{File: file, Message: "there is no kernel here: no public tt.func"}
	}
	wrong := func(format string, args ...any) error {
		return &sdk.Diagnostic{File: file, Message: fmt.Sprintf(format, args...)}
	}
	for op := range c.module.Body().Ops() {
		if d := reservedName(op, c.meta.Name); d != nil {
			return d
		}
	}
	if n, ok := c.module.IntAttr(ttg.NumWarpsAttr); ok && !isNumWarps(int(n)) {
		return wrong("attribute %q: %d is no power of two between 1 and %d", ttg.NumWarpsAttr, n, maxWarps)
	}
	c.meta.NumWarps = c.opts.NumWarps
	for _, name := range []string{ttg.NumWarpsAttr, totalWarpsAttr} {
		if n, ok := c.module.IntAttr(name); ok {
			c.meta.NumWarps = int(n)
		}
	}
	if n, ok := c.module.IntAttr(ttg.NumCTAsAttr); ok {
		c.meta.NumCTAs = int(n)
	}
	if lanes, ok := c.module.IntAttr(ttg.ThreadsPerWarpAttr); ok && lanes != warpSize {
		return wrong("the module is for warps of %d threads; those of %s have %d", lanes, c.req.Target, warpSize)
	}
	return nil
}

// reservedName is the diagnostic of a function that cannot have its name on
// NVIDIA's devices; nil for others. Kernel is the kernel's name.
func reservedName(op *ir.Operation, kernel string) *sdk.Diagnostic {
	name := op.StringAttr("sym_name")
	why := ""
	switch {
	case name == "":
		return nil
	case slices.Contains(deviceFunctions, name):
		why = "CUDA's function of that name exists in every kernel"
	case strings.HasPrefix(name, "__nv_"):
		why = "names that begin with __nv_ are those of libdevice"
	case name == sharedSymbol:
		why = "the kernel's shared memory has that name"
	case name == kernel && (name == "_" || name == "$" || name == "WARP_SZ"):
		why = "PTX takes it for a word of its own"
	default:
		return nil
	}
	d := &sdk.Diagnostic{Message: fmt.Sprintf("a function cannot be named %s here: %s", name, why), Help: "another name will do"}
	if at := ir.FileLocOf(op.Loc()); at != nil {
		d.File, d.Line, d.Column = at.File, at.Line, at.Col+1
	}
	return d
}

// sharedSymbol is what the lowering calls shared memory.
const sharedSymbol = "global_smem"

// checkStage finds a user's file whose ending names another stage than it is of.
func (c *compilation) checkStage(file string) error {
	_, hasWarps := c.module.IntAttr(ttg.NumWarpsAttr)
	d := &sdk.Diagnostic{File: file}
	switch {
	case c.entered == stageTTIR && hasWarps:
		d.Message = fmt.Sprintf("the module has its layouts already: attribute %q", ttg.NumWarpsAttr)
		d.Help = "the name of such a file ends in ." + stageTTGIR
	case c.entered == stageTTGIR && !hasWarps:
		d.Message = fmt.Sprintf("the module has no layouts yet: it lacks the attribute %q", ttg.NumWarpsAttr)
		d.Help = "the name of such a file ends in ." + stageTTIR
	default:
		return nil
	}
	return d
}

// totalWarpsAttr counts the warps of all partitions of a warp-specialized
// kernel.
const totalWarpsAttr = "ttg.total-num-warps"
