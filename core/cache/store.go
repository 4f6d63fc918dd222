package cache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
)

// Key names an entry.
type Key [sha256.Size]byte

// Hasher makes a Key of several texts. Each counts with its length, so that no
// two lists of texts are the same by accident.
type Hasher struct{ sum hash.Hash }

// NewHasher starts a key; what says which kind of thing it is for, and changes
// with the form of the entries.
func NewHasher(what string) *Hasher {
	h := &Hasher{sha256.New()}
	h.String(what)
	return h
}

// String adds a text.
func (h *Hasher) String(s string) {
	h.sum.Write(strconv.AppendInt(nil, int64(len(s)), 10))
	io.WriteString(h.sum, ":")
	io.WriteString(h.sum, s)
}

// Bytes adds a text.
func (h *Hasher) Bytes(b []byte) { h.String(string(b)) }

// Key is that of what was added so far.
func (h *Hasher) Key() (k Key) {
	h.sum.Sum(k[:0])
	return k
}

// Store is a folder of entries. Its methods may be called by several goroutines
// and processes at once.
type Store struct {
	dir   string
	limit int64
}

// Open makes a Store of a folder, which need not be there yet, for limit bytes at
// most. Nothing is read or written.
func Open(dir string, limit int64) *Store { return &Store{dir, limit} }

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

// Limit is how many bytes the folder may hold.
func (s *Store) Limit() int64 { return s.limit }

// The entries lie in folders by the first bits of their keys, each of which holds
// its part of the limit: a writer need only look at one of them.
const (
	folderBits = 6
	folders    = 1 << folderBits
)

func folderName(i int) string { return fmt.Sprintf("%02x", i) }

func (s *Store) path(k Key) string {
	return filepath.Join(s.dir, folderName(int(k[0]>>(8-folderBits))), hex.EncodeToString(k[:]))
}

// ErrAbsent is the error of a Get for a key that nothing is stored under.
var ErrAbsent = errors.New("not in the cache")

// A DamagedError is the error of a Get whose entry was not what had been written.
// The entry is gone.
type DamagedError struct{ Path string }

func (e *DamagedError) Error() string { return "a damaged entry of the cache was removed: " + e.Path }

// magic begins an entry's file: it is followed by the checksum of what comes
// after, in hex, and a newline.
const magic = "tritonc cache 1 "

const headerSize = len(magic) + 2*sha256.Size + 1

func appendHeader(to, data []byte) []byte {
	sum := sha256.Sum256(data)
	to = append(to, magic...)
	to = hex.AppendEncode(to, sum[:])
	return append(to, '\n')
}

// Check returns the *trust.Error of a Store in which others than its user and
// root may put entries: nothing is taken from it or put into it. A folder that is
// not there is not refused.
func (s *Store) Check() error {
	err := trust.Dir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// check is Check for the folder and the part of it that an entry is in.
func (s *Store) check(entry string) error {
	if err := s.Check(); err != nil {
		return err
	}
	part := filepath.Dir(entry)
	info, err := os.Lstat(part)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return &trust.Error{Path: part, Reason: "it is not a folder", Help: "remove it"}
	}
	return trust.Check(part, info)
}

// Get returns the data of an entry, which counts as its use. The error is
// ErrAbsent, a *DamagedError, a *trust.Error, or one of the file system.
func (s *Store) Get(k Key) ([]byte, error) {
	path := s.path(k)
	if err := s.check(path); err != nil {
		return nil, err
	}
	file, err := trust.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrAbsent
	case err != nil:
		return nil, err
	}
	if !isWhole(file) {
		os.Remove(path)
		return nil, &DamagedError{path}
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // in a folder that cannot be written nothing is removed either
	return file[headerSize:], nil
}

// isWhole reports whether the file of an entry is as it was written.
func isWhole(file []byte) bool {
	return len(file) >= headerSize && bytes.Equal(file[:headerSize], appendHeader(nil, file[headerSize:]))
}

