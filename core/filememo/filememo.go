// Package filememo remembers what is known of files of the machine, such as a
// tool's version, as long as a file's path, size and time stay the same. Asking
// a program for its version, or hashing it, takes longer than compiling a small
// kernel.
//
// A Memo lives in memory and in one file of the user's cache folder, a line of JSON for
// each of the files that are known. A line is decoded when it is asked for: what is known
// of other files costs a look at their paths. Several processes read and write the file:
// each writes it whole, the last one counts, and what is lost is asked for again. Nothing
// may depend on a Memo but time, so one in a file or folder that others may write to
// stays in memory.
//
// The package imports core/trust and the standard library only.
package filememo

import (
	"bytes"
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
// may be called from several goroutines. Memos of one file share the values that they
// return: these are not to be changed.
type Memo[V any] struct {
	file string

	mu    sync.Mutex
	lines *lines // nil: not read yet
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
	if r := m.find(path); r != nil && r.Size == info.Size() && r.MTime == info.ModTime().UnixNano() {
		return r.Value, true
	}
	return v, false
}

// Earlier returns what was known of an earlier file at path, which may have had the
// same bytes.
func (m *Memo[V]) Earlier(path string) (v V, ok bool) {
	if r := m.find(path); r != nil {
		return r.Value, true
	}
	return v, false
}

// Put remembers v of the file at path, and forgets what was known of an earlier
// one there and of files that are gone. A Memo that cannot be written stays in
// memory.
func (m *Memo[V]) Put(path string, info os.FileInfo, v V) {
	line, err := json.Marshal(row[V]{Path: path, Size: info.Size(), MTime: info.ModTime().UnixNano(), Shape: shapeOf[V](), Value: v})
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text := [][]byte{line}
	for _, other := range m.load().text {
		var r struct{ Path string }
		if json.Unmarshal(other, &r) != nil || r.Path == path {
			continue
		}
		if _, err := os.Stat(r.Path); !errors.Is(err, os.ErrNotExist) {
			text = append(text, other)
		}
	}
	slices.SortFunc(text, bytes.Compare) // by path, which a line begins with
	m.lines = &lines{text: text}
	if m.file != "" {
		_ = Replace(m.file, append(bytes.Join(text, []byte{'\n'}), '\n'))
	}
}

// find looks a path up; nil where nothing is known in the shape of V.
func (m *Memo[V]) find(path string) *row[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.load()
	if known, ok := l.decoded.Load(path); ok {
		r, _ := known.(*row[V])
		return r
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		return nil
	}
	begin := slices.Concat([]byte(`{"path":`), quoted, []byte{','})
	i := slices.IndexFunc(l.text, func(line []byte) bool { return bytes.HasPrefix(line, begin) })
	if i < 0 {
		return nil
	}
	r := &row[V]{}
	if json.Unmarshal(l.text[i], r) != nil || r.Shape != shapeOf[V]() {
		return nil
	}
	l.decoded.Store(path, r)
	return r
}

// load reads the file, once. One that is missing or broken is as good as an empty one,
// and so is what another version wrote. One that others could have written is left
// alone, now and by Put.
func (m *Memo[V]) load() *lines {
	if m.lines != nil {
		return m.lines
	}
	m.lines = &lines{}
	if m.file == "" {
		return m.lines
	}
	err := trust.Dir(filepath.Dir(m.file))
	var info os.FileInfo
	if err == nil {
		info, err = os.Lstat(m.file)
	}
	if err == nil {
		if l := read.get(m.file, info); l != nil {
			m.lines = l
			return l
		}
		var text []byte
		if text, err = trust.ReadFile(m.file); err == nil {
			m.lines = &lines{text: bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}), info: info}
			read.put(m.file, m.lines)
		}
	}
	if bad := (*trust.Error)(nil); errors.As(err, &bad) {
		m.file = ""
	}
	return m.lines
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
