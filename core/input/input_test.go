//go:build unix

package input

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, size := range map[string]int{"empty": 0, "small": 5, "exact": 100, "over": 101} {
		if err := os.WriteFile(at(name), bytes.Repeat([]byte{'x'}, size), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := ReadFile(at(name), 100)
		if size <= 100 && (err != nil || len(data) != size) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	sparse, err := os.Create(at("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sparse.Truncate(6<<30), sparse.Close(), os.Symlink(at("small"), at("link")),
		syscall.Mkfifo(at("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if data, err := ReadFile(at("link"), 100); err != nil || string(data) != "xxxxx" {
		t.Errorf("link: %q, %v", data, err)
	}
	for path, reason := range map[string]string{
		at("over"): "more than 0 MiB", at("sparse"): "more than 0 MiB", at("pipe"): "a pipe", at("socket"): "a socket",
		dir: "a folder", "/dev/zero": "a device", "/dev/null": "a device",
	} {
		done := make(chan error, 1)
		go func() { _, err := ReadFile(path, 100); done <- err }()
		select {
		case err := <-done:
			var bad *Error
			if !errors.As(err, &bad) || !strings.Contains(bad.Reason, reason) {
				t.Errorf("%s: got %v, want %s", path, err, reason)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it waits", path)
		}
	}
	if _, err := ReadFile(at("none"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	var bad *Error
	if _, err := Read("<stdin>", zeros{}, 1<<20); !errors.As(err, &bad) || !strings.Contains(err.Error(), "<stdin>: it has more than 1 MiB") {
		t.Errorf("without end: %v", err)
	}
	if data, err := Read("<stdin>", strings.NewReader("abc"), 3); err != nil || string(data) != "abc" {
		t.Errorf("read %q, %v", data, err)
	}
}
