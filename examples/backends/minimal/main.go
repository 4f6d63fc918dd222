// Tritonc-backend-minimal is the smallest backend of tritonc that does
// something: for the targets minimal:<anything> it has one stage, ops, which
// counts the operations of the ttir that it is given. It is a module of its own,
// as a third party's would be, and uses nothing but the SDK.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.Serve(minimal{}) }

// stage is the only stage: ttir in, text out.
const stage = "ops"

// assembly is the one operation that is refused.
const assembly = "tt.elementwise_inline_asm"

// facts are answered whole by Describe. Every list that is missing here (fp8
// kinds, dialects, modules, settings) is simply empty for this backend.
var facts = sdk.Facts{
	Name:    "minimal",
	Version: "1.0",
	Hash:    "minimal-1", // to change whenever the output for the same input does
	Targets: []sdk.TargetFacts{{
		Pattern:                  "minimal:*",
		WarpSize:                 1,
		DotInputPrecisions:       []string{"ieee"},
		DefaultDotInputPrecision: "ieee",
		Doc:                      "no device: the program's operations are counted",
	}},
	Options: []sdk.OptionSpec{
		{Name: "num_warps", Type: sdk.Int, Default: "4", Doc: "warps of a program; has no effect here"},
		{Name: "sort", Type: sdk.String, Default: `"name"`, Doc: "order of the list", Choices: []string{"name", "count"}},
	},
	BinaryEnding: stage,
}

// options are the values of facts.Options.
type options struct {
	NumWarps int    `json:"num_warps"`
	Sort     string `json:"sort"`
}

type minimal struct{}

func (minimal) Describe(context.Context) (sdk.Facts, error) { return facts, nil }

func (minimal) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	values, err := sdk.ParseOptions(facts.Options, req.OptionsJSON)
	if err != nil {
		return sdk.ParseOptionsResponse{}, err
	}
	return sdk.ParseOptionsResponse{OptionsJSON: values.JSON()}, nil
}

func (minimal) AddStages(context.Context, sdk.AddStagesRequest) (sdk.AddStagesResponse, error) {
	return sdk.AddStagesResponse{Stages: []sdk.Stage{
		{Name: stage, Ending: stage, Doc: "the operations of the kernel, counted"},
	}}, nil
}

func (minimal) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	if req.First != stage || req.Last != stage {
		return sdk.RunStagesResponse{}, sdk.Errorf("the minimal backend has no stages %s to %s", req.First, req.Last).
			WithHelp("its only stage is %s", stage)
	}
	var opts options
	if err := json.Unmarshal([]byte(req.OptionsJSON), &opts); err != nil {
		return sdk.RunStagesResponse{}, fmt.Errorf("options: %w", err)
	}
	start := time.Now()
	counts, kernel := countOps(string(req.Input))
	if kernel == "" {
		return sdk.RunStagesResponse{}, &sdk.Diagnostic{
			File: req.InputName, Line: 1, Column: 1,
			Message: "there is no tt.func here", Help: "the input must be ttir as Triton prints it",
		}
	}
	for _, c := range counts {
		if c.op == assembly {
			// A place in the input: the host shows its line, and where that came from.
			return sdk.RunStagesResponse{}, &sdk.Diagnostic{
				File: req.InputName, Line: c.line, Column: c.column, EndColumn: c.column + len(c.op),
				Message: "inline assembly is for a device, and there is none",
			}
		}
	}
	sdk.Logger(ctx).Debug("counted", "kernel", kernel, "kinds", len(counts))
	metadata, err := json.Marshal(map[string]any{"name": kernel, "num_warps": opts.NumWarps, "shared": 0})
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	return sdk.RunStagesResponse{
		Artifacts:    []sdk.Artifact{{Stage: stage, Data: list(counts, opts.Sort)}},
		MetadataJSON: string(metadata),
		Timings:      []sdk.Timing{{Stage: stage, Nanoseconds: time.Since(start).Nanoseconds()}},
	}, nil
}

// count is how often an operation is in the program, and where first.
type count struct {
	op           string
	n            int
	line, column int // from 1; columns are bytes
}

// countOps finds the operation of each line of MLIR text, "%0 = tt.load ..." or
// "tt.return ...", and the name of the first public function. Reading MLIR line
// by line is enough for a list; a real backend uses tritonc's core/ir/text.
func countOps(ir string) (counts []count, kernel string) {
	index := map[string]int{}
	number := 0
	for whole := range strings.Lines(ir) {
		number++
		line := strings.TrimSpace(whole)
		if _, rest, ok := strings.Cut(line, " = "); ok && strings.HasPrefix(line, "%") {
			line = rest
		}
		op := line[:nameLength(line)]
		if !strings.Contains(op, ".") && op != "module" {
			continue // a bracket, a location, an attribute
		}
		if op == "tt.func" && kernel == "" {
			if _, rest, ok := strings.Cut(line, "@"); ok {
				kernel = rest[:nameLength(rest)]
			}
		}
		i, ok := index[op]
		if !ok {
			i = len(counts)
			index[op] = i
			counts = append(counts, count{op: op, line: number, column: strings.Index(whole, op) + 1})
		}
		counts[i].n++
	}
	return counts, kernel
}

// nameLength is the length of the name that s starts with: letters, digits,
// dots and underscores.
func nameLength(s string) int {
	for i, r := range s {
		if r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return i
		}
	}
	return len(s)
}

// list prints one line an operation.
func list(counts []count, order string) []byte {
	slices.SortFunc(counts, func(a, b count) int {
		if order == "count" && a.n != b.n {
			return b.n - a.n
		}
		return strings.Compare(a.op, b.op)
	})
	var b strings.Builder
	for _, c := range counts {
		fmt.Fprintf(&b, "%4d %s\n", c.n, c.op)
	}
	return []byte(b.String())
}
