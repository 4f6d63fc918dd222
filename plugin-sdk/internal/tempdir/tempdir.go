// Package tempdir makes folders that go when their process ends, and removes those
// that processes which were killed have left.
package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// tempPrefix begins the names of our folders, and ownerFile is the file in one by which it
// is known whose it is.
const (
	tempPrefix = "tritonc-"
	ownerFile  = "owner"
)

// Make makes a new folder in base; its name begins with tritonc-. It goes with
// remove, or with RemoveAll. What a process that was killed has left in base, the next
// one's first Make removes (on Unix).
func Make(base, pattern string) (dir string, remove func(), err error) {
	dir, err = temps.make(base, pattern)
	return dir, func() { temps.remove(dir) }, err
}

// RemoveAll removes all folders of this process, and lets no other be made.
func RemoveAll() { temps.removeAll() }

// temps are the folders of this process.
var temps tempSet

// errClosing is given to whoever would make a folder while the process ends.
var errClosing = errors.New("the process is ending")

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
	inside := owned(base)
	if !inside && !s.swept[base] {
		s.swept[base] = true
		sweep(base)
	}
	dir, err := os.MkdirTemp(base, tempPrefix+strings.TrimPrefix(pattern, tempPrefix))
	if err != nil {
		return "", err
	}
	s.dirs[dir] = nil
	if !inside {
		s.dirs[dir] = ownTemp(dir)
	}
	return dir, nil
}

// owned reports whether base is a folder of ours itself, as a plugin's folder for temporary
// files is, which its host makes: what is in one goes with it, and needs no owner.
func owned(base string) bool {
	if !strings.HasPrefix(filepath.Base(base), tempPrefix) {
		return false
	}
	_, err := os.Lstat(filepath.Join(base, ownerFile))
	return err == nil
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
