package nvidia

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/backend/llvm"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// callingTTIR is scale.ttir with a function of a library in the place of the
// multiplication, at line 9 of its Python.
func callingTTIR(t testing.TB, symbol string) []byte {
	return []byte(strings.Replace(string(scaleTTIR(t)), "%d = arith.mulf %v, %cst :",
		`%d = tt.extern_elementwise %v {libname = "mine", libpath = "", pure = true, symbol = "`+symbol+`"} : (tensor<256xf32>) ->`, 1))
}

func writeLibrary(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twiceLL = "define float @twice(float %x) {\n  %r = fadd float %x, %x\n  ret float %r\n}\n"

// TestLinkErrors: what cannot be linked is told at the line that calls it.
func TestLinkErrors(t *testing.T) {
	needTools(t, llvm.LinkTool, llvm.Opt)
	c := sdktest.Start(t, New())
	twice := writeLibrary(t, "twice.ll", twiceLL)
	inner := writeLibrary(t, "inner.ll", "declare float @deep(float)\ndefine float @outer(float %x) {\n  %r = call float @deep(float %x)\n  ret float %r\n}\n")
	broken := writeLibrary(t, "broken.ll", "define float @twice(")
	double := writeLibrary(t, "double.ll", "define double @twice(double %x) {\n  ret double %x\n}\n")
	global := writeLibrary(t, "global.ll", "@twice = global float 1.0\n")
	for _, tt := range []struct{ name, symbol, lib, message, help string }{
		{"not there", "thrice", twice, "no library defines the function 'thrice': not mine (" + twice + ")", "--extern-lib NAME=PATH"},
		{"called by a library", "outer", inner, "what was linked calls the function 'deep', which no library defines", "--extern-lib NAME=PATH"},
		{"of other types", "twice", double, "the function 'twice' is double (double) in the library, and the kernel calls it as float (float) (of mine (" + double + "))", "correct the types"},
		{"no function", "twice", global, "no library defines the function 'twice': not mine (" + global + ")", "--extern-lib NAME=PATH"},
		{"of CUDA", "__nv_none", twice, "no library defines the function '__nv_none': not mine (" + twice + ")", "TRITON_LIBDEVICE_PATH"},
		{"no LLVM IR", "twice", broken, "cannot link mine (" + broken + "): ", "files of LLVM IR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.RunStages(t.Context(), request(t, "80", stageTTGIR, "scale.ttir", callingTTIR(t, tt.symbol), `{"extern_libs":{"mine":"`+tt.lib+`"}}`))
			d := oneDiagnostic(t, err)
			if !strings.Contains(d.Message, tt.message) || !strings.Contains(d.Help, tt.help) {
				t.Errorf("got %+v", d)
			}
			if d.Line != 9 && tt.lib != broken || tt.lib != broken && d.File != "scale.py" {
				t.Errorf("place %s:%d, want scale.py:9", d.File, d.Line)
			}
		})
	}
	req := request(t, "80", stageTTGIR, "scale.ttir", callingTTIR(t, "twice"), "")
	req.Settings = map[string]string{settingLibdevice.Name: "/nowhere.bc"}
	_, err := c.RunStages(t.Context(), req)
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, "the library libdevice cannot be read: open /nowhere.bc") || !strings.Contains(d.Help, "TRITON_LIBDEVICE_PATH") {
		t.Errorf("a setting of a library that is not there: %+v", d)
	}
	large := filepath.Join(t.TempDir(), "large.bc")
	if err := errors.Join(os.WriteFile(large, nil, 0o666), os.Truncate(large, 1<<40)); err != nil {
		t.Fatal(err)
	}
	_, err = c.RunStages(t.Context(), request(t, "80", stageTTGIR, "scale.ttir", callingTTIR(t, "twice"), `{"extern_libs":{"mine":"`+large+`"}}`))
	if d := oneDiagnostic(t, err); !strings.Contains(d.Message, "the library mine cannot be read: ") || !strings.Contains(d.Help, "--extern-lib mine=PATH") {
		t.Errorf("a library that is too large: %+v", d)
	}
	if _, err := parseOptions(archFor(t, "80"), `{"extern_libs":{"mine":"/nowhere/lib.bc"}}`); err == nil ||
		!strings.Contains(err.Error(), `option extern_libs: mine: there is no file "/nowhere/lib.bc"`) {
		t.Errorf("a library that is not there: %v", err)
	}
}

// TestLinkChain: libraries may call one another, whatever their order.
func TestLinkChain(t *testing.T) {
	needTools(t, llvm.LLC, llvm.LinkTool, llvm.Opt)
	c := sdktest.Start(t, New())
	caller := func(name, calls string) string {
		return writeLibrary(t, name+".ll", "declare float @"+calls+"(float)\ndefine float @"+name+"(float %x) {\n  %r = call float @"+calls+"(float %x)\n  ret float %r\n}\n")
	}
	// Linked by name: the callee of each comes first.
	libs := `{"extern_libs":{"a":"` + writeLibrary(t, "a.ll", twiceLL) + `","b":"` + caller("once", "twice") + `","c":"` + caller("outer", "once") + `"}}`
	req := request(t, "80", stageTTGIR, "scale.ttir", callingTTIR(t, "outer"), libs)
	req.Last, req.Want = stagePTX, []string{stageLLIR}
	resp, err := c.RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if llir := string(resp.Artifact(stageLLIR)); !strings.Contains(llir, "fadd float") || strings.Contains(llir, "call float") {
		t.Errorf("not inlined:\n%s", llir)
	}
}

