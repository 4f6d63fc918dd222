package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/filememo"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// fakeTool writes a shell script that prints a version, and counts its runs in
// the file beside it, path.runs.
func fakeTool(t *testing.T, dir, name, says string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("made of shell scripts")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	script := fmt.Sprintf("#!/bin/sh\necho run >> '%s.runs'\necho '%s'\n", path, says)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func runs(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path + ".runs")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "run")
}

// asm is a vendor's assembler.
var asm = &ToolKind{
	Name:    "asm",
	Setting: sdk.SettingSpec{Name: "asm", Env: []string{"VENDOR_ASM_PATH", "TRITONC_ASM"}},
	Places: func(settings map[string]string) (programs, folders []string) {
		programs = InPath("asm")
		if dir := settings["home"]; dir != "" {
			programs = append(programs, filepath.Join(dir, "bin", "asm"))
		}
		return programs, []string{"/usr/local"}
	},
	Version: func(text string) (string, bool) { return WordAfter(text, ", V") },
	Refuse: func(major int) string {
		if major < 12 {
			return "version 12.0 or newer is needed"
		}
		return ""
	},
	Help:   "name one with TRITONC_ASM",
	Limits: Limits{10 * time.Minute, 16 << 30},
}

const (
	asm124 = "compilation tools, release 12.4, V12.4.131"
	asm118 = "compilation tools, release 11.8, V11.8.89"
)

// toolHome is an empty home with a cache folder, and a PATH that has nothing but
// the shell's.
func toolHome(t *testing.T) (cache, path string) {
	t.Helper()
	home := t.TempDir()
	path = filepath.Join(home, "path")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("PATH", path+":/bin")
	return filepath.Join(home, ".cache", "tritonc"), path
}

// TestFindOrder: the setting, PATH, the vendor's folder, the cache folder.
func TestFindOrder(t *testing.T) {
	cache, path := toolHome(t)
	settings := map[string]string{}
	find := func() (*Tool, error) {
		return asm.find(t.Context(), filememo.New[identity](""), settings, func(string) {})
	}
	want := func(p, version string) {
		t.Helper()
		got, err := find()
		if err != nil {
			t.Fatal(err)
		}
		if got.Path != p || got.Version != version || got.Major != 12 || got.Minor != 4 || len(got.SHA256) != 64 {
			t.Errorf("found %+v, want %s", got, p)
		}
	}

	_, err := find()
	var missing *ToolNotFound
	var told *sdk.Diagnostic
	if !errors.As(err, &missing) || !errors.As(err, &told) || told.Help != asm.Help {
		t.Errorf("with none: %v", err)
	}
	inCache := fakeTool(t, filepath.Join(cache, "toolchain", "bin"), "asm", asm124)
	want(inCache, "12.4.131")
	fakeTool(t, path, "asm", asm118) // too old: passed over
	want(inCache, "12.4.131")
	cuda := t.TempDir()
	settings["home"] = cuda
	inCUDA := fakeTool(t, filepath.Join(cuda, "bin"), "asm", asm124)
	want(inCUDA, "12.4.131")
	inPath := fakeTool(t, path, "asm", asm124)
	want(inPath, "12.4.131")
	named := fakeTool(t, t.TempDir(), "my-asm", asm124)
	settings["asm"] = named
	want(named, "12.4.131")

	settings["asm"] = fakeTool(t, t.TempDir(), "old", asm118)
	if got, err := find(); err != nil || got.Major != 11 {
		t.Errorf("an old one that the user names: %+v, %v", got, err)
	}
	settings["asm"] = filepath.Join(path, "none")
	var d *sdk.Diagnostic
	if _, err := find(); !errors.As(err, &d) || d.Kind != sdk.Environment || !strings.Contains(d.Message, "none") || !strings.HasSuffix(d.Help, ", or "+asm.Help) {
		t.Errorf("one that is not there: %v", err)
	}
	settings["asm"] = fakeTool(t, t.TempDir(), "dumb", "hello")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "names no version") {
		t.Errorf("one that is none: %v", err)
	}
}

