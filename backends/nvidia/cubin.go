package nvidia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/filememo"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// makeCubin has ptxas assemble the PTX, equal PTX once: configurations of a kernel often
// differ in nothing that reaches it. ptxas works on files: they have the same
// names in every compile, below a folder that is the working directory, so that
// no output of it depends on the folder.
func (j *job) makeCubin(c *backend.Compilation) error {
	ptxas, err := c.Find(ptxasKind)
	if err != nil {
		return err
	}
	const in, out = "kernel.ptx", "kernel.cubin"
	args := j.ptxasArgs(in, out)
	run := func() (*backend.Made, error) { return j.runPtxas(c, ptxas, args, in, out) }
	var made *backend.Made
	if j.opts.PTXOptions != nil { // which may name files
		made, err = run()
	} else {
		made, err = c.Shared(ptxas, args, c.Artifact, run)
	}
	if err != nil {
		return err
	}
	if u := readUsage(string(made.Said), c.Meta.Name); u != nil {
		c.Meta.Usage = u
		j.warnOfUsage(c, u)
	}
	c.Artifact = made.Data
	return nil
}

// runPtxas has ptxas assemble the PTX.
func (j *job) runPtxas(c *backend.Compilation, ptxas *backend.Tool, args []string, in, out string) (*backend.Made, error) {
	dir, remove, err := sdk.TempDir("tritonc-ptxas")
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := os.WriteFile(filepath.Join(dir, in), c.Artifact, 0o600); err != nil {
		return nil, err
	}
	cmd := sdk.Command{Path: ptxas.Path, Args: args, Dir: dir}
	res, err := c.RunTool(ptxas, cmd)
	if err != nil {
		return nil, err
	}
	said := slices.Concat(res.Stdout, res.Stderr)
	if !res.OK() {
		return nil, j.ptxasError(c, cmd, res, string(said))
	}
	cubin, err := os.ReadFile(filepath.Join(dir, out))
	if err != nil {
		return nil, fmt.Errorf("ptxas wrote no cubin: %w", err)
	}
	if !bytes.HasPrefix(cubin, []byte("\x7fELF")) {
		return nil, fmt.Errorf("what %s wrote is not an ELF file", ptxas.Path)
	}
	return &backend.Made{Data: cubin, Said: said}, nil
}

// warnOfUsage tells of registers that went to memory, at the kernel's line, since
// ptxas does not say where, and of more than a block may have.
func (j *job) warnOfUsage(c *backend.Compilation, u *usage) {
	if u.SpillStores != 0 || u.SpillLoads != 0 {
		d := sdk.Diagnostic{
			Severity: sdk.Warning,
			Message: fmt.Sprintf("kernel %s spills registers: each thread stores %s to memory and loads %d, beside the %d registers it has",
				c.Meta.Name, diag.Count(u.SpillStores, "byte"), u.SpillLoads, u.Registers),
			Help: "smaller blocks or more warps (num_warps) need fewer registers per thread",
		}
		if j.opts.MaxNReg != nil {
			d.Help += fmt.Sprintf("; maxnreg is %d", *j.opts.MaxNReg)
		}
		d.File, d.Line, d.Column = c.KernelPlace()
		c.Warn(d)
	}
	// Registers are handed out to warps in units of 256, 8 per thread.
	threads := c.Meta.NumWarps * warpSize
	if n := (u.Registers + 7) / 8 * 8 * threads; n > registers {
		c.WarnUnlaunchable("a lower maxnreg or fewer warps (num_warps) need less",
			"needs %s for the %s of a block, and a block may have %d", diag.Count(n, "register"), diag.Count(threads, "thread"), registers)
	}
}

// ptxasArgs are the arguments of ptxas for files in its working directory.
func (j *job) ptxasArgs(in, out string) []string {
	args := []string{"-lineinfo", "-v"}
	if !j.opts.EnableFPFusion {
		args = append(args, "--fmad=false")
	}
	if j.opts.PTXOptions != nil {
		args = append(args, strings.Fields(*j.opts.PTXOptions)...)
	}
	return append(args, "--gpu-name="+j.arch.smName(), in, "-o", out)
}

