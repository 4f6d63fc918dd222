package nvidia

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// makePTX has llc translate the LLVM IR.
func (c *compilation) makePTX() error {
	llc, err := c.find(&llcKind)
	if err != nil {
		return toolError(err)
	}
	version, err := c.ptxVersion()
	if err != nil {
		return err
	}
	args := []string{
		"-march=nvptx64", "-mcpu=" + c.arch.smName(), "-mattr=+ptx" + strconv.Itoa(version),
		"--nvptx-short-ptr", "-nvptx-mad-wide-opt", "-O3",
	}
	if c.opts.EnableFPFusion {
		// Without it every mul and add is written with its rounding (.rn), and
		// those ptxas does not fuse either.
		args = append(args, "-fp-contract=fast")
	}
	cmd := sdk.Command{
		Path:  llc.Path,
		Args:  append(args, "-o", "-", "-"),
		Stdin: []byte(forLLC(c.llir)),
	}
	res, err := c.runTool(llc, cmd)
	if err != nil {
		return err
	}
	if !res.OK() {
		return c.llcError(cmd, res)
	}
	c.ptx = withoutDebugTarget(string(res.Stdout))
	return nil
}

// ptxVersion is the PTX ISA version to write: the option's, or the newest that
// the assembler reads.
func (c *compilation) ptxVersion() (int, error) {
	ptxas, err := c.find(&ptxasKind)
	var missing *toolNotFound
	switch {
	case errors.As(err, &missing):
		if c.opts.PTXVersion != nil {
			return *c.opts.PTXVersion, nil
		}
		return ptxVersionAlone, nil
	case err != nil:
		return 0, err
	case c.opts.PTXVersion == nil:
		return ptxVersionFor(ptxas), nil
	case *c.opts.PTXVersion > ptxas.ptxVersion():
		return 0, sdk.Errorf("option ptx_version: %d is newer than the %d that %s (%s) reads",
			*c.opts.PTXVersion, ptxas.ptxVersion(), ptxas.Path, ptxas.Version)
	}
	return *c.opts.PTXVersion, nil
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

// llcError explains a failure of llc. LLVM IR that the user gave may be wrong;
// when it is ours, it is our mistake.
func (c *compilation) llcError(cmd sdk.Command, res *sdk.Result) error {
	said := strings.TrimSpace(string(res.Stderr))
	if said == "" {
		said = res.Status()
	}
	// The lowering checks inline assembly; what LLVM finds beyond that is in the
	// user's text all the same.
	if c.entered != stageLLIR && saysAnyOf(said, []string{"inline asm", "constraint"}) {
		d := &sdk.Diagnostic{Message: "kernel " + c.meta.Name + ": llc: " + firstLines(said, 10), Help: "this is about the text or the constraints of its inline assembly"}
		d.File, d.Line, d.Column = c.kernelPlace()
		return d
	}
	if c.entered != stageLLIR {
		return &sdk.Diagnostic{
			Kind:    sdk.Bug,
			Message: "BUG: llc refuses the LLVM IR that the nvidia backend made (" + res.Status() + ")",
			Help:    "please report it with the kernel; the command was: " + cmd.String(),
			Notes:   []sdk.Diagnostic{{Severity: sdk.Note, Message: firstLines(said, 40)}},
		}
	}
	d := &sdk.Diagnostic{File: c.req.InputName, Message: "llc: " + firstLines(said, 10), Help: "the command was: " + cmd.String() + " < " + c.req.InputName}
	// "llc: <stdin>:2:1: error: expected type"
	if _, rest, ok := strings.Cut(said, "<stdin>:"); ok {
		parts := strings.SplitN(rest, ":", 4)
		if len(parts) == 4 {
			line, err1 := strconv.Atoi(parts[0])
			col, err2 := strconv.Atoi(parts[1])
			if err1 == nil && err2 == nil {
				message, _, _ := strings.Cut(strings.TrimSpace(parts[3]), "\n")
				d.Line, d.Column, d.Message = line, col, "llc: "+message
			}
		}
	}
	return d
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
				return k, sdk.Errorf("there are two kernels here, %s and %s; one a file is what Triton's format has", k.name, name)
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
			return 0, fmt.Errorf("%q is no number of threads", strings.TrimSpace(word))
		}
		n *= m
	}
	return n, nil
}

// firstLines is the first n lines of text.
func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	if len(lines) > n {
		lines[n] = "…"
	}
	return strings.Join(lines, "\n")
}
