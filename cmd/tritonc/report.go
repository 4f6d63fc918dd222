package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
)

// A reporter writes what tritonc has to say to standard error: for people, or
// with --json as objects, one per line (docs/diagnostics.md). Its methods may be
// called from several goroutines.
type reporter struct {
	mu    sync.Mutex
	w     io.Writer
	json  bool
	color bool
	said  map[string]bool // variants of a kernel say the same things
	// target that diagnostics are about, for --json; "" where that is not known.
	target string
	// tempDir is where reproducers go; "" means the system's folder.
	tempDir string
}

// newReporter makes the reporter of a command line. Its flags are read here, too,
// since a mistake in the others is to be told as they ask.
func newReporter(env *environment, args []string) *reporter {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	r := &reporter{w: env.stderr, said: map[string]bool{}}
	r.color = wantsColor(env)
	r.json = slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	return r
}

// wantsColor reports whether standard error is a terminal that shows colours, and
// whose user has not said otherwise (no-color.org, bixense.com/clicolors).
func wantsColor(env *environment) bool {
	force := variable(env, "CLICOLOR_FORCE")
	switch {
	case variable(env, "NO_COLOR") != "":
		return false
	case force != "":
		return force != "0"
	case variable(env, "CLICOLOR") == "0", variable(env, "TERM") == "dumb":
		return false
	case runtime.GOOS == "windows" && variable(env, "WT_SESSION")+variable(env, "TERM") == "":
		return false // an old console, which shows the sequences themselves
	}
	return isTerminal(env.stderr)
}

// isTerminal reports whether w is one that a person looks at.
func isTerminal(w io.Writer) bool {
	if far, ok := w.(interface{ isTerminal() bool }); ok {
		return far.isTerminal() // a client's
	}
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colorFlag is --color.
type colorFlag struct {
	env  *environment
	text string
}

func (f *colorFlag) String() string { return f.text }
func (f *colorFlag) Type() string   { return "string" }

func (f *colorFlag) Set(text string) error {
	switch text {
	case "auto":
		f.env.report.color = wantsColor(f.env)
	case "always":
		f.env.report.color = true
	case "never":
		f.env.report.color = false
	default:
		return errors.New("the choices are auto, always and never")
	}
	f.text = text
	return nil
}

// Categories of messages: who is to do something.
const (
	categoryInput       = "input"       // the kernel, the options or the files given
	categoryUsage       = "usage"       // the command line
	categoryEnvironment = "environment" // the machine: a tool, a folder, a device
	categoryInternal    = "internal"    // tritonc or a backend: a bug
	categoryInterrupted = "interrupted" // nobody: the user ended it
)

// message is a diagnostic as --json writes it. The form is stable: fields may be
// added, none changes its meaning.
type message struct {
	Kind     string `json:"kind,omitempty"` // "diagnostic"; absent in notes
	Severity string `json:"severity"`
	Category string `json:"category,omitempty"`
	// Line and Column count from 1, Column in bytes; EndColumn is just after the
	// marked range in the same line. 0 means that there is none, and is left out.
	File      string    `json:"file,omitempty"`
	Line      int       `json:"line,omitempty"`
	Column    int       `json:"column,omitempty"`
	EndColumn int       `json:"end_column,omitempty"`
	Message   string    `json:"message"`
	Help      string    `json:"help,omitempty"`
	Source    string    `json:"source,omitempty"` // the line's text
	Target    string    `json:"target,omitempty"` // that the compile is for
	Notes     []message `json:"notes"`
	// Of a bug of ours: a file that shows it again, and the command.
	Reproducer string `json:"reproducer,omitempty"`
	Command    string `json:"command,omitempty"`
}

func messageOf(d *diag.Diagnostic) message {
	m := message{
		Severity: d.Severity.String(), File: d.Pos.File, Line: d.Pos.Line, Message: d.Message, Help: d.Help,
		Source: d.Line, Notes: []message{},
	}
	if d.Pos.Line > 0 {
		m.Column = d.Pos.Col
	}
	if d.EndCol > m.Column && m.Column > 0 {
		m.EndColumn = d.EndCol
	}
	for i := range d.Notes {
		m.Notes = append(m.Notes, messageOf(&d.Notes[i]))
	}
	return m
}

// object writes one JSON object as a line. The caller holds the mutex.
func (r *reporter) object(v any) {
	enc := json.NewEncoder(r.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // there is nowhere to tell of it
}

// about says which target the diagnostics that follow are about.
func (r *reporter) about(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// once reports whether text has not been said yet; programs are told it for each
// target.
func (r *reporter) once(text string) bool {
	if r.json {
		text = r.target + " " + text
	}
	if r.said[text] {
		return false
	}
	r.said[text] = true
	return true
}

// diagnostics writes what is wrong with what the user gave.
func (r *reporter) diagnostics(list ...*diag.Diagnostic) { r.located(categoryInput, list...) }

// located writes diagnostics of a category.
func (r *reporter) located(category string, list ...*diag.Diagnostic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range list {
		switch {
		case !r.once(d.Error()):
		case r.json:
			m := messageOf(d)
			m.Kind, m.Category, m.Target = "diagnostic", category, r.target
			r.object(m)
		default:
			diag.Printer{Color: r.color}.Fprint(r.w, d)
		}
	}
}

// aside writes a diagnostic of the machine that is about no target, while others may be written that are.
func (r *reporter) aside(d *diag.Diagnostic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said[d.Error()] {
		return
	}
	r.said[d.Error()] = true
	if !r.json {
		diag.Printer{Color: r.color}.Fprint(r.w, d)
		return
	}
	m := messageOf(d)
	m.Kind, m.Category = "diagnostic", categoryEnvironment
	r.object(m)
}

// plain writes an error that is not a diagnostic. For people it begins with who,
// and is introduced as an error unless it is the command line's.
func (r *reporter) plain(category, text, help string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.once(text) {
		return
	}
	if r.json {
		r.object(message{
			Kind: "diagnostic", Severity: diag.Error.String(), Category: category, Target: r.target,
			Message: text, Help: help, Notes: []message{},
		})
		return
	}
	p := diag.Printer{Color: r.color}
	switch category {
	case categoryUsage, categoryInterrupted:
		fmt.Fprintf(r.w, "tritonc: %s\n", text)
	default:
		p.Heading(r.w, "tritonc", diag.Error, text)
	}
	if help != "" {
		p.Help(r.w, help)
	}
}

// error writes err and returns the exit code that it stands for. What several
// variants of a kernel have in common is said once.
func (r *reporter) error(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDifferent), errors.Is(err, errReported):
		return exitError
	}
	var reported reportedCode
	if errors.As(err, &reported) {
		return int(reported)
	}
	var usage *usageError
	if errors.As(err, &usage) {
		if usage.at != nil {
			r.located(categoryUsage, usage.at)
			return exitUsage
		}
		r.plain(categoryUsage, usage.message, usage.help)
		return exitUsage
	}
	if errors.Is(err, context.Canceled) {
		r.plain(categoryInterrupted, "interrupted", "")
		return exitError
	}
	var list errorList
	if !errors.As(err, &list) {
		list = errorList{err}
	}
	for _, e := range list {
		r.failure(e)
	}
	return exitError
}

// failure writes why one compile failed.
func (r *reporter) failure(err error) {
	var crash *core.Crash
	if errors.As(err, &crash) {
		r.crash(crash)
		return
	}
	if diags := diag.All(err); diags != nil {
		r.diagnostics(diags...)
		return
	}
	category := categoryEnvironment
	var bug *wire.BugError
	if errors.As(err, &bug) {
		category = categoryInternal
	}
	// Errors of the machine carry their next step in their text.
	text, help, _ := strings.Cut(err.Error(), "\n  help: ")
	r.plain(category, text, help)
}

// crash tells of a mistake of ours, and leaves a file that shows it again.
func (r *reporter) crash(crash *core.Crash) {
	path, command, err := writeReproducer(r.tempDir, crash.Reproducer)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json {
		m := message{
			Kind: "diagnostic", Severity: diag.Error.String(), Category: categoryInternal, Target: r.target,
			Message: crash.Error(), Reproducer: path, Command: command, Notes: []message{},
		}
		if err != nil {
			m.Notes = append(m.Notes, message{Severity: diag.Note.String(), Message: "the reproducer cannot be written: " + err.Error(), Notes: []message{}})
		}
		r.object(m)
		return
	}
	diag.Printer{Color: r.color}.Heading(r.w, "tritonc", diag.Error, crash.Error())
	if err != nil {
		fmt.Fprintf(r.w, "  the reproducer cannot be written: %v\n", err)
		return
	}
	fmt.Fprintf(r.w, "  reproducer: %s\n  run it again: %s\n", path, command)
}

// record writes what is not a diagnostic: as text for people, else as an object.
func (r *reporter) record(text string, object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json {
		r.object(object)
	} else {
		io.WriteString(r.w, text)
	}
}

// note says what was chosen or left out.
func (r *reporter) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.record("tritonc: "+text+"\n", textRecord{"note", text})
}

