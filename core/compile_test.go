package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// upper is a backend of three stages, each of which appends its name to what
// it was given.
type upper struct {
	refuse     error
	reproducer string
	modules    map[string]sdk.Module
	another    string // the kernel that it takes each for
	metadata   string // that it answers; empty: the kernel's name

	mu      sync.Mutex           // guards what calls leave behind; compiles run at once
	request sdk.RunStagesRequest // the last
	options string               // as they came in the last call
	asked   []string             // the modules that were asked for
}

var stages = []sdk.Stage{
	{Name: "ttir", Ending: "ttir"}, {Name: "asm", Ending: "s"}, {Name: "obj", Ending: "o", Binary: true},
}

func (b *upper) Facts(context.Context) (*sdk.Facts, error) {
	f := &sdk.Facts{Name: "toy", Version: "1", Hash: "h"}
	for name := range b.modules {
		f.Modules = append(f.Modules, sdk.Module{Name: name})
	}
	return f, nil
}

func (b *upper) LoadDialects(context.Context) ([]sdk.Dialect, error) { return nil, nil }

func (b *upper) GetModule(_ context.Context, name string) (sdk.Module, error) {
	b.mu.Lock()
	b.asked = append(b.asked, name)
	b.mu.Unlock()
	m := b.modules[name]
	if m.Name == "" {
		return m, errors.New("connection lost")
	}
	return m, nil
}

func (b *upper) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	b.mu.Lock()
	b.options = req.OptionsJSON
	b.mu.Unlock()
	var given map[string]any
	if req.OptionsJSON != "" {
		if err := json.Unmarshal([]byte(req.OptionsJSON), &given); err != nil {
			return sdk.ParseOptionsResponse{}, err
		}
	}
	if _, bad := given["bad"]; bad {
		return sdk.ParseOptionsResponse{}, diag.List{diag.Errorf(diag.Pos{}, "no option bad").WithHelp("there is good")}
	}
	return sdk.ParseOptionsResponse{
		OptionsJSON: `{"good":1}`,
		Diagnostics: []sdk.Diagnostic{{Severity: sdk.Warning, Message: "careful"}},
	}, nil
}

func (b *upper) AddStages(context.Context, sdk.AddStagesRequest) (wire.AddStagesResponse, error) {
	return wire.AddStagesResponse{Stages: stages}, nil
}

// answersFor is the name of the input's kernel, unless the backend takes another's.
func (b *upper) answersFor(input []byte) string {
	if b.another != "" {
		return b.another
	}
	if name := publicName.FindSubmatch(input); name != nil {
		return string(name[1])
	}
	return "k"
}

func (b *upper) RunStages(_ context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	b.mu.Lock()
	b.request = req
	b.mu.Unlock()
	if b.refuse != nil {
		return sdk.RunStagesResponse{Reproducer: b.reproducer}, b.refuse
	}
	resp := sdk.RunStagesResponse{MetadataJSON: fmt.Sprintf(`{"name":%q}`, b.answersFor(req.Input))}
	if b.metadata != "" {
		resp.MetadataJSON = b.metadata
	}
	text, running := string(req.Input), false
	for _, s := range stages {
		running = running || s.Name == req.First
		if !running {
			continue
		}
		text += ">" + s.Name
		resp.Timings = append(resp.Timings, sdk.Timing{Stage: s.Name, Nanoseconds: 7})
		if s.Name == req.Last || slices.Contains(req.Want, s.Name) {
			resp.Artifacts = append(resp.Artifacts, sdk.Artifact{Stage: s.Name, Data: []byte(text)})
		}
		if s.Name == req.Last {
			break
		}
	}
	return resp, nil
}

func (b *upper) choose(_ context.Context, t Target) (Backend, Target, error) {
	if t.Backend != "toy" {
		return nil, t, errors.New("no such backend")
	}
	t.WarpSize = 8
	return b, t, nil
}

var toy = Target{Backend: "toy", Arch: "1"}

