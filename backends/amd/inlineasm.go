package amd

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// llc puts inline assembly between these, and does not read it.
const asmStart, asmEnd = ";;#ASMSTART", ";;#ASMEND"

// checkInlineAssembly has llvm-mc assemble code with inline assembly, so that what it
// refuses is told at the line of the kernel, in the stage that first has it.
func (j *job) checkInlineAssembly(c *backend.Compilation, code []byte) error {
	if !bytes.Contains(code, []byte(asmStart)) {
		return nil
	}
	mc, err := c.Find(llvm.MC)
	if err != nil {
		return err
	}
	cmd := sdk.Command{Path: mc.Path, Stdin: code, Args: j.assemblerArguments("null")}
	res, err := c.RunTool(mc, cmd)
	if err != nil || res.OK() {
		return err
	}
	var list sdk.Diagnostics
	source := newSourceMap(string(code))
	for _, e := range assemblyErrors(backend.Said(res)) {
		if e.line < 1 || e.line > len(source.lines) || !source.inline[e.line-1] {
			continue
		}
		d := sdk.Diagnostic{Message: fmt.Sprintf("tt.elementwise_inline_asm: llvm-mc: %s: %s", e.message, strings.TrimSpace(source.lines[e.line-1]))}
		if d.File, d.Line, d.Column = source.at(e.line); d.Line == 0 {
			d.File, d.Line, d.Column = c.KernelPlace()
		}
		// One of each operation: it is there for every element of a thread.
		if !slices.ContainsFunc(list, func(o sdk.Diagnostic) bool { return o.File == d.File && o.Line == d.Line && o.Column == d.Column }) {
			list = append(list, d)
		}
		if len(list) == maxAssemblyErrors {
			break
		}
	}
	if len(list) == 0 {
		return refusedAssembly(cmd, backend.Said(res))
	}
	list[len(list)-1].Help = "assembly is for the GPUs of one vendor: a tl.constexpr can choose another way for others"
	return list
}

// assemblyMessage is an error of llvm-mc with its place.
type assemblyMessage struct {
	line, column int
	message      string
}

// assemblyErrors reads the errors among the words of llvm-mc:
//
//	<stdin>:12:3: error: invalid instruction
func assemblyErrors(said string) []assemblyMessage {
	var list []assemblyMessage
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "<stdin>:")
		parts := strings.SplitN(rest, ":", 4)
		if !ok || len(parts) != 4 || strings.TrimSpace(parts[2]) != "error" {
			continue
		}
		e := assemblyMessage{message: strings.TrimSpace(parts[3])}
		e.line, _ = strconv.Atoi(parts[0])
		e.column, _ = strconv.Atoi(parts[1])
		list = append(list, e)
	}
	return list
}

// sourceMap says where lines of assembly come from.
type sourceMap struct {
	lines  []string
	inline []bool         // lines of inline assembly
	places [][3]int       // file, line and column of the .loc before, zeros where there is none
	files  map[int]string // by their numbers
}

// newSourceMap reads the .file and .loc of assembly:
//
//	.file	1 "/folder" "kernel.py"
//	.loc	1 9 25 is_stmt 0                ; kernel.py:9:25
func newSourceMap(code string) *sourceMap {
	s := &sourceMap{lines: strings.Split(code, "\n"), files: map[int]string{}}
	var place [3]int
	isInline := false
	for _, line := range s.lines {
		text := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(text, ".loc\t"); ok && !isInline {
			place = [3]int{}
			_, _ = fmt.Sscan(rest, &place[0], &place[1], &place[2])
		}
		if rest, ok := strings.CutPrefix(text, ".file\t"); ok && !isInline {
			number, names, _ := strings.Cut(rest, " ")
			if n, err := strconv.Atoi(number); err == nil {
				s.files[n] = fileName(names)
			}
		}
		if strings.HasPrefix(text, asmEnd) {
			isInline = false
		}
		s.inline = append(s.inline, isInline)
		s.places = append(s.places, place)
		if strings.HasPrefix(text, asmStart) {
			isInline = true
		}
	}
	return s
}

// fileName joins the quoted folder and name of a .file.
func fileName(quoted string) string {
	parts := strings.Split(quoted, `"`)
	switch {
	case len(parts) >= 4:
		return strings.TrimSuffix(parts[1], "/") + "/" + parts[3]
	case len(parts) >= 2:
		return parts[1]
	}
	return ""
}

// at is the place in the source of a line of assembly, from 1; a .loc counts columns
// from 0.
func (s *sourceMap) at(line int) (file string, at, column int) {
	p := s.places[line-1]
	if p[1] == 0 || s.files[p[0]] == "" {
		return "", 0, 0
	}
	return s.files[p[0]], p[1], p[2] + 1
}