// TestLookedAt: what decided on a tool is told, up to the tool itself.
func TestLookedAt(t *testing.T) {
	cache, path := toolHome(t)
	second := t.TempDir()
	t.Setenv("PATH", path+":relative:"+second)
	look := func() (string, []string) {
		t.Helper()
		var at []string
		got, err := asm.find(t.Context(), filememo.New[identity](""), nil, func(p string) { at = append(at, p) })
		if err != nil {
			t.Fatal(err)
		}
		return got.Path, at
	}
	inCache := fakeTool(t, filepath.Join(cache, "toolchain", "bin"), "asm", asm124)
	found, at := look()
	for _, want := range []string{filepath.Join(path, "asm"), filepath.Join(second, "asm"), "/usr/local", found} {
		if !slices.Contains(at, want) {
			t.Errorf("%s is not among %q", want, at)
		}
	}
	if at[len(at)-1] != found {
		t.Errorf("looked at %q, for %s", at, found)
	}
	inPath := fakeTool(t, second, "asm", asm124)
	if found, at = look(); found != inPath || slices.Contains(at, inCache) {
		t.Errorf("looked at %q, for %s", at, found)
	}
}

// TestFindAhead: what was looked for ahead is found as without, each time, and where it was
// looked for tells only who asks for it.
func TestFindAhead(t *testing.T) {
	_, path := toolHome(t)
	want := fakeTool(t, path, "asm", asm124)
	c := &Compilation{Context: t.Context(), backend: &Backend{memo: filememo.New[identity]("")}}
	c.FindAhead(asm)
	if len(c.resp.LookedAt) > 0 {
		t.Errorf("nobody has asked, and %q were looked at", c.resp.LookedAt)
	}
	for range 2 {
		got, err := c.Find(asm)
		if err != nil || got.Path != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	plain := &Compilation{Context: t.Context(), backend: c.backend}
	if _, err := plain.Find(asm); err != nil || !slices.Equal(plain.resp.LookedAt, c.resp.LookedAt) {
		t.Errorf("looked at %q, without at %q, %v", c.resp.LookedAt, plain.resp.LookedAt, err)
	}
}

// TestToolMemo: a tool is asked once, by all processes, until its file changes.
func TestToolMemo(t *testing.T) {
	dir := t.TempDir()
	path := fakeTool(t, dir, "asm", asm124)
	settings := map[string]string{"asm": path}
	memo := func() *toolMemo { return filememo.New[identity](filepath.Join(dir, "cache", "tools.json")) }
	find := func(m *toolMemo) Tool {
		t.Helper()
		got, err := asm.find(t.Context(), m, settings, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return *got
	}
	m := memo()
	first := find(m)
	if again := find(m); again != first || runs(t, path) != 1 {
		t.Errorf("in one process: %+v, %d runs", again, runs(t, path))
	}
	if again := find(memo()); again != first || runs(t, path) != 1 {
		t.Errorf("in the next process: %+v, %d runs", again, runs(t, path))
	}
	fakeTool(t, dir, "asm", "compilation tools, release 12.10, V12.10.1")
	if changed := find(memo()); changed.Minor != 10 || changed.SHA256 == first.SHA256 || runs(t, path) != 2 {
		t.Errorf("after a change: %+v, %d runs", changed, runs(t, path))
	}
}

// A memo that another version of tritonc wrote, with entries of another form,
// must not be in the way of a tool that works.
func TestMemoOfAnotherForm(t *testing.T) {
	settings := map[string]string{"asm": fakeTool(t, t.TempDir(), "asm", asm124)}
	want, err := asm.Find(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(want.Path)
	if err != nil {
		t.Fatal(err)
	}
	old := filememo.New[identity]("")
	old.Put(want.Path, info, identity{})
	got, err := asm.find(t.Context(), old, settings, func(string) {})
	if err != nil || got.Version != want.Version || got.SHA256 != want.SHA256 {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
