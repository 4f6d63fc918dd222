package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// answer is what comes of a Request: this as JSON, a newline, and the artifacts one after
// the other. It has one of kernel, failure, need and refused.
type answer struct {
	Kernel  *kernel  `json:"kernel,omitempty"`
	Failure *failure `json:"failure,omitempty"`
	// Need names modules that the request has to have.
	Need []string `json:"need,omitempty"`
	// Refused says why workers do not compile this.
	Refused string `json:"refused,omitempty"`
	// Printed is what the kernel printed while it was compiled.
	Printed string `json:"printed,omitempty"`
}

// kernel is a core.Kernel.
type kernel struct {
	Name      string         `json:"name"`
	Target    core.Target    `json:"target"`
	Artifacts []artifact     `json:"artifacts"`
	Metadata  string         `json:"metadata"`
	Tools     []sdk.ToolInfo `json:"tools"` // without paths
	Warnings  diag.List      `json:"warnings"`
	// Inputs are files that the client must have, too, for the kernel to be its own.
	Inputs []fileInput `json:"inputs,omitempty"`
}

type artifact struct {
	Stage  string `json:"stage"`
	Ending string `json:"ending"`
	Binary bool   `json:"binary"`
	Size   int    `json:"size"`
}

// failure is an error of core.Compile that is the kernel's, or a bug.
type failure struct {
	Diagnostics diag.List `json:"diagnostics,omitempty"`
	Reproducer  string    `json:"reproducer,omitempty"`
	Backend     string    `json:"backend,omitempty"` // with a bug
	Bug         string    `json:"bug,omitempty"`
}

// encode writes an answer, with the artifacts of a kernel.
func (a *answer) encode(artifacts []core.Artifact) ([]byte, error) {
	for _, one := range artifacts {
		a.Kernel.Artifacts = append(a.Kernel.Artifacts, artifact{one.Stage, one.Ending, one.Binary, len(one.Data)})
	}
	data, err := json.Marshal(a)
	data = append(data, '\n')
	for _, one := range artifacts {
		data = append(data, one.Data...)
	}
	return data, err
}

// ofKernel makes an answer of a kernel.
func ofKernel(k *core.Kernel, inputs []fileInput, printed string) ([]byte, error) {
	out := &kernel{Name: k.Name, Target: k.Target, Metadata: string(k.Metadata), Warnings: k.Warnings, Inputs: inputs}
	for _, t := range k.Tools {
		t.Path = ""
		out.Tools = append(out.Tools, t)
	}
	a := &answer{Kernel: out, Printed: printed}
	return a.encode(k.Artifacts)
}

// failureOf makes an answer's failure of an error; nil where it is the machine's.
func failureOf(err error) *failure {
	f := &failure{Diagnostics: diag.All(err)}
	var crash *core.Crash
	if errors.As(err, &crash) {
		f.Reproducer = crash.Reproducer
	}
	var bug *wire.BugError
	if errors.As(err, &bug) {
		f.Backend, f.Bug = bug.Backend, bug.Text
	}
	if f.Diagnostics == nil && f.Bug == "" && f.Reproducer == "" {
		return nil
	}
	return f
}

// err is the error that a failure stands for.
func (f *failure) err() error {
	var err error = f.Diagnostics
	if f.Bug != "" {
		err = &wire.BugError{Backend: f.Backend, Text: f.Bug}
	}
	if f.Reproducer != "" {
		return &core.Crash{Err: err, Reproducer: f.Reproducer}
	}
	return err
}

// decodeAnswer reads an answer, and the kernel that it has, if it has one.
func decodeAnswer(data []byte) (*answer, *core.Kernel, error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, nil, errors.New("an answer has no head")
	}
	a := &answer{}
	if err := json.Unmarshal(head, a); err != nil {
		return nil, nil, fmt.Errorf("an answer's head: %w", err)
	}
	if a.Kernel == nil {
		if a.Failure == nil && a.Need == nil && a.Refused == "" {
			return nil, nil, errors.New("an answer says nothing")
		}
		return a, nil, nil
	}
	k := &core.Kernel{
		Name: a.Kernel.Name, Target: a.Kernel.Target, Metadata: []byte(a.Kernel.Metadata), Tools: a.Kernel.Tools, Warnings: a.Kernel.Warnings,
	}
	for _, one := range a.Kernel.Artifacts {
		if one.Size < 0 || one.Size > len(rest) {
			return nil, nil, fmt.Errorf("an answer lacks its %s", one.Stage)
		}
		k.Artifacts = append(k.Artifacts, core.Artifact{Stage: one.Stage, Ending: one.Ending, Binary: one.Binary, Data: rest[:one.Size:one.Size]})
		rest = rest[one.Size:]
	}
	if len(rest) > 0 {
		return nil, nil, errors.New("an answer has more than its artifacts")
	}
	return a, k, nil
}
