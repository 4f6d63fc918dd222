package compile

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/farm/bus"
	farm "github.com/tritonc/tritonc/farm/work"
	"github.com/tritonc/tritonc/internal/inprocess"
	"github.com/tritonc/tritonc/internal/natstest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

var target = core.Target{Backend: "cuda", Arch: "80"}

// kernels imports what imports again, and has variants, text that is printed, and warnings
// of its own.
const kernels = `
import triton
import triton.language as tl
from first import helper
import absent_module

@triton.autotune(configs=[triton.Config({"B": b}, num_warps=w) for b in (64, 128) for w in (2, 4)], key=[])
@triton.jit
def k(x, y, n, B: tl.constexpr):
    tl.static_print("B is", B)
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, helper(tl.load(x + i, mask=i < n)), mask=i < n)
`

var modules = map[string]string{
	"first":  "import triton\nimport triton.language as tl\nimport second\n@triton.jit\ndef helper(v):\n    return v * second.FACTOR\n",
	"second": "import triton.language as tl\nFACTOR: tl.constexpr = tl.constexpr(3)\n",
}

const wrong = `
import triton
import triton.language as tl

# tritonc: k(*fp32)
@triton.jit
def k(x):
    tl.store(x, undefined)
`

func choose(_ context.Context, t core.Target) (core.Backend, core.Target, error) {
	t.WarpSize = 32
	return inprocess.Backend{Kit: nvidia.New()}, t, nil
}

// machine is one with a version of the backend.
func machine(version string) Machine {
	return func(context.Context, core.Target) (*core.Machine, error) {
		return &core.Machine{Text: "backend \"nvidia\"\nversion \"" + version + "\"\n"}, nil
	}
}

// one is a compile for which both sides can be asked.
type one struct {
	src     *core.Source
	opts    *core.Options
	want    core.Want
	modules *Modules
	printed *strings.Builder
}

// variants are those of a file, as a client has them before it asks a farm.
func variants(t testing.TB, text string, want core.Want, values map[string]any) (list []*one) {
	t.Helper()
	recorded := Record(func(name string) (*core.Source, error) {
		text, ok := modules[name]
		if !ok {
			return nil, nil
		}
		return &core.Source{Path: "/home/me/" + name + ".py", Name: name + ".py", Text: []byte(text)}, nil
	})
	src := &core.Source{Path: "/home/me/k.py", Name: "k.py", Text: []byte(text), Import: recorded.Import}
	if strings.Contains(text, "autotune") {
		src.Config = core.AllConfigs
	}
	opts := &core.Options{Select: choose, Stages: []string{"ttir", "ttgir", "llir"}, Values: values}
	found, err := core.Variants(t.Context(), src, target, opts, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		o := *opts
		printed := &strings.Builder{}
		o.Print = func(text string) { printed.WriteString(text) }
		list = append(list, &one{v, &o, want, recorded, printed})
	}
	return list
}

