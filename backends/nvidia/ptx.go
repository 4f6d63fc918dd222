package nvidia

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/ptx"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// makePTX translates the LLVM IR: in memory what the stage before made, unless the options
// ask for llc; by llc what came from a file, and what libraries were linked into.
func (j *job) makePTX(c *backend.Compilation) error {
	version, err := j.ptxVersion(c)
	if err != nil {
		return err
	}
	if j.opts.PTX == ptxDirect && j.lowered != nil && c.Print != nil { // nil: a file replaced it
		return j.translate(c, version)
	}
	llir := string(c.Text())
	if _, err := c.Find(llvm.LLC); err != nil && j.opts.PTX == ptxDirect {
		var d *sdk.Diagnostic
		if errors.As(err, &d) {
			told := *d
			told.Notes = append(slices.Clone(d.Notes), sdk.Diagnostic{
				Severity: sdk.Note, Message: "tritonc writes the PTX of LLVM IR that it made itself; this is for llc, since " + j.whyLLC(c),
			})
			return &told
		}
		return err
	}
	text, err := llvm.GenerateCode(c, j.early.target(), j.llcArguments(version, llir), []byte(forLLC(llir)))
	if err != nil {
		return err
	}
	c.Artifact = []byte(withoutDebugTarget(string(text)))
	return nil
}

// whyLLC says why the LLVM IR at hand is not the module that the lowering built.
func (j *job) whyLLC(c *backend.Compilation) string {
	switch {
	case c.BelowMLIR():
		return "it comes from a file"
	case j.lowered != nil:
		return "a file took its place (option ir_override)"
	}
	return "the kernel calls a library of LLVM IR"
}

// translate writes PTX of the module that the lowering built.
func (j *job) translate(c *backend.Compilation, version int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = work.Stopped(p); err != nil {
				return
			}
			err = c.Crashed(&pass.Crash{
				Pass: "translation to PTX", Reason: fmt.Sprint(p), Stack: string(debug.Stack()),
				Reproducer: fmt.Sprintf("; tritonc --target %s --emit ptx\n%s", c.Request.Target, j.lowered.Print()),
			})
		}
	}()
	j.lowered.Sweep()
	j.lowered.Number()
	text, err := ptx.Translate(j.lowered, ptx.Options{
		CC: j.arch.cc, SM: j.arch.smName(), Version: version, Fusion: j.opts.EnableFPFusion,
	})
	var u *ptx.Unsupported
	if errors.As(err, &u) {
		d := sdk.Errorf("kernel %s: %v", c.Meta.Name, u).WithHelp("--option ptx=llvm has LLVM's llc write the PTX")
		d.File, d.Line, d.Column = c.KernelPlace()
		return d
	}
	if err != nil {
		return err
	}
	c.Artifact = text
	return nil
}

// llcArguments are those of llc for LLVM IR and the PTX ISA version to write.
func (j *job) llcArguments(version int, llir string) []string {
	args := []string{
		"-march=nvptx64", "-mcpu=" + j.arch.smName(), "-mattr=+ptx" + strconv.Itoa(version),
		"--nvptx-short-ptr", "-nvptx-mad-wide-opt", "-O3",
	}
	if j.opts.EnableFPFusion {
		// Without it every mul and add is written with its rounding (.rn), and
		// those ptxas does not fuse either.
		args = append(args, "-fp-contract=fast")
	}
	if strideReductionPairs(llir) > maxStrideReductionPairs {
		args = append(args, "-opt-disable=slsr")
	}
	return args
}

// ptxVersion is the PTX ISA version to write: the option's, or the newest that
// the assembler reads.
func (j *job) ptxVersion(c *backend.Compilation) (int, error) {
	ptxas, err := c.Find(ptxasKind)
	var missing *backend.ToolNotFound
	switch {
	case errors.As(err, &missing):
		if j.opts.PTXVersion != nil {
			return *j.opts.PTXVersion, nil
		}
		return ptxVersionAlone, nil
	case err != nil:
		return 0, err
	case j.opts.PTXVersion == nil:
		return ptxVersionFor(ptxas), nil
	case *j.opts.PTXVersion > ptxVersion(ptxas):
		return 0, sdk.Errorf("option ptx_version: %d is newer than the %d that %s (%s) reads",
			*j.opts.PTXVersion, ptxVersion(ptxas), ptxas.Path, ptxas.Version)
	}
	return *j.opts.PTXVersion, nil
}

// forLLC has line tables written as .loc directives alone. With the debug
// sections of LineTablesOnly, which Triton's LLVM IR asks for, llc marks the
// target "debug", and then ptxas optimizes far less.
func forLLC(llir string) string {
	return strings.ReplaceAll(llir, "emissionKind: LineTablesOnly", "emissionKind: DebugDirectivesOnly")
}

// withoutDebugTarget drops what still says "debug" in the .target line, for an
// input that asks for full debug information.
func withoutDebugTarget(ptx string) string {
	i := strings.Index(ptx, "\n.target ")
	if i < 0 {
		return ptx
	}
	i++
	end := i + strings.IndexByte(ptx[i:]+"\n", '\n')
	return ptx[:i] + strings.ReplaceAll(ptx[i:end], ", debug", "") + ptx[end:]
}

// describePTX fills in the metadata of a kernel that entered as LLVM IR or PTX.
func describePTX(c *backend.Compilation) error {
	k, err := readPTX(string(c.Artifact))
	if err != nil {
		return err
	}
	return c.Meta.EnterBelow(&c.Plan.Device, c.Request.InputName, k.name, k.threads, ".reqntid", k.dynamicShared)
}

// kernelFacts are what a PTX module says of its kernel.
type kernelFacts struct {
	name string
	// threads of a block, from .reqntid; 0 when it does not say.
	threads int
	// dynamicShared: it uses shared memory whose size is given at the launch.
	dynamicShared bool
}

// readPTX finds the module's only kernel.
func readPTX(ptx string) (kernelFacts, error) {
	var k kernelFacts
	for line := range strings.Lines(ptx) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ".extern .shared"):
			k.dynamicShared = true
		case strings.HasPrefix(line, ".visible .entry ") || strings.HasPrefix(line, ".entry "):
			_, rest, _ := strings.Cut(line, ".entry ")
			name := strings.TrimSpace(rest)
			if i := strings.IndexAny(name, "( \t"); i >= 0 {
				name = name[:i]
			}
			if k.name != "" {
				return k, sdk.Errorf("there are two kernels here, %s and %s; Triton's format has one per file", k.name, name)
			}
			k.name = name
		case strings.HasPrefix(line, ".reqntid"):
			n, err := product(strings.TrimPrefix(line, ".reqntid"))
			if err != nil {
				return k, sdk.Errorf("%q: %v", line, err)
			}
			k.threads = n
		}
	}
	if k.name == "" {
		return k, sdk.Errorf("there is no kernel here: no .entry (of LLVM IR, a function with the calling convention ptx_kernel)")
	}
	return k, nil
}

// product multiplies "128, 1, 1".
func product(list string) (int, error) {
	n := 1
	for word := range strings.SplitSeq(list, ",") {
		m, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || m < 1 || m > 1024 {
			return 0, fmt.Errorf("%q is not a number of threads", strings.TrimSpace(word))
		}
		n *= m
	}
	return n, nil
}
