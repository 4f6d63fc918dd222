//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteToPipe has a pipe receive an output instead of being replaced by it.
func TestWriteToPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		data, err := os.ReadFile(pipe)
		if err != nil {
			t.Error(err)
		}
		got <- string(data)
	}()
	if err := writeFiles(dir, []outFile{{"a", []byte("1")}, {"pipe", []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(pipe)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe became a file with mode %v", info.Mode())
	}
	if s := <-got; s != "2" {
		t.Errorf("the pipe got %q, want 2", s)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left in the folder: %v, %v; want a and pipe", entries, err)
	}
}
