package nvidia

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// limits are what a tool may take for one kernel.
type limits struct {
	time   time.Duration
	memory int64 // bytes of address space
}

// The limits of the tools, where the settings name no others. The time of LLVM's
// tools grows out of all bounds on a very long chain of dependent integer
// operations; the largest public kernels take llc half a minute, and ptxas
// minutes.
var (
	llvmLimits  = limits{time: 5 * time.Minute, memory: 4 << 30}
	ptxasLimits = limits{time: 10 * time.Minute, memory: 16 << 30}
)

// limitsFor are the limits of the tool of this name, with what the user says.
func limitsFor(tool string, settings map[string]string) (limits, error) {
	l := llvmLimits
	if tool == ptxasKind.name {
		l = ptxasLimits
	}
	seconds, err := positive(settings, settingToolSeconds)
	if err != nil {
		return l, err
	}
	if seconds > 0 {
		l.time = time.Duration(seconds) * time.Second
	}
	mebibytes, err := positive(settings, settingToolMemory)
	if err != nil {
		return l, err
	}
	if mebibytes > 0 {
		l.memory = mebibytes << 20
	}
	return l, nil
}

// memoryLimit is how many bytes a compile may take beside its tools; 0, no limit,
// where the settings say so or nothing.
func memoryLimit(settings map[string]string) (int64, error) {
	if settings[settingMaxMemory] == "0" {
		return 0, nil
	}
	mebibytes, err := positive(settings, settingMaxMemory)
	return mebibytes << 20, err
}

// overMemory tells a compile that took too much memory at the kernel's line; other
// errors pass.
func (c *compilation) overMemory(err error) error {
	var over *work.OverMemory
	if !errors.As(err, &over) {
		return err
	}
	d := &sdk.Diagnostic{Message: over.Error(), Help: work.OverMemoryHelp}
	if c.meta.Name != "" {
		d.Message = "kernel " + c.meta.Name + ": " + d.Message
	}
	d.File, d.Line, d.Column = c.kernelPlace()
	return d
}

// maxLimit bounds the settings: more than any machine has, and small enough to
// count in nanoseconds and bytes.
const maxLimit = 1 << 32

// positive reads a setting that is a whole number; 0 where it is not given.
func positive(settings map[string]string, name string) (int64, error) {
	text := settings[name]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxLimit {
		return 0, &sdk.Diagnostic{
			Kind:    sdk.Environment,
			Message: fmt.Sprintf("%s=%s is no whole number between 1 and %d", strings.Join(envOf(name), ", "), text, int64(maxLimit)),
		}
	}
	return n, nil
}

// memoryWords are what tools say when they get no more memory: LLVM, ptxas, the
// C++ library, and the dynamic linker before any of them has begun.
var memoryWords = []string{"out of memory", "Memory allocation failure", "bad_alloc", "annot allocate memory", "failed to map segment"}

// shellLimits are the signals that end a tool at a limit of the shell, with the
// command that sets it.
var shellLimits = map[string]string{
	"file size limit exceeded": "ulimit -f",
	"CPU time limit exceeded":  "ulimit -t",
}

// overLimit is the diagnostic of a tool that ended because of a limit, at the
// kernel's line; nil when that was not the reason. Failed is the error of its run.
func (c *compilation) overLimit(t tool, l limits, res *sdk.Result, failed error) *sdk.Diagnostic {
	d := &sdk.Diagnostic{Help: "less code takes less: smaller blocks, more warps (num_warps), fewer stages (num_stages), less that is unrolled"}
	var late *sdk.TimeoutError
	switch {
	case errors.As(failed, &late):
		d.Message = fmt.Sprintf("%s was stopped after %s, its time limit", t.Name, l.time)
		d.Help += "; " + envOf(settingToolSeconds)[0] + " sets another limit in seconds"
	case failed != nil || res.OK():
		return nil
	case saysAnyOf(said(res)+string(res.Stdout), memoryWords):
		limit := l.memory
		if res.MemoryLimit > 0 {
			limit = res.MemoryLimit
		}
		d.Message = fmt.Sprintf("%s needs more than %d MiB of memory, its limit", t.Name, limit>>20)
		if limit < l.memory {
			d.Help += "; the limit is the shell's (ulimit -v)"
		} else {
			d.Help += "; " + envOf(settingToolMemory)[0] + " sets another limit in MiB"
		}
	case res.Signal == "killed":
		d.Message = t.Name + " was killed: perhaps the system has no more memory"
		d.Help += "; a limit of CPU time (ulimit -t) kills, too"
	case shellLimits[res.Signal] != "":
		d.Message = fmt.Sprintf("%s was stopped: %s", t.Name, res.Signal)
		d.Help = "the limit is the shell's (" + shellLimits[res.Signal] + ")"
	default:
		return nil
	}
	name := c.meta.Name
	if name == "" {
		name = c.req.InputName
	}
	d.Message = "kernel " + name + ": " + d.Message
	d.File, d.Line, d.Column = c.kernelPlace()
	return d
}

func saysAnyOf(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// kernelPlace is where the kernel's source is, as far as the form that it has
// now tells.
func (c *compilation) kernelPlace() (file string, line, column int) {
	if c.module != nil {
		for op := range c.module.Body().Ops() {
			if !op.Is(tt.Func) || op.StringAttr("sym_name") != c.meta.Name {
				continue
			}
			if at := ir.FileLocOf(op.Loc()); at != nil {
				return at.File, at.Line, at.Col + 1
			}
		}
	}
	line, inside := 0, false
	for text := range strings.Lines(c.ptx) {
		line++
		inside = inside || strings.HasPrefix(text, ".visible .entry "+c.meta.Name+"(")
		if inside && strings.HasPrefix(strings.TrimSpace(text), ".loc") {
			if file, line, column, ok := sourceOf(c.ptx, line); ok {
				return file, line, column
			}
			break
		}
	}
	if c.entered == stageLLIR || c.entered == stagePTX {
		return c.req.InputName, 0, 0
	}
	return "", 0, 0
}