func TestCompileStages(t *testing.T) {
	tests := []struct {
		file        string
		stages      []string
		first, last string // "" when nothing is to run
		want        []string
	}{
		{"k.ttir", nil, "asm", "obj", []string{"o:x>asm>obj"}},
		{"k.ttir", []string{"asm"}, "asm", "asm", []string{"s:x>asm"}},
		{"k.ttir", []string{"obj", "asm"}, "asm", "obj", []string{"s:x>asm", "o:x>asm>obj"}},
		{"k.ttir", []string{"ttir"}, "", "", []string{"ttir:x"}},
		{"k.ttir", []string{"ttir", "obj"}, "asm", "obj", []string{"ttir:x", "o:x>asm>obj"}},
		{"k.s", nil, "obj", "obj", []string{"o:x>obj"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.file, tt.stages), func(t *testing.T) {
			b := &upper{}
			k, err := Compile(t.Context(), &Source{Path: tt.file, Text: []byte("x")}, toy, &Options{Select: b.choose, Stages: tt.stages})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range k.Artifacts {
				got = append(got, a.Ending+":"+string(a.Data))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if b.request.First != tt.first || b.request.Last != tt.last {
				t.Errorf("ran %q to %q, want %q to %q", b.request.First, b.request.Last, tt.first, tt.last)
			}
			if k.Name != "k" {
				t.Errorf("the kernel's name is %q", k.Name)
			}
			if k.Target.WarpSize != 8 {
				t.Errorf("target %v is not the completed one", k.Target)
			}
			if len(k.Warnings) != 1 || k.Warnings[0].Severity != diag.Warning {
				t.Errorf("warnings %v", k.Warnings)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct {
		name, file string
		target     Target
		opts       Options
		refuse     error
		want       []string // parts of the printed error
	}{
		{"backend", "k.ttir", Target{Backend: "none"}, Options{}, nil, []string{"no such backend"}},
		{"option", "k.ttir", toy, Options{Values: map[string]any{"bad": "1"}}, nil, []string{"no option bad", "there is good"}},
		{"stage", "k.ttir", toy, Options{Stages: []string{"ptx"}}, nil, []string{`no stage "ptx"`, "source, ttir, asm, obj"}},
		{"stage before", "k.s", toy, Options{Stages: []string{"ttir"}}, nil, []string{"no ttir can be made of a .s file", "asm, obj"}},
		{"ending", "k.txt", toy, Options{}, nil, []string{"k.txt: error", "it reads .py, .ttir, .s\n"}},
		{"binary", "k.o", toy, Options{}, nil, []string{"k.o: error", "it reads .py, .ttir, .s\n"}},
		{
			"source line", "dir/k.ttir", toy,
			Options{},
			diag.List{diag.Errorf(diag.Pos{File: "k.ttir", Line: 2, Col: 3}, "wrong")},
			[]string{"dir/k.ttir:2:3: error: wrong", "    2 | second", "      |   ^"},
		},
		{"call", "k.ttir", toy, Options{}, errors.New("connection lost"), []string{"connection lost"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Select = (&upper{refuse: tt.refuse}).choose
			k, err := Compile(t.Context(), &Source{Path: tt.file, Text: []byte("first\nsecond\n")}, tt.target, &tt.opts)
			if err == nil {
				t.Fatalf("compiled to %v", k)
			}
			text := err.Error()
			if list := diag.All(err); list != nil {
				var b strings.Builder
				for _, d := range list {
					diag.Fprint(&b, d)
				}
				text = b.String()
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
		})
	}
}

// TestPlaces: a backend's diagnostic shows the text that its place is in: the
// stage's input, an artifact, the kernel's file, or one that it imports.
func TestPlaces(t *testing.T) {
	const kernel = `import triton
import triton.language as tl
from lib import twice

@triton.jit
def k(x):
    tl.store(x, twice(tl.load(x)))
`
	const lib = "import triton\n\n@triton.jit\ndef twice(v):\n    return v * 2\n"
	const made = "note: k.source is what the front end made of dir/k.py; --emit source writes it\n"
	python := func(t *testing.T) *Source {
		src := &Source{Path: "dir/k.py", Name: "mod/k.py", Text: []byte(kernel)}
		src.Import = func(module string) (*Source, error) {
			if module != "lib" {
				return nil, nil
			}
			return &Source{Path: "dir/lib.py", Name: "mod/lib.py", Text: []byte(lib)}, nil
		}
		variants, err := Variants(t.Context(), src, toy, &Options{Select: (&upper{}).choose}, Want{Kernel: "k", Signature: "*i32"})
		if err != nil {
			t.Fatal(err)
		}
		return variants[0]
	}
	const ttir = "module {\n  tt.func public @k(%x: !tt.ptr<i32>) {\n    toy.op loc(\"k.py\":3:8)\n    tt.return\n  }\n}\n"
	file := func(*testing.T) *Source { return &Source{Path: "dir/k.ttir", Text: []byte(ttir)} }
	asm := func(*testing.T) *Source { return &Source{Path: "dir/k.s", Text: []byte("one\n\ttwo x\n")} }
	toyDialect := `{"name": "toy", "ops": [{"name": "toy.op", "asm": "attr-dict"}]}`

	for _, tt := range []struct {
		name   string
		source func(*testing.T) *Source
		at     diag.Pos // the line 0 stands for that with the store or the operation
		end    int
		want   string
	}{
		{
			"input of a Python file", python,
			diag.Pos{File: "k.source", Col: 5},
			13,
			"k.source:9:5: error: wrong\n" +
				"    9 |     tt.store %x, %1 : !tt.ptr<i32> loc(#loc3)\n      |     ^^^^^^^^\n" +
				"dir/k.py:7:17: note: it comes from here\n    7 |     tl.store(x, twice(tl.load(x)))\n      |                 ^\n" + made,
		},
		{
			"no file", python,
			diag.Pos{Col: 5},
			0,
			"k.source:9:5: error: wrong\n" +
				"    9 |     tt.store %x, %1 : !tt.ptr<i32> loc(#loc3)\n      |     ^\n" +
				"dir/k.py:7:17: note: it comes from here\n    7 |     tl.store(x, twice(tl.load(x)))\n      |                 ^\n" + made,
		},
		{
			"a line without an operation", python,
			diag.Pos{File: "k.source", Line: 1},
			0,
			"k.source:1: error: wrong\n    1 | #loc = loc(\"mod/k.py\":6:0)\n" + made,
		},
		{
			"location", python,
			diag.Pos{File: "mod/k.py", Line: 7, Col: 5},
			13,
			"dir/k.py:7:5: error: wrong\n    7 |     tl.store(x, twice(tl.load(x)))\n      |     ^^^^^^^^\n",
		},
		{
			"location in an import", python,
			diag.Pos{File: "mod/lib.py", Line: 5, Col: 12},
			0,
			"dir/lib.py:5:12: error: wrong\n    5 |     return v * 2\n      |            ^\n",
		},
		{
			"artifact", python,
			diag.Pos{File: "k.s", Line: 1, Col: 1},
			0,
			"k.s:1:1: error: wrong\n    1 | mov r0, r1\n      | ^\nnote: k.s is the kernel after the stage asm; --emit asm writes it\n",
		},
		{"unknown file", python, diag.Pos{File: "k.x", Line: 1, Col: 1}, 0, "k.x:1:1: error: wrong\n"},
		{"no place", python, diag.Pos{Line: -1}, 0, "error: wrong\n"},
		{
			"input of an IR file", file,
			diag.Pos{File: "k.ttir", Col: 5},
			11,
			"dir/k.ttir:3:5: error: wrong\n    3 |     toy.op loc(\"k.py\":3:8)\n      |     ^^^^^^\nk.py:3:9: note: it comes from here\n",
		},
		{"input of another file", asm, diag.Pos{Line: 2, Col: 2}, 5, "dir/k.s:2:2: error: wrong\n    2 | \ttwo x\n      | \t^^^\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &placed{d: diag.Errorf(tt.at, "wrong")}
			b.d.EndCol, b.dialect = tt.end, toyDialect
			_, err := Compile(t.Context(), tt.source(t), toy, &Options{Select: func(ctx context.Context, target Target) (Backend, Target, error) {
				return b, target, nil
			}})
			var got strings.Builder
			for _, d := range diag.All(err) {
				diag.Fprint(&got, d)
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// placed is upper with a dialect. It made one artifact before it answers with d,
// whose line it finds if that is 0; -1 stands for none.
type placed struct {
	upper
	d       *diag.Diagnostic
	dialect string
}

func (b *placed) Facts(ctx context.Context) (*sdk.Facts, error) {
	f, err := b.upper.Facts(ctx)
	f.Dialects = []string{"toy"}
	return f, err
}

func (b *placed) LoadDialects(context.Context) ([]sdk.Dialect, error) {
	return []sdk.Dialect{{Name: "toy", Declaration: b.dialect}}, nil
}

func (b *placed) RunStages(_ context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	if b.d.Pos.Line == 0 {
		for i, line := range strings.Split(string(req.Input), "\n") {
			if strings.Contains(line, "tt.store") || strings.Contains(line, "toy.op") {
				b.d.Pos.Line = i + 1
			}
		}
	}
	b.d.Pos.Line = max(b.d.Pos.Line, 0)
	return sdk.RunStagesResponse{Artifacts: []sdk.Artifact{{Stage: "asm", Data: []byte("mov r0, r1\n")}}}, diag.List{b.d}
}

// A backend may start from ttir without a stage that makes it.
func TestPlanWithoutTTIRStage(t *testing.T) {
	p, err := planStages(stages[1:], &Source{Path: "k.ttir"}, []string{"asm", SourceStage})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.run) != 1 || p.run[0].Name != "asm" || p.given != SourceStage || !p.source {
		t.Errorf("%+v", p)
	}
}

func TestCompilePassesMetadataOn(t *testing.T) {
	b := &upper{}
	src := &Source{Path: "k.s", Name: "mod/k.s", Text: []byte("x"), Metadata: []byte(`{"name":"k","shared":4}`)}
	if _, err := Compile(t.Context(), src, toy, &Options{Select: b.choose}); err != nil {
		t.Fatal(err)
	}
	if got := b.request.MetadataJSON; got != string(src.Metadata) {
		t.Errorf("metadata %q", got)
	}
	if b.request.InputName != "mod/k.s" || b.request.OptionsJSON != `{"good":1}` {
		t.Errorf("request %+v", b.request)
	}
}

// A backend's module is fetched by the kernels that import it.
func TestCompileModules(t *testing.T) {
	const kernel = `import triton
import triton.language as tl
%s

@triton.jit
def k(x):
    tl.store(x, %s)
`
	modules := map[string]sdk.Module{
		"toys.far": {},
		"toys.maths": {
			Name: "toys.maths", Source: "import triton\n\n@triton.jit\ndef two():\n    return 2.0\n",
			Externs: []sdk.ExternFunction{{Name: "half", Args: []string{"fp32"}, Result: "fp32", Symbol: "__half", Pure: true}},
		},
	}
	for _, tt := range []struct {
		imports, value string
		asked          int
		want           []string // parts of the IR, or of the error
	}{
		{"", "1.0", 0, []string{"tt.store"}},
		{"from toys import maths", "maths.half(maths.two())", 1, []string{`symbol = "__half"`, "2.000000e+00"}},
		{"from toys.far import there", "there()", 1, []string{"connection lost"}},
	} {
		b := &upper{modules: modules}
		src := &Source{Path: "k.py", Text: fmt.Appendf(nil, kernel, tt.imports, tt.value)}
		opts := &Options{Select: b.choose, Stages: []string{SourceStage}}
		variants, err := Variants(t.Context(), src, toy, opts, Want{Kernel: "k", Signature: "*fp32"})
		if err != nil {
			t.Fatal(err)
		}
		k, err := Compile(t.Context(), variants[0], toy, opts)
		got := fmt.Sprint(err)
		if err == nil {
			got = string(k.Artifact(SourceStage).Data)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", tt.value, want, got)
			}
		}
		if len(b.asked) != tt.asked {
			t.Errorf("%s: asked for %q", tt.value, b.asked)
		}
	}
}

// A crash that a backend caught brings its reproducer along, and what was said
// of it.
func TestCrash(t *testing.T) {
	b := &upper{refuse: errors.New("BUG: a pass"), reproducer: "// tritonc opt THIS-FILE.mlir\n"}
	_, err := Compile(t.Context(), &Source{Path: "k.ttir", Text: []byte("x")}, toy, &Options{Select: b.choose})
	var c *Crash
	if !errors.As(err, &c) || c.Reproducer != b.reproducer || c.Error() != "BUG: a pass" || !errors.Is(err, b.refuse) {
		t.Errorf("got %v", err)
	}
}

// Of a target with several final formats those stages run that lead to what is wanted.
func TestPlanForked(t *testing.T) {
	forked := []sdk.Stage{
		{Name: "ttir", Ending: "ttir"},
		{Name: "mid", Ending: "mid"},
		{Name: "low", Ending: "low"},
		{Name: "text", Ending: "text"},
		{Name: "obj", Ending: "o", Binary: true, From: "mid"},
	}
	for _, tt := range []struct{ file, wanted, want string }{
		{"k.py", "", "ttir mid obj"},
		{"k.py", "text", "ttir mid low text"},
		{"k.py", "obj text", "ttir mid low text obj"},
		{"k.mid", "", "obj"},
		{"k.low", "", "text"},
		{"k.low", "obj", "no obj can be made of a .low file"},
		{"k.text", "text", ""},
		{"k.text", "", "cannot tell what this file is"},
		{"k.o", "obj", "cannot tell what this file is"},
	} {
		p, err := planStages(forked, &Source{Path: tt.file}, strings.Fields(tt.wanted))
		var run []string
		for _, s := range p.run {
			run = append(run, s.Name)
		}
		got := strings.Join(run, " ")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("%s to %q: %s, want %s", tt.file, tt.wanted, got, tt.want)
		}
	}
}
