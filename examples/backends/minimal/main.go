// Tritonc-backend-minimal is the smallest backend of tritonc that does
// something: for the targets minimal:<anything> it has one stage, ops, which
// counts the operations of the ttir that it is given. It is a module of its own,
// as a third party's would be, and uses nothing but the SDK.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeBackend(minimal{}) }

// facts are answered whole by Describe. Every list that is missing here (fp8
// kinds, settings) is simply empty for this backend.
var facts = sdk.Facts{
	Name:    "minimal",
	Version: "1.0",
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
	BinaryEnding: "ops",
}

type minimal struct{}

func (minimal) Describe(context.Context) (sdk.Facts, error) { return facts, nil }

func (minimal) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "ops", Doc: "the operations of the kernel, counted", Run: ops}}, nil
}

// GetModuleMap brings tl.extra.minimal.rsqrt to kernels, a function of the machine's own.
// The front end checks calls of it; a stage gets tt.extern_elementwise with the symbol.
func (minimal) GetModuleMap(context.Context) ([]sdk.Module, error) {
	return []sdk.Module{{Name: "triton.language.extra.minimal", Externs: []sdk.ExternFunction{
		{Name: "rsqrt", Args: []string{"fp32"}, Result: "fp32", Symbol: "rsqrt_f32", Pure: true},
		{Name: "rsqrt", Args: []string{"fp64"}, Result: "fp64", Symbol: "rsqrt_f64", Pure: true},
	}}}, nil
}

// assembly is the one operation that is refused.
const assembly = "tt.elementwise_inline_asm"

// ops is the only stage: ttir in, text out.
func ops(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
	var opts struct{ Sort string }
	if err := in.DecodeOptions(&opts); err != nil {
		return nil, err
	}
	counts := countOps(string(in.Data))
	if len(counts) == 0 {
		return nil, in.Errorf(sdk.Range{Line: 1, Column: 1}, "there is no tt.func here").WithHelp("the input must be ttir as Triton prints it")
	}
	for _, c := range counts {
		if c.op == assembly {
			// A place in the input: the host shows its line, and where that came from.
			return nil, in.Errorf(in.Range(c.at, c.at+len(c.op)), "inline assembly is for a device, and there is none")
		}
	}
	sdk.Logger(ctx).Debug("counted", "kernel", in.Metadata["name"], "kinds", len(counts))
	in.Metadata["shared"] = 0
	return list(counts, opts.Sort), nil
}

// count is how often an operation is in the program, and where first.
type count struct {
	op string
	n  int
	at int // bytes from the start
}

// countOps finds the operation of each line of MLIR text, "%0 = tt.load ..." or
// "tt.return ...". Reading MLIR line by line is enough for a list; a real backend
// uses tritonc's core/ir/text.
func countOps(ir string) (counts []count) {
	index := map[string]int{}
	start := 0 // of the line
	for whole := range strings.Lines(ir) {
		line := strings.TrimSpace(whole)
		if _, rest, ok := strings.Cut(line, " = "); ok && strings.HasPrefix(line, "%") {
			line = rest
		}
		op := line[:nameLength(line)]
		if strings.Contains(op, ".") || op == "module" { // else a bracket, a location, an attribute
			i, ok := index[op]
			if !ok {
				i = len(counts)
				index[op] = i
				counts = append(counts, count{op: op, at: start + strings.Index(whole, op)})
			}
			counts[i].n++
		}
		start += len(whole)
	}
	return counts
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
