package backend

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestListed: what loaders of both C libraries print.
func TestListed(t *testing.T) {
	got, err := listed("\tlinux-vdso.so.1 (0x00007ffd1d5f2000)\n\tlibLLVM.so.22.1 => /lib/x86_64-linux-gnu/libLLVM.so.22.1 (0x00007f0a)\n" +
		"\t/lib64/ld-linux-x86-64.so.2 (0x00007f0b)\n\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f)\n\tstatically linked\n")
	if d := gocmp.Diff([]string{"/lib/x86_64-linux-gnu/libLLVM.so.22.1", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := listed("\tlibx.so.1 => not found\n"); err == nil || !strings.Contains(err.Error(), "libx.so.1") {
		t.Errorf("got %v", err)
	}
}

// envKind is a program that every Linux system has, with a version and libraries.
func envKind() *ToolKind {
	return &ToolKind{
		Name: "env", Setting: sdk.SettingSpec{Name: "env"}, Alone: true, Folders: []string{"home"},
		Places: func(map[string]string) (programs, folders []string) { return InPath("env"), []string{"/usr"} },
		Version: func(text string) (string, bool) {
			return WordAfter(strings.ReplaceAll(text, "\n", " "), "(GNU coreutils) ")
		},
		Refuse: func(int) string { return "" },
	}
}

// TestListTools: a tool is told with what it loads, by hashes that its place does not
// change.
func TestListTools(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a loader's list of libraries is read on Linux only")
	}
	program, err := exec.LookPath("env")
	if err != nil {
		t.Skip(err)
	}
	if text, err := exec.Command(program, "--version").Output(); err != nil || !strings.Contains(string(text), "(GNU coreutils)") {
		t.Skip("env is not that of coreutils")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	list := func(settings map[string]string, kinds ...*ToolKind) sdk.ListToolsResponse {
		t.Helper()
		r, err := New(Definition{Tools: kinds}).ListTools(t.Context(), sdk.ListToolsRequest{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	here := list(nil, envKind(), asm)
	if here.Unshared != "" || len(here.Tools) < 2 || here.Tools[0].Path != program || !strings.HasPrefix(here.Tools[1].Name, "env/lib") {
		t.Fatalf("got %+v", here)
	}
	if d := gocmp.Diff([]string{"env", "home"}, here.Settings); d != "" {
		t.Error(d)
	}
	for _, tool := range here.Tools {
		if len(tool.SHA256) != 64 || !slices.Contains(here.LookedAt, tool.Path) {
			t.Errorf("%+v is not looked at, or has no hash", tool)
		}
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(elsewhere, text, 0o755); err != nil {
		t.Fatal(err)
	}
	there := list(map[string]string{"env": elsewhere}, envKind())
	if there.Tools[0].Path != elsewhere {
		t.Errorf("got %+v", there.Tools[0])
	}
	for _, l := range [][]sdk.ToolInfo{here.Tools, there.Tools} {
		l[0].Path = ""
	}
	if d := gocmp.Diff(here.Tools, there.Tools); d != "" {
		t.Error(d)
	}

	script := fakeTool(t, t.TempDir(), "env", "env (GNU coreutils) 9.1 ")
	if r := list(map[string]string{"env": script}, envKind()); !strings.Contains(r.Unshared, script) {
		t.Errorf("what a script runs is known: %+v", r)
	}
	k := envKind()
	rare, err := New(Definition{Tools: []*ToolKind{k, asm}, WhenRun: []*ToolKind{k}}).ListTools(t.Context(), sdk.ListToolsRequest{Settings: map[string]string{"env": script}})
	if err != nil || rare.Unshared != "" || !slices.Equal(rare.WhenRun, []string{"env"}) || rare.Tools[0] != (sdk.ToolInfo{Name: "env"}) {
		t.Errorf("a script that does not always run: %+v, %v", rare, err)
	}
	if r := list(map[string]string{"env": elsewhere + "2"}, envKind()); r.Unshared != "" || len(r.Tools) != 1 || r.Tools[0] != (sdk.ToolInfo{Name: "env"}) {
		t.Errorf("a tool that is not there: %+v", r)
	}
}

// TestListFiles: files that a setting leads to are told by their content, there or not.
func TestListFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	b := New(Definition{Files: func(settings map[string]string) []string {
		return []string{filepath.Join(settings["home"], "a"), filepath.Join(settings["home"], "b")}
	}})
	list := func(dir string) sdk.ListToolsResponse {
		t.Helper()
		r, err := b.ListTools(t.Context(), sdk.ListToolsRequest{Settings: map[string]string{"home": dir}})
		if err != nil || r.Unshared != "" || len(r.LookedAt) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	one, two, other, none := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{one: "x", two: "x", other: "y"} {
		if err := os.WriteFile(filepath.Join(dir, "b"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(dir string) string {
		t.Helper()
		r := list(dir)
		if len(r.Tools) != 1 || r.Tools[0].Path != filepath.Join(dir, "b") {
			t.Fatalf("got %+v", r)
		}
		return r.Tools[0].Name + " " + r.Tools[0].SHA256
	}
	if a, b, c := sum(one), sum(two), sum(other); a != b || a == c {
		t.Errorf("of two files with one content, and another, it tells %s, %s and %s", a, b, c)
	}
	if r := list(none); len(r.Tools) != 0 {
		t.Errorf("of files that are not there it tells %+v", r)
	}
	if r, err := b.ListTools(t.Context(), sdk.ListToolsRequest{Settings: map[string]string{"home": filepath.Join(one, "b")}}); err != nil || r.Unshared == "" {
		t.Errorf("of what cannot be read it tells %+v, %v", r, err)
	}
}
