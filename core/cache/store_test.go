package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/trust"
)

// keyOf is a key whose entry lies in one folder with those of all others.
func keyOf(n int) Key {
	h := NewHasher("test")
	h.String(fmt.Sprint(n))
	k := h.Key()
	k[0] = 0
	return k
}

// contentOf is what the tests store under keyOf(n): it is told by its bytes.
func contentOf(n, size int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "<%d>", n), size/3+1)[:size]
}

func mustPut(t *testing.T, s *Store, n, size int) {
	t.Helper()
	if err := s.Put(keyOf(n), contentOf(n, size)); err != nil {
		t.Fatal(err)
	}
}

func TestGetPut(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "deep", "cache"), 1<<20)
	if _, err := s.Get(keyOf(1)); !errors.Is(err, ErrAbsent) {
		t.Errorf("absent: %v", err)
	}
	for _, size := range []int{0, 1, 5000} {
		mustPut(t, s, 1, size)
		if got, err := s.Get(keyOf(1)); err != nil || !bytes.Equal(got, contentOf(1, size)) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	mustPut(t, s, 2, 10)
	if u, err := s.Usage(); err != nil || u.Entries != 2 || u.Bytes != int64(5010+2*headerSize) {
		t.Errorf("usage %+v, %v", u, err)
	}
}

func TestHasher(t *testing.T) {
	seen := map[Key]string{}
	for _, texts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"1:a"}, {"a1:b"}} {
		h := NewHasher("x")
		for _, s := range texts {
			h.String(s)
		}
		if other, ok := seen[h.Key()]; ok {
			t.Errorf("%q has the key of %s", texts, other)
		}
		seen[h.Key()] = fmt.Sprintf("%q", texts)
	}
}

// TestDamage: whatever byte of a file is wrong or lacking, its entry is gone and
// nothing else comes back.
func TestDamage(t *testing.T) {
	s := Open(t.TempDir(), 1<<20)
	path := s.path(keyOf(1))
	mustPut(t, s, 1, 40)
	mustPut(t, s, 2, 40)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, file []byte) {
		t.Helper()
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		good, refused, err := s.Verify()
		if err != nil || good != 1 || len(refused) != 1 || refused[0].Path != path {
			t.Errorf("%s: of it and another, %d are good; %v, %v", what, good, refused, err)
		}
		got, err := s.Get(keyOf(1))
		var damaged *DamagedError
		if !errors.As(err, &damaged) || damaged.Path != path {
			t.Errorf("%s: got %q, %v", what, got, err)
		}
		if _, err := s.Get(keyOf(1)); !errors.Is(err, ErrAbsent) {
			t.Errorf("%s: it is still there: %v", what, err)
		}
	}
	for i := range whole {
		file := bytes.Clone(whole)
		file[i] ^= 0x20
		try(fmt.Sprint("byte ", i), file)
		try(fmt.Sprint("cut at ", i), whole[:i])
	}
	try("longer", append(bytes.Clone(whole), 'x'))
}

// TestLimit: the entries used least recently make room.
func TestLimit(t *testing.T) {
	const size = 1000
	room := int64(size + headerSize)
	s := Open(t.TempDir(), folders*8*room) // of which one folder, the tests', holds 8
	long := time.Now().Add(-time.Hour)
	for n := range 8 {
		mustPut(t, s, n, size)
		used := long.Add(time.Duration(n) * time.Minute)
		if err := os.Chtimes(s.path(keyOf(n)), used, used); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Get(keyOf(0)); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, 8, size) // too much: down to 6
	var left []int
	for n := range 9 {
		if _, err := os.Stat(s.path(keyOf(n))); err == nil {
			left = append(left, n)
		}
	}
	if want := "[0 4 5 6 7 8]"; fmt.Sprint(left) != want {
		t.Errorf("left are %v, want %s", left, want)
	}
	mustPut(t, s, 9, 9*size) // more than a folder may hold
	if _, err := s.Get(keyOf(9)); !errors.Is(err, ErrAbsent) {
		t.Errorf("an entry beyond all limits: %v", err)
	}
}

