package plugin

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/plugin/wire"
)

var _ wire.Ahead = (*Backend)(nil)

// aheadHosts are hosts of one backend, one after the other, which remember what the first
// one was told.
func aheadHosts(t *testing.T, mode string) (next func() (*Host, *Backend), program string) {
	home := t.TempDir()
	opts := Options{
		Dirs:      []string{testBackend(t, mode)},
		LookupEnv: func(key string) (string, bool) { return home, key == "HOME" },
	}
	next = func() (*Host, *Backend) {
		h := newHost(t, opts)
		b, err := h.Backend(mode)
		if err != nil {
			t.Fatal(err)
		}
		return h, b
	}
	h, b := next()
	if facts, err := b.KnownFacts(t.Context()); err != nil || facts.Name != mode {
		t.Fatalf("of a program that nobody knows: %+v, %v", facts, err)
	}
	if b.StartAhead(t.Context()) != nil {
		t.Error("a program that runs is waited for")
	}
	h.Close()
	return next, b.Path()
}

// TestStartAhead: the facts of a program that is known come without a process, which
// starts meanwhile where it is told to, and is the one that calls go to.
func TestStartAhead(t *testing.T) {
	next, _ := aheadHosts(t, "works")
	h, b := next()
	if facts, err := b.KnownFacts(t.Context()); err != nil || facts.Name != "works" {
		t.Fatalf("got %+v, %v", facts, err)
	}
	if list := h.Running(); len(list) > 0 {
		t.Errorf("for what is known %v runs", list)
	}
	await := b.StartAhead(t.Context())
	if await == nil {
		t.Fatal("nobody is waited for")
	}
	if err := await(t.Context()); err != nil {
		t.Fatal(err)
	}
	running := h.Running()
	if pid := mustRun(t, b, "pid", ""); len(running) != 1 || strconv.Itoa(running[0].PID) != pid {
		t.Errorf("the call went to %s, and there were %v", pid, running)
	}
}

// TestHangsAhead: a start under way holds up neither who asks for what is known, nor the
// end of the session, and leaves no process.
func TestHangsAhead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the mode is for Unix")
	}
	next, program := aheadHosts(t, "hangs-later")
	if err := os.WriteFile(program+".hang", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, b := next()
	await := b.StartAhead(t.Context())
	if await == nil {
		t.Fatal("nobody is waited for")
	}
	if facts, err := b.KnownFacts(t.Context()); err != nil || facts.Name != "hangs-later" {
		t.Errorf("while it starts: %+v, %v", facts, err)
	}
	h.Close()
	if err := await(t.Context()); err == nil || !strings.Contains(err.Error(), "cancel") && !strings.Contains(err.Error(), "closed") {
		t.Errorf("the start, which would have had a time limit, ended with %v", err)
	}
	if list := h.Running(); len(list) > 0 {
		t.Errorf("%v still runs", list)
	}
}

// TestSelectToCompile: who chooses a backend for a compile finds its process starting, of
// which there is one.
func TestSelectToCompile(t *testing.T) {
	next, _ := aheadHosts(t, "works")
	h, _ := next()
	if _, _, err := h.Select(t.Context(), testTarget); err != nil { // asks the process, once
		t.Fatal(err)
	}
	h.Close()
	h, b := next()
	if _, _, err := h.Select(t.Context(), testTarget); err != nil {
		t.Fatal(err)
	}
	if b.ahead != nil || len(h.Running()) > 0 {
		t.Error("a question whose answer is kept starts a process")
	}
	if _, _, err := h.Select(wire.WithStart(t.Context()), testTarget); err != nil {
		t.Fatal(err)
	}
	if await := b.StartAhead(t.Context()); await != nil { // it may have started by now
		if err := await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if list := h.Running(); len(list) != 1 {
		t.Errorf("%v run", list)
	}
}
