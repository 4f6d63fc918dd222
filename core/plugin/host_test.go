package plugin

import (
	"bytes"
	"context"
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

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
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

// TestNoise: standard output after the handshake is read, however long its lines are, and
// warned of once.
func TestNoise(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the SDK leaves descriptor 1 alone there")
	}
	var log syncBuffer
	_, b := testHost(t, "works", Options{Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &log})})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		if got, err := run(ctx, b, "noise", ""); err != nil || got != "made" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	await(t, 2*time.Second, func() bool { return strings.Contains(log.String(), "after the handshake") })
	const warning = `[WARN]  works: the backend printed to its standard output after the handshake: text="rows: xxx`
	if s := log.String(); strings.Count(s, "handshake") != 1 || !strings.Contains(s, warning) || len(s) > 500 {
		t.Errorf("log:\n%s", s)
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
	if err != nil || !f.Has(host.CapRunPasses) {
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
