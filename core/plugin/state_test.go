package plugin

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestStateHasOptions: every option is in the state, or the table says why it is not.
func TestStateHasOptions(t *testing.T) {
	dir := t.TempDir()
	values := map[string]any{
		"Override": []string{dir}, "Dirs": []string{dir}, "Choices": []Choice{{Ref: manifest.Ref{Name: "a"}}},
		"Settings": map[string]string{"a": "b"}, "Logger": hclog.New(&hclog.LoggerOptions{Level: hclog.Trace}),
		"StartTimeout": time.Hour, "AutoMTLS": true, "Dir": dir, "CallTimeout": time.Hour,
		"Confine": process.Confine{Sandbox: &process.Sandbox{Read: []string{dir}}}, "Lock": &manifest.Lock{}, "LockFile": "x",
		"MaxBytes": int64(1), "Afresh": true,
	}
	left := map[string]string{
		"LookupEnv": "EnvNames has what it is asked for",
		"TempDir":   "what a backend does depends on no temporary folder",
	}
	plain, _ := New(Options{}).State()
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		name := options.Field(i).Name
		if left[name] != "" {
			continue
		}
		if values[name] == nil {
			t.Errorf("nobody says whether Options.%s is in the state", name)
			continue
		}
		var o Options
		reflect.ValueOf(&o).Elem().Field(i).Set(reflect.ValueOf(values[name]))
		if state, _ := New(o).State(); state == plain {
			t.Errorf("the state does not tell of %s", name)
		}
	}
}

// TestStateHasPrograms: the state changes with the files that are there.
func TestStateHasPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes, and no numbers of files")
	}
	dir := t.TempDir()
	state := func() string {
		_, programs := New(Options{Dirs: []string{dir}}).State()
		return programs
	}
	seen := []string{state()}
	step := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		now := state()
		if slices.Contains(seen, now) {
			t.Errorf("the state is the same after %s", what)
		}
		if again := state(); again != now {
			t.Errorf("two states after %s:\n%s\n%s", what, now, again)
		}
		seen = append(seen, now)
	}
	program := filepath.Join(dir, Prefix+"a")
	step("a new program", os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(program)
	if err == nil {
		err = os.Chtimes(other, info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = os.Rename(other, program)
	}
	step("another of the same size and time", err)
	step("a manifest", os.WriteFile(filepath.Join(dir, manifest.FileName), []byte("{}"), 0o644))
	step("a mode", os.Chmod(program, 0o777))
}

// TestEnvNames: until a backend is known, any variable may matter.
func TestEnvNames(t *testing.T) {
	h, _ := testHost(t, "works", Options{})
	if _, complete := h.EnvNames(); complete {
		t.Error("a backend that nobody has asked is said to be known")
	}
	if _, _, err := h.Select(t.Context(), sdk.Target{Backend: "test", Arch: "1"}); err != nil {
		t.Fatal(err)
	}
	d, err := h.backends[0].Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, complete := h.EnvNames()
	if !complete || !slices.Contains(names, "PATH") {
		t.Errorf("%q, complete %v", names, complete)
	}
	for _, s := range d.Facts.Settings {
		for _, name := range s.Env {
			if !slices.Contains(names, name) {
				t.Errorf("%s is a variable of the backend and not among %q", name, names)
			}
		}
	}
	if len(d.Facts.Settings) == 0 {
		t.Error("the backend for tests has no settings")
	}
	list := h.Running()
	if len(list) != 1 || list[0].Name != "works" || list[0].PID <= 0 {
		t.Errorf("running: %+v", list)
	}
}
