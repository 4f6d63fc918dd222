package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestTempDir(t *testing.T) {
	var s tempSet
	base := t.TempDir()
	dirs := make([]string, 3)
	for i := range dirs {
		dir, err := s.make(base, "sdk-test")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		dirs[i] = dir
	}
	gone := func(dir string) bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}
	s.remove(dirs[0])
	if !gone(dirs[0]) || gone(dirs[1]) || gone(dirs[2]) {
		t.Error("removing one did not remove that one")
	}
	s.removeAll()
	if !gone(dirs[1]) || !gone(dirs[2]) {
		t.Error("removeAll left a folder")
	}
	s.remove(dirs[1]) // does nothing
	if _, err := s.make(base, "sdk-test"); !errors.Is(err, errClosing) {
		t.Errorf("a folder after the end: %v", err)
	}
}
