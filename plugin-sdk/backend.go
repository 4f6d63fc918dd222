package sdk

import (
	"context"
	"time"
)

// Backend compiles for one family of devices. These two methods are what a backend
// must have; its optional powers, each an interface of this package, have the names
// of Triton's BaseBackend. Methods run concurrently and may not keep a request after
// they return.
//
// An error that is (or wraps) Diagnostics or a *Diagnostic reaches the user as
// such; ctx's error reaches the host as a cancelled call; any other error is
// reported as trouble of the machine (a missing tool, a full disk). What ends
// nothing goes to Warn. Logger and ReportProgress take a call's ctx, too.
type Backend interface {
	// Describe answers every fact about the backend. It must be quick (no
	// tool is run, no device is opened) and always answer the same.
	Describe(ctx context.Context) (Facts, error)
	// AddStages lists the stages of a compile with these options, first to last.
	// Each Stage has a Run, unless the backend is a StageRunner.
	AddStages(ctx context.Context, req AddStagesRequest) ([]Stage, error)
}

// TargetChecker is an optional power of a Backend: to refuse some of the targets
// that a pattern of Facts.Targets matches. Without it a target is supported
// when a pattern matches and its warp size is one of the row's. A target that no
// pattern matches is never asked about.
type TargetChecker interface {
	SupportsTarget(ctx context.Context, t Target) (SupportsTargetResponse, error)
}

// OptionParser is an optional power of a Backend: to check the user's options
// itself, for what Facts.Options cannot say, and to fill in defaults that depend on
// the target. Without it ParseOptions reads them.
type OptionParser interface {
	ParseOptions(ctx context.Context, req ParseOptionsRequest) (ParseOptionsResponse, error)
}

// StageRunner is an optional power of a Backend: to run the stages req.First to
// req.Last itself, in one go, and so to keep more than their artifacts between them.
// On an error the response holds what was made until then.
type StageRunner interface {
	RunStages(ctx context.Context, req RunStagesRequest) (RunStagesResponse, error)
}

// DialectLoader is an optional power of a Backend: to declare operations and
// attributes that core does not have. It is asked once and must always answer the
// same.
type DialectLoader interface {
	LoadDialects(ctx context.Context) ([]Dialect, error)
}

// ModuleMapper is an optional power of a Backend: to bring modules that kernels
// import, sources in the Triton language and functions of device libraries. It
// must always answer the same. The host first learns their names and asks for one
// when a kernel imports it.
type ModuleMapper interface {
	GetModuleMap(ctx context.Context) ([]Module, error)
}

// PassRunner is an optional power of a Backend: to run named passes on one IR
// text, for `tritonc opt`.
type PassRunner interface {
	RunPasses(ctx context.Context, req RunPassesRequest) (RunPassesResponse, error)
}

// ToolLister is an optional power of a Backend: to list what its compiles may take from
// the machine, so that machines with the same programs share what they compile. Without
// it nothing is shared that the backend compiles.
type ToolLister interface {
	ListTools(ctx context.Context, req ListToolsRequest) (ListToolsResponse, error)
}

// ListToolsRequest asks what compiles for a target may take from the machine.
type ListToolsRequest struct {
	Target   Target
	Settings map[string]string
}

// ListToolsResponse lists, beside the backend's own program, all that decides on what a
// compile makes: of two machines with the same answer, paths apart, each may take what
// the other compiled. What else a compile reads of the machine is in its LookedAt.
type ListToolsResponse struct {
	// Tools are the programs that may run, and what they load, by the bytes of their
	// files; one that is not there has a name alone.
	Tools []ToolInfo `json:"tools"`
	// LookedAt names the files and folders that the answer depends on, there or not.
	LookedAt []string `json:"looked_at"`
	// Settings names those that only say where such files are.
	Settings []string `json:"settings"`
	// Unshared says why nothing that is compiled on this machine can be shared; empty: it
	// can.
	Unshared string `json:"unshared"`
	// WhenRun names those of Tools that decide on nothing but the kernels that they had a
	// part in, by RunStages' Tools: a machine without one, or with another, shares the rest.
	// What such a tool loads has its name, a slash, and a name.
	WhenRun []string `json:"when_run"`
}

// SupportsTargetResponse says whether a target is supported.
type SupportsTargetResponse struct {
	Supported bool
	Target    Target // completed: the warp size filled in
	Reason    string // why not, for the user
}

// ParseOptionsRequest carries what the user asked for.
type ParseOptionsRequest struct {
	Target Target
	// OptionsJSON is an object; a value is of the option's JSON type, or a
	// string to be read as that type. Empty means no options.
	OptionsJSON string
	// Settings are the machine's knobs by SettingSpec.Name.
	Settings map[string]string
}

// ParseOptionsResponse carries the whole set.
type ParseOptionsResponse struct {
	OptionsJSON string       // every option, keys sorted
	Diagnostics []Diagnostic // warnings
}

// AddStagesRequest asks for the stages of a compile.
type AddStagesRequest struct {
	Target      Target
	OptionsJSON string // as ParseOptions answered
	Settings    map[string]string
}

