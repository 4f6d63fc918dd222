package sdk

import (
	"os"
	"sync"
)

// TempDir makes a new folder for the files of a tool, in the system's folder for
// such. It goes with remove, or with the plugin where that ends before.
func TempDir(pattern string) (dir string, remove func(), err error) {
	dir, err = temps.make(pattern)
	return dir, func() { temps.remove(dir) }, err
}

// temps are the folders of TempDir that are there.
var temps tempSet

type tempSet struct {
	mu     sync.Mutex
	dirs   map[string]bool
	closed bool
}

func (s *tempSet) make(pattern string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosing
	}
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	if s.dirs == nil {
		s.dirs = map[string]bool{}
	}
	s.dirs[dir] = true
	return dir, nil
}

func (s *tempSet) remove(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs[dir] {
		delete(s.dirs, dir)
		os.RemoveAll(dir)
	}
}

// removeAll removes all folders and lets no other be made.
func (s *tempSet) removeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for dir := range s.dirs {
		os.RemoveAll(dir)
	}
	s.dirs = nil
}
