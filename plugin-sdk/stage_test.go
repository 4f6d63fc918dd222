package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// staged is a backend of stages: the first writes its input in capitals, the second
// puts a number before each line, the third is what a test needs.
type staged struct {
	third func(ctx context.Context, in *sdk.StageInput) ([]byte, error)
}

func (staged) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{
		Name: "staged", Targets: []sdk.TargetFacts{{Pattern: "s:*", WarpSize: 8}},
		Options: []sdk.OptionSpec{{Name: "start", Type: sdk.Int, Default: "1"}, {Name: "kind", Type: sdk.String, Default: `"a<b"`}},
	}, nil
}

func (b staged) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{
		{Name: "upper", Ending: "up", Run: func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
			in.Metadata["num_warps"] = 4
			return []byte(strings.ToUpper(string(in.Data))), nil
		}},
		{Name: "numbered", Run: func(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
			var opts struct{ Start int }
			if err := in.DecodeOptions(&opts); err != nil {
				return nil, err
			}
			sdk.ReportProgress(ctx, sdk.Progress{Stage: "numbered", Fraction: 0.5, Text: "half"})
			sdk.Warn(ctx, in.Warningf(in.Range(0, 3), "from %d", opts.Start))
			var out strings.Builder
			for line := range strings.Lines(string(in.Data)) {
				out.WriteString(strconv.Itoa(opts.Start) + " " + line)
				opts.Start++
			}
			return []byte(out.String()), nil
		}},
		{Name: "third", Binary: true, Run: b.third},
	}, nil
}

const stagedText = "tt.func public @add() {\n  tt.return\n}\n"

func stagedRequest(first, last string, want ...string) sdk.RunStagesRequest {
	return sdk.RunStagesRequest{
		Target: sdk.Target{Backend: "s", Arch: "9", WarpSize: 8}, OptionsJSON: `{"kind":"a<b","start":7}`,
		First: first, Last: last, Want: want, Input: []byte(stagedText), InputName: "add.ttir",
	}
}

// TestStages: the SDK runs the stages, keeps what is asked for, times them, says
// which it is at, and gathers the metadata.
func TestStages(t *testing.T) {
	c := sdktest.Start(t, staged{func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
		in.Metadata["shared"] = 16
		return in.Data[:2], nil
	}})
	if o, err := c.ParseOptions(t.Context(), sdk.ParseOptionsRequest{OptionsJSON: `{"start":"7"}`}); err != nil || o.OptionsJSON != `{"kind":"a<b","start":7}` {
		t.Errorf("options %+v, %v", o, err)
	}
	if f, err := c.Describe(t.Context()); err != nil || len(f.Hash) != 64 {
		t.Errorf("the hash is %q, %v", f.Hash, err)
	}
	req := stagedRequest("upper", "third", "numbered")
	var progress []sdk.Progress
	req.Progress = func(p sdk.Progress) { progress = append(progress, p) }
	resp, err := c.RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]sdk.Artifact{
		{Stage: "numbered", Data: []byte("7 TT.FUNC PUBLIC @ADD() {\n8   TT.RETURN\n9 }\n")}, {Stage: "third", Data: []byte("7 ")},
	}, resp.Artifacts); d != "" {
		t.Error(d)
	}
	if want := `{"kind":"a<b","name":"add","num_warps":4,"shared":16,"start":7,"target":{"arch":9,"backend":"s","warp_size":8}}`; resp.MetadataJSON != want {
		t.Errorf("metadata %s, want %s", resp.MetadataJSON, want)
	}
	sdk.ReportProgress(t.Context(), sdk.Progress{}) // nobody asks
	// That the first stages begin is told on a slow machine alone.
	for len(progress) > 0 && progress[0].Text == "" {
		progress = progress[1:]
	}
	if d := cmp.Diff([]sdk.Progress{{Stage: "numbered", Fraction: 0.5, Text: "half"}, {Stage: "third"}}, progress); d != "" {
		t.Error(d)
	}
	var timed []string
	for _, row := range resp.Timings {
		timed = append(timed, row.Stage+row.Name)
	}
	if d := cmp.Diff([]string{"upper", "numbered", "third"}, timed); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]sdk.Diagnostic{{
		Severity: sdk.Warning, File: "add.up", Line: 1, Column: 1, EndColumn: 4, Message: "from 7", SourceLine: "TT.FUNC PUBLIC @ADD() {",
	}}, resp.Diagnostics); d != "" {
		t.Error(d)
	}
	stages, _, err := c.AddStages(t.Context(), sdk.AddStagesRequest{})
	if err != nil || stages[0].Ending != "up" || stages[1].Ending != "numbered" {
		t.Errorf("%+v, %v", stages, err)
	}
}

