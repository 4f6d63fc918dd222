package local_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/local"
)

// patient bounds what a test waits for on a machine under load.
const patient = 20 * time.Second

// startVar has the test's program start a server in the folder that it names, and live
// until its standard input ends.
const startVar = "TEST_LOCAL_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(startVar)
	if dir == "" {
		code := m.Run()
		if built.path != "" {
			_ = os.RemoveAll(filepath.Dir(built.path))
		}
		os.Exit(code)
	}
	n, err := local.Folder(dir).Start(context.Background(), os.Getenv(startVar+"_PROGRAM"))
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	println(n.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

var built struct {
	sync.Once
	path string
	err  error
}

// program is the server's, built once.
func program(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "tritonc-nats")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, local.Program)
		out, err := exec.Command("go", "build", "-o", built.path, "../../cmd/tritonc-nats").CombinedOutput()
		if built.err = err; err != nil {
			t.Logf("%s", out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// starter is a process that has started a server.
type starter struct {
	*exec.Cmd
	lifeline io.Closer
	said     *syncBuffer
}

// syncBuffer is a buffer that is read while a process writes to it.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func start(t *testing.T, dir, program string) *starter {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &starter{Cmd: exec.Command(exe), said: &syncBuffer{}}
	s.Env = append(os.Environ(), startVar+"="+dir, startVar+"_PROGRAM="+program)
	s.Stderr = s.said
	if s.lifeline, err = s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.lifeline.Close()
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	return s
}

func wait(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patient)
		}
	}
}

// TestStart: several who start a server at once have the same one, which keeps what it is
// given, is for those alone who know the token, and ends with who started it.
func TestStart(t *testing.T) {
	dir := local.Folder(filepath.Join(t.TempDir(), "nats"))
	p := program(t)
	if _, ok := dir.Running(); ok {
		t.Fatal("a server runs in a folder that is not there")
	}
	list := []*starter{start(t, string(dir), p), start(t, string(dir), p), start(t, string(dir), p)}
	wait(t, "a server", func() bool { _, ok := dir.Running(); return ok })
	n, _ := dir.Running()
	for _, s := range list {
		wait(t, "a starter", func() bool { return strings.Contains(s.said.String(), "\n") })
		if got := strings.TrimSpace(s.said.String()); got != n.URL {
			t.Errorf("a starter has %q, and the server is at %q", got, n.URL)
		}
	}
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{n.URL}, Timeout: patient})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	kv, err := b.KeyValue(t.Context(), bus.Spec{Name: "keys", Form: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	token, rest, _ := strings.Cut(strings.TrimPrefix(n.URL, "nats://"), "@")
	for _, url := range []string{"nats://" + rest, "nats://wrong@" + rest} {
		if _, err := bus.Connect(t.Context(), bus.Options{URLs: []string{url}, Timeout: patient}); bus.KindOf(err) != bus.Refused {
			t.Errorf("without the token: %v", err)
		}
	}
	if runtime.GOOS != "windows" {
		for _, path := range []string{string(dir), filepath.Join(string(dir), "server.json")} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is for others, too: %v, %v", path, info.Mode(), err)
			}
		}
	}
	if err := exec.Command(p, "--dir", string(dir)).Run(); err == nil {
		t.Error("two servers have one folder")
	}
	// The server belongs to one of the three. However they end, it does.
	for i, s := range list {
		if i == 0 {
			s.lifeline.Close()
		} else if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "the end of the server", func() bool { _, ok := dir.Running(); return !ok })

	start(t, string(dir), p)
	wait(t, "a server", func() bool { _, ok := dir.Running(); return ok })
	again, _ := dir.Running()
	if strings.Contains(again.URL, token) {
		t.Error("the token is that of the server before")
	}
	b2, err := bus.Connect(t.Context(), bus.Options{URLs: []string{again.URL}, Timeout: patient})
	if err != nil {
		t.Fatal(err)
	}
	defer b2.Close()
	kv, err = b2.KeyValue(t.Context(), bus.Spec{Name: "keys", Form: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := kv.Get(t.Context(), "a"); err != nil || string(e.Value()) != "b" {
		t.Errorf("what was kept is %v, %v", e, err)
	}
}

// TestEnd: a server that is ended has left its folder, so that the next one starts.
func TestEnd(t *testing.T) {
	dir := local.Folder(filepath.Join(t.TempDir(), "nats"))
	p := program(t)
	last := ""
	for range 3 {
		n, err := dir.Start(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if n.URL == last {
			t.Fatal("the server that was to end is found")
		}
		last = n.URL
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		local.End(ctx)
		if ctx.Err() != nil {
			t.Error("the server does not end")
		}
		cancel()
		if _, ok := dir.Running(); ok {
			t.Error("a server runs that was ended")
		}
	}
}

// TestStartFails: who cannot start a server says why.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := local.Folder(filepath.Join(dir, "a")).Start(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("a program that is not there starts")
	}
	if runtime.GOOS == "windows" {
		return
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Folder(open).Start(t.Context(), program(t)); err == nil || !strings.Contains(err.Error(), "others may enter it") {
		t.Errorf("a folder of everybody's: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Folder(file).Start(t.Context(), program(t)); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file: %v", err)
	}
}
