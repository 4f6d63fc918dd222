//go:build unix

package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// strangerID is a user and group that the test is not.
const strangerID = 65534

func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func wantReason(t *testing.T, what string, err error, reason string) {
	t.Helper()
	var bad *Error
	switch {
	case reason == "":
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case !errors.As(err, &bad) || !strings.Contains(bad.Reason, reason) || bad.Help == "":
		t.Errorf("%s: got %v, want %s", what, err, reason)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for mode, reason := range map[os.FileMode]string{
		0o600: "", 0o644: "", 0o664: "", // of our own group
		0o602: "written by others", 0o666: "written by others", 0o777: "written by others",
	} {
		write(t, path, mode)
		data, err := ReadFile(path)
		wantReason(t, mode.String(), err, reason)
		if err == nil && string(data) != "text" {
			t.Errorf("%s: read %q", mode, data)
		}
	}
	write(t, path, 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	_, err := ReadFile(link)
	wantReason(t, "link", err, "symbolic link")
	_, err = ReadFile(dir)
	wantReason(t, "folder", err, "not a regular file")
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := ReadFile(fifo); done <- err }()
	select {
	case err := <-done:
		wantReason(t, "fifo", err, "not a regular file")
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a pipe")
	}
	if _, err := ReadFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := Dir(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for mode, reason := range map[os.FileMode]string{
		0o700: "", 0o755: "", 0o775: "", 0o777: "written by others", 0o757: "written by others",
		0o777 | os.ModeSticky: "written by others",
	} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		wantReason(t, mode.String(), Dir(dir), reason)
		wantReason(t, "link to "+mode.String(), Dir(link), reason)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, 0o600)
	wantReason(t, "file", Dir(file), "not a folder")
}

func TestReadShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for mode, reason := range map[os.FileMode]string{0o644: "", 0o664: "", 0o646: "written by others"} {
		write(t, path, mode)
		_, err := ReadShared(path)
		wantReason(t, mode.String(), err, reason)
	}
	if _, err := ReadShared(path + "-none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	write(t, path, 0o644)
	if err := os.Chown(path, strangerID, 0); err != nil {
		t.Fatal(err)
	}
	_, err := ReadShared(path)
	wantReason(t, "another user's", err, "")
}

// TestForeign: another's file, and one that a group may write that is not ours.
func TestForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "file")
	for _, tt := range []struct {
		uid, gid int
		mode     os.FileMode
		reason   string
	}{
		{0, 0, 0o600, ""},
		{strangerID, 0, 0o600, "another user (65534)"},
		{0, strangerID, 0o640, ""},
		{0, strangerID, 0o660, "written by others"},
	} {
		write(t, path, tt.mode)
		if err := os.Chown(path, tt.uid, tt.gid); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path)
		wantReason(t, tt.mode.String(), err, tt.reason)
		os.Remove(path)
	}
}