// TestRecent: keys spread over the folders, so that what was used lately stays, by the
// bound of package doc: of 48 entries a folder those that are among the last 64·15.
func TestRecent(t *testing.T) {
	const size, each, recent = 100, 48, folders * 15
	s := Open(t.TempDir(), folders*each*int64(size+headerSize))
	spread := func(n int) Key {
		h := NewHasher("spread")
		h.String(fmt.Sprint(n))
		return h.Key()
	}
	var used []Key // in the order of their use
	for n := range 2 * folders * each {
		if n%8 == 7 && len(used) > recent { // an old one is used again
			k := used[len(used)-recent/2]
			if _, err := s.Get(k); err != nil {
				t.Fatalf("entry %d: %v", n, err)
			}
			used = append(used, k)
			continue
		}
		k := spread(n)
		if err := s.Put(k, contentOf(n, size)); err != nil {
			t.Fatal(err)
		}
		used = append(used, k)
	}
	for i, k := range used[len(used)-recent:] {
		if _, err := s.Get(k); err != nil {
			t.Errorf("the entry used %d before the last: %v", recent-i, err)
		}
	}
	if u, err := s.Usage(); err != nil || u.Bytes > s.Limit() || u.Bytes < s.Limit()/2 {
		t.Errorf("%+v of %d bytes, %v", u, s.Limit(), err)
	}
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, 1<<20)
	if err := s.Clean(); err != nil {
		t.Errorf("nothing to clean: %v", err)
	}
	mustPut(t, s, 1, 10)
	ours := filepath.Dir(s.path(keyOf(1)))
	foreign := []string{filepath.Join(dir, "thesis.tex"), filepath.Join(ours, "thesis.tex")}
	for _, path := range append(foreign, filepath.Join(ours, ".tmp123")) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Clean(); err != nil {
		t.Fatal(err)
	}
	var left []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			left = append(left, path)
		}
		return nil
	})
	if len(left) != 2 {
		t.Errorf("left are %v, want %v", left, foreign)
	}
}

// TestUnfinished: what a killed writer left goes with the next entry; where others
// may be writing, once it is old.
func TestUnfinished(t *testing.T) {
	s := Open(t.TempDir(), 1<<20)
	mustPut(t, s, 1, 10)
	dir := filepath.Dir(s.path(keyOf(1)))
	old, fresh := filepath.Join(dir, ".tmp1"), filepath.Join(dir, ".tmp2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if err := makeRoom(dir, 1, 1<<20, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the file of a dead writer stays")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
	if !canLock(t, dir) {
		t.Skip("folders cannot be locked here")
	}
	mustPut(t, s, 2, 10)
	if _, err := os.Stat(fresh); err == nil {
		t.Error("the file of a dead writer stays when nobody else can be writing")
	}
}

// canLock reports whether writers to a folder take turns.
func canLock(t *testing.T, dir string) bool {
	held, unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	return held
}

// TestUntrusted: nothing is taken from a folder that others may write to, nor an
// entry that they may have written, and nothing is put into such a folder.
func TestUntrusted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no such modes")
	}
	root := t.TempDir()
	s := Open(filepath.Join(root, "cache"), 1<<20)
	if err := s.Check(); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	mustPut(t, s, 1, 10)
	path := s.path(keyOf(1))
	refused := func(what string) {
		t.Helper()
		var bad *trust.Error
		if data, err := s.Get(keyOf(1)); !errors.As(err, &bad) {
			t.Errorf("%s: got %q, %v", what, data, err)
		}
	}
	for _, place := range []string{s.Dir(), filepath.Dir(path)} {
		for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o702} {
			if err := os.Chmod(place, mode); err != nil {
				t.Fatal(err)
			}
			refused(fmt.Sprint(place, mode))
			var bad *trust.Error
			if err := s.Put(keyOf(2), []byte("new")); !errors.As(err, &bad) {
				t.Errorf("put into %s %v: %v", place, mode, err)
			}
		}
		if err := os.Chmod(place, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	refused("an entry for all")
	mustPut(t, s, 1, 10) // replaces it
	if got, err := s.Get(keyOf(1)); err != nil || !bytes.Equal(got, contentOf(1, 10)) {
		t.Errorf("the new entry: %q, %v", got, err)
	}
	elsewhere := filepath.Join(root, "elsewhere")
	if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	refused("a link")
	part := filepath.Dir(path)
	if err := errors.Join(os.Rename(part, elsewhere+"2"), os.Symlink(elsewhere+"2", part)); err != nil {
		t.Fatal(err)
	}
	refused("a link to a folder")
	link := filepath.Join(root, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	s = Open(link, 1<<20) // a user's own cache may well lie elsewhere
	mustPut(t, s, 1, 10)
	if _, err := s.Get(keyOf(1)); err != nil {
		t.Errorf("through a link: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Log("not root: files of other users are not tried")
		return
	}
	for _, place := range []string{s.path(keyOf(1)), filepath.Dir(s.path(keyOf(1)))} {
		if err := os.Chown(place, 65534, 0); err != nil {
			t.Fatal(err)
		}
		refused("of another user: " + place)
	}
}
