package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/sign"
	farm "github.com/tritonc/tritonc/farm/work"
	"github.com/tritonc/tritonc/internal/natstest"
)

// farmKernels are compiled by every test of a farm.
const farmKernels = `
import triton
import triton.language as tl
from scale import FACTOR

# tritonc: k(*fp32:16, *fp32:16, i32, B=64)
# tritonc: k(*fp32:16, *fp32:16, i32, B=128) num_warps=2
@triton.jit
def k(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)
`

// farmTest is a folder, and an environment, for commands that know a farm.
type farmTest struct {
	*testing.T
	dir string
	env []string
}

func newFarmTest(t *testing.T) *farmTest {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"k.py": farmKernels, "scale.py": "import triton.language as tl\nFACTOR = tl.constexpr(3)\n",
		"wrong.py": "import triton\nimport triton.language as tl\n\n# tritonc: w(*fp32)\n@triton.jit\ndef w(x):\n    tl.store(x, undefined)\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &farmTest{t, dir, append(os.Environ(), backendPathVar+"="+buildBackends(t), cacheDirVar+"="+filepath.Join(dir, "cache"), socketVar+"="+serverOff)}
}

func (f *farmTest) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tritonc", args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	return cmd
}

// run runs a command whose exit code is to be code, and returns what it said.
func (f *farmTest) run(code int, args ...string) (stdout, stderr string) {
	f.Helper()
	var out, said bytes.Buffer
	cmd := f.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		f.Fatalf("tritonc %s: %v, want code %d\n%s%s", strings.Join(args, " "), err, code, out.String(), said.String())
	}
	return out.String(), said.String()
}

// stages are those that need no tool of the machine.
var stages = []string{"--emit", "ttir,ttgir,llir,json", "-t", "cuda:80", "-t", "cuda:90"}

// same compares what two commands wrote.
func (f *farmTest) same(a, b string, want int) {
	f.Helper()
	names := func(dir string) (list []string) {
		entries, err := os.ReadDir(filepath.Join(f.dir, dir))
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	list := names(a)
	if !slices.Equal(list, names(b)) || len(list) != want {
		f.Fatalf("there are %q and %q, want %d files", list, names(b), want)
	}
	for _, name := range list {
		x, err := os.ReadFile(filepath.Join(f.dir, a, name))
		if err != nil {
			f.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(f.dir, b, name))
		if err != nil {
			f.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			f.Errorf("%s differs", name)
		}
	}
}

// startWorker starts a worker process that the test ends by a signal.
func (f *farmTest) startWorker(url string, args ...string) {
	f.Helper()
	if len(args) == 0 {
		args = []string{"--no-cache"}
	}
	cmd := f.command(append([]string{"worker", "--nats", url, "-j", "2"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); err != nil || !strings.Contains(line, "waits for kernels at "+url) {
		f.Fatalf("the worker said %q, %v", line, err)
	}
	f.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			f.Error(err)
		}
		rest, _ := io.ReadAll(said)
		if err := cmd.Wait(); err != nil || !strings.Contains(string(rest), "ends when what it compiles is done") {
			f.Errorf("the worker: %v\n%s", err, rest)
		}
	})
}

