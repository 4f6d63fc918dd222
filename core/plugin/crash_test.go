package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/plugin/wire"
)

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
			var log syncBuffer
			_, b := testHost(t, "works", Options{Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: &log})})
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
			if s := log.String(); strings.Contains(s, "[ERROR]") || !strings.Contains(s, "[WARN]") {
				t.Errorf("beside a warning of the first death there is:\n%s", s)
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
