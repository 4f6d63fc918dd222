package core

import (
	"slices"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Kernel is what came out of a compile.
type Kernel struct {
	// Name is the kernel's, as the binary's symbol and Metadata have it.
	Name string
	// Variant is that of the Source, empty when it is the only one.
	Variant string
	// Target is the one compiled for, completed by the backend.
	Target Target
	// Artifacts are those of the stages asked for, in the order of the trip.
	Artifacts []Artifact
	// Metadata is a JSON object with the field names of Triton 3.6's metadata, and
	// name, version and hash of the backend as the object backend.
	Metadata []byte
	// Timings are the steps of the trip in the order they began.
	Timings []Timing
	// Tools are the programs of the machine that had a part in it.
	Tools []sdk.ToolInfo
	// Warnings are diagnostics that did not end the compile.
	Warnings diag.List
}

// FileStem is the name of the kernel's files without their endings.
func (k *Kernel) FileStem() string { return fileStem(k.Name, k.Variant) }

func fileStem(kernel, variant string) string {
	if variant == "" {
		return kernel
	}
	return kernel + "." + variant
}

// launchable returns k, unless it can be launched on no device of its target and
// the options do not allow that: then the warnings are errors.
func (k *Kernel) launchable(opts *Options) (*Kernel, error) {
	if opts.AllowUnlaunchable || !slices.ContainsFunc(k.Warnings, func(d *diag.Diagnostic) bool { return d.Unlaunchable }) {
		return k, nil
	}
	list := slices.Clone(k.Warnings)
	for i, d := range list {
		if d.Unlaunchable {
			e := *d
			e.Severity = diag.Error
			list[i] = &e
		}
	}
	return nil, list
}

// Artifact is the outcome of one stage.
type Artifact struct {
	Stage  string
	Ending string // of a file that holds it, without the dot
	Binary bool   // bytes rather than text
	Data   []byte
}

// Artifact returns the artifact of a stage, or nil when it was not asked for.
func (k *Kernel) Artifact(stage string) *Artifact {
	for i := range k.Artifacts {
		if k.Artifacts[i].Stage == stage {
			return &k.Artifacts[i]
		}
	}
	return nil
}

// Timing is the wall time of one step. A row without a Step is a whole stage;
// its steps (passes and tools) follow it.
type Timing struct {
	Stage string
	Step  string
	Time  time.Duration
	Did   string // what a pass counts of its work, for people
}