// TestStagesEntered: a later stage takes what an earlier compile found out.
func TestStagesEntered(t *testing.T) {
	var known struct {
		Name   string `json:"name"`
		Shared int    `json:"shared"`
	}
	c := sdktest.Start(t, staged{func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
		return nil, in.DecodeMetadata(&known)
	}})
	req := stagedRequest("third", "third")
	req.MetadataJSON = `{"name":"old","shared":12345678901,"start":3}`
	resp, err := c.RunStages(t.Context(), req)
	if err != nil || known.Name != "old" || known.Shared != 12345678901 {
		t.Errorf("%+v, %v", known, err)
	}
	if want := `{"kind":"a<b","name":"old","shared":12345678901,"start":3,"target":{"arch":9,"backend":"s","warp_size":8}}`; resp.MetadataJSON != want {
		t.Errorf("metadata %s, want %s", resp.MetadataJSON, want)
	}
	if a := resp.Artifact("third"); a == nil || len(a) != 0 {
		t.Errorf("an artifact without bytes is %v", a)
	}
}

// TestStageErrors: whatever goes wrong in a stage is told with its place, and what
// was made until then comes along.
func TestStageErrors(t *testing.T) {
	run := func(third func(context.Context, *sdk.StageInput) ([]byte, error), req sdk.RunStagesRequest) (sdk.RunStagesResponse, sdk.Diagnostic) {
		t.Helper()
		resp, err := sdktest.Start(t, staged{third}).RunStages(t.Context(), req)
		var l sdk.Diagnostics
		if !errors.As(err, &l) || len(l) != 1 {
			t.Fatalf("got %v, want one diagnostic", err)
		}
		return resp, l[0]
	}
	at := func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
		i := strings.Index(string(in.Data), "TT.RETURN")
		return nil, in.Errorf(in.Range(i, len(in.Data)), "no return").WithHelp("go on").WithNote("said %s", "twice")
	}
	resp, d := run(at, stagedRequest("upper", "third"))
	if diff := cmp.Diff(sdk.Diagnostic{
		File: "add.numbered", Line: 2, Column: 5, EndColumn: 14, Message: "no return", Help: "go on", SourceLine: "8   TT.RETURN",
		Notes: []sdk.Diagnostic{{Severity: sdk.Note, Message: "said twice"}},
	}, d); diff != "" {
		t.Error(diff)
	}
	if resp.Artifact("numbered") == nil || len(resp.Diagnostics) != 1 || len(resp.Timings) != 3 {
		t.Errorf("what was made until then: %+v", resp)
	}
	// The input of the first stage that runs has the name that the host gave it.
	if _, d = run(at, func() sdk.RunStagesRequest {
		r := stagedRequest("third", "third")
		r.Input = []byte("\n TT.RETURN")
		return r
	}()); d.File != "add.ttir" || d.Line != 2 || d.Column != 2 || d.EndColumn != 11 {
		t.Errorf("got %+v", d)
	}
	_, d = run(func(context.Context, *sdk.StageInput) ([]byte, error) { panic("oh") }, stagedRequest("upper", "third"))
	if d.Kind != sdk.Bug || !strings.Contains(d.Message, "BUG in the backend, in the stage third: oh") || !strings.Contains(d.Notes[0].Message, "stage_test.go") {
		t.Errorf("got %+v", d)
	}
	if _, d = run(nil, stagedRequest("third", "third")); d.Kind != sdk.Bug || !strings.Contains(d.Message, "the stage third has no Run") {
		t.Errorf("got %+v", d)
	}
	for _, tt := range []struct {
		req  sdk.RunStagesRequest
		want string
	}{
		{stagedRequest("lower", "third"), `there are no stages "lower" to "third"`},
		{stagedRequest("third", "upper"), `there are no stages "third" to "upper"`},
		{stagedRequest("upper", "upper", "third"), `the stage "third" is not among those to run, upper to upper`},
	} {
		if _, d := run(at, tt.req); !strings.Contains(d.Message, tt.want) {
			t.Errorf("got %+v", d)
		}
	}
	bad := stagedRequest("third", "third")
	bad.MetadataJSON = "[]"
	if _, d := run(at, bad); !strings.Contains(d.Message, "not a JSON object") {
		t.Errorf("got %+v", d)
	}
}

