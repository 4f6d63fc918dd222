package backend

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Settings of the machine that every backend of this package reads, beside those
// that name its tools. The host takes them from the environment.
var (
	toolSeconds = sdk.SettingSpec{Name: "tool_seconds", Env: []string{"TRITONC_TOOL_SECONDS"}, Limit: true, Doc: "seconds that a tool may take for a kernel"}
	toolMemory  = sdk.SettingSpec{Name: "tool_memory", Env: []string{"TRITONC_TOOL_MEMORY"}, Limit: true, Doc: "MiB of memory that a tool may take"}
	maxMemory   = sdk.SettingSpec{Name: "max_memory", Env: []string{"TRITONC_MAX_MEMORY"}, Limit: true, Doc: "MiB of memory that a compile may take beside its tools; 0 means no limit"}
)

// limitSettings are the settings about limits. Their docs name the limits that
// hold without them: the common ones, then those of tools that have others.
func limitSettings(tools []*ToolKind) []sdk.SettingSpec {
	seconds, memory := toolSeconds, toolMemory
	times, sizes := fmt.Sprint(int(commonLimits.Time.Seconds())), fmt.Sprint(commonLimits.Memory>>20)
	for _, k := range tools {
		if k.Limits != (Limits{}) {
			times += fmt.Sprintf(", %s %d", k.Name, int(k.Limits.Time.Seconds()))
			sizes += fmt.Sprintf(", %s %d", k.Name, k.Limits.Memory>>20)
		}
	}
	seconds.Doc += " (" + times + ")"
	memory.Doc += " (" + sizes + ")"
	return []sdk.SettingSpec{seconds, memory, maxMemory}
}

// verifyPasses is for people who look for a pass that goes wrong, and for tests.
var verifyPasses = sdk.SettingSpec{Name: "verify_passes", Env: []string{"TRITONC_VERIFY_PASSES"}, Doc: "1: verify the module after each pass, and the facts that passes need and give"}

// verifies reports whether the compile is to verify each pass.
func (c *Compilation) verifies() (bool, error) {
	text := c.Request.Settings[verifyPasses.Name]
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, sdk.Errorf("the setting %s (%s) is %q, not 1 or 0", verifyPasses.Name, strings.Join(verifyPasses.Env, ", "), text)
	}
	return on, nil
}

// Limits are what a tool may take for one kernel.
type Limits struct {
	Time   time.Duration
	Memory int64 // bytes of address space
}

// commonLimits are those of tools without their own. The time that LLVM's take grows out
// of all bounds on a very long chain of dependent integer operations; the largest public
// kernels take llc half a minute.
var commonLimits = Limits{Time: 5 * time.Minute, Memory: 4 << 30}

// limits are those of the kind, with what the user says.
func (k *ToolKind) limits(settings map[string]string) (Limits, error) {
	l := k.Limits
	if l == (Limits{}) {
		l = commonLimits
	}
	seconds, err := positive(settings, &toolSeconds)
	if err != nil {
		return l, err
	}
	if seconds > 0 {
		l.Time = time.Duration(seconds) * time.Second
	}
	mebibytes, err := positive(settings, &toolMemory)
	if err != nil {
		return l, err
	}
	if mebibytes > 0 {
		l.Memory = mebibytes << 20
	}
	return l, nil
}

// memoryLimit is how many bytes a compile may take beside its tools; 0, no limit,
// where the settings say so or nothing.
func (*Backend) memoryLimit(settings map[string]string) (int64, error) {
	if settings[maxMemory.Name] == "0" {
		return 0, nil
	}
	mebibytes, err := positive(settings, &maxMemory)
	return mebibytes << 20, err
}

// overMemory tells a compile that took too much memory at the kernel's line; other
// errors pass.
func (c *Compilation) overMemory(err error) error {
	var over *work.OverMemory
	if !errors.As(err, &over) {
		return err
	}
	d := &sdk.Diagnostic{Message: over.Error(), Help: work.OverMemoryHelp}
	if c.Meta.Name != "" {
		d.Message = "kernel " + c.Meta.Name + ": " + d.Message
	}
	d.File, d.Line, d.Column = c.KernelPlace()
	return d
}

// maxLimit bounds the settings: more than any machine has, and small enough to
// count in nanoseconds and bytes.
const maxLimit = 1 << 32

// positive reads a setting that is a whole number; 0 where it is not given.
func positive(settings map[string]string, setting *sdk.SettingSpec) (int64, error) {
	text := settings[setting.Name]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxLimit {
		return 0, &sdk.Diagnostic{
			Kind:    sdk.Environment,
			Message: fmt.Sprintf("%s=%s is not a whole number between 1 and %d", strings.Join(setting.Env, ", "), text, int64(maxLimit)),
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
func (c *Compilation) overLimit(t *Tool, l Limits, res *sdk.Result, failed error) *sdk.Diagnostic {
	d := &sdk.Diagnostic{Help: "less code takes less: smaller blocks, more warps (num_warps), fewer stages (num_stages), less that is unrolled"}
	var late *sdk.TimeoutError
	switch {
	case errors.As(failed, &late):
		d.Message = fmt.Sprintf("%s was stopped after %s, its time limit", t.Name, l.Time)
		d.Help += "; " + toolSeconds.Env[0] + " sets another limit in seconds"
	case failed != nil || res.OK():
		return nil //nolint:nilerr // no limit was the reason
	case SaysAny(Said(res)+string(res.Stdout), memoryWords):
		limit := l.Memory
		if res.MemoryLimit > 0 {
			limit = res.MemoryLimit
		}
		d.Message = fmt.Sprintf("%s needs more than %d MiB of memory, its limit", t.Name, limit>>20)
		if limit < l.Memory {
			d.Help += "; the limit is the shell's (ulimit -v)"
		} else {
			d.Help += "; " + toolMemory.Env[0] + " sets another limit in MiB"
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
	name := c.Meta.Name
	if name == "" {
		name = c.Request.InputName
	}
	d.Message = "kernel " + name + ": " + d.Message
	d.File, d.Line, d.Column = c.KernelPlace()
	return d
}

// SaysAny reports whether text has one of the words.
func SaysAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// KernelPlace is where the kernel's source is, as far as the form that it has now
// tells.
func (c *Compilation) KernelPlace() (file string, line, column int) {
	if c.Module != nil {
		if kernel := kernelOf(c.Module); kernel != nil {
			if at := ir.FileLocOf(kernel.Loc()); at != nil {
				return at.File, at.Line, at.Col + 1
			}
		}
	}
	if c.Plan.Place != nil {
		if file, line, column = c.Plan.Place(c.Artifact, c.Meta.Name); file != "" {
			return file, line, column
		}
	}
	if c.BelowMLIR() {
		return c.Request.InputName, 0, 0
	}
	return "", 0, 0
}
