package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/bus"
	farm "github.com/tritonc/tritonc/farm/work"
	"github.com/tritonc/tritonc/internal/natstest"
)

// tunedKernels are tuned by tests of a farm. One configuration cannot be compiled.
const tunedKernels = `
import triton
import triton.language as tl
from scale import FACTOR

@triton.autotune([triton.Config({"B": b}, num_warps=w) for b in (64, 256, 1024) for w in (1, 4)] + [triton.Config({"B": 8})], key=["n"])
@triton.jit
def k(x, y, n, B: tl.constexpr):
    tl.static_assert(B != 8)
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)
`

// launchK is a launch of it.
var launchK = []string{"--grid", "cdiv(n, B)", "--arg", "n=5000", "--arg", "x=randn:fp32[n]", "--arg", "y=empty:fp32[n]"}

// worker starts a worker that measures, or compiles, and waits until it has begun.
func (f *farmTest) worker(args ...string) {
	f.Helper()
	said, err := os.CreateTemp(f.TempDir(), "said")
	if err != nil {
		f.Fatal(err)
	}
	cmd := f.command(append([]string{"worker"}, args...)...)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	text := func() string {
		text, err := os.ReadFile(said.Name())
		if err != nil {
			f.Error(err)
		}
		return string(text)
	}
	f.Cleanup(func() {
		said.Close()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			f.Error(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(text(), "ends when what it ") {
			f.Errorf("the worker: %v\n%s", err, text())
		}
	})
	begun := "tritonc: worker "
	if slices.Contains(args, "--device") {
		begun = ": tasks are taken"
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(text(), begun); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("the worker %v does not begin:\n%s", args, text())
		}
	}
}