// TestLinked: a library's content is among what the kernel was made of.
func TestLinked(t *testing.T) {
	needTools(t, llvm.LLC, llvm.LinkTool, llvm.Opt)
	c := sdktest.Start(t, New())
	lib := writeLibrary(t, "lib.ll", twiceLL)
	req := request(t, "80", stageTTGIR, "scale.ttir", callingTTIR(t, "twice"), `{"extern_libs":{"mine":"`+lib+`"}}`)
	req.Last, req.Want = stagePTX, []string{stageLLIR}
	run := func() (llir, meta string, info sdk.ToolInfo) {
		t.Helper()
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(resp.Tools, func(i sdk.ToolInfo) bool { return i.Name == "extern_libs.mine" })
		if i < 0 {
			t.Fatalf("tools %+v", resp.Tools)
		}
		return string(resp.Artifact(stageLLIR)), resp.MetadataJSON, resp.Tools[i]
	}
	llir, meta, info := run()
	if strings.Contains(llir, "@twice") || !strings.Contains(llir, "fadd float") {
		t.Errorf("twice is not inlined:\n%s", llir)
	}
	if info.Path != lib || len(info.SHA256) != 64 || !strings.Contains(meta, `"extern_libs.mine":"`+info.Version+`"`) {
		t.Errorf("library %+v, metadata %s", info, meta)
	}
	if err := os.WriteFile(lib, []byte(strings.Replace(twiceLL, "fadd", "fmul", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, other, otherInfo := run()
	if other == meta || otherInfo.SHA256 == info.SHA256 {
		t.Errorf("another library gives the same metadata %s", meta)
	}
}

// TestFindLibdevice: the one that a setting names, else that of a toolkit.
func TestFindLibdevice(t *testing.T) {
	cuda := t.TempDir()
	want := filepath.Join(cuda, "nvvm", "libdevice", "libdevice.10.bc")
	if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := &job{opts: options{ExternLibs: map[string]string{"b": "/b.bc", "a": "/a.bc"}}}
	c, err := New().NewCompilation(t.Context(), request(t, "80", stageTTIR, "k.ttir", nil, ""))
	if err != nil {
		t.Fatal(err)
	}
	c.Request.Settings = map[string]string{settingCUDA.Name: cuda}
	libs := func() (paths []string) {
		for _, l := range j.libraries(c) {
			paths = append(paths, l.Path)
		}
		return paths
	}
	for _, step := range []struct {
		set  func()
		want string
	}{
		{func() {}, want},
		{func() { c.Request.Settings[settingLibdevice.Name] = "/named.bc" }, "/named.bc"},
		{func() { j.opts.ExternLibs[libdeviceName] = "/mine.bc" }, "/mine.bc"},
	} {
		step.set()
		if got := libs(); !slices.Equal(got, []string{"/a.bc", "/b.bc", step.want}) {
			t.Errorf("libraries %q, want /a.bc, /b.bc and %s", got, step.want)
		}
	}
}

// TestToolkitsLibdevice: machines whose users name toolkits with other libraries share no
// kernels: a compile without a toolkit looks at places where both have the same.
func TestToolkitsLibdevice(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	b := New()
	toolkit := func(sub, text string) string {
		t.Helper()
		dir := t.TempDir()
		if text == "" {
			return dir
		}
		at := filepath.Join(dir, sub)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "libdevice.10.bc"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	tools := func(dir string) string {
		t.Helper()
		settings := map[string]string{}
		if dir != "" {
			settings[settingCUDA.Name] = dir
		}
		r, err := b.ListTools(t.Context(), sdk.ListToolsRequest{Target: sdk.Target{Backend: "cuda", Arch: "90", WarpSize: 32}, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, tool := range r.Tools {
			list = append(list, tool.Name+" "+tool.SHA256)
		}
		if dir != "" && (!slices.Contains(r.LookedAt, filepath.Join(dir, "libdevice", "libdevice.10.bc")) || !slices.Contains(r.Settings, settingCUDA.Name)) {
			t.Errorf("the list depends on %q, and on the settings %q", r.LookedAt, r.Settings)
		}
		return strings.Join(list, "\n")
	}
	none, x, same, y := tools(""), tools(toolkit("nvvm/libdevice", "x")), tools(toolkit("nvvm/libdevice", "x")), tools(toolkit("libdevice", "y"))
	if x != same || x == y || x == none || y == none {
		t.Errorf("without a toolkit\n%s\nwith one\n%s\nthe same elsewhere\n%s\nanother\n%s", none, x, same, y)
	}
	if empty := tools(toolkit("", "")); empty != none {
		t.Errorf("a toolkit without a library has\n%s\nand none has\n%s", empty, none)
	}
}
