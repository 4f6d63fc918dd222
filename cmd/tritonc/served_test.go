package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/core/plugin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// servedScripts are those of the compile verb that TestServedScripts runs; with
// TRITONC_SERVED=all it runs every script.
var servedScripts = []string{
	"badfiles", "badinput", "cache", "calleronly", "config", "externlib", "fulldisk", "json", "modulemap",
	"names", "package", "python", "several", "stdin", "usage",
}

// unservedScripts write into a backend's program, which the system allows nobody while a
// server runs it.
var unservedScripts = []string{"choose.txtar", "lock.txtar"}

// TestServedScripts runs scripts while a server is there: files, messages and exit codes
// are those that they are without one.
func TestServedScripts(t *testing.T) {
	socket := startServer(t, "tritonc")
	var files []string
	names := servedScripts
	if os.Getenv("TRITONC_SERVED") == "all" {
		all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		files, names = slices.DeleteFunc(all, func(file string) bool { return slices.Contains(unservedScripts, filepath.Base(file)) }), nil
	}
	for _, name := range names {
		files = append(files, filepath.Join("testdata", "script", name+".txtar"))
	}
	// They are parallel, and over when the group is.
	t.Run("scripts", func(t *testing.T) { runScripts(t, socket, files) })
	status := serverStatus(t, socket)
	if status.Requests["ok"] < 50 || status.Requests["error"] < 50 || status.Requests["refused"] > status.Requests["ok"] {
		t.Errorf("the server had these requests: %v", status.Requests)
	}
	if status.Active != 0 || status.Running != 0 || status.Waiting != 0 {
		t.Errorf("after the last request: %+v", status)
	}
}

// startServer starts a program of tritonc's as a server that ends with the test, and
// returns its socket.
func startServer(t testing.TB, program string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such sockets")
	}
	// The folder of a test may have too long a name for a socket.
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(program, "serve", "--socket", socket, "--idle", "0")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); err != nil || !strings.Contains(line, "listening") {
		t.Fatalf("the server said %q, %v", line, err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(program, "serve", "--socket", socket, "--stop").CombinedOutput(); err != nil {
			t.Errorf("serve --stop: %v\n%s", err, out)
			cmd.Process.Kill()
		}
		rest, _ := io.ReadAll(said)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, rest)
		}
		if _, err := os.Lstat(socket); err == nil {
			t.Error("the server has left its socket")
		}
	})
	return socket
}

