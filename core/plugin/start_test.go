package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// TestBadPlugins: each gives one clear message, soon, and leaves no socket. That is the
// error; nothing of go-plugin's is logged besides.
func TestBadPlugins(t *testing.T) {
	tests := []struct {
		mode string
		want []string
	}{
		{"noisy", []string{`printed "loading my tables" to its standard output`, "must call the SDK's Serve before all else"}},
		{"other-protocol", []string{"version 99", fmt.Sprintf("this tritonc version %d", host.ProtocolVersion)}},
		{"exits", []string{"ended before the handshake (exit status 3)", "libfoo.so.3: cannot open"}},
		{"panics", []string{"ended before the handshake (exit status 2)", "panic: no tables"}},
		{"hangs", []string{"did not answer within 300ms"}},
		{"deaf", []string{"/nowhere: connect: no such file"}},
		{"describe-panics", []string{"BUG in the backend, in Describe: no facts", "server.go"}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			temp := t.TempDir()
			timeout := time.Duration(0)
			if tt.mode == "hangs" {
				timeout = 300 * time.Millisecond
			}
			var log lockedBuffer
			h, b := testHost(t, tt.mode, Options{
				TempDir: temp, StartTimeout: timeout,
				Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Info}),
			})
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
			h.Close()
			if text := log.text(); text != "" && tt.mode != "describe-panics" { // the SDK logs a panic
				t.Errorf("logged: %s", text)
			}
			if len(temp) <= 45 { // else the socket was in /tmp
				if left, _ := os.ReadDir(temp); len(left) > 0 {
					t.Errorf("left in the folder of sockets: %v", left)
				}
			}
		})
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

func TestAutoMTLS(t *testing.T) {
	_, b := testHost(t, "works", Options{AutoMTLS: true})
	mustRun(t, b, "echo", "secret")
}
