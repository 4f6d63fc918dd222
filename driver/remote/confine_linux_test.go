package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/driver/remote"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// confinedHost is testHost under limits.
func confinedHost(t *testing.T, opts remote.Options) *remote.Driver {
	t.Helper()
	plain := testHost(t)
	opts.Dirs, opts.Env = []string{filepath.Dir(plain.Path())}, os.Environ()
	h := remote.New(opts)
	t.Cleanup(func() { h.Close() })
	d, err := h.Driver("test")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// probe has the driver say what it can touch.
func probe(t *testing.T, d *remote.Driver, file string) string {
	t.Helper()
	_, err := d.Open(t.Context(), touchDevice, sdk.Target{Arch: file}, nil)
	if err == nil {
		t.Fatal("a probe opened a device")
	}
	_, said, _ := strings.Cut(err.Error(), "touches: ")
	return said
}

// TestSandbox: a driver in a sandbox reads no file of the user, writes none, and has no
// network; it answers all the same.
func TestSandbox(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := probe(t, testHost(t), file); got != "read write listen" {
		t.Fatalf("by itself it can %q", got)
	}
	d := confinedHost(t, remote.Options{Confine: process.Confine{Sandbox: &process.Sandbox{}, Memory: 1 << 30}})
	facts, err := d.Describe(t.Context())
	if err != nil && strings.Contains(err.Error(), "cannot be confined") {
		t.Skip(err)
	}
	if err != nil || facts.Name != "test" {
		t.Fatalf("%+v, %v", facts, err)
	}
	if got := probe(t, d, file); got != "" {
		t.Errorf("in a sandbox it can %q", got)
	}
}

// TestCallTimeout: a launch that takes longer than a call may is an error, its process
// is ended, and the next session has another.
func TestCallTimeout(t *testing.T) {
	d := confinedHost(t, remote.Options{CallTimeout: time.Second})
	dev := openTest(t, d, nil)
	before := dev.Properties().Name
	start := time.Now()
	_, err := run(t.Context(), dev, "sleep")
	if err == nil || !strings.Contains(err.Error(), "took longer than the 1s that a call may have, during Launch") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %s", d)
	}
	if after := openTest(t, d, nil).Properties().Name; after == before {
		t.Errorf("%s still answers", after)
	}
}

// TestListed: a driver that is not the one that is expected does not start.
func TestListed(t *testing.T) {
	d := confinedHost(t, remote.Options{Listed: func(process.Found) ([]process.Expected, error) {
		return []process.Expected{{By: "the manifest", Sums: []string{strings.Repeat("0", 64)}}}, nil
	}})
	if _, err := d.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "the manifest") {
		t.Errorf("got %v", err)
	}
}
