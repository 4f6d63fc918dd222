package nvidia

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/filememo"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func TestPTXVersion(t *testing.T) {
	tests := []struct{ major, minor, reads, written int }{
		{11, 8, 78, 78},
		{12, 0, 80, 80},
		{12, 4, 84, 84},
		{12, 5, 85, 85},
		{12, 6, 85, 85},
		{12, 8, 87, 87},
		{12, 9, 88, 88},
		{13, 0, 90, 90},
		{13, 1, 91, 90}, // llc 22 writes none newer
		{10, 2, 72, 72},
	}
	for _, tt := range tests {
		ptxas := tool{major: tt.major, minor: tt.minor}
		if got := ptxas.ptxVersion(); got != tt.reads {
			t.Errorf("ptxas %d.%d reads %d, want %d", tt.major, tt.minor, got, tt.reads)
		}
		if got := ptxVersionFor(ptxas); got != tt.written {
			t.Errorf("for ptxas %d.%d llc writes %d, want %d", tt.major, tt.minor, got, tt.written)
		}
	}
}

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

const (
	ptxas124 = "Cuda compilation tools, release 12.4, V12.4.131"
	ptxas118 = "Cuda compilation tools, release 11.8, V11.8.89"
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

// TestFindOrder: the setting, PATH, CUDA's folder, the cache folder.
func TestFindOrder(t *testing.T) {
	for _, p := range []string{"/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas", "/usr/lib/cuda/bin/ptxas", "/bin/ptxas"} {
		if _, err := os.Stat(p); err == nil {
			t.Skipf("this machine has %s", p)
		}
	}
	cache, path := toolHome(t)
	settings := map[string]string{}
	find := func() (tool, error) {
		return ptxasKind.find(t.Context(), filememo.New[identity](""), settings, func(string) {})
	}
	want := func(p, version string) {
		t.Helper()
		got, err := find()
		if err != nil {
			t.Fatal(err)
		}
		if got.Path != p || got.Version != version || got.major != 12 || got.minor != 4 || len(got.SHA256) != 64 {
			t.Errorf("found %+v, want %s", got, p)
		}
	}

	_, err := find()
	var missing *toolNotFound
	if !errors.As(err, &missing) || !strings.Contains(missing.diagnostic().Help, "TRITONC_PTXAS") {
		t.Errorf("with none: %v", err)
	}
	inCache := fakeTool(t, filepath.Join(cache, "toolchain", "bin"), "ptxas", ptxas124)
	want(inCache, "12.4.131")
	fakeTool(t, path, "ptxas", ptxas118) // too old: passed over
	want(inCache, "12.4.131")
	cuda := t.TempDir()
	settings[settingCUDA] = cuda
	inCUDA := fakeTool(t, filepath.Join(cuda, "bin"), "ptxas", ptxas124)
	want(inCUDA, "12.4.131")
	inPath := fakeTool(t, path, "ptxas", ptxas124)
	want(inPath, "12.4.131")
	named := fakeTool(t, t.TempDir(), "my-ptxas", ptxas124)
	settings[settingPtxas] = named
	want(named, "12.4.131")

	settings[settingPtxas] = fakeTool(t, t.TempDir(), "old", ptxas118)
	if got, err := find(); err != nil || got.major != 11 {
		t.Errorf("an old one that the user names: %+v, %v", got, err)
	}
	settings[settingPtxas] = filepath.Join(path, "none")
	var d *sdk.Diagnostic
	if _, err := find(); !errors.As(err, &d) || d.Kind != sdk.Environment || !strings.Contains(d.Message, "none") {
		t.Errorf("one that is not there: %v", err)
	}
	settings[settingPtxas] = fakeTool(t, t.TempDir(), "dumb", "hello")
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
		got, err := ptxasKind.find(t.Context(), filememo.New[identity](""), nil, func(p string) { at = append(at, p) })
		if err != nil {
			t.Fatal(err)
		}
		return got.Path, at
	}
	inCache := fakeTool(t, filepath.Join(cache, "toolchain", "bin"), "ptxas", ptxas124)
	found, at := look()
	for _, want := range []string{filepath.Join(path, "ptxas"), filepath.Join(second, "ptxas"), "/usr/local", found} {
		if !slices.Contains(at, want) {
			t.Errorf("%s is not among %q", want, at)
		}
	}
	if at[len(at)-1] != found {
		t.Errorf("looked at %q, for %s", at, found)
	}
	inPath := fakeTool(t, second, "ptxas", ptxas124)
	if found, at = look(); found != inPath || slices.Contains(at, inCache) {
		t.Errorf("looked at %q, for %s", at, found)
	}
}

func TestFindRefusesOldLLVM(t *testing.T) {
	if _, err := os.Stat("/usr/lib/llvm-22/bin/llc"); err == nil {
		t.Skip("this machine has llc 22 where it is looked for")
	}
	_, path := toolHome(t)
	fakeTool(t, path, "llc", "  LLVM version 14.0.6")
	_, err := llcKind.find(t.Context(), filememo.New[identity](""), nil, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "is 14.0.6, version 22 is needed") {
		t.Errorf("got %v", err)
	}
}

// TestToolMemo: a tool is asked once, by all processes, until its file changes.
func TestToolMemo(t *testing.T) {
	dir := t.TempDir()
	path := fakeTool(t, dir, "ptxas", ptxas124)
	settings := map[string]string{settingPtxas: path}
	memo := func() *toolMemo { return filememo.New[identity](filepath.Join(dir, "cache", "tools.json")) }
	find := func(m *toolMemo) tool {
		t.Helper()
		got, err := ptxasKind.find(t.Context(), m, settings, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	m := memo()
	first := find(m)
	if again := find(m); again != first || runs(t, path) != 1 {
		t.Errorf("in one process: %+v, %d runs", again, runs(t, path))
	}
	if again := find(memo()); again != first || runs(t, path) != 1 {
		t.Errorf("in the next process: %+v, %d runs", again, runs(t, path))
	}
	fakeTool(t, dir, "ptxas", "Cuda compilation tools, release 12.10, V12.10.1")
	if changed := find(memo()); changed.minor != 10 || changed.SHA256 == first.SHA256 || runs(t, path) != 2 {
		t.Errorf("after a change: %+v, %d runs", changed, runs(t, path))
	}
}

// A memo that another version of tritonc wrote, with entries of another form,
// must not stand in the way of a tool that works.
func TestMemoOfAnotherForm(t *testing.T) {
	needTools(t, &llcKind)
	fresh := filememo.New[identity]("")
	want, err := llcKind.find(t.Context(), fresh, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(want.Path)
	if err != nil {
		t.Fatal(err)
	}
	old := filememo.New[identity]("")
	old.Put(want.Path, info, identity{})
	got, err := llcKind.find(t.Context(), old, nil, func(string) {})
	if err != nil || got.Version != want.Version || got.SHA256 != want.SHA256 {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