// TestRange: offsets become lines and columns in bytes, within the first line.
func TestRange(t *testing.T) {
	in := sdk.StageInput{Data: []byte("ab\ncäd\n")}
	for _, tt := range []struct {
		start, end int
		want       sdk.Range
	}{
		{0, 2, sdk.Range{Line: 1, Column: 1, EndColumn: 3}},
		{1, 99, sdk.Range{Line: 1, Column: 2, EndColumn: 3}},
		{3, 6, sdk.Range{Line: 2, Column: 1, EndColumn: 4}},
		{6, 6, sdk.Range{Line: 2, Column: 4}},
		{2, 3, sdk.Range{Line: 1, Column: 3}},
		{-5, 99, sdk.Range{Line: 1, Column: 1, EndColumn: 3}},
		{99, 99, sdk.Range{Line: 3, Column: 1}},
	} {
		if got := in.Range(tt.start, tt.end); got != tt.want {
			t.Errorf("%d to %d: %+v, want %+v", tt.start, tt.end, got, tt.want)
		}
	}
}

// TestStageTools: a tool is timed and reported with its file's hash, and one that is
// not there is trouble of the machine.
func TestStageTools(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs a shell")
	}
	c := sdktest.Start(t, staged{func(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
		for range 2 {
			res, err := in.RunTool(ctx, sdk.Command{Path: "sh", Args: []string{"-c", "cat"}, Stdin: []byte("made")}, "7")
			if err != nil || !res.OK() {
				return nil, errors.Join(err, errors.New(res.Status()))
			}
			in.Data = res.Stdout
		}
		return in.Data, nil
	}})
	resp, err := c.RunStages(t.Context(), stagedRequest("third", "third"))
	if err != nil || string(resp.Artifact("third")) != "made" {
		t.Fatalf("%+v, %v", resp, err)
	}
	if len(resp.Tools) != 1 || len(resp.Tools[0].SHA256) != 64 || resp.Tools[0].Version != "7" || !filepath.IsAbs(resp.Tools[0].Path) || resp.Tools[0].Name != "sh" {
		t.Errorf("tools %+v", resp.Tools)
	}
	if d := cmp.Diff([]string{resp.Tools[0].Path}, resp.LookedAt); d != "" {
		t.Error(d)
	}
	tool := resp.Timings[2]
	if tool.Tool == nil || *tool.Tool != (sdk.ToolRun{}) || tool.Start < resp.Timings[1].Start || resp.Timings[1].Start < resp.Timings[0].Start {
		t.Errorf("timings %+v, tool %+v", resp.Timings, tool.Tool)
	}
	if len(resp.Timings) != 3 || resp.Timings[2].Name != "sh" || resp.Timings[0].Nanoseconds < resp.Timings[2].Nanoseconds {
		t.Errorf("timings %+v", resp.Timings)
	}
	_, err = sdktest.Start(t, staged{func(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
		_, err := in.RunTool(ctx, sdk.Command{Path: "no-such-assembler"}, "")
		return nil, err
	}}).RunStages(t.Context(), stagedRequest("third", "third"))
	var l sdk.Diagnostics
	if !errors.As(err, &l) || l[0].Kind != sdk.Environment || !strings.Contains(l[0].Message, "no-such-assembler") {
		t.Errorf("got %v", err)
	}
}

// TestTraceParent: a backend learns which span of the host a call belongs to, if there is one.
func TestTraceParent(t *testing.T) {
	c := sdktest.Start(t, staged{func(ctx context.Context, _ *sdk.StageInput) ([]byte, error) {
		return []byte("parent " + sdk.TraceParent(ctx)), nil
	}})
	for _, parent := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		ctx := t.Context()
		if parent != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", parent)
		}
		resp, err := c.RunStages(ctx, stagedRequest("third", "third"))
		if got := string(resp.Artifact("third")); err != nil || got != "parent "+parent {
			t.Errorf("%q, %v, want %q", got, err, parent)
		}
	}
}

// TestFactsForm: what `--describe` prints are facts that read back.
func TestFactsForm(t *testing.T) {
	f, err := sdktest.Start(t, powerful{}).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var again sdk.Facts
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, again); d != "" {
		t.Error(d)
	}
}
