package plugin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func TestSelectWarpSize(t *testing.T) {
	h, _ := testHost(t, "works", Options{})
	for size, want := range map[int]int{0: 32, 32: 32, 64: 64} {
		_, got, err := h.Select(t.Context(), sdk.Target{Backend: "test", Arch: "1", WarpSize: size})
		if err != nil || got.WarpSize != want {
			t.Errorf("warp size %d: %v, %v", size, got, err)
		}
	}
	_, _, err := h.Select(t.Context(), sdk.Target{Backend: "test", Arch: "1", WarpSize: 16})
	if err == nil {
		t.Error("a warp of 16 was accepted")
	}
}

// TestSelectPassesOverBroken: a broken backend hides no good one.
func TestSelectPassesOverBroken(t *testing.T) {
	h := newHost(t, Options{Dirs: []string{testBackend(t, "exits"), testBackend(t, "works")}})
	b, _, err := h.SelectBackend(t.Context(), sdk.Target{Backend: "test", Arch: "1"})
	if err != nil || b.Name() != "works" {
		t.Errorf("got %v, %v", b, err)
	}
}

// TestSelectStartsOnlyWhatMayMatch: in the next process a backend for other
// devices is not started until its file changes.
func TestSelectStartsOnlyWhatMayMatch(t *testing.T) {
	home := t.TempDir()
	lookup := func(key string) (string, bool) {
		if key == "HOME" {
			return home, true
		}
		return os.LookupEnv(key)
	}
	dirs := []string{testBackend(t, "works"), minimalDir(t)}
	target := sdk.Target{Backend: "minimal", Arch: "x"}
	selected := func() *Host {
		t.Helper()
		h := newHost(t, Options{Dirs: dirs, LookupEnv: lookup})
		b, _, err := h.SelectBackend(t.Context(), target)
		if err != nil || b.Name() != "minimal" {
			t.Fatalf("got %v, %v", b, err)
		}
		return h
	}
	if selected().backends[0].proc == nil {
		t.Error("the first time the other backend must be asked")
	}
	if selected().backends[0].proc != nil {
		t.Error("the second time the other backend was started")
	}
	touch(t, selected().backends[0].Path())
	if selected().backends[0].proc != nil {
		t.Error("a backend whose file has a new time and the same bytes was started")
	}
	rewrite(t, selected().backends[0].Path())
	if selected().backends[0].proc == nil {
		t.Error("a changed backend must be asked again")
	}
	_, _, err := newHost(t, Options{Dirs: dirs, LookupEnv: lookup}).Select(t.Context(), sdk.Target{Backend: "none", Arch: "1"})
	if l := diag.All(err); len(l) != 1 || !strings.Contains(l[0].Help, "test:*") || !strings.Contains(l[0].Help, "minimal:*") {
		t.Errorf("the list of what is there: %v", err)
	}
}

// touch gives a file a new time.
func touch(t *testing.T, path string) {
	t.Helper()
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}

