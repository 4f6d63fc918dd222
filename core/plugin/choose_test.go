package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

var testTarget = sdk.Target{Backend: "test", Arch: "1"}

// countedBackend is testBackend of a program that counts its starts and has a version.
func countedBackend(t *testing.T, mode, version string) (dir string, starts func() int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	dir = testBackend(t, mode)
	path := filepath.Join(dir, Prefix+mode)
	for ending, text := range map[string]string{".starts": "", ".version": version} {
		if err := os.WriteFile(path+ending, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func() int {
		text, err := os.ReadFile(path + ".starts")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// homeLookup is an environment whose caches lie in a folder of their own.
func homeLookup(t *testing.T) func(string) (string, bool) {
	home := t.TempDir()
	return func(key string) (string, bool) { return home, key == "HOME" }
}

// TestDescribedOnce: what is known of a program needs no process.
func TestDescribedOnce(t *testing.T) {
	dir, starts := countedBackend(t, "works", "1.2")
	opts := Options{Dirs: []string{dir}, LookupEnv: homeLookup(t)}
	for range 3 {
		b := newHost(t, opts).Backends()[0]
		d, err := b.Describe(t.Context())
		if err != nil || d.Facts.Version != "1.2" || len(d.SHA256) != 64 || !d.supports(testTarget) {
			t.Fatalf("got %+v, %v", d, err)
		}
		if id, _, err := newHost(t, opts).Identity(t.Context(), testTarget); err != nil || !strings.Contains(id, d.SHA256) || !strings.Contains(id, `version "1.2"`) {
			t.Errorf("identity %s, %v", id, err)
		}
	}
	if n := starts(); n != 1 {
		t.Errorf("%d starts, want 1", n)
	}
}

// TestBrokenCostsOnce: backends that do not answer delay a compile by another backend
// for a bounded time, once, and each compile warns of them by name.
func TestBrokenCostsOnce(t *testing.T) {
	dirs := []string{testBackend(t, "works")}
	counts := map[string]func() int{}
	for _, mode := range []string{"hangs", "describe-hangs", "exits"} {
		dir, starts := countedBackend(t, mode, "1")
		dirs, counts[mode] = append(dirs, dir), starts
	}
	lookup := homeLookup(t)
	compile := func(limit time.Duration) {
		t.Helper()
		var log syncBuffer
		h := newHost(t, Options{Dirs: dirs, LookupEnv: lookup, Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: &log})})
		start := time.Now()
		var wg sync.WaitGroup
		for range 8 { // compiles that run at once
			wg.Go(func() {
				if _, _, err := h.Identity(t.Context(), testTarget); err != nil {
					t.Error(err)
				}
				if _, _, err := h.SelectBackend(t.Context(), testTarget); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		b, _, err := h.SelectBackend(t.Context(), testTarget)
		if err != nil || b.Name() != "works" {
			t.Fatalf("got %v, %v", b, err)
		}
		if d := time.Since(start); d > limit {
			t.Errorf("it took %s, more than %s", d, limit)
		}
		for mode, starts := range counts {
			if n := starts(); n != 1 {
				t.Errorf("%s: %d starts, want 1", mode, n)
			}
			if n := len(regexp.MustCompile("backend="+mode+`\s`).FindAllString(log.String(), -1)); n != 1 {
				t.Errorf("%s is warned of %d times:\n%s", mode, n, log.String())
			}
		}
	}
	compile(DescribeTimeout + time.Second)
	compile(time.Second)
	compile(time.Second)

	// A use of its own asks again, and waits as long as for a start.
	h := newHost(t, Options{Dirs: dirs, LookupEnv: lookup, StartTimeout: 300 * time.Millisecond, Choices: []Choice{{Ref: manifest.Ref{Name: "hangs"}, From: "--backend"}}})
	_, _, err := h.SelectBackend(t.Context(), testTarget)
	if err == nil || !strings.Contains(err.Error(), "the backend hangs, which --backend asks for, cannot be used") {
		t.Errorf("got %v", err)
	}
	if n := counts["hangs"](); n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
	// So does a target that no other supports.
	h = newHost(t, Options{Dirs: dirs, LookupEnv: lookup, StartTimeout: 300 * time.Millisecond})
	if _, _, err = h.SelectBackend(t.Context(), sdk.Target{Backend: "acme", Arch: "1"}); err == nil || counts["exits"]() != 2 {
		t.Errorf("%v after %d starts", err, counts["exits"]())
	}
	// One that hung for as long is not waited for again.
	if n := counts["hangs"](); n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
	// And a program that was put in its place is another.
	rewrite(t, filepath.Join(dirs[3], Prefix+"exits"))
	if _, _, err := newHost(t, Options{Dirs: dirs, LookupEnv: lookup}).Identity(t.Context(), testTarget); err != nil || counts["exits"]() != 3 {
		t.Errorf("%v after %d starts", err, counts["exits"]())
	}
}

// TestRecovers: a backend that takes longer than others would be waited for is used
// all the same where there is no other.
func TestRecovers(t *testing.T) {
	dir, starts := countedBackend(t, "works", "1")
	h := newHost(t, Options{Dirs: []string{dir}, LookupEnv: homeLookup(t)})
	h.Backends()[0].giveUp(errors.New("it did not answer"), DescribeTimeout)
	b, _, err := h.SelectBackend(t.Context(), testTarget)
	if err != nil || starts() != 1 {
		t.Fatalf("%v after %d starts", err, starts())
	}
	if d, err := b.Describe(t.Context()); err != nil || d.Facts.Version != "1" {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestTroubleUnderLimits: what a program could not do under limits says nothing of it
// without them.
func TestTroubleUnderLimits(t *testing.T) {
	dir, starts := countedBackend(t, "works", "1")
	opts := Options{Dirs: []string{dir}, LookupEnv: homeLookup(t)}
	limited := opts
	limited.Confine = process.Confine{Memory: 1 << 40}
	newHost(t, limited).Backends()[0].giveUp(errors.New("out of memory"), 0)
	if _, err := newHost(t, limited).Backends()[0].Describe(t.Context()); err == nil {
		t.Error("it is asked again under the same limits")
	}
	if _, err := newHost(t, opts).Backends()[0].Describe(t.Context()); err != nil || starts() != 1 {
		t.Errorf("%v after %d starts", err, starts())
	}
}

// TestSeveral: of two backends for a target, and of two versions of one, none is
// taken until one is chosen.
func TestSeveral(t *testing.T) {
	old, oldStarts := countedBackend(t, "works", "1.0")
	newer, newStarts := countedBackend(t, "works", "2.0")
	twin, _ := countedBackend(t, "twin", "7")
	again, againStarts := countedBackend(t, "works", "2.0") // the same once more
	lookup := homeLookup(t)
	choose := func(dirs []string, choices ...Choice) (*Backend, error) {
		h := newHost(t, Options{Dirs: dirs, LookupEnv: lookup, Choices: choices})
		b, _, err := h.SelectBackend(t.Context(), testTarget)
		if id, _, errID := h.Identity(t.Context(), testTarget); errID != nil || err == nil && strings.Count(id, "backend ") != 1 {
			t.Errorf("identity %s, %v", id, errID)
		}
		return b, err
	}
	_, err := choose([]string{old, newer, twin, again})
	l := diag.All(err)
	if len(l) != 1 || l[0].Message != "several backends support the target test:1, and none is chosen" {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"works@1.0\t" + old, "works@2.0\t" + newer, "twin@7\t" + twin,
		"--backend NAME[@VERSION]", "TRITONC_BACKEND", "tritonc backend pin test:1 works@1.0",
	} {
		if !strings.Contains(l[0].Help, want) {
			t.Errorf("the help lacks %s:\n%s", want, l[0].Help)
		}
	}
	if strings.Contains(l[0].Help, again) {
		t.Errorf("one version is listed twice:\n%s", l[0].Help)
	}
	before := [...]int{oldStarts(), newStarts(), againStarts()}
	ref := func(s string) manifest.Ref {
		r, err := manifest.ParseRef(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	dirs := []string{old, newer, twin}
	for _, tt := range []struct {
		choices []Choice
		want    string // a folder, or what the error says
	}{
		{[]Choice{{Ref: ref("twin")}}, twin},
		{[]Choice{{Ref: ref("works@2.0")}}, newer},
		{[]Choice{{Target: "other:*", Ref: ref("twin")}, {Target: "test:*", Ref: ref("works@2.0")}, {Ref: ref("twin")}}, newer},
		{[]Choice{{Ref: ref("works")}}, "several backends support"},
		{[]Choice{{Ref: ref("works@3"), From: "--backend"}}, "there is no backend works@3, which --backend asks for"},
		{[]Choice{{Ref: ref("none"), From: "x.toml:3"}}, `there is no backend "none", which x.toml:3 asks for`},
		{[]Choice{{Ref: manifest.Ref{Name: "works", SHA256: "00"}, From: "f"}}, "there is no backend works with the SHA-256 00, which f asks for"},
	} {
		b, err := choose(dirs, tt.choices...)
		if err == nil && filepath.Dir(b.Path()) != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, %v; want %s", tt.choices, b, err, tt.want)
		}
	}
	if n := oldStarts(); n != before[0]+1 { // for works without a version
		t.Errorf("version 1.0 was started %d times for the others", n-before[0])
	}
	if _, err = choose([]string{newer, again}); err != nil {
		t.Errorf("one version in two folders: %v", err)
	}
	if n := againStarts(); n != before[2] {
		t.Errorf("the second of one version was started")
	}
}

// TestOverride: a folder that the user names hides backends of the same names, but
// for those whose version is asked for.
func TestOverride(t *testing.T) {
	old, _ := countedBackend(t, "works", "1.0")
	own, _ := countedBackend(t, "works", "2.0")
	opts := Options{Override: []string{own}, Dirs: []string{old, own}, LookupEnv: homeLookup(t)}
	h := newHost(t, opts)
	if list := fmt.Sprint(len(h.Backends()), h.Backends()[0].Hidden(), h.Backends()[1].Hidden()); list != "2 false true" {
		t.Errorf("got %s", list)
	}
	if b, _, err := h.SelectBackend(t.Context(), testTarget); err != nil || filepath.Dir(b.Path()) != own {
		t.Errorf("got %v, %v", b, err)
	}
	opts.Choices = []Choice{{Ref: manifest.Ref{Name: "works", Version: "1.0"}}}
	if b, _, err := newHost(t, opts).SelectBackend(t.Context(), testTarget); err != nil || filepath.Dir(b.Path()) != old {
		t.Errorf("got %v, %v", b, err)
	}
}

// TestChosenUnfit: a choice that does not fit the target says so.
func TestChosenUnfit(t *testing.T) {
	dir, _ := countedBackend(t, "works", "1.0")
	h := newHost(t, Options{Dirs: []string{dir}, LookupEnv: homeLookup(t), Choices: []Choice{{Ref: manifest.Ref{Name: "works"}, From: "TRITONC_BACKEND"}}})
	_, _, err := h.SelectBackend(t.Context(), sdk.Target{Backend: "cuda", Arch: "80"})
	if l := diag.All(err); len(l) != 1 || l[0].Message != "the backend works, which TRITONC_BACKEND asks for, does not support the target cuda:80" ||
		!strings.Contains(l[0].Help, "works: test:*") {
		t.Errorf("got %v", err)
	}
}
