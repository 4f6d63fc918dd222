package main

import (
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/tune"
)

// TestKeepTimes: times that others write while a kernel is tuned stay in the file.
func TestKeepTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	entry := func(kernel string) *tune.Entry {
		config := tune.Config{frontend.ConfigSetting{Name: "B", Value: int64(64)}}
		return &tune.Entry{Kernel: kernel, Key: tune.Key{}, Configs: []tune.Measured{{Config: config, Time: 1}}}
	}
	var one, other tuneFlags
	one.write, other.write = path, path
	for _, f := range []*tuneFlags{&one, &other} { // both start
		if times, err := f.openTimes(""); err != nil || len(times.Entries) != 0 {
			t.Fatal(times, err)
		}
	}
	if err := one.keep(&environment{}, entry("one")); err != nil {
		t.Fatal(err)
	}
	if err := other.keep(&environment{}, entry("other")); err != nil {
		t.Fatal(err)
	}
	times, err := readTimes("", path, false)
	if err != nil || !times.Has("one") || !times.Has("other") {
		t.Errorf("%+v, %v", times, err)
	}
}