// serverStatus is what the server says of itself.
func serverStatus(t testing.TB, socket string) *serve.Status {
	t.Helper()
	out, err := exec.Command("tritonc", "serve", "--socket", socket, "--status", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var status serve.Status
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &status
}

// served runs a command in this process, with a server in this process whose handler is
// handle.
type served struct {
	socket string
	dir    string
	cancel context.CancelFunc
	over   chan error
}

func newServed(t *testing.T, build string, handle func(ctx context.Context, call *serve.Call) int) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such sockets")
	}
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &served{socket: filepath.Join(dir, "s"), dir: t.TempDir(), over: make(chan error, 1)}
	server, err := serve.Listen(serve.Config{
		Socket: s.socket, Build: build, Jobs: 1, Handle: handle,
		Backends: func() []plugin.Running { return nil }, Log: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() { s.over <- server.Serve(ctx) }()
	t.Cleanup(func() {
		s.cancel()
		if err := <-s.over; err != nil {
			t.Error(err)
		}
	})
	return s
}

// run runs the command on a kernel in s.dir and returns what it put out.
func (s *served) run(ctx context.Context, t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(s.dir, "k.ttir")
	text := "module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{socketVar: s.socket, backendPathVar: buildBackends(t), "HOME": s.dir, "PATH": os.Getenv("PATH")}
	var out, said strings.Builder
	env := &environment{
		stdin: strings.NewReader(""), stdout: &out, stderr: &said, passes: neutralPasses(),
		lookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	for name, value := range vars {
		env.environ = append(env.environ, name+"="+value)
	}
	code = run(ctx, append(args, "-t", "minimal:1", "--emit", "source", "-o", "-", file), env)
	return code, out.String(), said.String()
}

// TestServerDies: a command whose server dies compiles by itself, once, and nothing of
// what the server said before is there twice.
func TestServerDies(t *testing.T) {
	var s *served
	calls := 0
	s = newServed(t, sdk.ProgramHash(), func(ctx context.Context, call *serve.Call) int {
		calls++
		_, _ = call.Stderr().Write([]byte("said before\n"))
		_, _ = call.Stdout().Write([]byte("half of it"))
		s.cancel()
		<-ctx.Done()
		return exitError
	})
	code, stdout, stderr := s.run(t.Context(), t)
	if code != exitOK || calls != 1 || !strings.HasPrefix(stdout, "module {") || strings.Count(stdout, "tt.func") != 1 {
		t.Errorf("code %d, %d calls, %q, %q", code, calls, stdout, stderr)
	}
	if want := "tritonc: the server at " + s.socket + " ended while it compiled; it is compiled here\n"; stderr != want {
		t.Errorf("%q, want %q", stderr, want)
	}
}

// TestServerOfOtherBuild: a command compiles by itself, and says why where it is asked.
func TestServerOfOtherBuild(t *testing.T) {
	s := newServed(t, "another", func(context.Context, *serve.Call) int { panic("BUG: it is served") })
	code, stdout, stderr := s.run(t.Context(), t)
	if code != exitOK || !strings.Contains(stdout, "tt.func") || stderr != "" {
		t.Errorf("code %d, %q, %q", code, stdout, stderr)
	}
	code, _, stderr = s.run(t.Context(), t, "-v")
	if code != exitOK || !strings.Contains(stderr, "it is another build of tritonc") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

// TestServedCancel: the end of the client is the end of its call.
func TestServedCancel(t *testing.T) {
	client, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := newServed(t, sdk.ProgramHash(), func(ctx context.Context, call *serve.Call) int {
		_, _ = call.Stderr().Write([]byte("said before\n"))
		interrupt()
		<-ctx.Done()
		ended <- ctx.Err()
		return exitError
	})
	code, stdout, stderr := s.run(client, t)
	if code != exitError || stdout != "" || !strings.HasSuffix(stderr, "tritonc: interrupted\n") {
		t.Errorf("code %d, %q, %q", code, stdout, stderr)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended by %v", err)
	}
}

// TestServedCode: what the handler gives is the command's.
func TestServedCode(t *testing.T) {
	for _, code := range []int{exitOK, exitError, exitUsage} {
		s := newServed(t, sdk.ProgramHash(), func(_ context.Context, call *serve.Call) int {
			_, _ = call.Stdout().Write([]byte(strings.Repeat("x", 3<<20)))
			_, _ = call.Stderr().Write([]byte(call.Dir + call.Args[0] + "\n"))
			return code
		})
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		got, stdout, stderr := s.run(t.Context(), t, "compile")
		if got != code || len(stdout) != 3<<20 || stderr != here+"compile\n" {
			t.Errorf("code %d, want %d; %d bytes, %q", got, code, len(stdout), stderr)
		}
	}
}

// TestServedMany: a server has no more goroutines and files after many kernels than
// after some. TRITONC_COMPILES says how many.
func TestServedMany(t *testing.T) {
	n := 150
	if text := os.Getenv("TRITONC_COMPILES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	socket := startServer(t, "tritonc")
	dir := t.TempDir()
	env := []string{backendPathVar + "=" + buildBackends(t), "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	out := filepath.Join(dir, "k.py")
	compile := func(i int) {
		t.Helper()
		source := fmt.Sprintf(manyKernel, 2<<(i%9), i)
		if err := os.WriteFile(out, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		client, err := serve.Dial(socket)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var sink countingSink
		code, err := client.Compile(t.Context(), &serve.Request{
			Build: sdk.ProgramHash(), Dir: dir, Env: env,
			Args: []string{"-t", "cuda:80", "--emit", "ttgir", "-o", "-", "k.py"},
		}, &sink)
		if err != nil || code != 0 || sink.stdout == 0 {
			t.Fatalf("kernel %d: code %d, %v, %d bytes\n%s", i, code, err, sink.stdout, sink.stderr.String())
		}
	}
	for i := range n / 3 {
		compile(i)
	}
	some := serverStatus(t, socket)
	for i := n / 3; i < n; i++ {
		compile(i)
	}
	// The last connection's goroutines may take a moment to end.
	all := serverStatus(t, socket)
	for all.GoroutineCount > some.GoroutineCount || all.OpenFiles > some.OpenFiles {
		if t.Context().Err() != nil || all.Requests["ok"] != int64(n) {
			break
		}
		all = serverStatus(t, socket)
	}
	t.Logf("after %d kernels: %d goroutines, %d files, %.1f MiB; after %d: %d, %d, %.1f MiB", some.Kernels, some.GoroutineCount, some.OpenFiles,
		float64(some.ResidentBytes)/(1<<20), all.Kernels, all.GoroutineCount, all.OpenFiles, float64(all.ResidentBytes)/(1<<20))
	if !slices.EqualFunc(all.Backends, some.Backends, func(a, b serve.BackendStatus) bool { return a.PID == b.PID }) {
		t.Fatalf("the backends did not stay: %+v, then %+v", some.Backends, all.Backends)
	}
	for i, b := range all.Backends {
		t.Logf("backend %s: %.1f MiB, then %.1f MiB", b.Name, float64(some.Backends[i].ResidentBytes)/(1<<20), float64(b.ResidentBytes)/(1<<20))
	}
	if all.Kernels != int64(n) || all.Cached != 0 {
		t.Errorf("%d kernels, %d of the cache", all.Kernels, all.Cached)
	}
}

// manyKernel is a kernel that no other is like.
const manyKernel = `# tritonc: k(*fp32:16, i32)
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, n):
    o = tl.program_id(0) * %d + tl.arange(0, 256)
    tl.store(x_ptr + o, tl.load(x_ptr + o, mask=o < n) * 2.0 + %d, mask=o < n)
`

// countingSink counts what a call puts out.
type countingSink struct {
	stdout int
	stderr strings.Builder
}

func (s *countingSink) Stdout(p []byte) error { s.stdout += len(p); return nil }

func (s *countingSink) Stderr(p []byte) error { _, err := s.stderr.Write(p); return err }

func (s *countingSink) WriteFiles(string, []serve.File) error {
	return errors.New("files were not asked for")
}

func (s *countingSink) Progress(int, int) {}
