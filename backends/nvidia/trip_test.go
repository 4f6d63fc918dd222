package nvidia

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

func scaleTTIR(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("testdata/scale.ttir"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTrip: the front end's ttir through all stages, for every target, with PTX by each
// writer. Each artifact enters at its own stage, though LLVM IR from a file is llc's.
func TestTrip(t *testing.T) {
	for _, by := range []string{ptxDirect, ptxLLVM} {
		t.Run(by, func(t *testing.T) { testTrip(t, by) })
	}
}

func testTrip(t *testing.T, by string) {
	needTools(t, ptxasKind)
	if by == ptxLLVM {
		needTools(t, llvm.LLC)
	}
	options := `{"num_warps":2,"maxnreg":96,"ptx":"` + by + `"}`
	c := sdktest.Start(t, New())
	for _, a := range archs {
		cc := strings.TrimPrefix(a.facts().Pattern, "cuda:")
		req := request(t, cc, stageTTIR, "scale.py", scaleTTIR(t), options)
		req.Want = []string{stageTTIR, stageTTGIR, stageLLIR, stagePTX}
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for stage, want := range map[string][]string{
			stageTTIR: {"module {", "tt.load %", `loc("scale.py":7:8)`},
			stageTTGIR: {
				`ttg.target = "cuda:` + cc + `"`, `"ttg.num-warps" = 2 : i32`, `ttg.maxnreg = 96 : i32`,
				"#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>",
			},
			stageLLIR: {"define ptx_kernel void @scale(", `"nvvm.reqntid"="64"`, `"nvvm.maxnreg"="96"`, "DebugDirectivesOnly", `filename: "scale.py"`},
			stagePTX:  {".visible .entry scale(", ".reqntid 64", ".maxnreg 96", "ld.global.v4.b32", ".loc\t1 7 8", ".file\t1 \"scale.py\""},
		} {
			text := string(resp.Artifact(stage))
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("cuda:%s: the %s has no %q:\n%s", cc, stage, w, text)
				}
			}
		}
		var m struct {
			Name      string
			NumWarps  int `json:"num_warps"`
			Shared    int
			Registers int
			Maxnreg   int
		}
		if err := json.Unmarshal([]byte(resp.MetadataJSON), &m); err != nil {
			t.Fatal(err)
		}
		if m.Name != "scale" || m.NumWarps != 2 || m.Shared < 4 || m.Registers < 8 || m.Registers > 96 || m.Maxnreg != 96 {
			t.Errorf("cuda:%s: metadata %+v", cc, m)
		}
		again, err := c.RunStages(t.Context(), req)
		if err != nil || !bytes.Equal(again.Artifact(stageCubin), resp.Artifact(stageCubin)) {
			t.Errorf("cuda:%s: a second compile gives another cubin (%v)", cc, err)
		}

		// Every artifact enters at its own stage and gives the same end.
		stages := stagesOf(t, req)
		for i, s := range stages[:len(stages)-1] {
			if by == ptxDirect && s.Name == stageLLIR {
				continue
			}
			entry := request(t, cc, stages[i+1].Name, "scale."+s.Name, resp.Artifact(s.Name), options)
			entry.MetadataJSON = resp.MetadataJSON
			got, err := c.RunStages(t.Context(), entry)
			if err != nil {
				t.Errorf("cuda:%s: entering with the %s: %v", cc, s.Name, err)
				continue
			}
			if !bytes.Equal(got.Artifact(stageCubin), resp.Artifact(stageCubin)) {
				t.Errorf("cuda:%s: entering with the %s gives another cubin", cc, s.Name)
			}
		}
	}
}

// stagesOf are the stages of a request.
func stagesOf(t testing.TB, req sdk.RunStagesRequest) []backend.Stage {
	t.Helper()
	j, err := readRequest(req.Target, req.OptionsJSON)
	if err != nil {
		t.Fatal(err)
	}
	return j.stages()
}

