package amd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// makeHSACO assembles and links the code object. The linker works on files: they have the
// same names in every compile, below a folder that is the working directory, so that no
// output depends on the folder.
func (j *job) makeHSACO(c *backend.Compilation) error {
	if k, err := readAMDGCN(string(c.Artifact)); err == nil {
		c.Meta.Usage = &k.usage
		j.warnOfUsage(c, &k.usage)
	}
	lld, err := c.Find(backend.LLD) // what is missing most often, before the work
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
	mc, err := c.Find(backend.LLVMMC)
	if err != nil {
		return err
	}
	cmd := sdk.Command{
		Path: mc.Path, Dir: dir, Stdin: c.Artifact,
		Args: []string{"-triple=" + j.target().Triple(), "-mcpu=" + j.arch.chip.Name, "-filetype=obj", "-o", object, "-"},
	}
	res, err := c.RunTool(mc, cmd)
	if err != nil || res.OK() {
		return err
	}
	return assemblyError(c, cmd, backend.Said(res))
}

// maxAssemblyErrors bounds how many errors of the assembler are shown.
const maxAssemblyErrors = 8

// assemblyError converts the words of llvm-mc to diagnostics. What it refuses is the
// user's mistake where the user gave the assembly, or part of it inline, and ours else.
//
//	<stdin>:12:3: error: invalid instruction
func assemblyError(c *backend.Compilation, cmd sdk.Command, said string) error {
	var list sdk.Diagnostics
	text := strings.Split(string(c.Artifact), "\n")
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "<stdin>:")
		parts := strings.SplitN(rest, ":", 4)
		if !ok || len(parts) != 4 || strings.TrimSpace(parts[2]) != "error" || len(list) == maxAssemblyErrors {
			continue
		}
		d := sdk.Diagnostic{Message: "llvm-mc: " + strings.TrimSpace(parts[3]), File: c.Request.InputName}
		d.Line, _ = strconv.Atoi(parts[0])
		d.Column, _ = strconv.Atoi(parts[1])
		if d.Line >= 1 && d.Line <= len(text) {
			d.SourceLine = text[d.Line-1]
		}
		list = append(list, d)
	}
	help := "the command was: " + cmd.String()
	switch {
	case c.Entered == stageAMDGCN && len(list) > 0:
		list[len(list)-1].Help = help
		return list
	case c.Entered == stageAMDGCN:
		return sdk.Errorf("llvm-mc: %s", backend.FirstLines(said, 10)).WithHelp("%s", help)
	}
	return &sdk.Diagnostic{
		Kind: sdk.Bug, Message: "BUG: llvm-mc refuses the assembly that llc made", Help: "please report it with the kernel; " + help,
		Notes: []sdk.Diagnostic{{Severity: sdk.Note, Message: backend.FirstLines(said, 40)}},
	}
}