// Put stores data under a key, in the place of what was there. Before it writes it
// removes what has not been used for long, so that there is never more than the
// limit. Data too large for its share of the limit are not stored; that is not an
// error. An entry of somebody else is replaced.
func (s *Store) Put(k Key, data []byte) error {
	share := s.limit / folders
	size := int64(headerSize + len(data))
	if size > share {
		return nil
	}
	path := s.path(k)
	if err := s.check(path); err != nil {
		return err
	}
	part := filepath.Dir(path)
	held, unlock, err := lock(part)
	if err != nil {
		return err
	}
	defer unlock()
	if err := makeRoom(part, size, share, held); err != nil {
		return err
	}
	return filememo.Replace(path, append(appendHeader(make([]byte, 0, size), data), data...))
}

// staleAfter is the age of a file that its writer, surely, was killed before it had
// finished it.
const staleAfter = time.Hour

// entry is a file of a folder.
type entry struct {
	path string
	size int64
	used time.Time
}

// isKey tells entries from files that are being written, and from strangers'.
func isKey(name string) bool {
	if len(name) != 2*sha256.Size {
		return false
	}
	_, err := hex.DecodeString(name)
	return err == nil
}

// entries lists those of one folder, and the files that somebody is writing or
// was. Files that go meanwhile are left out.
func entries(dir string) (list, unfinished []entry, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		e := entry{filepath.Join(dir, f.Name()), info.Size(), info.ModTime()}
		switch {
		case isKey(f.Name()):
			list = append(list, e)
		case filememo.IsUnfinished(f.Name()):
			unfinished = append(unfinished, e)
		}
	}
	return list, unfinished, nil
}

// makeRoom brings a folder below its share, with size bytes to come; if anything
// has to go, to three quarters of the share, so that not every Put has to look for
// what is oldest. With alone, nobody else writes to the folder: who has not finished a
// file was killed.
func makeRoom(dir string, size, share int64, alone bool) error {
	list, unfinished, err := entries(dir)
	if err != nil {
		return err
	}
	for _, e := range unfinished {
		if alone || time.Since(e.used) > staleAfter {
			os.Remove(e.path)
		}
	}
	total := size
	for _, e := range list {
		total += e.size
	}
	if total <= share {
		return nil
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path))
	})
	for _, e := range list {
		if total <= share/4*3 {
			break
		}
		if err := os.Remove(e.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= e.size
	}
	return nil
}

// Usage is what a Store holds.
type Usage struct {
	Entries int
	Bytes   int64
}

// Usage counts the entries.
func (s *Store) Usage() (u Usage, err error) {
	for i := range folders {
		list, _, err := entries(filepath.Join(s.dir, folderName(i)))
		if err != nil {
			return u, err
		}
		for _, e := range list {
			u.Entries++
			u.Bytes += e.size
		}
	}
	return u, nil
}

// Refused is an entry that Get would not return.
type Refused struct {
	Path   string
	Reason string
}

// Verify reads every entry as Get does, and leaves all as it is. An entry that goes
// meanwhile is not counted.
func (s *Store) Verify() (good int, refused []Refused, err error) {
	for i := range folders {
		list, _, err := entries(filepath.Join(s.dir, folderName(i)))
		if err != nil {
			return good, refused, err
		}
		for _, e := range list {
			err := s.check(e.path)
			var file []byte
			if err == nil {
				file, err = trust.ReadFile(e.path)
			}
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				refused = append(refused, Refused{e.path, err.Error()})
			case !isWhole(file):
				refused = append(refused, Refused{e.path, "its bytes are not those that were written"})
			default:
				good++
			}
		}
	}
	return good, refused, nil
}

// Clean removes every entry, and of the folder nothing that is not ours.
func (s *Store) Clean() error {
	var errs []error
	for i := range folders {
		errs = append(errs, cleanFolder(filepath.Join(s.dir, folderName(i))))
	}
	return errors.Join(errs...)
}

func cleanFolder(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	list, unfinished, err := entries(dir)
	errs := []error{err}
	for _, e := range append(list, unfinished...) {
		if err := os.Remove(e.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	os.Remove(dir) // when it is empty
	return errors.Join(errs...)
}