// startFarm starts a server and workers, and returns a client that waits for a worker for
// as long as grace.
func startFarm(t testing.TB, grace time.Duration, workers ...*Handler) *Farm {
	t.Helper()
	s := natstest.Run(t)
	open := func(name string) *farm.Queue {
		b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{s.URL()}, Name: name, Stay: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		q, err := farm.Open(t.Context(), b, farm.Config{Beat: 200 * time.Millisecond, AckWait: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i, h := range workers {
		w := &farm.Worker{ID: "w" + string(rune('0'+i)), Jobs: 2, Handler: h, Log: t.Logf}
		q := open(w.ID)
		all.Go(func() {
			if err := w.Run(ctx, context.Background(), q); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	client, err := farm.Connect(t.Context(), open("client"), farm.ClientConfig{Sample: 2, Grace: grace, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &Farm{Client: client, Compiler: "test", Machine: machine("1")}
}

func handler() *Handler {
	return &Handler{Compiler: "test", Machine: machine("1"), Select: choose}
}

// TestFarm: what a farm compiles is what is compiled here, with what is said and printed.
func TestFarm(t *testing.T) {
	f := startFarm(t, time.Minute, handler(), handler())
	signature := core.Want{Signature: "*fp32:16, *fp32:16, i32"}
	list := variants(t, kernels, signature, map[string]any{"enable_fp_fusion": "false"})
	list = append(list, variants(t, strings.Replace(kernels, "(64, 128)", "(32, 256)", 1), signature, map[string]any{"num_stages": 2})...)
	if len(list) != 8 {
		t.Fatalf("%d variants", len(list))
	}
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Go(func() {
			got, err := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules)
			if err != nil {
				t.Error(err)
				return
			}
			said := c.printed.String()
			c.printed.Reset()
			want, err := core.Compile(t.Context(), c.src, target, c.opts)
			if err != nil {
				t.Error(err)
				return
			}
			got.Timings, want.Timings = nil, nil
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", c.src.Variant, d)
			}
			if said != c.printed.String() || !strings.Contains(said, "B is") {
				t.Errorf("%s printed %q, want %q", c.src.Variant, said, c.printed)
			}
		})
	}
	wg.Wait()
	for name, found := range list[0].modules.found {
		if (found == nil) != (modules[name] == "") {
			t.Errorf("the module %s: %v", name, found)
		}
	}
	if n := f.Client.Counts(); n.Checked == 0 {
		t.Error("nothing was done twice")
	}
}

// TestFarmFailures: a kernel that is wrong gets the same diagnostics, places, lines and
// all.
func TestFarmFailures(t *testing.T) {
	f := startFarm(t, time.Minute, handler())
	for _, c := range variants(t, wrong, core.Want{}, nil) {
		_, got := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules)
		_, want := core.Compile(t.Context(), c.src, target, c.opts)
		if d := cmp.Diff(diag.All(want), diag.All(got)); d != "" || len(diag.All(got)) == 0 {
			t.Errorf("%v\n%s", got, d)
		}
	}
	// An IR file.
	text := "module {\n  tt.func public @k(%x: i32) {\n    %y = arith.addi %x, %z : i32\n    tt.return\n  }\n}\n"
	src := &core.Source{Path: "/home/me/k.ttir", Name: "k.ttir", Text: []byte(text)}
	opts := &core.Options{Select: choose, Stages: []string{"ttgir"}}
	_, got := f.Compile(t.Context(), src, target, opts, core.Want{}, nil)
	_, want := core.Compile(t.Context(), src, target, opts)
	if d := cmp.Diff(diag.All(want), diag.All(got)); d != "" || len(diag.All(got)) == 0 {
		t.Errorf("%v\n%s", got, d)
	}
}

// TestRefused: options that name files are for nobody else, whoever asks.
func TestRefused(t *testing.T) {
	f := startFarm(t, time.Minute, handler())
	c := variants(t, wrong, core.Want{}, map[string]any{"ir_override": "/etc/passwd"})[0]
	_, err := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules)
	var local *LocalError
	if !errors.As(err, &local) || local.Serious || !strings.Contains(local.Reason, "ir_override names files") {
		t.Errorf("got %v", err)
	}
	if n := f.Client.Counts().Asked; n != 0 {
		t.Errorf("the farm was asked %d times", n)
	}
	// A client that asks all the same.
	r, err := NewRequest(c.src, target, c.opts, c.want, c.modules)
	if err != nil {
		t.Fatal(err)
	}
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	kind, data, err := handler().Do(t.Context(), &farm.Task{Body: body})
	if err != nil || kind != farm.Failed {
		t.Fatalf("%s, %v", kind, err)
	}
	if a, _, err := decodeAnswer(data); err != nil || !strings.Contains(a.Refused, "ir_override names files") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestInputs: a kernel goes to clients that have the same files, and a machine that has
// changed makes none.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	library, tool := filepath.Join(dir, "library.bc"), filepath.Join(dir, "tool")
	for _, path := range []string{library, tool} {
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(path string) string {
		s, err := sumOf(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	absent := filepath.Join(dir, "absent")
	m := &core.Machine{Tools: []sdk.ToolInfo{{Name: "tool", Path: tool, SHA256: sum(tool)}}, LookedAt: []string{tool}}
	tools := func(list ...sdk.ToolInfo) *core.Kernel { return &core.Kernel{Tools: list} }
	own := sdk.ToolInfo{Name: "tool", Path: tool, SHA256: sum(tool)}
	for name, tt := range map[string]struct {
		k        *core.Kernel
		lookedAt []string
		want     []fileInput
		refused  string
		err      string
	}{
		"the class alone": {k: tools(own), lookedAt: []string{tool}},
		"a library":       {k: tools(own, sdk.ToolInfo{Name: "library", Path: library, SHA256: sum(library)}), lookedAt: []string{tool, library, absent, library}, want: []fileInput{{library, sum(library)}, {absent, ""}}},
		"a folder":        {k: tools(own), lookedAt: []string{dir}, refused: "is not a file that can be read"},
		"another tool":    {k: tools(sdk.ToolInfo{Name: "vendor's", Path: absent, SHA256: "00"}), refused: "vendor's has a part in it, which the backend does not list"},
		"a new tool":      {k: tools(sdk.ToolInfo{Name: "tool", Path: tool, SHA256: "00"}), err: "is not what it was when the worker began"},
		"a nameless tool": {k: tools(sdk.ToolInfo{Name: "tool", Path: tool}), err: "is not what it was when the worker began"},
	} {
		got, refused, err := inputs(m, tt.k, tt.lookedAt)
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", name, err, tt.err)
		}
		if (refused == "") != (tt.refused == "") || !strings.Contains(refused, tt.refused) {
			t.Errorf("%s: refused %q, want %q", name, refused, tt.refused)
		}
		if !slices.Equal(got, tt.want) && tt.err == "" && tt.refused == "" {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestOtherFile: a kernel into which another file went than the client has is not taken.
func TestOtherFile(t *testing.T) {
	library := filepath.Join(t.TempDir(), "library.bc")
	if err := os.WriteFile(library, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := handler()
	h.Select = func(ctx context.Context, target core.Target) (core.Backend, core.Target, error) {
		b, target, err := choose(ctx, target)
		return looking{b, library}, target, err
	}
	f := startFarm(t, time.Minute, h)
	list := variants(t, kernels, core.Want{Signature: "*fp32:16, *fp32:16, i32"}, nil)
	c := list[0]
	if _, err := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(library, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules)
	var local *LocalError
	if !errors.As(err, &local) || !strings.Contains(local.Reason, "is another file at the worker") {
		t.Errorf("got %v", err)
	}
}

// TestWhenRun: a kernel that a tool beside the class has a part in is for the client, whether
// workers have the tool or not. They say so alike, since some kernels are asked of two.
func TestWhenRun(t *testing.T) {
	at := func(hash string) *Handler {
		h := handler()
		h.Machine = func(ctx context.Context, target core.Target) (*core.Machine, error) {
			m, err := machine("1")(ctx, target)
			m.Tools, m.WhenRun = []sdk.ToolInfo{{Name: "llc", Path: "/llc", SHA256: hash}}, []string{"llc"}
			return m, err
		}
		h.Select = func(ctx context.Context, target core.Target) (core.Backend, core.Target, error) {
			b, target, err := choose(ctx, target)
			return running{b, hash}, target, err
		}
		return h
	}
	f := startFarm(t, time.Minute, at("1"), at("2"), at(""))
	for _, c := range variants(t, kernels, core.Want{Signature: "*fp32:16, *fp32:16, i32"}, nil) {
		_, err := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules)
		var local *LocalError
		if !errors.As(err, &local) || local.Serious || local.Reason != otherTool {
			t.Errorf("got %v", err)
		}
	}
}

// running is a backend that runs llc for each kernel, where there is one.
type running struct {
	core.Backend
	hash string
}

func (b running) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	if b.hash == "" {
		return sdk.RunStagesResponse{}, errors.New("no usable llc was found")
	}
	resp, err := b.Backend.RunStages(ctx, req)
	resp.Tools = append(resp.Tools, sdk.ToolInfo{Name: "llc", Path: "/llc", SHA256: b.hash})
	return resp, err
}

// looking is a backend for which a file of the machine has a part in each kernel.
type looking struct {
	core.Backend
	file string
}

func (b looking) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	resp, err := b.Backend.RunStages(ctx, req)
	resp.LookedAt = append(resp.LookedAt, b.file)
	return resp, err
}

// TestForeign: a client is told how the workers that there are differ.
func TestForeign(t *testing.T) {
	other := handler()
	other.Machine = machine("2")
	f := startFarm(t, 2*time.Second, other)
	c := variants(t, wrong, core.Want{}, nil)[0]
	_, err := f.Compile(t.Context(), c.src, target, c.opts, c.want, c.modules)
	var local *LocalError
	if !errors.As(err, &local) || !local.Serious || !local.Lasting || local.Reason != "the farm's workers for cuda:80 have another backend nvidia: version" {
		t.Errorf("got %v", err)
	}
}

// TestTargets: a worker is for the targets that its user names.
func TestTargets(t *testing.T) {
	h := handler()
	h.Targets = []string{"cuda:9*", "hip:*"}
	for name, want := range map[string]bool{"cuda:90": true, "hip:gfx942": true, "cuda:80": false, "x": false} {
		if c, err := h.Class(t.Context(), name); (err == nil) != want || want && c.Target != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

// TestRequest: a request is read as it was written, and equal ones are written alike.
func TestRequest(t *testing.T) {
	values := map[string]any{"num_warps": 4, "num_stages": "3", "f": 0.5, "b": true, "s": "x"}
	c := variants(t, kernels, core.Want{Signature: "*fp32:16, *fp32:16, i32"}, nil)[0]
	opts := *c.opts
	opts.Values = values
	first, err := NewRequest(c.src, target, &opts, c.want, c.modules)
	if err != nil {
		t.Fatal(err)
	}
	a, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := first.Encode()
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("written otherwise: %v", err)
	}
	again, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, again); d != "" {
		t.Error(d)
	}
	for name, v := range again.Values {
		if reflect.TypeOf(v) != reflect.TypeOf(values[name]) {
			t.Errorf("%s is a %T", name, v)
		}
	}
}

// TestBadRequest: what is not a request is an error, however large it would be.
func TestBadRequest(t *testing.T) {
	packed := func(text string, times int) []byte {
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, flate.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "noise": []byte("noise"), "no JSON": packed("{", 1), "an unknown field": packed(`{"evil":1}`, 1),
		"too large": packed(strings.Repeat(" ", 1024), maxText/1024+1), "a number too large": packed(`{"values":{"x":1e999}}`, 1),
	} {
		if _, err := Decode(data); err == nil || !strings.HasPrefix(err.Error(), "a request") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswers: what comes of a compile arrives as it was, and what is cut is an error.
func TestAnswers(t *testing.T) {
	k := &core.Kernel{
		Name: "k", Target: target, Metadata: []byte(`{"name":"k"}`),
		Artifacts: []core.Artifact{{Stage: "ptx", Ending: "ptx", Data: []byte("text\nmore")}, {Stage: "cubin", Ending: "cubin", Binary: true, Data: []byte{0, '\n', 255}}},
		Tools:     []sdk.ToolInfo{{Name: "ptxas", Path: "/secret/ptxas", Version: "1", SHA256: "ab"}},
		Warnings:  diag.List{{Severity: diag.Warning, Pos: diag.Pos{File: "k.py", Line: 1, Col: 2}, Message: "m", Line: "l", Unlaunchable: true}},
	}
	data, err := ofKernel(k, []fileInput{{"/lib", "00"}}, "said")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("secret")) {
		t.Error("the answer has a path of the worker")
	}
	a, got, err := decodeAnswer(data)
	if err != nil || a.Printed != "said" || len(a.Kernel.Inputs) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	k.Tools[0].Path = ""
	if d := cmp.Diff(k, got); d != "" {
		t.Error(d)
	}
	for n := range data {
		if _, _, err := decodeAnswer(data[:n]); err == nil {
			t.Errorf("%d bytes of %d are an answer", n, len(data))
		}
	}
	if _, _, err := decodeAnswer(append(data, 0)); err == nil {
		t.Error("a byte more is an answer")
	}
	list := diag.List{diag.Errorf(diag.Pos{File: "k.py", Line: 3, Col: 1}, "wrong").WithHelp("h").WithNote(diag.Pos{}, "n")}
	for name, err := range map[string]error{
		"diagnostics": list,
		"a bug":       &wire.BugError{Backend: "nvidia", Text: "stack"},
		"a crash":     &core.Crash{Err: &wire.BugError{Backend: "nvidia", Text: "stack"}, Reproducer: "// x\n"},
	} {
		f := failureOf(err)
		if f == nil {
			t.Errorf("%s is the machine's", name)
			continue
		}
		data, encoding := (&answer{Failure: f}).encode(nil)
		a, k, decoding := decodeAnswer(data)
		if encoding != nil || decoding != nil || k != nil {
			t.Fatalf("%s: %v, %v", name, encoding, decoding)
		}
		if d := cmp.Diff(err, a.Failure.err()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if failureOf(errors.New("a disk is full")) != nil {
		t.Error("a full disk is the kernel's fault")
	}
}