// TestTuneFarm: what devices of the farm measure is what is measured here, and others use
// it.
func TestTuneFarm(t *testing.T) {
	needSignals(t)
	f := newFarmTest(t)
	if err := os.WriteFile(filepath.Join(f.dir, "t.py"), []byte(tunedKernels), 0o600); err != nil {
		t.Fatal(err)
	}
	url := natstest.Run(t).URL()
	at := []string{"--nats", url}
	args := func(before []string, after ...string) []string {
		return append(append(append([]string{}, before...), launchK...), append(after, "t.py")...)
	}
	if _, said := f.run(1, args([]string{"tune", "--farm", "--nats", url})...); !strings.Contains(said, "error: the farm does not have a device") || !strings.Contains(said, "help: tritonc worker --device") {
		t.Errorf("without a device it says\n%s", said)
	}
	f.worker(append(at, "-j", "2")...)
	for _, target := range []string{"cuda:80", "cuda:80", "cuda:90"} {
		f.worker(append(at, "--device", "sim", "--target", target)...)
	}
	for _, tt := range []struct {
		code int
		args []string
		want string
	}{
		{1, nil, "error: the farm has several types of devices that fit"},
		{1, []string{"--target", "cuda:86"}, "error: the farm does not have a device for cuda:86"},
		{1, []string{"--target", "cuda:80", "--device", "sim"}, "error: the farm does not have a device sim for cuda:80"},
	} {
		_, said := f.run(tt.code, args(append([]string{"tune", "--farm", "--nats", url}, tt.args...))...)
		if !strings.Contains(said, tt.want) || !strings.Contains(said, "simulated A100 by sim ") && !strings.Contains(said, "choose one") {
			t.Errorf("%v: want %q, got\n%s", tt.args, tt.want, said)
		}
	}

	// Both types at once; each finds what it finds here.
	type outcome struct{ here, there tune.Entry }
	read := func(text string) (e tune.Entry) {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return e
	}
	found := map[string]*outcome{"simulated A100": {}, "cuda:90": {}}
	t.Run("types", func(t *testing.T) {
		for name, o := range found {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				own := *f
				own.T = t
				target, choose := "cuda:80", []string{"--device", name}
				if strings.HasPrefix(name, "cuda:") {
					target, choose = name, []string{"--target", name}
				}
				text, _ := own.run(0, args(append([]string{"--json", "tune", "--no-cache", "--farm", "--nats", url}, choose...))...)
				o.there = read(text)
				text, _ = own.run(0, args([]string{"--json", "tune", "--device", "sim", "--target", target})...)
				o.here = read(text)
				if !reflect.DeepEqual(o.here, o.there) {
					t.Errorf("the farm finds\n%+v\nand here it is\n%+v", o.there, o.here)
				}
				if len(o.there.Configs) != 7 || o.there.Best() == nil || !strings.Contains(o.there.Configs[6].Error, "static assertion") {
					t.Errorf("the farm finds %+v", o.there)
				}
			})
		}
	})
	if found["cuda:90"].there.Device == found["simulated A100"].there.Device {
		t.Error("both types are one device")
	}

	// Its own workers compiled, for both types.
	text, _ := f.run(0, "farm", "status", "--json", "--nats", url)
	var status farm.Status
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	if status.Results < 2*6+2*7 {
		t.Errorf("the farm made %d results, want 12 of devices and 14 or more of compiles:\n%s", status.Results, text)
	}

	// The farm keeps the times.
	best := found["simulated A100"].there.Best().Config.Text()
	on := []string{"--target", "cuda:80", "--device", "sim"}
	_, said := f.run(0, args(append([]string{"run", "--use", url}, on...), "--expect", "y=3*x")...)
	if !strings.Contains(said, "running "+best+", which took ") || !strings.Contains(said, "("+url+")") {
		t.Errorf("the run does not take %s:\n%s", best, said)
	}
	if _, said := f.run(2, args(append([]string{"run", "--use", "farm"}, on...))...); !strings.Contains(said, "nothing says which server to use") {
		t.Errorf("without a project it says\n%s", said)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "tritonc.toml"), []byte("[farm]\nnats = \""+url+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(0, args(append([]string{"run", "--use", "farm"}, on...), "--expect", "y=3*x")...)
	f.run(0, "compile", "--use", "farm", "-t", "cuda:80", "-s", "*fp32:16, *fp32:16, i32", "--emit", "ttir", "-o", "out", "t.py")
	if names, err := os.ReadDir(filepath.Join(f.dir, "out")); err != nil || len(names) != 1 {
		t.Errorf("%v: the fastest is one configuration: %v", err, names)
	}
	for _, tt := range []struct{ file, text, want string }{
		{"t.py", tunedKernels + "# changed\n", "farm: error: its times of 'k' are of another version of the kernel's file"},
		{"u.py", strings.Replace(tunedKernels, "def k(", "def other(", 1), "farm: error: it has no times of 'other'"},
	} {
		if err := os.WriteFile(filepath.Join(f.dir, tt.file), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		command := append(append(append([]string{"run", "--use", "farm"}, on...), launchK...), tt.file)
		if _, said := f.run(1, command...); !strings.Contains(said, tt.want) || !strings.Contains(said, "help: ") {
			t.Errorf("%s: want %q, got\n%s", tt.file, tt.want, said)
		}
	}
}

// TestTuneFarmSigned: times are taken of those alone whom the project lists.
func TestTuneFarmSigned(t *testing.T) {
	needSignals(t)
	f := newFarmTest(t)
	if err := os.WriteFile(filepath.Join(f.dir, "t.py"), []byte(tunedKernels), 0o600); err != nil {
		t.Fatal(err)
	}
	url := natstest.Run(t).URL()
	project := func(sign, trusted string) {
		text := "[farm]\nnats = \"" + url + "\"\n"
		if sign != "" {
			text += "sign = \"" + sign + "\"\n"
		}
		text += "[farm.trusted]\nlab = \"" + trusted + "\"\n"
		if err := os.WriteFile(filepath.Join(f.dir, "tritonc.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	public := regexp.MustCompile(`[A-Za-z0-9+/]{43}=`)
	one, _ := f.run(0, "cache", "key", "one.key")
	two, _ := f.run(0, "cache", "key", "two.key")
	project("one.key", public.FindString(one))
	f.worker("--device", "sim", "--target", "cuda:80")
	tune := append(append([]string{"tune", "--farm"}, launchK...), "t.py")
	if text, _ := f.run(0, tune...); !strings.Contains(text, "all 7 configurations") {
		t.Errorf("who is listed measures\n%s", text)
	}
	use := append(append([]string{"run", "--device", "sim", "-t", "cuda:80", "--use", "farm"}, launchK...), "t.py")
	if _, said := f.run(0, use...); !strings.Contains(said, "which took ") || strings.Contains(said, "refused") {
		t.Errorf("--use of signed times says\n%s", said)
	}
	project("", public.FindString(one))
	if _, said := f.run(0, tune...); !strings.Contains(said, "tritonc.toml:4:7: warning: the farm does not keep these times: the project takes signed ones alone, and there is no key here") {
		t.Errorf("without a key the tuning says\n%s", said)
	}
	project("", public.FindString(two))
	if _, said := f.run(1, use...); !strings.Contains(said, "tritonc.toml:2:8: error: times of 'k' at "+url+" are refused: it is signed by "+public.FindString(one)+", who is not trusted") ||
		!strings.Contains(said, "[farm.trusted]") {
		t.Errorf("--use of times of who is not listed says\n%s", said)
	}
	if _, said := f.run(1, tune...); !strings.Contains(said, "is refused: ") || !strings.Contains(said, "[farm.trusted]") {
		t.Errorf("of who is not listed it says\n%s", said)
	}
	if _, said := f.run(1, "worker", "--device", "sim", "--target", "cuda:80"); !strings.Contains(said, "this worker has no key") {
		t.Errorf("without a key the worker says\n%s", said)
	}
}

// TestTuneFarmMistakes: what makes no sense ends the command.
func TestTuneFarmMistakes(t *testing.T) {
	f := newFarmTest(t)
	for _, tt := range []struct {
		code int
		args string
		want string
	}{
		{2, "worker --nats nats://127.0.0.1:1 --device sim", "no --target given"},
		{2, "worker --nats nats://127.0.0.1:1 --device sim --target cuda:80 -j 2", "--jobs cannot be given with --device"},
		{2, "worker --nats nats://127.0.0.1:1 --target cuda:80", "--target cannot be given without --device"},
		{2, "worker --nats nats://127.0.0.1:1 --device sim --target cuda:80 --sample -1", "--sample cannot be negative"},
		{2, "worker --nats nats://127.0.0.1:1 --device sim --target cuda:11", "no simulated device executes code for cuda:11"},
		{2, "worker --nats nats://127.0.0.1:1 --device nothing", "--device nothing: there is no such device here"},
		{1, "worker --nats nats://127.0.0.1:1 --device sim --target cuda:80", "there is no NATS server at nats://127.0.0.1:1"},
		{2, "tune --farm --grid 1 k.py", "nothing says which server to use"},
		{2, "tune --nats nats://127.0.0.1:1 --grid 1 k.py", "--nats is for --farm"},
		{1, "tune --farm --nats nats://127.0.0.1:1 --grid 1 k.py", "there is no NATS server at nats://127.0.0.1:1"},
		{1, "run -t cuda:80 --device sim --use nats://127.0.0.1:1 --grid 1 k.py", "there is no NATS server at nats://127.0.0.1:1"},
		{2, "run -t cuda:80 --device sim --use nats:// --grid 1 k.py", "is not the URL of a NATS server"},
	} {
		if _, said := f.run(tt.code, strings.Fields(tt.args)...); !strings.Contains(said, tt.want) {
			t.Errorf("%s: want %q, got\n%s", tt.args, tt.want, said)
		}
	}
}

// TestFarmSetup: setup makes all that a farm has, and a second time nothing.
func TestFarmSetup(t *testing.T) {
	f := newFarmTest(t)
	url := natstest.Run(t).URL()
	first, _ := f.run(0, "farm", "setup", "--nats", url)
	for _, want := range []string{
		"tritonc_v1_tasks", "tritonc_v1_results", "KV_tritonc_v1_classes", "KV_tritonc_v1_workers", "KV_tritonc_v1_tries", "OBJ_tritonc_v1_objects",
		"OBJ_tritonc_v1_contents", "KV_tritonc_v1_times", "OBJ_tritonc_v1_kernels", "KV_tritonc_v1_index", "KV_tritonc_v1_claims",
	} {
		if !strings.Contains(first, want+" ") {
			t.Errorf("setup made no %s:\n%s", want, first)
		}
	}
	if again, _ := f.run(0, "farm", "setup", "--nats", url); again != first {
		t.Errorf("at first it was\n%s\nand then\n%s", first, again)
	}
	object, _ := f.run(0, "farm", "setup", "--json", "--nats", url)
	var rows []struct{ Name string }
	if err := json.Unmarshal([]byte(object), &rows); err != nil || len(rows) != 11 {
		t.Errorf("%v: %s", err, object)
	}
	// What another version made there is told, with the command that removes it.
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f.run(0, "farm", "clean", "--times", "--nats", url)
	for _, old := range []struct{ name, help string }{{"tries", "tritonc farm clean"}, {"times", "tritonc farm clean --times"}} {
		if _, err := b.KeyValue(t.Context(), bus.Spec{Name: old.name, Form: "old 1", MaxBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		if _, said := f.run(1, "farm", "setup", "--nats", url); !strings.Contains(said, "tritonc_v1_"+old.name) || !strings.Contains(said, "is of another version") || !strings.Contains(said, "("+old.help+")") {
			t.Errorf("of an old %s it says\n%s", old.name, said)
		}
		f.run(0, append(strings.Fields(old.help)[1:], "--nats", url)...)
		if again, _ := f.run(0, "farm", "setup", "--nats", url); again != first {
			t.Errorf("after %s it was\n%s", old.help, again)
		}
		f.run(0, "farm", "clean", "--times", "--nats", url)
	}
	if _, said := f.run(1, "farm", "setup", "--nats", "nats://127.0.0.1:1"); !strings.Contains(said, "there is no NATS server") {
		t.Errorf("without a server it says\n%s", said)
	}
}
