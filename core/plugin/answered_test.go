package plugin

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestAnswered: what a program answered in one session is known in the next, which starts
// it for what it is to do alone; with another file, or other settings, it is asked anew.
func TestAnswered(t *testing.T) {
	dir, starts := countedBackend(t, "works", "1")
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	target := sdk.Target{Backend: "test", Arch: "1"}
	session := func(options string) (*Host, *Backend) {
		t.Helper()
		h := newHost(t, Options{Dirs: []string{dir}, LookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok }})
		b, full, err := h.SelectBackend(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		if full.WarpSize != 32 {
			t.Errorf("the target is %+v", full)
		}
		parsed, err := b.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: full, OptionsJSON: options})
		if err != nil || parsed.OptionsJSON != "{}" {
			t.Fatalf("%+v, %v", parsed, err)
		}
		stages, err := b.AddStages(t.Context(), sdk.AddStagesRequest{Target: full, OptionsJSON: parsed.OptionsJSON})
		if err != nil || len(stages.Stages) != 1 || stages.Stages[0].Name != "echo" || stages.Stages[0].Ending != "txt" {
			t.Fatalf("%+v, %v", stages, err)
		}
		return h, b
	}
	wantStarts := func(what string, want int) {
		t.Helper()
		if n := starts(); n != want {
			t.Errorf("%s: %d starts, want %d", what, n, want)
		}
	}
	session("{}")
	wantStarts("first", 1)
	_, b := session("{}")
	wantStarts("again", 1)
	if facts, err := b.Facts(t.Context()); err != nil || facts.Name != "works" {
		t.Errorf("%+v, %v", facts, err)
	}
	wantStarts("with facts", 2)
	session(`{"other":1}`)
	wantStarts("other options", 3)
	env["TEST_SECOND"] = "/as"
	session("{}")
	wantStarts("another setting", 4)
	path := b.Path()
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	session("{}")
	wantStarts("another file", 5)
	session("{}")
	wantStarts("again", 5)
	answers := filepath.Join(home, ".cache", "tritonc", "answers")
	if err := os.Chmod(answers, 0o777); err != nil {
		t.Fatal(err)
	}
	session("{}")
	wantStarts("answers that others may write", 6)
}

// TestTrimAnswers: of too many answers the older half goes.
func TestTrimAnswers(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"d", "a", "c", "b"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	names := func() (list string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list += e.Name()
		}
		return list
	}
	trimAnswers(dir, 5)
	if got := names(); got != "abcd" {
		t.Errorf("of four, five of which may be there, are left %s", got)
	}
	trimAnswers(dir, 4)
	if got := names(); got != "bc" {
		t.Errorf("of four, of which fewer may be there, are left %s", got)
	}
}