// DecodeOptions reads the options into a struct whose fields have their names, in
// JSON's tags.
func (r *AddStagesRequest) DecodeOptions(v any) error { return decodeOptions(r.OptionsJSON, v) }

// PassRow is one row of a stage's table of passes.
type PassRow struct {
	Name      string `json:"name"`
	Options   string `json:"options,omitempty"`   // those that are set: "num-warps=4 num-ctas=1"
	Doc       string `json:"doc"`                 // what the pass does, one line
	Why       string `json:"why,omitempty"`       // why it is in this place
	Condition string `json:"condition,omitempty"` // the condition's name; empty: the pass always runs
	LeftOut   bool   `json:"left_out,omitempty"`  // the condition does not hold
}

// RunStagesRequest asks for the stages First to Last, both included.
type RunStagesRequest struct {
	Target      Target
	OptionsJSON string // as ParseOptions answered
	Settings    map[string]string
	First, Last string
	// Input is what First takes: the artifact of the stage before it, or, for
	// the backend's first stage, ttir as the front end builds it.
	Input []byte
	// InputName is the input's file name. A Diagnostic's place in the input has
	// it, or none; the host then shows the line. Locations in the IR have names
	// of their own.
	InputName string
	// MetadataJSON is known metadata, for entering below the stages that
	// would find it out; may be empty.
	MetadataJSON string
	// Want names the stages whose artifacts to return besides Last's.
	Want []string
	// Launchable: the host refuses a kernel of which a Diagnostic says that it is
	// Unlaunchable. A backend may return that as an error and run no more stages.
	Launchable bool
	// Progress, where it is not nil, is told what ReportProgress is.
	Progress func(Progress) `json:"-"`
}

// Progress says what RunStages is about to do.
type Progress struct {
	Stage    string
	Fraction float64 // of the stage that is done, up to 1; 0: not known
	Text     string  // what is being done, for people; may be empty
}

// RunStagesResponse is all that came of a compile.
type RunStagesResponse struct {
	Artifacts    []Artifact // in stage order; those made before an error too
	MetadataJSON string     // an object with Triton's field names
	Diagnostics  []Diagnostic
	Timings      []Timing
	Tools        []ToolInfo
	// Reproducer, after a crash of a pass, is a file that shows it again: a first
	// line "// COMMAND THIS-FILE.ENDING", then the IR. The host puts the file's
	// name there.
	Reproducer string
	// LookedAt names the files and folders of the machine that all this depends
	// on: tools, libraries, and the places where one was looked for and was not.
	// A host that keeps what was made does so as long as none of them appears,
	// goes or changes.
	LookedAt []string
}

// Artifact returns the data of a stage, or nil.
func (r *RunStagesResponse) Artifact(stage string) []byte {
	for i := range r.Artifacts {
		if r.Artifacts[i].Stage == stage {
			return r.Artifacts[i].Data
		}
	}
	return nil
}

// Artifact is what a stage made.
type Artifact struct {
	Stage string
	Data  []byte
}

// Timing is the wall time of one step, listed in the order the steps began.
type Timing struct {
	Stage       string
	Name        string // a pass or a tool; empty for the stage as a whole
	Nanoseconds int64
	Did         string // what a pass counts of its work, for people: "loops 1, copies 4"
	// Start is when the step began, in nanoseconds since the call did; 0: when the one
	// before it ended.
	Start int64
	Tool  *ToolRun // of a step that is a run of a tool
}

// ToolRun says how a tool's process ended.
type ToolRun struct {
	ExitCode int    // -1 when a signal ended it
	Signal   string // "segmentation fault", or empty
}

// Timing is the row of a tool's run, in a stage of a call that began at began.
func (r *Result) Timing(stage, tool string, began time.Time) Timing {
	return Timing{
		Stage: stage, Name: tool, Nanoseconds: r.Wall.Nanoseconds(), Start: r.Start.Sub(began).Nanoseconds(),
		Tool: &ToolRun{ExitCode: r.ExitCode, Signal: r.Signal},
	}
}

// ToolInfo identifies a program of the machine whose output is in an artifact.
type ToolInfo struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of the file, in hex
}

// RunPassesRequest asks for named passes on one IR text.
type RunPassesRequest struct {
	Target      Target
	OptionsJSON string
	Settings    map[string]string
	Input       string
	InputName   string // its file name, for diagnostics
	Pipeline    string // "tritongpu-coalesce,cse"
	// VerifyEach checks the IR after every pass, not only at the end.
	VerifyEach bool
	// DumpAfter asks for the IR after the passes of these names; DumpAll: after
	// each.
	DumpAfter []string
	// Analyses asks for what these know of the outcome: "axis-info",
	// "allocation".
	Analyses []string
}

// DumpAll in RunPassesRequest.DumpAfter stands for every pass.
const DumpAll = "all"

// PassText is a text under the name of a pass or of an analysis.
type PassText struct{ Name, Text string }

// RunPassesResponse holds the IR after the last pass.
type RunPassesResponse struct {
	Output      string
	Diagnostics []Diagnostic
	Timings     []Timing
	Dumps       []PassText // as DumpAfter asks, in order; those made before an error too
	Analyses    []PassText // as the request's Analyses ask
	Reproducer  string     // as RunStagesResponse's
}
