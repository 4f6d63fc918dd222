package nvidia

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// needTools skips a test on a machine without the tools; `make test` provides
// them.
func needTools(t testing.TB, kinds ...*backend.ToolKind) {
	t.Helper()
	for _, k := range kinds {
		if _, err := k.Find(t.Context(), nil); err != nil {
			t.Skip(err)
		}
	}
}

// request is a RunStages request for the whole of a file's way.
func request(t testing.TB, cc, first, file string, input []byte, options string) sdk.RunStagesRequest {
	t.Helper()
	opts, err := parseOptions(archFor(t, cc), options)
	if err != nil {
		t.Fatal(err)
	}
	return sdk.RunStagesRequest{
		Target:      sdk.Target{Backend: backendName, Arch: cc, WarpSize: warpSize},
		OptionsJSON: opts, First: first, Last: stageCubin, Input: input, InputName: file, Want: []string{first},
	}
}

func scaleLLIR(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("testdata/scale.llir"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFromLLIR: LLVM IR to a cubin, for every target, with metadata made of what
// the PTX says.
func TestFromLLIR(t *testing.T) {
	needTools(t, llvm.LLC, ptxasKind)
	c := sdktest.Start(t, New())
	for _, a := range archs {
		cc := strings.TrimPrefix(a.facts().Pattern, "cuda:")
		req := request(t, cc, stagePTX, "scale.llir", scaleLLIR(t), "")
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ptx := string(resp.Artifact(stagePTX))
		if !strings.Contains(ptx, "\n.target "+a.smName()+"\n") {
			t.Errorf("cuda:%s: the target line has more or less than %s:\n%s", cc, a.smName(), backend.FirstLines(ptx, 10))
		}
		if !strings.Contains(ptx, ".loc\t1 6 9") || strings.Contains(ptx, ".debug_info") {
			t.Errorf("cuda:%s: the PTX does not have the line directives alone:\n%s", cc, ptx)
		}
		if cubin := resp.Artifact(stageCubin); !bytes.HasPrefix(cubin, []byte("\x7fELF")) {
			t.Errorf("cuda:%s: the cubin is %q…", cc, cubin[:min(len(cubin), 8)])
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(resp.MetadataJSON), &m); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]any{
			"name": "scale", "num_warps": 2.0, "shared": 0.0, "num_ctas": 1.0, "warp_size": 32.0, "tmem_size": 0.0,
			"global_scratch_size": 0.0, "global_scratch_align": 1.0, "profile_scratch_size": 0.0, "profile_scratch_align": 1.0,
			"spill_stores": 0.0, "stack": 0.0, "triton_version": "3.6.0", "arch": "sm" + cc,
		} {
			if m[key] != want {
				t.Errorf("cuda:%s: metadata %s is %v, want %v", cc, key, m[key], want)
			}
		}
		if n, _ := m["registers"].(float64); n < 4 || n > 40 {
			t.Errorf("cuda:%s: %v registers", cc, m["registers"])
		}
		if len(resp.Tools) != 2 || resp.Tools[0].Name != "llc" || resp.Tools[1].Name != "ptxas" || resp.Tools[1].SHA256 == "" {
			t.Errorf("tools %+v", resp.Tools)
		}
		var steps []string
		for _, s := range resp.Timings {
			steps = append(steps, s.Stage+"/"+s.Name)
			if s.Nanoseconds <= 0 {
				t.Errorf("%s took %d ns", s.Stage, s.Nanoseconds)
			}
		}
		if want := []string{"ptx/", "ptx/llc", "cubin/", "cubin/ptxas"}; !slices.Equal(steps, want) {
			t.Errorf("steps %v, want %v", steps, want)
		}

		again, err := c.RunStages(t.Context(), req)
		if err != nil || !bytes.Equal(again.Artifact(stageCubin), resp.Artifact(stageCubin)) || again.MetadataJSON != resp.MetadataJSON {
			t.Errorf("cuda:%s: a second compile gives other bytes (%v)", cc, err)
		}
	}
}

// TestOptionsReachTools: fusion and ptxas options change what the tools do.
func TestOptionsReachTools(t *testing.T) {
	needTools(t, llvm.LLC, ptxasKind)
	c := sdktest.Start(t, New())
	run := func(options string) (sdk.RunStagesResponse, error) {
		return c.RunStages(t.Context(), request(t, "80", stagePTX, "scale.llir", scaleLLIR(t), options))
	}
	resp, err := run(`{"ptx_version":75}`)
	if err != nil || !strings.Contains(string(resp.Artifact(stagePTX)), "\n.version 7.5\n") {
		t.Errorf("ptx_version: %v\n%s", err, resp.Artifact(stagePTX))
	}
	if _, err = run(`{"ptx_options":"--no-such-option"}`); err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("ptx_options: %v", err)
	}
	override := filepath.Join(t.TempDir(), "other.ptx")
	text := strings.ReplaceAll(string(resp.Artifact(stagePTX)), "scale", "other")
	if err := os.WriteFile(override, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	resp, err = run(`{"ir_override":"` + override + `"}`)
	if err != nil || string(resp.Artifact(stagePTX)) != text || !bytes.Contains(resp.Artifact(stageCubin), []byte("other")) {
		t.Errorf("ir_override: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken.ttgir")
	if err := os.WriteFile(broken, []byte("module {"), 0o644); err != nil {
		t.Fatal(err)
	}
	req := request(t, "80", stageTTIR, "scale.py", scaleTTIR(t), `{"ir_override":"`+broken+`"}`)
	_, err = c.RunStages(t.Context(), req)
	if d := oneDiagnostic(t, err); d.File != broken {
		t.Errorf("a broken ir_override: %+v", d)
	}
	if _, err = run(`{"ir_override":"/none/k.ptx"}`); err == nil || !strings.Contains(err.Error(), "/none/k.ptx") {
		t.Errorf("a missing ir_override: %v", err)
	}
}

func oneDiagnostic(t *testing.T, err error) sdk.Diagnostic {
	t.Helper()
	var l sdk.Diagnostics
	if !errors.As(err, &l) || len(l) != 1 {
		t.Fatalf("got %v, want one diagnostic", err)
	}
	return l[0]
}

func TestBadLLIR(t *testing.T) {
	needTools(t, llvm.LLC)
	c := sdktest.Start(t, New())
	text := strings.Replace(string(scaleLLIR(t)), "fmul float", "fmul flout", 1)
	_, err := c.RunStages(t.Context(), request(t, "80", stagePTX, "dir/k.llir", []byte(text), ""))
	d := oneDiagnostic(t, err)
	if d.File != "dir/k.llir" || d.Line != 11 || d.Column == 0 || !strings.Contains(d.Message, "llc: expected type") || d.Kind != sdk.User {
		t.Errorf("got %+v", d)
	}
	text = strings.Replace(string(scaleLLIR(t)), "ptx_kernel", "", 1)
	_, err = c.RunStages(t.Context(), request(t, "80", stagePTX, "k.llir", []byte(text), ""))
	if d := oneDiagnostic(t, err); d.File != "k.llir" || !strings.Contains(d.Message, "no kernel") {
		t.Errorf("got %+v", d)
	}
}

const somePTX = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
.reqntid 128
{
	.reg .b32 %r<3>;
	.loc	1 12 7
	mov.u32 	%r1, 1;
	.loc	1 13 4
	add.s32 	%r2, %r1, %r1;
	ret;
}
	.file	1 "k.py"
`

func TestFromPTX(t *testing.T) {
	needTools(t, ptxasKind)
	c := sdktest.Start(t, New())
	run := func(ptx, metadata string) (sdk.RunStagesResponse, error) {
		req := request(t, "80", stageCubin, "k.ptx", []byte(ptx), "")
		req.MetadataJSON = metadata
		return c.RunStages(t.Context(), req)
	}
	field := func(resp sdk.RunStagesResponse, err error, name string) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(resp.MetadataJSON), &m); err != nil {
			t.Fatal(err)
		}
		return m[name]
	}
	resp, err := run(somePTX, "")
	if got := field(resp, err, "num_warps"); got != 4.0 {
		t.Errorf("num_warps %v", got)
	}
	shared := strings.Replace(somePTX, ".visible", ".extern .shared .align 16 .b8 global_smem[];\n.visible", 1)
	resp, err = run(shared, `{"shared":2048,"global_scratch_size":384,"global_scratch_align":128}`)
	for name, want := range map[string]float64{"shared": 2048, "global_scratch_size": 384, "global_scratch_align": 128, "num_warps": 4} {
		if got := field(resp, err, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	quiet := strings.Replace(somePTX, ".reqntid 128", "", 1)
	resp, err = run(quiet, `{"num_warps":8,"name":"k"}`)
	if got := field(resp, err, "num_warps"); got != 8.0 {
		t.Errorf("num_warps %v", got)
	}

	resp, err = run(shared, `{"shared":200000}`)
	if err != nil || len(resp.Diagnostics) != 1 || !strings.Contains(resp.Diagnostics[0].Message, "200000 bytes of shared memory, and a block may have 166912 on cuda:80") {
		t.Errorf("too much shared memory: %v, %+v", err, resp.Diagnostics)
	}

	mistakes := []struct{ name, ptx, metadata, message, help string }{
		{"shared", shared, "", "how many bytes of shared memory the kernel k uses", "--option shared=BYTES"},
		{"warps", quiet, "", "how many warps the kernel k has", "k.json"},
		{"both", somePTX, `{"num_warps":2}`, "the metadata has 2 warps, but k.ptx has blocks of 128 threads", ""},
		{"name", somePTX, `{"name":"other"}`, "the metadata is of the kernel other", ""},
		{"json", somePTX, `{"num_warps":"two"}`, "the metadata is not that of a kernel", ""},
		{"threads", strings.Replace(somePTX, "128", "100", 1), "", "100 threads are not whole warps", ""},
		{"version", strings.Replace(somePTX, "8.0", "99.0", 1), "", "ptxas: Unsupported .version 99.0", "use a newer one"},
		{"modifier", strings.Replace(somePTX, "add.s32", "add.bogus.s32", 1), "", "ptxas: ", "to repeat it: "},
	}
	for _, tt := range mistakes {
		t.Run(tt.name, func(t *testing.T) {
			_, err := run(tt.ptx, tt.metadata)
			var l sdk.Diagnostics
			if !errors.As(err, &l) {
				t.Fatalf("got %v", err)
			}
			last := l[len(l)-1]
			if !strings.Contains(l[0].Message, tt.message) || !strings.Contains(last.Help, tt.help) {
				t.Errorf("got %q, help %q", l[0].Message, last.Help)
			}
		})
	}
}

// TestPtxasErrorPlace: what ptxas refuses is told at the line of Python that it
// came from, and the command given repeats the failure.
func TestPtxasErrorPlace(t *testing.T) {
	needTools(t, ptxasKind, llvm.LLC)
	t.Setenv("TMPDIR", t.TempDir())
	c := sdktest.Start(t, New())
	bad := strings.Replace(somePTX, "add.s32", "add.bogus.s32", 1)
	_, err := c.RunStages(t.Context(), request(t, "80", stageCubin, "k.ptx", []byte(bad), ""))
	d := oneDiagnostic(t, err)
	if d.File != "k.ptx" || d.Line != 11 || len(d.Notes) != 1 || d.Notes[0].File != "k.py" || d.Notes[0].Line != 13 || d.Notes[0].Column != 5 {
		t.Errorf("in PTX that was given: %+v", d)
	}
	_, command, _ := strings.Cut(d.Help, "to repeat it: ")
	words := strings.Fields(command)
	res, err := sdk.Command{Path: words[0], Args: words[1:]}.Run(t.Context())
	if err != nil || res.OK() || !strings.Contains(string(res.Stderr)+string(res.Stdout), ", line 11; error") {
		t.Errorf("%s: %v, %v", command, res, err)
	}

	// The same from a kernel: here LLVM IR with wrong inline assembly.
	text := strings.Replace(string(scaleLLIR(t)), "%d = fmul float %v, 2.0",
		`%d = tail call float asm sideeffect "ld.global.cs.L1::evict_first.b32 $0, [$1];", "=f,l"(ptr addrspace(1) %px)`, 1)
	asked := request(t, "80", stagePTX, "scale.llir", nil, "")
	run, err := New().NewCompilation(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	j, err := readRequest(asked.Target, asked.OptionsJSON)
	if err != nil {
		t.Fatal(err)
	}
	run.Artifact = []byte(text)
	if err := j.makePTX(run); err != nil {
		t.Fatal(err)
	}
	d = oneDiagnostic(t, j.makeCubin(run))
	if d.File != "scale.py" || d.Line != 6 || d.Column != 10 || !strings.Contains(d.Message, "ptxas: Modifier") || len(d.Notes) != 1 {
		t.Errorf("in PTX that was made: %+v", d)
	}
	if len(d.Notes) == 1 {
		n := d.Notes[0]
		text, err := os.ReadFile(n.File)
		if err != nil || n.Line < 1 || lineOf(string(text), n.Line) != n.SourceLine || !strings.Contains(n.SourceLine[n.Column-1:n.EndColumn-1], "L1::evict_first") {
			t.Errorf("its place in the PTX: %+v, %v", n, err)
		}
	}

	// And where the PTX does not say where it came from.
	run.Artifact = bytes.ReplaceAll(run.Artifact, []byte(".loc"), []byte("// .loc"))
	d = oneDiagnostic(t, j.makeCubin(run))
	if filepath.Ext(d.File) != ".ptx" || d.Line < 1 || d.Column < 2 || len(d.Notes) != 0 || !strings.Contains(d.SourceLine, "L1::evict_first") {
		t.Errorf("in PTX without places: %+v", d)
	}
}

// TestUnresolved: a call that nothing resolves is told at its line of Python.
func TestUnresolved(t *testing.T) {
	needTools(t, ptxasKind, llvm.LLC)
	c := sdktest.Start(t, New())
	text := strings.Replace(string(scaleTTIR(t)), "%d = arith.mulf %v, %cst :",
		`%d = tt.extern_elementwise %v {libname = "", libpath = "", pure = true, symbol = "__nv_none"} : (tensor<256xf32>) ->`, 1)
	_, err := c.RunStages(t.Context(), request(t, "80", stageTTGIR, "scale.ttir", []byte(text), ""))
	d := oneDiagnostic(t, err)
	if d.File != "scale.py" || d.Line != 9 || !strings.Contains(d.Message, "'__nv_none'") || !strings.Contains(d.Help, "tl.math") {
		t.Errorf("got %+v", d)
	}
}

// TestNoTools: without ptxas PTX can be made, a cubin cannot.
func TestNoTools(t *testing.T) {
	if _, err := os.Stat("/usr/local/cuda/bin/ptxas"); err == nil {
		t.Skip("this machine has CUDA where it is looked for")
	}
	needTools(t, llvm.LLC)
	llc, err := llvm.LLC.Find(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("PATH", "/bin")
	c := sdktest.Start(t, New())
	req := request(t, "80", stagePTX, "scale.llir", scaleLLIR(t), "")
	req.Settings = map[string]string{llvm.LLC.Setting.Name: llc.Path}
	resp, err := c.RunStages(t.Context(), req)
	d := oneDiagnostic(t, err)
	if d.Kind != sdk.Environment || d.Message != "no usable ptxas was found" || !strings.Contains(d.Help, "make toolchain") {
		t.Errorf("got %+v", d)
	}
	if !strings.Contains(string(resp.Artifact(stagePTX)), ".version 8.4") {
		t.Errorf("the PTX made before the error: %q", resp.Artifact(stagePTX))
	}
}

func TestStageRequests(t *testing.T) {
	c := sdktest.Start(t, New())
	for _, tt := range []struct{ first, last, want string }{
		{"cubin", "ptx", `no stages "cubin" to "ptx"`},
		{"elf", "cubin", `no stages "elf"`},
	} {
		req := request(t, "80", tt.first, "k.ptx", nil, "")
		req.Last = tt.last
		_, err := c.RunStages(t.Context(), req)
		if d := oneDiagnostic(t, err); !strings.Contains(d.Message, tt.want) {
			t.Errorf("%s to %s: %s", tt.first, tt.last, d.Message)
		}
	}
	req := request(t, "80", "cubin", "k.ptx", nil, "")
	req.Want = []string{"ptx"}
	_, err := c.RunStages(t.Context(), req)
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, `"ptx" is not among those to run`) {
		t.Errorf("got %s", d.Message)
	}
	if _, err := c.RunStages(t.Context(), sdk.RunStagesRequest{Target: sdk.Target{Backend: "cuda", Arch: "70"}}); err == nil || !strings.Contains(err.Error(), "cuda:70") {
		t.Errorf("another target: %v", err)
	}
}
