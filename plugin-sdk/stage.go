package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Stage makes its artifact from that of the stage before it.
type Stage struct {
	Name string `json:"name"`
	// From names the stage before this one in the list whose artifact it takes; empty: the
	// one just before it. So a target can have several final formats.
	From     string `json:"from,omitempty"`
	Binary   bool   `json:"binary"`             // the artifact is bytes, not text
	Ending   string `json:"ending"`             // of a file that holds it, without the dot; empty: Name
	Doc      string `json:"doc,omitempty"`      // one line
	Pipeline string `json:"pipeline,omitempty"` // its passes, as RunPasses reads them
	// Passes is the stage's table of passes, those left out as well.
	Passes []PassRow `json:"passes,omitempty"`

	// Run makes the artifact. A panic in it becomes a diagnostic that says BUG. A
	// StageRunner leaves it out.
	Run func(ctx context.Context, in *StageInput) ([]byte, error) `json:"-"`
}

// ending is that of a file that holds the artifact.
func (s *Stage) ending() string {
	if s.Ending == "" {
		return s.Name
	}
	return s.Ending
}

// StageInput is what a stage's Run gets.
type StageInput struct {
	Target      Target
	OptionsJSON string            // as ParseOptions answered; DecodeOptions reads them
	Settings    map[string]string // the machine's knobs by SettingSpec.Name
	// Data is the artifact of the stage before this one, or, for the backend's first
	// stage, ttir as the front end builds it.
	Data []byte
	// Metadata is what is known of the kernel, under the names of Triton's fields. A
	// stage adds what it finds out: "name", "num_warps", "shared", and what the
	// backend's driver wants to know. The options and the target are there already,
	// and so is the name of a kernel that came as ttir.
	Metadata map[string]any

	stage string // the one that runs
	file  string // the name of a file with Data, for diagnostics
	mu    sync.Mutex
	resp  *RunStagesResponse
	began time.Time // of the call
}

// DecodeOptions reads the options into a struct whose fields have their names, in
// JSON's tags.
func (in *StageInput) DecodeOptions(v any) error { return decodeOptions(in.OptionsJSON, v) }

func decodeOptions(text string, v any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return nil
}

// DecodeMetadata reads the metadata into a struct whose fields have its names, in
// JSON's tags. It is the way to what an earlier compile found out.
func (in *StageInput) DecodeMetadata(v any) error {
	text, err := json.Marshal(in.Metadata)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// Range is a place in a text. Line and Column count from 1, Column in bytes; 0 means
// unknown. EndColumn is just after the range on the same line, or 0.
type Range struct{ Line, Column, EndColumn int }

// Range is the place of the bytes start to end (not included) of Data, as far as the
// first line of them.
func (in *StageInput) Range(start, end int) Range {
	start = min(max(start, 0), len(in.Data))
	end = min(max(end, start), len(in.Data))
	lineStart := bytes.LastIndexByte(in.Data[:start], '\n') + 1
	r := Range{Line: 1 + bytes.Count(in.Data[:start], []byte("\n")), Column: start - lineStart + 1}
	if n := bytes.IndexByte(in.Data[start:end], '\n'); n >= 0 {
		end = start + n
	}
	if end > start {
		r.EndColumn = r.Column + end - start
	}
	return r
}

// Errorf makes an error about a place in Data. The user sees that line of the text,
// and where in the kernel it came from, if its locations tell. Never give a place in
// the user's Python file as one of Data: name that file in Diagnostic.File, as the IR's
// locations have it.
func (in *StageInput) Errorf(at Range, format string, args ...any) *Diagnostic {
	return &Diagnostic{
		File: in.file, Line: at.Line, Column: at.Column, EndColumn: at.EndColumn,
		Message: fmt.Sprintf(format, args...), SourceLine: in.line(at.Line),
	}
}

// Warningf is Errorf for what does not end the compile: give the outcome to Warn.
func (in *StageInput) Warningf(at Range, format string, args ...any) *Diagnostic {
	d := in.Errorf(at, format, args...)
	d.Severity = Warning
	return d
}

// line is the text of a line of Data that is text; empty where there is none.
func (in *StageInput) line(n int) string {
	rest := in.Data
	for ; n > 1; n-- {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return ""
		}
		rest = rest[i+1:]
	}
	if n < 1 {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if len(line) > maxShownLine || bytes.IndexByte(line, 0) >= 0 {
		return ""
	}
	return strings.TrimSuffix(string(line), "\r")
}

// maxShownLine is how long a line may be that is shown to people.
const maxShownLine = 16 << 10

// RunTool runs a tool within the call: it ends, with all that it has started, when
// the call is cancelled. The tool is timed and reported as one that the artifact
// depends on, under its file's name and with version, which may be empty.
func (in *StageInput) RunTool(ctx context.Context, cmd Command, version string) (*Result, error) {
	tool, err := identify(cmd.Path)
	if err != nil {
		return nil, Errorf("%v", err).ofKind(Environment)
	}
	tool.Version = version
	cmd.Path = tool.Path
	res, err := cmd.Run(ctx)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.resp.addTool(tool)
	if res != nil {
		in.resp.Timings = append(in.resp.Timings, res.Timing(in.stage, tool.Name, in.began))
	}
	return res, err
}
