package main

import (
	"slices"
	"testing"
)

// TestDriverEnv: of the environment a driver in a sandbox has what it needs and what is
// listed.
func TestDriverEnv(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "TOKEN=secret", "ACME_VISIBLE_DEVICES=1", "ACME_DEVICE_ORDER=PCI", "ACME_DEBUG=1", "LD_LIBRARY_PATH=/l", "PATHS=/x"}
	got := driverEnv(environ, []string{"ACME_DEBUG"})
	want := []string{"PATH=/bin", "HOME=/h", "ACME_VISIBLE_DEVICES=1", "ACME_DEVICE_ORDER=PCI", "ACME_DEBUG=1", "LD_LIBRARY_PATH=/l"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
