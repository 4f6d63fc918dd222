// Package conform checks that a program is a backend as docs/plugin-protocol.md says:
// it starts it, as the host does, and holds what it answers to what the host relies on.
package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Status is how a check ended.
type Status string

// The ways a check ends.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is one check's.
type Result struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Text says what is wrong and what to do, why nothing was checked, or what was
	// found.
	Text string `json:"text,omitempty"`
	// Section of docs/plugin-protocol.md, of a check that failed.
	Section string `json:"section,omitempty"`
}

// Options of Run.
type Options struct {
	// Program is the file tritonc-backend-NAME; empty to check a driver alone.
	Program string
	// Driver is the file tritonc-device-NAME. Without one Program is asked, if it serves
	// devices.
	Driver string
	// Target is what to compile for; the zero value takes the first of the facts.
	Target sdk.Target
	// LookupEnv and Settings are as in plugin.Options.
	LookupEnv func(key string) (string, bool)
	Settings  map[string]string
	// Env is the environment of a driver.
	Env []string
	// TempDir is an empty folder for the processes' sockets and files.
	TempDir string
}

// A check answers what it found, an error that says what to fix, or a skip.
type check struct {
	name    string
	section string // of docs/plugin-protocol.md
	side    side
	run     func(ctx context.Context, s *suite) (string, error)
}

// side says what must be there, so that a check is made at all.
type side int

const (
	ofBackend side = iota
	ofDriver
	ofEither
)

// skip is why a check cannot be made.
type skip string

func (s skip) Error() string { return string(s) }

// limit bounds each check, so that a program that hangs has a report, too.
const limit = time.Minute

// suite is what the checks share.
type suite struct {
	opts    Options
	name    string
	log     *syncBuffer
	host    *plugin.Host
	backend *plugin.Backend
	facts   *sdk.Facts
	// What a compile takes, once the checks before found it.
	target  sdk.Target
	options string
	stages  []sdk.Stage
	// final is the stage whose artifact is compared, and missing are those that lack a tool
	// of the machine that another final stage needs not.
	final    int
	missing  map[int]error
	declared map[string]*ir.Dialect            // by the backend, as core reads them
	golden   []byte                            // vector_add's last artifact
	compiled map[string]*sdk.RunStagesResponse // golden kernels, with all artifacts

	dev *devices // nil where nobody serves them
}

// Run makes every check, one after another. What depends on one that failed is skipped.
func Run(ctx context.Context, opts Options) ([]Result, error) {
	if opts.LookupEnv == nil {
		opts.LookupEnv = func(string) (string, bool) { return "", false }
	}
	s := &suite{opts: opts, log: &syncBuffer{}, declared: map[string]*ir.Dialect{}, compiled: map[string]*sdk.RunStagesResponse{}}
	if err := s.find(); err != nil {
		return nil, err
	}
	defer s.close()
	var results []Result
	for _, c := range checks {
		if c.side == ofBackend && s.opts.Program == "" || c.side == ofDriver && s.opts.Program != "" && s.facts != nil && s.dev == nil {
			continue
		}
		results = append(results, s.result(ctx, &c))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return results, nil
}

// find readies the programs that are checked.
func (s *suite) find() (err error) {
	if file := s.opts.Driver; file != "" {
		if s.opts.Driver, err = filepath.Abs(file); err != nil {
			return err
		}
		name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(file), ".exe"), driverPrefix)
		if !ok || name == "" {
			return fmt.Errorf("%s is not a file named %sNAME", file, driverPrefix)
		}
		s.dev = &devices{found: process.Found{Name: name, Path: s.opts.Driver}, handshake: host.DeviceHandshake}
	}
	if s.opts.Program == "" {
		return nil
	}
	if s.opts.Program, err = filepath.Abs(s.opts.Program); err != nil {
		return err
	}
	if s.host, s.backend, err = s.start(s.opts.TempDir); err != nil {
		return err
	}
	s.name = s.backend.Name()
	return nil
}

