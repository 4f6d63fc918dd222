package sdk

import (
	"os"
	"strings"
	"sync"
)

// tempPrefix begins the names of our folders.
const tempPrefix = "tritonc-"

// TempDir makes a new folder for the files of a tool, in the system's folder for
// such; its name begins with tritonc-. It goes with remove, or with the plugin
// where that ends before. What a plugin that was killed has left, the next one's
// first TempDir removes (on Unix).
func TempDir(pattern string) (dir string, remove func(), err error) {
	return TempDirIn(os.TempDir(), pattern)
}

// TempDirIn is TempDir in another folder than the system's.
func TempDirIn(base, pattern string) (dir string, remove func(), err error) {
	dir, err = temps.make(base, pattern)
	return dir, func() { temps.remove(dir) }, err
}

// temps are the folders of TempDir that are there.
var temps tempSet

type tempSet struct {
	mu     sync.Mutex
	dirs   map[string]*tempOwner
	swept  map[string]bool // by base
	closed bool
}

func (s *tempSet) make(base, pattern string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosing
	}
	if s.dirs == nil {
		s.dirs, s.swept = map[string]*tempOwner{}, map[string]bool{}
	}
	if !s.swept[base] {
		s.swept[base] = true
		sweep(base)
	}
	dir, err := os.MkdirTemp(base, tempPrefix+strings.TrimPrefix(pattern, tempPrefix))
	if err != nil {
		return "", err
	}
	s.dirs[dir] = ownTemp(dir)
	return dir, nil
}

func (s *tempSet) remove(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner, ok := s.dirs[dir]; ok {
		delete(s.dirs, dir)
		os.RemoveAll(dir)
		owner.release()
	}
}

// removeAll removes all folders and lets no other be made.
func (s *tempSet) removeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for dir, owner := range s.dirs {
		os.RemoveAll(dir)
		owner.release()
	}
	s.dirs = nil
}
