package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/core/plugin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// pooled serves commands in this process, with one pool.
type pooled struct {
	*served
	hosts *hostPool
}

func newPooled(t *testing.T) *pooled {
	t.Helper()
	hosts := &hostPool{}
	p := &pooled{hosts: hosts}
	p.served = newServed(t, sdk.ProgramHash(), func(ctx context.Context, call *serve.Call) int {
		return serveCompile(ctx, t.Context(), call, hosts, &sharedPool{})
	})
	t.Cleanup(hosts.close) // before the server ends: nothing is under way
	return p
}

// compile runs a command in a folder that has a kernel, with variables beside the usual
// ones, and returns what came out.
func (p *pooled) compile(t *testing.T, dir, backends string, vars ...string) string {
	t.Helper()
	client, err := serve.Dial(p.socket)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer client.Close()
	var sink textSink
	code, err := client.Compile(t.Context(), &serve.Request{
		Build: sdk.ProgramHash(), Dir: dir, Args: []string{"-t", "minimal:1", "--no-cache", "-o", "-", "k.ttir"},
		Env: append([]string{backendPathVar + "=" + backends, "HOME=" + p.dir, "PATH=" + os.Getenv("PATH")}, vars...),
	}, &sink)
	if err != nil || code != exitOK {
		t.Errorf("code %d, %v\n%s", code, err, sink.stderr.String())
	}
	return sink.stdout.String()
}

// textSink keeps what a call puts out.
type textSink struct{ stdout, stderr bytes.Buffer }

func (s *textSink) Stdout(p []byte) error                 { s.stdout.Write(p); return nil }
func (s *textSink) Stderr(p []byte) error                 { s.stderr.Write(p); return nil }
func (s *textSink) WriteFiles(string, []serve.File) error { return nil }
func (s *textSink) Progress(int, int)                     {}

// kernelIn is a folder with a kernel of so many constants, which the backend counts.
func kernelIn(t *testing.T, dir string, constants int) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	text := "module {\n  tt.func public @k() {\n"
	for i := range constants {
		text += "    %c" + strconv.Itoa(i) + " = arith.constant 1 : i32\n"
	}
	text += "    tt.return\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "k.ttir"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func pids(list []plugin.Running) (out []int) {
	for _, r := range list {
		out = append(out, r.PID)
	}
	return out
}

// TestPoolShares: commands of one folder share a process, others do not, and each has
// what is in its own folder.
func TestPoolShares(t *testing.T) {
	p := newPooled(t)
	backends := buildBackends(t)
	var dirs []string
	for i := range 3 {
		dirs = append(dirs, kernelIn(t, filepath.Join(p.dir, strconv.Itoa(i)), i+1))
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if got, want := p.compile(t, dirs[i%3], backends, "IRRELEVANT="+strconv.Itoa(i)), strconv.Itoa(i%3+1)+" arith.constant"; !strings.Contains(got, want) {
				t.Errorf("got %q, want %s", got, want)
			}
		})
	}
	wg.Wait()
	first := pids(p.hosts.running())
	// The first host had all programs describe themselves; those that did no more have ended.
	if len(first) != len(dirs) {
		t.Errorf("%d processes, want %d", len(first), len(dirs))
	}
	for i := range 6 {
		p.compile(t, dirs[i%3], backends, "IRRELEVANT=x"+strconv.Itoa(i))
	}
	if again := pids(p.hosts.running()); !slices.Equal(slices.Sorted(slices.Values(again)), slices.Sorted(slices.Values(first))) {
		t.Errorf("processes %v, and then %v", first, again)
	}
	p.compile(t, dirs[0], backends, "CUDA_HOME="+p.dir)
	if more := pids(p.hosts.running()); len(more) != len(first)+1 {
		t.Errorf("with another variable that backends see: %v, and before %v", more, first)
	}
}

// TestPoolBound: of many folders those that were used last have processes.
func TestPoolBound(t *testing.T) {
	p := newPooled(t)
	backends := buildBackends(t)
	for i := range maxHosts + 3 {
		p.compile(t, kernelIn(t, filepath.Join(p.dir, strconv.Itoa(i)), 1), backends)
		if n := len(p.hosts.hosts); n > maxHosts {
			t.Fatalf("%d hosts", n)
		}
	}
	if n := len(p.hosts.running()); n != maxHosts {
		t.Errorf("%d processes", n)
	}
	p.hosts.close()
	if list := p.hosts.running(); len(list) > 0 {
		t.Errorf("after the end: %v", list)
	}
}

// TestPoolSeesChanges: a program that is replaced is not used any more.
func TestPoolSeesChanges(t *testing.T) {
	p := newPooled(t)
	dir := kernelIn(t, filepath.Join(p.dir, "d"), 1)
	mine := filepath.Join(p.dir, "backends")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(mine, "tritonc-backend-minimal")
	put := func() {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(buildBackends(t), "tritonc-backend-minimal"))
		if err == nil {
			err = os.WriteFile(program+".new", text, 0o755)
		}
		if err == nil {
			err = os.Rename(program+".new", program)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put()
	p.compile(t, dir, mine)
	before := pids(p.hosts.running())
	p.compile(t, dir, mine)
	if again := pids(p.hosts.running()); len(before) != 1 || !slices.Equal(again, before) {
		t.Errorf("processes %v, and then %v", before, again)
	}
	put()
	p.compile(t, dir, mine)
	after := pids(p.hosts.running())
	if len(after) != 1 || after[0] == before[0] {
		t.Errorf("processes %v, and after a change %v", before, after)
	}
	p.hosts.closed.Wait()
	if err := exec.Command("kill", "-0", strconv.Itoa(before[0])).Run(); err == nil {
		t.Error("the process of the program that was there before still runs")
	}
}