// usage is what ptxas -v tells of a kernel.
type usage struct {
	Registers   int `json:"registers"`    // of a thread
	SpillStores int `json:"spill_stores"` // bytes of a thread
	SpillLoads  int `json:"spill_loads"`
	Stack       int `json:"stack"` // bytes of a thread's frame, spills included
}

// readUsage reads the lines that follow those naming the kernel:
//
//	ptxas info    : Compiling entry function 'k' for 'sm_80'
//	ptxas info    : Function properties for k
//	    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//	ptxas info    : Used 26 registers, 400 bytes cmem[0]
//
// It returns nil when they are not there.
func readUsage(said, kernel string) *usage {
	_, rest, ok := strings.Cut(said, "Function properties for "+kernel+"\n")
	if !ok {
		return nil
	}
	var u usage
	frame, rest, _ := strings.Cut(rest, "\n")
	if n, _ := fmt.Sscanf(strings.TrimSpace(frame), "%d bytes stack frame, %d bytes spill stores, %d bytes spill loads", &u.Stack, &u.SpillStores, &u.SpillLoads); n != 3 {
		return nil
	}
	_, rest, ok = strings.Cut(rest, "Used ")
	if n, _ := fmt.Sscanf(rest, "%d registers", &u.Registers); !ok || n != 1 {
		return nil
	}
	return &u
}

// maxPtxasErrors bounds how many of its errors are shown.
const maxPtxasErrors = 8

// ptxasError converts the words of ptxas to diagnostics, each at the line of
// Python that the PTX line came from when the PTX says so. The PTX is kept for
// the command that repeats the failure.
func (j *job) ptxasError(c *backend.Compilation, cmd sdk.Command, res *sdk.Result, said string) error {
	help, kept := "the command was: "+cmd.String(), c.Meta.Name+"."+stagePTX
	if path, err := keepPTX(c.Artifact); err == nil {
		kept = path
		repro := cmd
		repro.Args = j.ptxasArgs(path, "/dev/null")
		help = "to repeat it: " + repro.String()
	}
	ptx := string(c.Artifact)
	var list sdk.Diagnostics
	for line := range strings.Lines(said) {
		at, message, ok := ptxasMessage(strings.TrimRight(line, "\r\n"))
		if !ok || strings.Contains(message, "assembly aborted due to errors") && len(list) > 0 {
			continue
		}
		if len(list) == maxPtxasErrors {
			break
		}
		hint := ""
		if strings.HasPrefix(message, "Unsupported .version ") {
			hint = "this ptxas is older than the PTX; use a newer one, or lower the .version line if the kernel needs nothing newer"
		}
		if rest, ok := strings.CutPrefix(message, "Unresolved extern function '"); ok {
			name, _, _ := strings.Cut(rest, "'")
			at = callOf(ptx, name)
			hint = "libraries are linked into the llir; this file was made without one that defines it"
		}
		d := locate(c, at, "ptxas: "+message, kept)
		d.Help = hint
		list = append(list, d)
	}
	if len(list) == 0 {
		d := sdk.Diagnostic{Message: "ptxas failed (" + res.Status() + ")"}
		if text := backend.FirstLines(strings.TrimSpace(said), 10); text != "" {
			d.Message += ": " + text
		}
		d.File, d.Line, d.Column = c.KernelPlace()
		list = sdk.Diagnostics{d}
	}
	if d := &list[len(list)-1]; d.Help == "" {
		d.Help = help
	}
	return list
}

// ptxasMessage reads "ptxas FILE, line 98; error   : TEXT", or the forms without
// a place. Line is 0 then.
func ptxasMessage(line string) (at int, message string, ok bool) {
	rest, isPtxas := strings.CutPrefix(line, "ptxas ")
	if !isPtxas {
		return 0, "", false
	}
	head, message, found := strings.Cut(rest, ": ")
	if !found {
		return 0, "", false
	}
	severity := strings.TrimSpace(head)
	if _, place, hasPlace := strings.Cut(head, ", line "); hasPlace {
		number, after, _ := strings.Cut(place, ";")
		at, _ = strconv.Atoi(number)
		severity = strings.TrimSpace(after)
	}
	return at, message, severity == "error" || severity == "fatal"
}