// close ends what runs.
func (s *suite) close() {
	s.stopDriver()
	if s.host != nil {
		s.host.Close()
	}
}

// driverPrefix starts the name of a driver's program: tritonc-device-NAME.
const driverPrefix = "tritonc-device-"

func (s *suite) result(ctx context.Context, c *check) Result {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	text, err := c.run(bounded, s)
	var skipped skip
	switch {
	case err == nil:
		return Result{Check: c.name, Status: OK, Text: text}
	case errors.As(err, &skipped):
		return Result{Check: c.name, Status: Skipped, Text: string(skipped)}
	}
	text = err.Error()
	if bounded.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("it did not answer within %s: bound what it waits for, and end with an error", limit)
	}
	return Result{Check: c.name, Status: Failed, Text: text, Section: c.section}
}

// start finds the program anew, for a process of its own.
func (s *suite) start(tempDir string) (*plugin.Host, *plugin.Backend, error) {
	h := plugin.New(plugin.Options{
		Dirs: []string{filepath.Dir(s.opts.Program)}, LookupEnv: s.opts.LookupEnv, Settings: s.opts.Settings, TempDir: tempDir,
		Afresh: true,
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: s.log}),
	})
	i := slices.IndexFunc(h.Backends(), func(b *plugin.Backend) bool { return b.Path() == s.opts.Program })
	if i < 0 {
		h.Close()
		return nil, nil, fmt.Errorf("%s is not a file named %sNAME", s.opts.Program, plugin.Prefix)
	}
	return h, h.Backends()[i], nil
}

// needFacts and needStages skip checks of what there is not.
func (s *suite) needFacts() error {
	if s.facts == nil {
		return skip("it does not describe itself")
	}
	return nil
}

func (s *suite) needStages() error {
	if len(s.stages) == 0 {
		return skip("there is no target or no list of stages to compile with")
	}
	return nil
}

func (s *suite) needGolden() error {
	if s.golden == nil {
		return skip("the kernel vector_add does not compile")
	}
	return nil
}

// inputName is the name of the inputs.
const inputName = "input.ttir"

// compile has a backend make the final artifact that the suite compares.
func (s *suite) compile(ctx context.Context, b *plugin.Backend, input []byte) ([]byte, error) {
	resp, err := b.RunStages(ctx, s.request(0, s.final, input, ""))
	if err != nil {
		return nil, err
	}
	data := resp.Artifact(s.stages[s.final].Name)
	if data == nil {
		return nil, fmt.Errorf("RunStages answered no artifact of its last stage, %s", s.stages[s.final].Name)
	}
	return data, nil
}

// request asks for the stages from one to another.
func (s *suite) request(first, last int, input []byte, metadata string) sdk.RunStagesRequest {
	return sdk.RunStagesRequest{
		Target: s.target, OptionsJSON: s.options, First: s.stages[first].Name, Last: s.stages[last].Name,
		Input: input, InputName: inputName, MetadataJSON: metadata,
	}
}

// finals are the places of the stages that no other takes anything of, the last first.
func (s *suite) finals() []int {
	var list []int
	for i := range slices.Backward(s.stages) {
		if len(sdk.StagesAfter(s.stages, i)) == 0 {
			list = append(list, i)
		}
	}
	return list
}

// lastOf is the last stage that can be made of what the stage at first makes, itself or a
// later one, as far as the machine has what it takes.
func (s *suite) lastOf(first int) int {
	last := first
	for _, i := range append([]int{first}, sdk.StagesAfter(s.stages, first)...) {
		if s.missing[i] == nil {
			last = i
		}
	}
	return last
}

// syncBuffer holds what is logged.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Len()
}

// line is the first line after so many bytes that has a text, or "".
func (b *syncBuffer) line(text string, after int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.buf.String()[after:]) {
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
