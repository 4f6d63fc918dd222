package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// testBackend puts the tests' backend into a folder of its own under the name
// of a mode.
func testBackend(t testing.TB, mode string) string {
	t.Helper()
	program := filepath.Join(buildBackend(t, "test", filepath.FromSlash("testdata/backend")), Prefix+"test")
	ending := ""
	if runtime.GOOS == "windows" {
		ending = ".exe"
	}
	dir := t.TempDir()
	if err := os.Link(program+ending, filepath.Join(dir, Prefix+mode+ending)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// testHost is a host with the tests' backend in one mode.
func testHost(t testing.TB, mode string, opts Options) (*Host, *Backend) {
	t.Helper()
	opts.Dirs = []string{testBackend(t, mode)}
	h := newHost(t, opts)
	b, err := h.Backend(mode)
	if err != nil {
		t.Fatal(err)
	}
	return h, b
}

// run asks for one stage of the tests' backend and returns its artifact.
func run(ctx context.Context, b *Backend, stage, input string) (string, error) {
	resp, err := b.RunStages(ctx, sdk.RunStagesRequest{First: stage, Last: stage, Input: []byte(input)})
	return string(resp.Artifact(stage)), err
}

func mustRun(t testing.TB, b *Backend, stage, input string) string {
	t.Helper()
	out, err := run(context.Background(), b, stage, input)
	if err != nil {
		t.Fatalf("%s: %v", stage, err)
	}
	return out
}

// TestBadPlugins: each gives one clear message, soon, and leaves no socket.
func TestBadPlugins(t *testing.T) {
	tests := []struct {
		mode string
		want []string
	}{
		{"noisy", []string{`printed "loading my tables" to its standard output`, "must call the SDK's Serve before all else"}},
		{"other-protocol", []string{"version 99", fmt.Sprintf("this tritonc version %d", sdk.ProtocolVersion)}},
		{"exits", []string{"ended before the handshake (exit status 3)", "libfoo.so.3: cannot open"}},
		{"panics", []string{"ended before the handshake (exit status 2)", "panic: no tables"}},
		{"hangs", []string{"did not answer within 300ms"}},
		{"describe-panics", []string{"BUG in the backend, in Describe: no facts", "server.go"}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			temp := t.TempDir()
			timeout := time.Duration(0)
			if tt.mode == "hangs" {
				timeout = 300 * time.Millisecond
			}
			_, b := testHost(t, tt.mode, Options{TempDir: temp, StartTimeout: timeout})
			start := time.Now()
			_, err := b.Facts(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("it took %s", d)
			}
			if len(temp) <= 45 { // else the socket was in /tmp
				if left, _ := os.ReadDir(temp); len(left) > 0 {
					t.Errorf("left in the folder of sockets: %v", left)
				}
			}
		})
	}
}

// TestDialect: of several backends that declare a dialect, that of the target
// goes first. Those that cannot be started do no harm, and once their
// declarations are known none is started.
func TestDialect(t *testing.T) {
	cache := t.TempDir()
	var dirs []string
	for _, mode := range []string{"exits", "test", "declares-a-x", "declares-b-x", "declares-c-y"} {
		dirs = append(dirs, testBackend(t, mode))
	}
	host := func() *Host {
		return newHost(t, Options{Dirs: dirs, LookupEnv: func(key string) (string, bool) { return cache, key == "XDG_CACHE_HOME" }})
	}
	for range 2 { // the second time with what the first one remembered
		h := host()
		for _, tt := range []struct{ dialect, target, want string }{
			{"x", "b:1", "declares-b-x by b"},
			{"x", "a:1", "declares-a-x by a"},
			{"x", "c:1", "declares-a-x by a"},
			{"y", "a:1", "declares-c-y by c"},
		} {
			target, err := sdk.ParseTarget(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			b, declaration, err := h.Dialect(t.Context(), tt.dialect, target)
			if err != nil || b == nil || b.Name()+" "+declaration != tt.want {
				t.Errorf("dialect %s for %s: %v, %q, %v; want %s", tt.dialect, tt.target, b, declaration, err, tt.want)
			}
		}
		if b, _, err := h.Dialect(t.Context(), "z", sdk.Target{}); b != nil || err == nil || !strings.Contains(err.Error(), "libfoo.so.3") {
			t.Errorf("dialect z: %v, %v", b, err)
		}
	}
	h := host()
	if _, _, err := h.Dialect(t.Context(), "y", sdk.Target{}); err != nil {
		t.Fatal(err)
	}
	for _, b := range h.Backends() {
		if b.proc != nil {
			t.Errorf("%s was started for declarations that are known", b.Name())
		}
	}
}

// TestDialectsRemembered: what a program declares is asked for once, and not again
// in another process while its hash stays.
func TestDialectsRemembered(t *testing.T) {
	cache := t.TempDir()
	env := func(key string) (string, bool) { return cache, key == "XDG_CACHE_HOME" }
	dir := testBackend(t, "declares-a-x")
	declared := func() string {
		t.Helper()
		_, text, err := newHost(t, Options{Dirs: []string{dir}, LookupEnv: env}).Dialect(t.Context(), "x", sdk.Target{})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := declared(); got != "by a" {
		t.Errorf("got %q", got)
	}
	files, err := filepath.Glob(filepath.Join(cache, "tritonc", "dialects", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("kept in %v, %v", files, err)
	}
	for _, tt := range []struct{ file, want string }{
		{`[{"name":"x","declaration":"from the file"}]`, "from the file"},
		{`[{"name":`, "by a"}, // broken, and written anew
	} {
		if err := os.WriteFile(files[0], []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := declared(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), "by a") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestFindProblems(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	good, open := t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(good, "tritonc-backend-a", 0o755)
	write(good, "tritonc-backend-b", 0o644)
	write(good, "tritonc-backend-c", 0o757)
	write(good, "tritonc-backend-own-group", 0o775)
	write(good, "tritonc-backend-a.json", 0o644)
	write(good, "tritonc", 0o755)
	if err := os.Mkdir(filepath.Join(good, "tritonc-backend-d"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(open, "tritonc-backend-a", 0o755) // hidden by the first
	write(open, "tritonc-backend-e", 0o755)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a": "", "own-group": "", "b": "it is not executable", "c": "it may be written by others", "d": "not a regular file", "e": "its folder",
	}
	found := process.Find([]string{"", filepath.Join(good, "missing"), good, open}, Prefix)
	if len(found) != len(want) {
		t.Fatalf("found %v", found)
	}
	for _, f := range found {
		problem := ""
		if f.Problem != nil {
			problem = f.Problem.Error()
		}
		w := want[f.Name]
		if (w == "") != (problem == "") || !strings.Contains(problem, w) {
			t.Errorf("%s: problem %q, want %q", f.Name, problem, w)
		}
		if f.Name == "a" && filepath.Dir(f.Path) != good {
			t.Errorf("a is from %s", f.Path)
		}
	}
	h := newHost(t, Options{Dirs: []string{good}})
	for name, want := range map[string]string{"a": "ended before the handshake", "b": "chmod +x"} {
		b, err := h.Backend(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Facts(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNotAProgram: a file with the bit set that the system cannot execute.
func TestNotAProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tritonc-backend-text"), []byte("hello"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := newHost(t, Options{Dirs: []string{dir}}).Backend("text")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Facts(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be run") {
		t.Errorf("got %v", err)
	}
}

// TestPanicInCall: the backend's own mistake, told with its stack; it lives on.
func TestPanicInCall(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	pid := mustRun(t, b, "pid", "")
	_, err := run(t.Context(), b, "panic", "")
	var bug *wire.BugError
	if !errors.As(err, &bug) {
		t.Fatalf("got %v, want a BugError", err)
	}
	for _, want := range []string{"BUG", "RunStages", "nil pointer", "main.go"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if again := mustRun(t, b, "pid", ""); again != pid {
		t.Errorf("process %s after a panic in %s", again, pid)
	}
}

// TestCrash: a dying process gives a clear error and the next call a new one.
func TestCrash(t *testing.T) {
	tests := []struct {
		stage string
		want  []string
	}{
		{"exit", []string{"died during RunStages", "exit status 4"}},
		{"goroutine-panic", []string{"died during RunStages", "exit status 2", "panic: lost my goroutine"}},
	}
	for _, tt := range tests {
		t.Run(tt.stage, func(t *testing.T) {
			_, b := testHost(t, "works", Options{})
			pid := mustRun(t, b, "pid", "")
			_, err := run(t.Context(), b, tt.stage, "")
			var crash *CrashError
			if !errors.As(err, &crash) {
				t.Fatalf("got %v, want a CrashError", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if again := mustRun(t, b, "pid", ""); again == pid {
				t.Error("the dead process answers")
			}
		})
	}
}

// TestKilledInCall: kill -9 of the plugin while calls run in it.
func TestKilledInCall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	_, b := testHost(t, "works", Options{})
	pid, _ := strconv.Atoi(mustRun(t, b, "pid", ""))
	files := []string{filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2")}
	errs := make(chan error)
	for _, f := range files {
		go func() {
			_, err := run(context.Background(), b, "wait", f)
			errs <- err
		}()
	}
	running := func() {
		t.Helper()
		for _, f := range files {
			await(t, 5*time.Second, func() bool { _, err := os.Stat(f); return err == nil })
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	running()
	kill(t, pid)
	running() // once more, in a new process
	pid, _ = strconv.Atoi(mustRun(t, b, "pid", ""))
	start := time.Now()
	kill(t, pid)
	for range files {
		err := <-errs
		var crash *CrashError
		if !errors.As(err, &crash) || !strings.Contains(err.Error(), "as it did before (signal: killed") {
			t.Errorf("got %v", err)
		}
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("the error took %s", d)
	}
	if again := mustRun(t, b, "pid", ""); again == strconv.Itoa(pid) {
		t.Error("the dead process answers")
	}
}

// TestCancel: a cancelled call ends at once, and within 200 ms its tool is gone.
func TestCancel(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	mustRun(t, b, "echo", "")
	const bound = 200 * time.Millisecond
	best := time.Hour
	for range 5 { // a machine that does other things may be late
		ctx, cancel := context.WithCancel(t.Context())
		file := filepath.Join(t.TempDir(), "pid")
		done := make(chan error)
		go func() {
			_, err := run(ctx, b, "tool", file)
			done <- err
		}()
		tool := awaitPid(t, file)
		start := time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		await(t, 2*time.Second, func() bool { return !alive(tool) })
		if best = min(best, time.Since(start)); best <= bound {
			break
		}
	}
	if best > bound {
		t.Errorf("the tool was gone after %s, want %s", best, bound)
	}
	mustRun(t, b, "echo", "still there")
}

// TestCancelStart: a plugin that hangs at its start does not hold a caller who
// has given up.
func TestCancelStart(t *testing.T) {
	_, b := testHost(t, "hangs", Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := b.Facts(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("it took %s", d)
	}
}

// TestClose: nothing is left, calls under way end, later ones are refused.
func TestClose(t *testing.T) {
	h, b := testHost(t, "works", Options{})
	pid, _ := strconv.Atoi(mustRun(t, b, "pid", ""))
	socket := mustRun(t, b, "socket", "")
	file := filepath.Join(t.TempDir(), "pid")
	done := make(chan error)
	go func() {
		_, err := run(context.Background(), b, "tool", file)
		done <- err
	}()
	tool := awaitPid(t, file)
	start := time.Now()
	h.Close()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "session was closed") {
		t.Errorf("the call under way: %v", err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("closing took %s", d)
	}
	await(t, time.Second, func() bool { return !alive(pid) && !alive(tool) })
	if _, err := os.Stat(socket); err == nil {
		t.Errorf("%s is left", socket)
	}
	if _, err := run(t.Context(), b, "echo", ""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a later call: %v", err)
	}
	h.Close() // harmless
}

func TestConcurrentCalls(t *testing.T) {
	h, b := testHost(t, "works", Options{})
	var wg sync.WaitGroup
	pids := make([]string, 20)
	for i := range pids {
		wg.Go(func() {
			text := fmt.Sprint("call ", i)
			if got, err := run(t.Context(), b, "echo", text); err != nil || got != text {
				t.Errorf("got %q, %v", got, err)
			}
			var err error
			if pids[i], err = run(t.Context(), b, "pid", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range pids {
		if p != pids[0] {
			t.Fatalf("several processes: %v", pids)
		}
	}
	h.Close()
}

func TestLargeMessages(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	text := strings.Repeat("0123456789abcdef", 40<<20/16)
	if got := mustRun(t, b, "echo", text); got != text {
		t.Errorf("%d bytes came back of %d", len(got), len(text))
	}
	_, b = testHost(t, "works", Options{MaxBytes: 4 << 20})
	_, err := run(t.Context(), b, "echo", text)
	if err == nil || !strings.Contains(err.Error(), "more than the 4 MiB that it may have") {
		t.Errorf("too large: %v", err)
	}
	mustRun(t, b, "echo", "still there")
}

// TestPrinting: what a backend or its C code prints harms nothing, and what goes
// through os.Stdout is shown as a warning.
func TestPrinting(t *testing.T) {
	var log syncBuffer
	_, b := testHost(t, "works", Options{Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &log})})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if got, err := run(ctx, b, "print", ""); err != nil || got != "printed" {
		t.Fatalf("got %q, %v", got, err)
	}
	mustRun(t, b, "log", "")
	await(t, 2*time.Second, func() bool {
		s := log.String()
		return strings.Contains(s, "a word through fmt") && strings.Contains(s, "from the backend: n=7") &&
			strings.Contains(s, `progress: stage=log done="25%" text="placing registers"`)
	})
	if s := log.String(); !strings.Contains(s, "[WARN]") {
		t.Errorf("log:\n%s", s)
	}
}

// TestSurroundings: what a plugin sees of the host's environment.
func TestSurroundings(t *testing.T) {
	vars := map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/nobody", "SECRET": "1", "TEST_FIRST": "", "TEST_SECOND": "/opt/as"}
	lookup := func(key string) (string, bool) { v, ok := vars[key]; return v, ok }
	_, b := testHost(t, "works", Options{LookupEnv: lookup})
	env := mustRun(t, b, "env", "")
	for _, want := range []string{"PATH=/usr/bin:/bin", "HOME=/nobody"} {
		if !strings.Contains(env, want+"\n") {
			t.Errorf("the plugin's environment lacks %s:\n%s", want, env)
		}
	}
	if strings.Contains(env, "SECRET") || strings.Contains(env, "TEST_") {
		t.Errorf("the plugin sees\n%s", env)
	}
	if got := mustRun(t, b, "stdin", ""); got != "0 EOF" {
		t.Errorf("reading stdin gave %s", got)
	}
	if got := mustRun(t, b, "settings", ""); got != "/opt/as" {
		t.Errorf("the setting is %q, want the second variable's", got)
	}
	_, b = testHost(t, "works", Options{LookupEnv: lookup, Settings: map[string]string{"assembler": "/mine"}})
	if got := mustRun(t, b, "settings", ""); got != "/mine" {
		t.Errorf("the setting is %q, want the option's", got)
	}
}

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

func TestMachineTrouble(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	resp, err := b.RunStages(t.Context(), sdk.RunStagesRequest{First: "environment", Last: "environment"})
	if err == nil || err.Error() != "backend works: disk full" {
		t.Errorf("got %v", err)
	}
	if got := string(resp.Artifact("half")); got != "done" {
		t.Errorf("the artifact made before the error is %q", got)
	}
}

func TestRunPasses(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	f, err := b.Facts(t.Context())
	if err != nil || !f.Has(sdk.CapRunPasses) {
		t.Errorf("facts %+v, %v", f, err)
	}
	resp, err := b.RunPasses(t.Context(), sdk.RunPassesRequest{Pipeline: "cse", Input: "text \xff"})
	if err != nil || resp.Output != "cse:text \xff" {
		t.Errorf("got %q, %v", resp.Output, err)
	}
	text := strings.Repeat("0123456789abcdef", 5<<20/16) // several messages
	resp, err = b.RunPasses(t.Context(), sdk.RunPassesRequest{Pipeline: "cse", Input: text})
	if err != nil || resp.Output != "cse:"+text {
		t.Errorf("got %d bytes, %v", len(resp.Output), err)
	}
}

func TestAutoMTLS(t *testing.T) {
	_, b := testHost(t, "works", Options{AutoMTLS: true})
	mustRun(t, b, "echo", "secret")
}

// TestModule: a module is asked for once per session, also over a crash.
func TestModule(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	facts, err := b.Facts(t.Context())
	if err != nil || len(facts.Modules) != 1 || facts.Modules[0].Source != "" {
		t.Fatalf("%+v, %v", facts, err)
	}
	m, err := b.GetModule(t.Context(), "made.by")
	if want := fmt.Sprintf("pid = %s\n", mustRun(t, b, "pid", "")); err != nil || m.Source != want {
		t.Errorf("got %q, want %q; %v", m.Source, want, err)
	}
	if _, err := run(t.Context(), b, "exit", ""); err == nil {
		t.Error("it did not crash")
	}
	again, err := b.GetModule(t.Context(), "made.by")
	if err != nil || again.Source != m.Source {
		t.Errorf("got %q after %q, %v", again.Source, m.Source, err)
	}
	if _, err := b.GetModule(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), `no module "none"`) {
		t.Errorf("a module that is not there: %v", err)
	}
}

func TestFileHash(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	hash, err := b.FileHash()
	if err != nil || len(hash) != 64 {
		t.Errorf("got %q, %v", hash, err)
	}
}

// await waits until ok holds.
func await(t testing.TB, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come about within %s", limit)
		}
	}
}

// awaitPid reads the process number that somebody writes into file.
func awaitPid(t testing.TB, file string) int {
	t.Helper()
	var pid int
	await(t, 5*time.Second, func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

// syncBuffer is a bytes.Buffer for several writers.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