// above has messages go to w, line by line, until the function that it returns is called:
// w puts them above a bar, which is where they would go else.
func (r *reporter) above(w io.Writer) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, lines := r.w, &wholeLines{w: w}
	r.w = lines
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.w = before
		lines.flush()
	}
}

// wholeLines passes whole lines on: a bar is drawn between two of them.
type wholeLines struct {
	w    io.Writer
	part []byte
}

// Write implements io.Writer.
func (l *wholeLines) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	end := bytes.LastIndexByte(l.part, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := l.w.Write(l.part[:end])
	l.part = l.part[end:]
	return len(p), err
}

func (l *wholeLines) flush() {
	if len(l.part) > 0 {
		_, _ = l.w.Write(append(l.part, '\n')) // there is nowhere to tell of it
	}
}

// screen is where something may be drawn for a person who looks.
func (r *reporter) screen() io.Writer {
	if r.json {
		return io.Discard
	}
	return r.w
}

// textRecord is free text in an object.
type textRecord struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// printed writes what a kernel prints while it is compiled: whole lines of one
// kernel at a time.
func (r *reporter) printed(text string) { r.record(text, textRecord{"print", text}) }

// writer returns what writes text of a kind, which is an object's with --json: an
// object for each line.
func (r *reporter) writer(kind string) io.Writer { return &kindWriter{r: r, kind: kind} }

type kindWriter struct {
	r    *reporter
	kind string
	rest []byte // the beginning of a line
}

func (w *kindWriter) Write(text []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if !w.r.json {
		return w.r.w.Write(text)
	}
	w.rest = append(w.rest, text...)
	for {
		line, after, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(text), nil
		}
		w.r.object(textRecord{w.kind, string(line)})
		w.rest = after
	}
}