// TestTripSteps: every pass and tool is timed, in order.
func TestTripSteps(t *testing.T) {
	c := sdktest.Start(t, New())
	req := request(t, "80", stageTTIR, "scale.py", scaleTTIR(t), "")
	req.Last, req.Want = stageLLIR, nil
	resp, err := c.RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	j, err := readRequest(req.Target, req.OptionsJSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range j.stages()[:3] {
		want = append(want, s.Name+"/")
		for _, r := range pass.Effective(s.Passes, passFacts(j.early, j.opts)) {
			want = append(want, s.Name+"/"+r.Pass.Name)
		}
	}
	for _, s := range resp.Timings {
		got = append(got, s.Stage+"/"+s.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if len(resp.Artifacts) != 1 || resp.Artifacts[0].Stage != stageLLIR || len(resp.Tools) != 0 {
		t.Errorf("artifacts %d, tools %v", len(resp.Artifacts), resp.Tools)
	}
}

// TestAddStages: the pipelines that are told are those that RunPasses reads.
func TestAddStages(t *testing.T) {
	c := sdktest.Start(t, New())
	req := request(t, "80", stageTTIR, "scale.py", nil, "")
	stages, _, err := c.AddStages(t.Context(), sdk.AddStagesRequest{Target: req.Target, OptionsJSON: req.OptionsJSON})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	text := string(scaleTTIR(t))
	for _, s := range stages {
		names = append(names, s.Name)
		if s.Ending != s.Name || s.Doc == "" || s.Binary != (s.Name == stageCubin) {
			t.Errorf("stage %+v", s)
		}
		if s.Pipeline == "" {
			continue
		}
		out, err := c.RunPasses(t.Context(), sdk.RunPassesRequest{Target: req.Target, Input: text, InputName: "scale.ttir", Pipeline: s.Pipeline})
		if err != nil {
			t.Fatalf("%s: %v", s.Pipeline, err)
		}
		text = out.Output
	}
	if want := []string{stageTTIR, stageTTGIR, stageLLIR, stagePTX, stageCubin}; !slices.Equal(names, want) {
		t.Errorf("stages %v", names)
	}
	req = request(t, "80", stageTTIR, "scale.py", scaleTTIR(t), "")
	req.Last = stageTTGIR
	run, err := c.RunStages(t.Context(), req)
	if err != nil || string(run.Artifact(stageTTGIR)) != text {
		t.Errorf("the stages give another text than their pipelines (%v):\n%s\n%s", err, run.Artifact(stageTTGIR), text)
	}
}

func TestBadModules(t *testing.T) {
	c := sdktest.Start(t, New())
	good := string(scaleTTIR(t))
	tests := []struct {
		name, text, message string
		line                int
	}{
		{"syntax", strings.Replace(good, "arith.muli %pid, ", "arith.muli %pid ", 1), "expected", 7},
		{"types", strings.Replace(good, "%offs, %limit : tensor<256xi32>", "%offs, %limit : tensor<128xi32>", 1), "", 12},
		{"no kernel", strings.Replace(good, "tt.func public", "tt.func private", 1), "no kernel", 0},
		{"empty", "", "no kernel", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.RunStages(t.Context(), request(t, "80", stageTTGIR, "k.ttir", []byte(tt.text), ""))
			d := oneDiagnostic(t, err)
			if d.Kind != sdk.User || d.File != "k.ttir" || !strings.Contains(d.Message, tt.message) || tt.line > 0 && d.Line != tt.line {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestRunPassesMistakes(t *testing.T) {
	c := sdktest.Start(t, New())
	target := sdk.Target{Backend: "cuda", Arch: "80"}
	_, err := c.RunPasses(t.Context(), sdk.RunPassesRequest{Target: target, Input: "module {}", Pipeline: "cse,no-such-pass"})
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, `no pass "no-such-pass"`) || !strings.Contains(d.Message, "tritongpu-coalesce") {
		t.Errorf("got %s", d.Message)
	}
	_, err = c.RunPasses(t.Context(), sdk.RunPassesRequest{Target: target, Input: "module {", InputName: "m.mlir", Pipeline: "cse"})
	if d := oneDiagnostic(t, err); d.File != "m.mlir" || d.Line != 1 {
		t.Errorf("got %+v", d)
	}
}

// TestCrash: a pass that panics is told as our mistake, with the module before
// it, ready to be run again.
func TestCrash(t *testing.T) {
	file, err := New().Parse(&work.Meter{}, "scale.ttir", scaleTTIR(t))
	if err != nil {
		t.Fatal(err)
	}
	var reproducer string
	broken := &pass.Pass{Name: "broken", Run: func(*pass.Run) error { panic("BUG: it is broken") }}
	run := func(rows ...pass.Row) error {
		c, err := New().NewCompilation(t.Context(), request(t, "80", stageTTIR, "scale.ttir", nil, ""))
		if err != nil {
			t.Fatal(err)
		}
		c.Module = file.Op
		err = c.RunPasses(rows, c.Plan.Facts)
		reproducer = c.Response().Reproducer
		return err
	}
	err = run(pass.Row{Pass: canonicalize}, pass.Row{Pass: broken})
	var d *sdk.Diagnostic
	if !errors.As(err, &d) || d.Kind != sdk.Bug || !strings.Contains(d.Message, "pass broken: BUG: it is broken") {
		t.Fatalf("got %v", err)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0].Message, "trip_test.go") {
		t.Errorf("notes %+v", d.Notes)
	}
	if !strings.HasPrefix(reproducer, "// tritonc opt --target cuda:80:32 --passes 'broken' THIS-FILE.mlir\n#loc = ") {
		t.Errorf("reproducer %s", reproducer)
	}
	wrong := &pass.Pass{Name: "wrong", Run: func(r *pass.Run) error {
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Name() == "tt.return" {
				op.Erase()
				return ir.Stop
			}
			return ir.Advance
		})
		return nil
	}}
	if err = run(pass.Row{Pass: wrong}); !errors.As(err, &d) || !strings.Contains(d.Message, "does not verify") {
		t.Errorf("got %v", err)
	}
}

// TestLoweringCrash: a panic in the lowering, too.
func TestLoweringCrash(t *testing.T) {
	file, err := New().Parse(&work.Meter{}, "scale.ttir", scaleTTIR(t))
	if err != nil {
		t.Fatal(err)
	}
	m, opts := file.Op, options{NumWarps: 4, NumCTAs: 1}
	runner := backend.Runner(sdk.Target{})
	if _, err := runner.Run(m, ttgirRows(archs[0], opts), nil); err != nil {
		t.Fatal(err)
	}
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult { // what no verifier would let through
		if op.Name() == "arith.addi" {
			op.SetOperand(0, op.ParentOf(tt.Func).Region(0).First().Args()[0]) // a pointer plus integers
		}
		return ir.Advance
	})
	c, err := New().NewCompilation(t.Context(), request(t, "80", stageLLIR, "scale.ttgir", nil, ""))
	if err != nil {
		t.Fatal(err)
	}
	c.Module = m
	var d *sdk.Diagnostic
	if err := new(job).makeLLIR(c); !errors.As(err, &d) || d.Kind != sdk.Bug || len(d.Notes) != 1 || !strings.Contains(c.Response().Reproducer, "tt.func public @scale") {
		t.Errorf("got %v", err)
	}
}

// TestFusion: a multiplication and an addition become one instruction, unless that is off.
func TestFusion(t *testing.T) {
	needTools(t, llvm.LLC)
	c := sdktest.Start(t, New())
	for option, want := range map[string]bool{
		`{}`: true, `{"enable_fp_fusion":false}`: false,
		`{"ptx":"llvm"}`: true, `{"enable_fp_fusion":false,"ptx":"llvm"}`: false,
	} {
		req := request(t, "80", stageTTIR, "scale.py", scaleTTIR(t), option)
		req.Last, req.Want = stagePTX, nil
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(resp.Artifact(stagePTX)), "fma.rn.f32"); got != want {
			t.Errorf("%s: fused is %v\n%s", option, got, resp.Artifact(stagePTX))
		}
	}
}

// BenchmarkToLLIR is all that the backend itself does: text to LLVM IR.
func BenchmarkToLLIR(b *testing.B) {
	f, err := os.ReadFile(filepath.FromSlash("../../core/frontend/testdata/kernels.py"))
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range []struct{ name, kernel, signature string }{
		{"matmul", "matmul", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, 128, 128, 64, 8"},
		{"matmul_desc", "matmul_desc", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, 128, 128, 64, 8, 132, False"},
		{"flash_fwd", "flash_fwd", "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, fp32, i32:16, i32:16, i32:16, 1, i32:16, i32:16, 128, 64, 64, False"},
	} {
		b.Run(k.name, func(b *testing.B) {
			ttir := builtTTIR(b, f, k.kernel, k.signature)
			for _, arch := range []string{"80", "90"} {
				b.Run(arch, func(b *testing.B) {
					backend := New()
					req := request(b, arch, stageTTIR, k.name+".ttir", ttir, "")
					req.Last, req.Want = stageLLIR, nil
					req.Settings = map[string]string{"max_memory": "1024"} // as tritonc says
					for b.Loop() {
						if _, err := backend.RunStages(b.Context(), req); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// builtTTIR is a kernel of a Python file as the front end gives it to a backend.
func builtTTIR(tb testing.TB, source []byte, kernel, signature string) []byte {
	tb.Helper()
	f, err := frontend.Parse("kernels.py", "kernels.py", source)
	if err != nil {
		tb.Fatal(err)
	}
	program := f.In(frontend.Environment{Facts: func(context.Context) (*frontend.Facts, error) {
		return &frontend.Facts{DotPrecisions: []string{"tf32"}, DefaultDotPrecision: "tf32"}, nil
	}})
	list, err := program.Variants(tb.Context(), &frontend.Request{Kernel: kernel, Signature: signature})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := program.Build(tb.Context(), dialect.NewContext(), list[0], &frontend.Options{NumWarps: 4, NumStages: 3, NumCTAs: 1, DefaultDotPrecision: "tf32"})
	if err != nil {
		tb.Fatal(err)
	}
	return backend.Print(m)
}

// TestTTNG: the backend's own dialect is known, to core by its declaration too.
func TestTTNG(t *testing.T) {
	const text = `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k() {
    ttng.fence_async_shared {bCluster = false}
    tt.return
  }
}
`
	c := sdktest.Start(t, New())
	target := sdk.Target{Backend: "cuda", Arch: "90"}
	resp, err := c.RunPasses(t.Context(), sdk.RunPassesRequest{Target: target, Input: text, InputName: "k.ttgir", Pipeline: "cse"})
	if err != nil || !strings.Contains(resp.Output, "    ttng.fence_async_shared {bCluster = false} loc(") {
		t.Errorf("got %v\n%s", err, resp.Output)
	}
	dialects, err := c.LoadDialects(t.Context())
	var names []string
	for _, declared := range dialects {
		names = append(names, declared.Name)
		d, err := decl.Load([]byte(declared.Declaration), dialect.All()...)
		if err != nil || d.Name != declared.Name || d.Name == "ttng" && len(d.Ops) < 20 {
			t.Errorf("the declaration of %s: %v, %v", declared.Name, d, err)
		}
	}
	if err != nil || !slices.Equal(names, []string{"ttng", "nvws", "nvg", "nvvm", "proton", "proton_gpu", "tti"}) {
		t.Errorf("dialects %v, %v", names, err)
	}
}

// TestEnteringTTGIR: the module, not the options, says how many warps there are,
// and another target is worth a warning.
func TestEnteringTTGIR(t *testing.T) {
	c := sdktest.Start(t, New())
	req := request(t, "80", stageTTIR, "scale.py", scaleTTIR(t), `{"num_warps":8}`)
	req.Last = stageTTGIR
	made, err := c.RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req = request(t, "86", stageLLIR, "scale.ttgir", made.Artifact(stageTTGIR), "")
	req.Last = stageLLIR
	resp, err := c.RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(resp.MetadataJSON, `"num_warps":8`) || !strings.Contains(resp.MetadataJSON, `"num_ctas":1`) {
		t.Errorf("metadata %s", resp.MetadataJSON)
	}
	if len(resp.Diagnostics) != 1 || !strings.Contains(resp.Diagnostics[0].Message, "chosen for cuda:80; it is compiled for cuda:86") {
		t.Errorf("diagnostics %+v", resp.Diagnostics)
	}
	lanes := bytes.Replace(made.Artifact(stageTTGIR), []byte(`"ttg.threads-per-warp" = 32`), []byte(`"ttg.threads-per-warp" = 64`), 1)
	lanes = bytes.Replace(lanes, []byte("threadsPerWarp = [32]"), []byte("threadsPerWarp = [64]"), -1)
	req = request(t, "80", stageLLIR, "scale.ttgir", lanes, "")
	_, err = c.RunStages(t.Context(), req)
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, "warps of 64 threads") {
		t.Errorf("got %+v", d)
	}
}

// TestRunPassesShows: texts after passes, and what analyses know.
func TestRunPassesShows(t *testing.T) {
	c := sdktest.Start(t, New())
	req := sdk.RunPassesRequest{
		Target: sdk.Target{Backend: "cuda", Arch: "80"}, Input: string(scaleTTIR(t)), InputName: "scale.ttir",
		Pipeline:   "convert-triton-to-tritongpu{threads-per-warp=32},tritongpu-coalesce,cse",
		VerifyEach: true, DumpAfter: []string{"tritongpu-coalesce", "cse"}, Analyses: []string{"axis-info", "allocation"},
	}
	resp, err := c.RunPasses(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Dumps) != 2 || resp.Dumps[0].Name != "tritongpu-coalesce" || resp.Dumps[1].Text != resp.Output {
		t.Errorf("dumps %+v", resp.Dumps)
	}
	if len(resp.Analyses) != 2 || !strings.Contains(resp.Analyses[0].Text, "contiguity = [256]") || !strings.HasPrefix(resp.Analyses[1].Text, "@scale => size = ") {
		t.Errorf("analyses %+v", resp.Analyses)
	}
	req.DumpAfter = []string{"canonicalize"}
	_, err = c.RunPasses(t.Context(), req)
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, `no pass "canonicalize" among those to run`) {
		t.Errorf("got %+v", d)
	}
	req.DumpAfter, req.Analyses = nil, []string{"weather"}
	_, err = c.RunPasses(t.Context(), req)
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, `no analysis "weather"`) {
		t.Errorf("got %+v", d)
	}
}

// TestTables: the table of a stage has its pipeline and what a condition leaves
// out, and every row says why it is there.
func TestTables(t *testing.T) {
	for _, a := range archs {
		stages, err := New().AddStages(t.Context(), sdk.AddStagesRequest{
			Target: sdk.Target{Backend: "cuda", Arch: strconv.Itoa(a.cc)}, OptionsJSON: optionsFor(t, a, `{"skip_passes":["cse"],"tma":"never"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stages {
			if s.Pipeline == "" {
				continue
			}
			table, pipeline := s.Passes, s.Pipeline
			var run []string
			for _, row := range table {
				if row.Doc == "" || row.Why == "" {
					t.Errorf("%s: %s has doc %q, why %q", s.Name, row.Name, row.Doc, row.Why)
				}
				leftOut := row.Condition != "" && !(row.Condition == withWGMMA.Name && a.cc/10 == 9)
				if row.LeftOut != leftOut || (row.Name == "cse") != (row.Condition == optionSkipPasses) {
					t.Errorf("%s: %+v", s.Name, row)
				}
				if !row.LeftOut {
					run = append(run, row.Name)
				}
			}
			rows, err := pass.Parse(passes, pipeline)
			if err != nil || len(rows) != len(run) {
				t.Fatalf("%s: %d rows, %v", pipeline, len(run), err)
			}
			for i := range rows {
				if rows[i].Pass.Name != run[i] {
					t.Errorf("row %d: %s in the table, %s in the pipeline", i, run[i], rows[i].Pass.Name)
				}
			}
		}
	}
}

// optionsFor are canonical options of a target.
func optionsFor(t *testing.T, a arch, given string) string {
	t.Helper()
	text, err := parseOptions(a, given)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