// rewrite puts another program of the same behaviour in the place of one.
func rewrite(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path) // it is a link
	}
	if err == nil {
		err = os.WriteFile(path, append(data, 0), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSharedIdentity: machines with the same programs have one text, and others another.
func TestSharedIdentity(t *testing.T) {
	shared := func(dirs []string, env map[string]string, target sdk.Target) *wire.Machine {
		t.Helper()
		h := newHost(t, Options{Dirs: dirs, LookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok }})
		m, err := h.SharedIdentity(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	target := sdk.Target{Backend: "test", Arch: "1"}
	env := func(assembler string) map[string]string {
		return map[string]string{"HOME": t.TempDir(), "PATH": t.TempDir(), "TEST_FIRST": assembler, "TEST_MEMORY": t.TempDir()}
	}
	one := shared([]string{testBackend(t, "works")}, env("/here/as-1"), target)
	two := shared([]string{testBackend(t, "works")}, env("/there/as-1"), target)
	if one.Unshared != "" || one.Text != two.Text {
		t.Errorf("of one machine: %+v\nof the other: %+v", one, two)
	}
	if two.Tools[0].Path != "/there/as-1" || !slices.Equal(two.LookedAt, []string{"/there/as-1"}) {
		t.Errorf("got %+v", two)
	}
	if want := "tool linker \"/there/as-1\"\ntool linker/lib \"/there/as-1\"\n"; !slices.Equal(two.WhenRun, []string{"linker"}) || two.ToolText("linker") != want || two.ToolText("none") != "" {
		t.Errorf("of a tool that seldom runs: %q, %+v", two.ToolText("linker"), two)
	}
	if other := shared([]string{testBackend(t, "works")}, env("/here/as-2"), target); other.Text == one.Text {
		t.Error("another assembler is the same")
	}
	if other := shared([]string{testBackend(t, "noisy")}, env("/here/as-1"), target); other.Text == one.Text {
		t.Error("another backend is the same")
	}
	if m := shared([]string{minimalDir(t)}, env(""), sdk.Target{Backend: "minimal", Arch: "1"}); !strings.Contains(m.Unshared, "does not list its tools") {
		t.Errorf("a backend that lists no tools: %+v", m)
	}
	if m := shared([]string{testBackend(t, "works")}, env(""), sdk.Target{Backend: "none", Arch: "1"}); m.Unshared == "" {
		t.Errorf("no backend: %+v", m)
	}
}

// TestIdentity: it changes with all that a compile may depend on, and with
// nothing else, and needs no process once the programs are known.
func TestIdentity(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir(), "PATH": "/bin", "TMPDIR": t.TempDir(), "LANG": "C"}
	lookup := func(key string) (string, bool) {
		v, ok := env[key]
		return v, ok
	}
	dir := testBackend(t, "works")
	dirs := []string{dir, minimalDir(t)}
	target := sdk.Target{Backend: "test", Arch: "1"}
	identity := func(started bool) string {
		t.Helper()
		h := newHost(t, Options{Dirs: dirs, LookupEnv: lookup})
		id, path, err := h.Identity(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		if is := h.backends[0].proc != nil; is != started {
			t.Errorf("started: %v, want %v", is, started)
		}
		if id == "" {
			return ""
		}
		return id + path
	}
	first := identity(true)
	if !strings.Contains(first, `backend "works"`) || strings.Contains(first, "minimal") {
		t.Errorf("got %s", first)
	}
	env["TMPDIR"], env["LANG"], env["TEST_MEMORY"] = t.TempDir(), "de", "1024"
	if again := identity(false); again != first {
		t.Errorf("it has changed:\n%s\n%s", first, again)
	}
	for _, key := range []string{"PATH", "HOME", "TEST_FIRST"} {
		old, had := env[key]
		env[key] = "/elsewhere"
		if identity(key == "HOME") == first {
			t.Errorf("%s is not in it", key)
		}
		if env[key] = old; !had {
			delete(env, key)
		}
	}
	path := filepath.Join(dir, Prefix+"works")
	touch(t, path)
	if again := identity(false); again != first {
		t.Errorf("a copy of the program is another:\n%s\n%s", first, again)
	}
	rewrite(t, path)
	if again := identity(true); again == first {
		t.Errorf("another program is the same: %s", again)
	}
	target.Backend = "none"
	if id := identity(false); id != "" {
		t.Errorf("nothing answers for it: %s", id)
	}
}

// TestSelectSaysWhatIsBroken: where nothing supports the target, the trouble with
// those that might have is in the error, told once.
func TestSelectSaysWhatIsBroken(t *testing.T) {
	var log syncBuffer
	h := newHost(t, Options{
		Dirs:   []string{testBackend(t, "noisy"), testBackend(t, "works")},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: &log}),
	})
	_, _, err := h.Select(t.Context(), sdk.Target{Backend: "cuda", Arch: "80"})
	l := diag.All(err)
	if len(l) != 1 || l[0].Message != "no backend supports the target cuda:80, and noisy cannot be used" ||
		!strings.Contains(l[0].Help, `noisy: cannot be used: backend noisy`) || !strings.Contains(l[0].Help, "works: test:*") {
		t.Errorf("got %v\n%s", err, l[0].Help)
	}
	if log.String() != "" {
		t.Errorf("it is told twice:\n%s", log.String())
	}
	if _, _, err := h.Select(t.Context(), sdk.Target{Backend: "test", Arch: "1", WarpSize: 7}); err == nil || !strings.Contains(diag.All(err)[0].Help, "warps of 32 threads, not 7") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Backend("amd"); err == nil || !strings.Contains(diag.All(err)[0].Help, "works@0: /") {
		t.Errorf("got %v", err)
	}
}

func TestFileHash(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	hash, err := b.FileHash()
	if err != nil || len(hash) != 64 {
		t.Errorf("got %q, %v", hash, err)
	}
}
