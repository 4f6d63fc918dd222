//go:build unix

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// dyingHost is a host with the tests' backend in a mode, which counts its starts and
// whose log is kept.
func dyingHost(t *testing.T, mode string, opts Options) (h *Host, b *Backend, log *syncBuffer, starts func() []int) {
	t.Helper()
	log = &syncBuffer{}
	opts.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: log})
	h, b = testHost(t, mode, opts)
	file := b.Path() + ".starts"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return h, b, log, func() []int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pids []int
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return pids
	}
}

func wantSays(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q: %s", what, w, text)
		}
	}
}

// forTestKernel is the context of a compile.
func forTestKernel(t *testing.T) context.Context { return wire.WithKernel(t.Context(), "vector_add") }

func TestDiesAtStart(t *testing.T) {
	_, b, log, starts := dyingHost(t, "dies-at-start-once", Options{})
	if _, err := b.Facts(forTestKernel(t)); err != nil {
		t.Fatal(err)
	}
	wantSays(t, "the warning", log.String(), "dies-at-start-once", "ended before the handshake (signal: killed)", "kernel vector_add", "started anew")
	if n := len(starts()); n != 2 {
		t.Errorf("started %d times", n)
	}
}

func TestStopsAtStart(t *testing.T) {
	_, b, log, starts := dyingHost(t, "stops-at-start", Options{})
	start := time.Now()
	_, err := b.Facts(forTestKernel(t))
	if err == nil {
		t.Fatal("no error")
	}
	wantSays(t, "the error", err.Error(), "stops-at-start", "before the handshake (it was stopped by a signal", "kernel vector_add")
	if d, n := time.Since(start), len(starts()); n != 2 || d > 2500*time.Millisecond {
		t.Errorf("it took %s and %d starts", d, n)
	}
	wantSays(t, "the warning", log.String(), "stopped by a signal")
}

// TestDiesDescribing: twice, which is once more than a call puts up with.
func TestDiesDescribing(t *testing.T) {
	_, b, log, starts := dyingHost(t, "describe-hangs", Options{})
	done := make(chan error)
	go func() {
		_, err := b.Facts(forTestKernel(t))
		done <- err
	}()
	for n := 1; n <= 2; n++ {
		await(t, 5*time.Second, func() bool { return len(starts()) == n })
		time.Sleep(100 * time.Millisecond) // up to Describe
		kill(t, starts()[n-1])
	}
	start := time.Now()
	err := <-done
	var crash *CrashError
	if !errors.As(err, &crash) || !crash.Again || !crash.Killed {
		t.Fatalf("got %v", err)
	}
	wantSays(t, "the error", err.Error(), "describe-hangs", "during Describe of the kernel vector_add, as it did before", "signal: killed")
	wantSays(t, "the warning", log.String(), "Describe", "vector_add")
	if d := time.Since(start); d > time.Second {
		t.Errorf("the error took %s", d)
	}
}

// TestDiesInStage: one death costs time, a second one the call.
func TestDiesInStage(t *testing.T) {
	_, b, log, starts := dyingHost(t, "works", Options{})
	file := filepath.Join(t.TempDir(), "pid")
	done := make(chan error)
	go func() {
		_, err := run(forTestKernel(t), b, "loop", file)
		done <- err
	}()
	for range 2 {
		pid := awaitPid(t, file)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // until the host has heard which stage runs
		kill(t, pid)
	}
	start := time.Now()
	err := <-done
	if err == nil {
		t.Fatal("no error")
	}
	wantSays(t, "the error", err.Error(), "backend works died during RunStages (stage loop) of the kernel vector_add, as it did before", "signal: killed")
	wantSays(t, "the warning", log.String(), "RunStages (stage loop) of the kernel vector_add", "started anew")
	if d, n := time.Since(start), len(starts()); n != 2 || d > time.Second {
		t.Errorf("the error took %s, and there were %d starts", d, n)
	}
}

