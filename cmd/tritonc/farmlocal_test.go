package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tritonc/tritonc/farm/local"
)

// TestFarmLocal: where nobody names a server a worker starts one beside itself, other
// commands of the user find it, and it ends with the worker.
func TestFarmLocal(t *testing.T) {
	needSignals(t)
	f := newFarmTest(t)
	programs := t.TempDir()
	nats := filepath.Join(programs, local.Program)
	if out, err := exec.Command("go", "build", "-o", nats, "../tritonc-nats").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	installed, err := exec.LookPath("tritonc")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	tritonc := filepath.Join(programs, "tritonc")
	if err := os.WriteFile(tritonc, text, 0o700); err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, "HOME="+f.dir, "XDG_CACHE_HOME="+filepath.Join(f.dir, "caches"))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tritonc, args...)
		cmd.Dir, cmd.Env = f.dir, f.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	alone := func() { // a command by itself starts a server and works for it, and both end with it
		t.Helper()
		text := run("compile", "--no-cache", "--farm", "-t", "cuda:80", "--emit", "ttir", "--time", "-o", "alone", "k.py")
		if strings.Count(text, " ms  farm\n") != 2 || !strings.Contains(text, "a NATS server for this machine has started") || !strings.Contains(text, "this command works for it") {
			t.Errorf("a command by itself has no farm:\n%s", text)
		}
	}
	alone()
	worker := exec.Command(tritonc, "worker", "-j", "2")
	worker.Dir, worker.Env = f.dir, f.env
	said := &bytes.Buffer{}
	worker.Stderr = said
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer worker.Process.Kill()
	folder := local.Folder(filepath.Join(f.dir, "caches", "tritonc", "nats"))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, ok := folder.Running(); ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no server starts")
		}
	}
	for !strings.Contains(run("farm", "status"), "1 worker,") {
		time.Sleep(20 * time.Millisecond)
	}
	if text := run("compile", "--no-cache", "--farm", "-t", "cuda:80", "--emit", "ttir", "--time", "-o", "out", "k.py"); strings.Count(text, "farm") != 2 {
		t.Errorf("the farm did not compile:\n%s", text)
	}
	f.same("alone", "out", 2)
	if err := worker.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err != nil || !strings.Contains(said.String(), "a NATS server for this machine has started") {
		t.Errorf("the worker: %v\n%s", err, said)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, ok := folder.Running(); !ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server outlives who started it")
		}
	}
	cmd := exec.Command(tritonc, "farm", "status")
	cmd.Dir, cmd.Env = f.dir, f.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "tritonc worker starts one for this machine") {
		t.Errorf("without a server: %v\n%s", err, out)
	}
}
