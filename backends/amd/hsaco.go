package amd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// makeHSACO assembles and links the code object. The linker works on files: they have the
// same names in every compile, below a folder that is the working directory, so that no
// output depends on the folder.
func (j *job) makeHSACO(c *backend.Compilation) error {
	k, err := readAMDGCN(string(c.Artifact))
	if err == nil && k.name != c.Meta.Name {
		err = sdk.Errorf("the assembly is of kernel %s, and the compile of %s", k.name, c.Meta.Name).WithHelp("ir_override takes a file of the same kernel")
	}
	if err != nil {
		var d *sdk.Diagnostic
		if errors.As(err, &d) && d.File == "" {
			d.File = c.File
		}
		return err
	}
	c.Meta.Usage = &k.usage
	j.warnOfUsage(c, &k.usage)
	lld, err := c.Find(llvm.LLD) // what is missing most often, before the work
	if err != nil {
		return err
	}
	dir, remove, err := sdk.TempDir("tritonc-hsaco")
	if err != nil {
		return err
	}
	defer remove()
	const object, out = "kernel.o", "kernel.hsaco"
	if err := j.assemble(c, dir, object); err != nil {
		return err
	}
	res, err := c.RunTool(lld, sdk.Command{Path: lld.Path, Args: []string{"-shared", "--no-undefined", object, "-o", out}, Dir: dir})
	if err != nil {
		return err
	}
	if !res.OK() {
		return sdk.Errorf("%s cannot link the kernel: %s", filepath.Base(lld.Path), backend.FirstLines(backend.Said(res), 10)).
			WithHelp("functions that a library should have defined are given with --extern-lib NAME=PATH (option extern_libs)")
	}
	code, err := os.ReadFile(filepath.Join(dir, out))
	if err != nil {
		return fmt.Errorf("%s wrote no code object: %w", lld.Path, err)
	}
	if !bytes.HasPrefix(code, []byte("\x7fELF")) {
		return fmt.Errorf("what %s wrote is not an ELF file", lld.Path)
	}
	c.Artifact = code
	return nil
}

// assemble has llvm-mc make an object of the assembly, as a file in dir.
func (j *job) assemble(c *backend.Compilation, dir, object string) error {
	mc, err := c.Find(llvm.MC)
	if err != nil {
		return err
	}
	cmd := sdk.Command{Path: mc.Path, Dir: dir, Stdin: c.Artifact, Args: j.assemblerArguments("obj", "-o", object)}
	res, err := c.RunTool(mc, cmd)
	if err != nil || res.OK() {
		return err
	}
	return assemblyError(c, cmd, backend.Said(res))
}

// assemblerArguments are those of llvm-mc, which makes a file of the type of its standard
// input.
func (j *job) assemblerArguments(fileType string, more ...string) []string {
	args := []string{"-triple=" + j.target().Triple(), "-mcpu=" + j.arch.chip.Name, "-filetype=" + fileType}
	return append(append(args, more...), "-")
}

// maxAssemblyErrors bounds how many errors of the assembler are shown.
const maxAssemblyErrors = 8

// assemblyError converts the words of llvm-mc to diagnostics. What it refuses is the
// user's mistake where the user gave the assembly, and ours else.
func assemblyError(c *backend.Compilation, cmd sdk.Command, said string) error {
	if c.Entered != stageAMDGCN {
		return refusedAssembly(cmd, said)
	}
	var list sdk.Diagnostics
	text := strings.Split(string(c.Artifact), "\n")
	for _, e := range assemblyErrors(said) {
		if len(list) == maxAssemblyErrors {
			break
		}
		d := sdk.Diagnostic{Message: "llvm-mc: " + e.message, File: c.Request.InputName, Line: e.line, Column: e.column}
		if d.Line >= 1 && d.Line <= len(text) {
			d.SourceLine = text[d.Line-1]
		}
		list = append(list, d)
	}
	help := "the command was: " + cmd.String()
	if len(list) == 0 {
		return sdk.Errorf("llvm-mc: %s", backend.FirstLines(said, 10)).WithHelp("%s", help)
	}
	list[len(list)-1].Help = help
	return list
}

// refusedAssembly is that of assembly which the user had no part in.
func refusedAssembly(cmd sdk.Command, said string) error {
	return &sdk.Diagnostic{
		Kind: sdk.Bug, Message: "BUG: llvm-mc refuses the assembly that llc made", Help: "please report it with the kernel; the command was: " + cmd.String(),
		Notes: []sdk.Diagnostic{{Severity: sdk.Note, Message: backend.FirstLines(said, 40)}},
	}
}