// TestFarm: what workers compile is written as if it were compiled here, and so are
// messages.
func TestFarm(t *testing.T) {
	needSignals(t)
	f := newFarmTest(t)
	url := natstest.Run(t).URL()
	f.startWorker(url)
	f.startWorker(url)
	f.run(0, append([]string{"compile", "--no-cache", "-o", "here", "k.py"}, stages...)...)
	_, said := f.run(0, append([]string{"compile", "--no-cache", "--farm", "--nats", url, "--time", "-o", "there", "k.py"}, stages...)...)
	if n := strings.Count(said, "farm"); n != 4 {
		t.Errorf("the farm compiled %d kernels of 4:\n%s", n, said)
	}
	f.same("here", "there", 16)

	_, local := f.run(1, append([]string{"compile", "--no-cache", "wrong.py"}, stages...)...)
	_, far := f.run(1, append([]string{"compile", "--no-cache", "--farm", "--nats", url, "wrong.py"}, stages...)...)
	if local != far || !strings.Contains(far, "wrong.py:7:17: error: undefined is not defined") {
		t.Errorf("the farm says\n%s\nand here it is\n%s", far, local)
	}

	// The project names the server, and what has been compiled is found.
	if err := os.WriteFile(filepath.Join(f.dir, "tritonc.toml"), []byte("[farm]\nnats = \""+url+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(0, append([]string{"compile", "--farm", "-o", "found", "k.py"}, stages...)...)
	f.same("here", "found", 16)
	text, _ := f.run(0, "farm", "status")
	for _, want := range []string{url + "\n2 workers, ", " kernels/s; 0 kernels in the queue; ", "\nTARGET ", "\ncuda:80 ", "\ncuda:90 ", "\nWORKER "} {
		if !strings.Contains(text, want) {
			t.Errorf("the status lacks %q:\n%s", want, text)
		}
	}
	object, _ := f.run(0, "farm", "status", "--json")
	var status farm.Status
	if err := json.Unmarshal([]byte(object), &status); err != nil || len(status.Workers) != 2 || len(status.Queues) != 2 {
		t.Errorf("%v: %s", err, object)
	}
}

// TestFileReports: files are told of in their order, as soon as all before have ended.
func TestFileReports(t *testing.T) {
	a, b, c, d := &job{file: "a"}, &job{file: "b"}, &job{file: "b"}, &job{file: "c"}
	var told []string
	fail := map[string]error{}
	fresh := func() *fileReports {
		told = nil
		return newFileReports([][]*job{{a}, {b, c}, {d}}, func(jobs []*job) error {
			told = append(told, jobs[0].file)
			return fail[jobs[0].file]
		})
	}
	r := fresh()
	for _, step := range []struct {
		j    *job
		want string
	}{{d, ""}, {c, ""}, {a, "a"}, {b, "abc"}} {
		if r.finished(step.j); strings.Join(told, "") != step.want {
			t.Errorf("after %s: %q, want %q", step.j.file, told, step.want)
		}
	}
	if err := r.end(); err != nil || len(told) != 3 {
		t.Errorf("%q, %v", told, err)
	}
	fail["a"] = errReported
	if err := fresh().end(); !errors.Is(err, errReported) || len(told) != 3 {
		t.Errorf("%q, %v", told, err)
	}
	fail["b"] = context.Canceled
	if err := fresh().end(); !errors.Is(err, context.Canceled) || len(told) != 2 {
		t.Errorf("%q, %v", told, err)
	}
}

// TestFarmAway: without a farm it is said once why, and kernels are compiled here.
func TestFarmAway(t *testing.T) {
	f := newFarmTest(t)
	f.run(0, append([]string{"compile", "--no-cache", "-o", "here", "k.py"}, stages...)...)
	secret := natstest.Run(t, func(o *server.Options) { o.Username, o.Password = "u", "p" })
	bare := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	lonely := natstest.Run(t)
	old := natstest.Run(t)
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{old.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Stream(t.Context(), bus.Spec{Name: "tasks", Form: "farm 0"}, jetstream.StreamConfig{Subjects: []string{bus.Subject("task", ">")}}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ url, want string }{
		"none":        {"nats://127.0.0.1:1", "warning: there is no NATS server at nats://127.0.0.1:1"},
		"credentials": {secret.URL(), "warning: the NATS server " + secret.URL() + " refuses the connection"},
		"jetstream":   {bare.URL(), "warning: the NATS server " + bare.URL() + " keeps nothing: JetStream is off"},
		"version":     {old.URL(), "warning: tritonc_v1_tasks on the NATS server " + old.URL() + " is of another version: its form is \"farm 0\""},
		"workers":     {lonely.URL(), "warning: the farm has no worker for cuda:80"},
		"silent":      {natstest.Stalled(t), "did not answer within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *f
			own.T = t
			_, said := own.run(0, append([]string{"compile", "--no-cache", "--farm", "--nats", tt.url, "-o", name, "k.py"}, stages...)...)
			if !strings.Contains(said, tt.want) || strings.Count(said, tt.want) != 1 || !strings.Contains(said, "compiled here") || !strings.Contains(said, "help: ") {
				t.Errorf("want %q, got\n%s", tt.want, said)
			}
			own.same("here", name, 16)
		})
	}
}

// TestFarmSigned: where the project lists signers, kernels of others are refused, and a
// worker whose kernels would be says so.
func TestFarmSigned(t *testing.T) {
	needSignals(t)
	f := newFarmTest(t)
	url := natstest.Run(t).URL()
	key, err := sign.Create(filepath.Join(f.dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := sign.Create(filepath.Join(f.dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	project := func(signer, trusted string) {
		text := "[farm]\nnats = \"" + url + "\"\n"
		if signer != "" {
			text += "sign = \"" + signer + "\"\n"
		}
		if trusted != "" {
			text += "[farm.trusted]\nci = \"" + trusted + "\"\n"
		}
		if err := os.WriteFile(filepath.Join(f.dir, "tritonc.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	project("", key.Public())
	if _, said := f.run(1, "worker"); !strings.Contains(said, "tritonc.toml:4:6: error: the project takes signed kernels alone, and this worker has no key") {
		t.Errorf("without a key:\n%s", said)
	}
	project("key", other.Public())
	if _, said := f.run(1, "worker"); !strings.Contains(said, "tritonc.toml:5:6: error: the key of this worker is not one of those") || !strings.Contains(said, key.Public()) {
		t.Errorf("with another key:\n%s", said)
	}
	f.run(0, append([]string{"compile", "--no-cache", "-o", "here", "k.py"}, stages...)...)
	project("key", "")
	f.startWorker(url)
	for name, tt := range map[string]struct{ trusted, want string }{
		"signed":  {key.Public(), ""},
		"unknown": {other.Public(), "is refused: it is signed by " + key.Public() + ", who is not trusted"},
	} {
		project("key", tt.trusted)
		_, said := f.run(0, append([]string{"compile", "--no-cache", "--farm", "-o", name, "k.py"}, stages...)...)
		if tt.want == "" && said != "" || !strings.Contains(said, tt.want) {
			t.Errorf("%s: want %q, got\n%s", name, tt.want, said)
		}
		f.same("here", name, 16)
	}
}

// TestFarmMistakes: what makes no sense ends the command.
func TestFarmMistakes(t *testing.T) {
	f := newFarmTest(t)
	for _, tt := range []struct {
		code int
		args string
		want string
	}{
		{2, "compile -t cuda:80 --farm k.py", "nothing says which server to use"},
		{2, "compile -t cuda:80 --farm --nats http://x k.py", `"http://x" is not the URL of a NATS server`},
		{2, "compile -t cuda:80 --nats nats://127.0.0.1:1 k.py", "--nats is for --farm"},
		{2, "worker", "nothing says which server to use"},
		{2, "worker --nats nats://127.0.0.1:1 -j 0", "--jobs 0 is not a number of kernels"},
		{2, "worker --nats nats://127.0.0.1:1 --targets cuda", "--targets cuda is not a target"},
		{2, "worker --nats nats://127.0.0.1:1 --task-timeout -1s", "--task-timeout -1s is not a time"},
		{1, "worker --nats nats://127.0.0.1:1", "there is no NATS server at nats://127.0.0.1:1"},
		{1, "farm status --nats nats://127.0.0.1:1", "there is no NATS server at nats://127.0.0.1:1"},
		{2, "farm status --nats nats://127.0.0.1:1 --watch=-1s", "--watch -1s is not a time"},
	} {
		if _, said := f.run(tt.code, strings.Fields(tt.args)...); !strings.Contains(said, tt.want) {
			t.Errorf("%s: want %q, got\n%s", tt.args, tt.want, said)
		}
	}
}