// locate makes the diagnostic of a message about a line of the PTX, which lies in
// the file kept. Its place is where the user's text is: at that line for PTX that the
// user gave, else where the line came from, as far as the PTX says so.
func locate(c *backend.Compilation, line int, message, kept string) sdk.Diagnostic {
	ptx := string(c.Artifact)
	d := sdk.Diagnostic{Message: message}
	if line < 1 {
		return d
	}
	inPTX := ptxPlace(lineOf(ptx, line), message)
	inPTX.File, inPTX.Line = kept, line
	if c.Entered == stagePTX {
		inPTX.File = c.Request.InputName
	}
	file, at, column, ok := sourceOf(ptx, line)
	if ok && c.Entered != stagePTX {
		d.File, d.Line, d.Column = file, at, column
		inPTX.Severity, inPTX.Message = sdk.Note, "in the PTX"
		d.Notes = []sdk.Diagnostic{inPTX}
		return d
	}
	inPTX.Message = message
	if ok {
		inPTX.Notes = []sdk.Diagnostic{{Severity: sdk.Note, File: file, Line: at, Column: column, Message: "from here"}}
	}
	return inPTX
}

// ptxPlace marks what a message of ptxas is about in a line of PTX: the word that
// it quotes, else the instruction.
func ptxPlace(line, message string) sdk.Diagnostic {
	d := sdk.Diagnostic{SourceLine: line}
	if _, rest, ok := strings.Cut(message, "'"); ok {
		word, _, closed := strings.Cut(rest, "'")
		if at := strings.Index(line, word); closed && word != "" && at >= 0 {
			d.Column, d.EndColumn = at+1, at+1+len(word)
			return d
		}
	}
	text := strings.TrimSpace(line)
	if text == "" {
		return d
	}
	at := strings.Index(line, text)
	d.Column, d.EndColumn = at+1, at+1+len(text)
	return d
}

// sourceOf finds the source position of a line of PTX: that of the .loc before
// it in the same function. A .loc counts Python's columns from 0, where 0 can
// only mean that it knows none; the column returned counts from 1.
func sourceOf(ptx string, line int) (file string, at, column int, ok bool) {
	number := 0
	for i := 1; i <= line; i++ {
		text, rest, more := strings.Cut(ptx, "\n")
		ptx = rest
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, ".visible .entry") || strings.HasPrefix(text, ".func") {
			ok = false
		}
		if loc, isLoc := strings.CutPrefix(text, ".loc"); isLoc {
			n, _ := fmt.Sscan(loc, &number, &at, &column)
			ok = n >= 2 && at > 0
		}
		if !more {
			break
		}
	}
	if !ok {
		return "", 0, 0, false
	}
	// The file's name is anywhere, most often at the end.
	mark := ".file\t" + strconv.Itoa(number) + " \""
	_, name, found := strings.Cut(ptx, mark)
	if !found {
		return "", 0, 0, false
	}
	name, _, _ = strings.Cut(name, "\"")
	if column > 0 {
		column++
	}
	return name, at, column, true
}

func lineOf(text string, n int) string {
	for ; n > 1; n-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// callOf is the line of the first call of a function, or 0.
func callOf(ptx, name string) int {
	inCall := false
	n := 0
	for line := range strings.Lines(ptx) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "call") || strings.Contains(line, " call") {
			inCall = true
		}
		if inCall && strings.Contains(line, name) {
			return n
		}
		if strings.HasSuffix(line, ";") {
			inCall = false
		}
	}
	return 0
}

// keepPTX leaves the PTX in a file named by its content, so that the same
// failure does not pile up files.
func keepPTX(ptx []byte) (string, error) {
	sum := sha256.Sum256(ptx)
	path := filepath.Join(os.TempDir(), "tritonc-"+hex.EncodeToString(sum[:6])+".ptx")
	return path, filememo.Replace(path, ptx)
}

// kernelPlace is where the source of the kernel of PTX is, as far as a .loc of its
// entry says.
func kernelPlace(ptx []byte, kernel string) (file string, line, column int) {
	inside, at := false, 0
	for text := range strings.Lines(string(ptx)) {
		at++
		inside = inside || strings.HasPrefix(text, ".visible .entry "+kernel+"(")
		if inside && strings.HasPrefix(strings.TrimSpace(text), ".loc") {
			if file, line, column, ok := sourceOf(string(ptx), at); ok {
				return file, line, column
			}
			break
		}
	}
	return "", 0, 0
}