// TestDiesInStream: the answer begins, and breaks off; it comes whole from the next
// process.
func TestDiesInStream(t *testing.T) {
	_, b, _, starts := dyingHost(t, "works", Options{})
	text := strings.Repeat("0123456789abcdef", 32<<20/16)
	var once sync.Once
	resp, err := b.RunStages(forTestKernel(t), sdk.RunStagesRequest{
		First: "echo", Last: "echo", Input: []byte(text),
		Progress: func(sdk.Progress) { once.Do(func() { kill(t, starts()[0]) }) },
	})
	if err != nil || string(resp.Artifact("echo")) != text {
		t.Errorf("got %d bytes of %d, %v", len(resp.Artifact("echo")), len(text), err)
	}
	if n := len(starts()); n != 2 {
		t.Errorf("started %d times", n)
	}
}

// TestDiesIdle: nobody sees it.
func TestDiesIdle(t *testing.T) {
	_, b, log, starts := dyingHost(t, "works", Options{})
	mustRun(t, b, "echo", "")
	pid := starts()[0]
	kill(t, pid)
	await(t, time.Second, func() bool { return !alive(pid) })
	time.Sleep(20 * time.Millisecond) // until the host has been told
	mustRun(t, b, "echo", "")
	if n := len(starts()); n != 2 || log.String() != "" {
		t.Errorf("started %d times; %s", n, log.String())
	}
}

// TestStopped: a process that a signal stopped is as good as dead, and so is told
// soon.
func TestStopped(t *testing.T) {
	if !stopsAreSeen {
		t.Skip("a stop is not told from a hang here")
	}
	_, b, log, starts := dyingHost(t, "works", Options{})
	mustRun(t, b, "echo", "")
	start := time.Now()
	time.AfterFunc(time.Second, func() { wantSays(t, "the warning after a second", log.String(), "stopped by a signal", "stage stop") })
	_, err := run(forTestKernel(t), b, "stop", filepath.Join(t.TempDir(), "file"))
	if err == nil {
		t.Fatal("no error")
	}
	wantSays(t, "the error", err.Error(), "works died during RunStages (stage stop) of the kernel vector_add, as it did before (it was stopped by a signal and did not go on;")
	if d, n := time.Since(start), len(starts()); n != 2 || d < time.Second || d > 3*time.Second {
		t.Errorf("it took %s and %d starts", d, n)
	}
}

// TestHangs: a process that runs and answers nothing, its own health included.
func TestHangs(t *testing.T) {
	h, b, _, _ := dyingHost(t, "works", Options{})
	h.hangTime = 300 * time.Millisecond
	start := time.Now()
	_, err := run(forTestKernel(t), b, "stall", "")
	if err == nil {
		t.Fatal("no error")
	}
	wantSays(t, "the error", err.Error(), "died during RunStages (stage stall) of the kernel vector_add, as it did before (it did not answer for 300ms")
	if d := time.Since(start); d > 4*time.Second {
		t.Errorf("it took %s", d)
	}
}

// TestLeaks: memory has its bound, and the error says so.
func TestLeaks(t *testing.T) {
	if !canConfine {
		t.Skip("there are no limits here")
	}
	_, b, _, _ := dyingHost(t, "works", Options{Confine: process.Confine{Memory: 300 << 20}})
	_, err := run(forTestKernel(t), b, "leak", "")
	var crash *CrashError
	if !errors.As(err, &crash) {
		t.Fatalf("got %v", err)
	}
	wantSays(t, "the error", err.Error(), "with 300 MiB of memory allowed", "RunStages (stage leak) of the kernel vector_add", "memory")
	mustRun(t, b, "echo", "still there")
}

