// Package filememo remembers what is known of files of the machine, such as a
// tool's version, as long as a file's path, size and time stay the same. Asking
// a program for its version, or hashing it, takes longer than compiling a small
// kernel.
//
// A Memo lives in memory and in one file of the user's cache folder, which
// several processes read and write: each writes it whole, the last one counts,
// and what is lost is asked for again. Nothing may depend on a Memo but time, so
// one in a file or folder that others may write to stays in memory.
//
// The package imports core/trust and the standard library only.
package filememo

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/trust"
)

// Memo keeps a V, which must be fit for JSON, for each of some files. Its methods
// may be called from several goroutines.
type Memo[V any] struct {
	file string

	mu   sync.Mutex
	rows []row[V] // sorted by path; nil: not read yet
	read bool
}

type row[V any] struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // nanoseconds since 1970
	Shape string `json:"shape"` // shapeOf[V] of who wrote it
	Value V      `json:"value"`
}

// New makes a Memo that is kept in file; with an empty name, in memory only.
func New[V any](file string) *Memo[V] { return &Memo[V]{file: file} }

// Get returns what is known of the file at path, which has info.
func (m *Memo[V]) Get(path string, info os.FileInfo) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(path)
	if !found {
		return v, false
	}
	r := &m.rows[i]
	if r.Size != info.Size() || r.MTime != info.ModTime().UnixNano() {
		return v, false
	}
	return r.Value, true
}

// Earlier returns what was known of an earlier file at path, which may have had the
// same bytes.
func (m *Memo[V]) Earlier(path string) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, found := m.find(path); found {
		return m.rows[i].Value, true
	}
	return v, false
}

// Put remembers v of the file at path, and forgets what was known of an earlier
// one there and of files that are gone. A Memo that cannot be written stays in
// memory.
func (m *Memo[V]) Put(path string, info os.FileInfo, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(path) // reads them
	m.rows = slices.DeleteFunc(m.rows, func(r row[V]) bool {
		_, err := os.Stat(r.Path)
		return errors.Is(err, os.ErrNotExist)
	})
	i, found := m.find(path)
	r := row[V]{Path: path, Size: info.Size(), MTime: info.ModTime().UnixNano(), Shape: shapeOf[V](), Value: v}
	if found {
		m.rows[i] = r
	} else {
		m.rows = slices.Insert(m.rows, i, r)
	}
	if m.file == "" {
		return
	}
	if text, err := json.MarshalIndent(m.rows, "", "  "); err == nil {
		_ = Replace(m.file, append(text, '\n'))
	}
}

// find reads the file, once, and looks a path up. A file that is missing or
// broken is as good as an empty one, and so is what another version wrote.
func (m *Memo[V]) find(path string) (int, bool) {
	if !m.read {
		m.read = true
		m.rows = m.readRows()
		slices.SortFunc(m.rows, func(a, b row[V]) int { return cmp.Compare(a.Path, b.Path) })
	}
	return slices.BinarySearchFunc(m.rows, path, func(r row[V], p string) int { return cmp.Compare(r.Path, p) })
}

// readRows is what the file has in the shape of V.
func (m *Memo[V]) readRows() []row[V] {
	text, err := m.load()
	var list []json.RawMessage
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	var rows []row[V]
	shape := shapeOf[V]()
	for _, one := range list {
		var r row[V]
		if json.Unmarshal(one, &r) == nil && r.Shape == shape {
			rows = append(rows, r)
		}
	}
	return rows
}

// load reads the file. One that others could have written is left alone, now and
// by Put.
func (m *Memo[V]) load() ([]byte, error) {
	if m.file == "" {
		return nil, nil
	}
	err := trust.Dir(filepath.Dir(m.file))
	var text []byte
	if err == nil {
		text, err = trust.ReadFile(m.file)
	}
	var bad *trust.Error
	if errors.As(err, &bad) {
		m.file = ""
	}
	return text, err
}

// unfinishedPrefix begins the names of files that are being written.
const unfinishedPrefix = ".tmp"

// IsUnfinished reports whether a file of that name is one that Replace is
// writing, or was when its process ended.
func IsUnfinished(name string) bool { return strings.HasPrefix(name, unfinishedPrefix) }

// Replace writes a file whole, in the place of one of that name: a reader sees
// the old one or the new one. It makes the folder.
func Replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), unfinishedPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
