package plugin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/core/plugin/process"
)

// What the system can do.
const (
	stopsAreSeen = true
	canConfine   = true
)

// TestSandboxed: a backend at work in a sandbox reads what PATH and its settings
// name, and no other file of the user.
func TestSandboxed(t *testing.T) {
	dir := t.TempDir()
	file := func(elem ...string) string {
		t.Helper()
		path := filepath.Join(append([]string{dir}, elem...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, inPath, library := file("home", "secret"), file("path", "bin", "as"), file("path", "lib", "libas.so")
	named, granted, written := file("assembler", "as"), file("granted", "kernel.bc"), file("out", "log")
	env := map[string]string{"PATH": filepath.Dir(inPath) + ":relative", "XDG_CACHE_HOME": filepath.Join(dir, "cache"), "TEST_SECOND": named}
	opts := Options{
		LookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok },
		Confine: process.Confine{Sandbox: &process.Sandbox{
			Read: []string{filepath.Dir(granted)}, Write: []string{filepath.Dir(written)},
		}, Try: true},
	}
	_, b, log, _ := dyingHost(t, "works", opts)
	if got := mustRun(t, b, "read-file", named); log.String() != "" {
		t.Skip(log.String()) // the kernel lacks something
	} else if got != "text" {
		t.Errorf("what a setting names: %s", got)
	}
	for path, want := range map[string]string{
		secret: "permission denied", inPath: "text", library: "text", granted: "text", written: "text",
	} {
		if got := mustRun(t, b, "read-file", path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	memo := mustRun(t, b, "cache-file", "")
	if info, err := os.Stat(filepath.Dir(memo)); err != nil || info.Mode().Perm() != 0o700 || memo != filepath.Join(dir, "cache", "tritonc", "plugins", "works", "memo") {
		t.Errorf("%s: %v", memo, err)
	}
	_, b, _, _ = dyingHost(t, "works", Options{LookupEnv: opts.LookupEnv})
	if got := mustRun(t, b, "read-file", secret); got != "text" {
		t.Errorf("without a sandbox: %s", got)
	}
}