// TestRubbish: what is not gRPC is known soon.
func TestRubbish(t *testing.T) {
	temp := shortTemp(t)
	_, b, _, starts := dyingHost(t, "rubbish", Options{TempDir: temp})
	start := time.Now()
	_, err := b.Facts(forTestKernel(t))
	if err == nil {
		t.Fatal("no error")
	}
	wantSays(t, "the error", err.Error(), "backend rubbish", "Describe of the kernel vector_add")
	if d, n := time.Since(start), len(starts()); n != 1 || d > time.Second {
		t.Errorf("it took %s and %d starts", d, n)
	}
	wantEmpty(t, temp)
}

// shortTemp is a folder whose name is short enough for sockets.
func shortTemp(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	if len(dir) > 45 {
		t.Skip("the system's folder for temporary files has a long name")
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func wantEmpty(t testing.TB, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestCallTimeout: a call that takes too long ends, others in its process do not,
// and no further one goes there.
func TestCallTimeout(t *testing.T) {
	_, b, _, starts := dyingHost(t, "works", Options{CallTimeout: 700 * time.Millisecond})
	mustRun(t, b, "echo", "")
	other := make(chan error)
	file := filepath.Join(t.TempDir(), "pid")
	time.AfterFunc(400*time.Millisecond, func() {
		_, err := run(t.Context(), b, "sleep", "500")
		other <- err
	})
	start := time.Now()
	_, err := run(forTestKernel(t), b, "loop", file)
	var late *TimeoutError
	if !errors.As(err, &late) || late.Kernel != "vector_add" {
		t.Fatalf("got %v", err)
	}
	wantSays(t, "the error", err.Error(), "backend works was stopped after 700ms in RunStages (stage loop) of the kernel vector_add, the time limit of a call")
	if d := time.Since(start); d > 1500*time.Millisecond {
		t.Errorf("it took %s", d)
	}
	mustRun(t, b, "echo", "")
	if err := <-other; err != nil {
		t.Errorf("the other call: %v", err)
	}
	pids := starts()
	if len(pids) != 2 {
		t.Fatalf("%d starts", len(pids))
	}
	await(t, 3*time.Second, func() bool { return !alive(pids[0]) })
}

// TestInheritsNothing: no file that somebody left open for the host reaches a
// backend.
func TestInheritsNothing(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("made for Linux")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	fd, err := syscall.Open(secret, syscall.O_CREAT|syscall.O_RDWR, 0o600) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	for _, memory := range []int64{0, 1 << 30} { // by itself and through the trampoline
		if memory > 0 && !canConfine {
			continue
		}
		_, b, _, _ := dyingHost(t, "works", Options{Confine: process.Confine{Memory: memory}})
		if got := mustRun(t, b, "descriptors", ""); got != "0 /dev/null" {
			t.Errorf("memory %d: it has open\n%s", memory, got)
		}
	}
}

// TestTempFiles: what a backend leaves in its temporary folder goes with it, even
// where it could not clear up.
func TestTempFiles(t *testing.T) {
	temp := shortTemp(t)
	h, b, _, starts := dyingHost(t, "works", Options{TempDir: temp})
	path := mustRun(t, b, "temp-file", "")
	if _, err := os.Stat(path); err != nil || !strings.HasPrefix(path, temp) {
		t.Fatalf("%s: %v", path, err)
	}
	kill(t, starts()[0])
	mustRun(t, b, "echo", "")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", path, err)
	}
	h.Close()
	wantEmpty(t, temp)
}

// TestExpected: a program is what a lock, a manifest or a choice says that it is, or it
// does not run; and that is not remembered of it.
func TestExpected(t *testing.T) {
	cache := t.TempDir()
	env := func(key string) (string, bool) { return cache, key == "XDG_CACHE_HOME" }
	dir := testBackend(t, "works")
	path := filepath.Join(dir, Prefix+"works")
	starts := path + ".starts"
	if err := os.WriteFile(starts, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := process.FileSum(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Repeat("0", 64)
	lock := func(name, sum string) *manifest.Lock {
		return &manifest.Lock{Backends: []manifest.LockedBackend{{Name: name, SHA256: sum}}}
	}
	choice := func(sum string) []Choice {
		return []Choice{{Ref: manifest.Ref{Name: "works", SHA256: sum}, From: "tritonc.toml:2"}}
	}
	listed := func(sum string) string {
		m := manifest.Manifest{
			Name: "works", Version: "0", Protocol: []int{1}, Targets: []string{"test:*"},
			Files: []manifest.File{{Path: Prefix + "works", Size: 1, SHA256: sum, Executable: true}},
		}
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, tt := range []struct {
		what     string
		opts     Options
		manifest string
		want     string // in the error; empty: it runs
	}{
		{"another lock", Options{Lock: lock("other", sum)}, "", "the.lock does not list it for "},
		{"another sum", Options{Lock: lock("works", wrong)}, "", "its SHA-256 is " + sum + ", but the.lock has " + wrong},
		{"another in the manifest", Options{}, listed(wrong), "but " + filepath.Join(dir, manifest.FileName) + " has 000"},
		{"a broken manifest", Options{}, "{", "unexpected EOF"},
		{"another choice", Options{Choices: choice(wrong)}, "", "but tritonc.toml:2 has 000"},
		{"all alike", Options{Lock: lock("works", sum), Choices: choice(sum)}, listed(sum), ""},
		{"nothing", Options{}, "", ""},
	} {
		file := filepath.Join(dir, manifest.FileName)
		if err := os.WriteFile(file, []byte(tt.manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if tt.manifest == "" {
			os.Remove(file)
		}
		if err := os.Truncate(starts, 0); err != nil {
			t.Fatal(err)
		}
		tt.opts.Dirs, tt.opts.LookupEnv, tt.opts.LockFile = []string{dir}, env, "the.lock"
		b, err := newHost(t, tt.opts).Backend("works")
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Facts(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", tt.what, err)
		}
		if _, err := b.DescribeAgain(t.Context()); (err == nil) != (tt.want == "") {
			t.Errorf("%s: described with %v", tt.what, err)
		}
		if text, err := os.ReadFile(starts); err != nil || (len(text) == 0) != (tt.want != "") {
			t.Errorf("%s: started %q, %v", tt.what, text, err)
		}
	}
}

// TestManyKills: compiles from several goroutines while the backend is killed again
// and again. Those that were in flight may need a second try, which is all that
// they have; no other is lost, and nothing is left.
// TRITONC_COMPILES=10000 is the whole of it.
func TestManyKills(t *testing.T) {
	const every, workers = 50, 4
	compiles := 1000
	if text := os.Getenv("TRITONC_COMPILES"); text != "" {
		var err error
		if compiles, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	temp := shortTemp(t)
	h, b, _, starts := dyingHost(t, "works", Options{TempDir: temp})
	var mu sync.Mutex
	kills := 0
	var begun, lost, next atomic.Int64
	begin := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(compiles); n = next.Add(1) {
				if begun.Add(1)%every == 0 {
					mu.Lock()
					pids := starts()
					syscall.Kill(pids[len(pids)-1], syscall.SIGKILL)
					kills++
					mu.Unlock()
				}
				text := fmt.Sprint("compile ", n)
				got, err := run(t.Context(), b, "echo", text)
				var crash *CrashError
				switch {
				case errors.As(err, &crash) && crash.Again:
					lost.Add(1) // killed twice under way
				case err != nil || got != text:
					t.Errorf("compile %d: got %q, %v", n, got, err)
				}
			}
		})
	}
	mustRun(t, b, "echo", "")
	wg.Wait()
	pids := starts()
	h.Close()
	t.Logf("%d compiles, %d kills, %d starts, %d lost in flight, %s", compiles, kills, len(pids), lost.Load(), time.Since(begin).Round(time.Millisecond))
	if kills != compiles/every || len(pids) < kills/2 {
		t.Errorf("%d kills and %d starts", kills, len(pids))
	}
	if lost.Load() > int64(kills) {
		t.Errorf("%d compiles were lost to %d kills", lost.Load(), kills)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	wantEmpty(t, temp)
}
