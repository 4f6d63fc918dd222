package arrayfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/driver/array"
)

// Endings of the files' names.
const (
	NPY         = ".npy"
	npz         = ".npz"
	safetensors = ".safetensors"
)

// maxBytes bounds what an array of an archive may have, since a compressed file says
// nothing of what it becomes.
const maxBytes = 4 << 30

// Named reports whether a text names an array of a file by its ending.
func Named(text string) bool {
	return strings.HasSuffix(text, NPY) || archive(text) != ""
}

// archive is the ending of the archive that a text names, or "".
func archive(text string) string {
	for _, ending := range []string{npz, safetensors} {
		if strings.HasSuffix(text, ending) || strings.Contains(text, ending+":") {
			return ending
		}
	}
	return ""
}

// split takes a text apart.
func split(text string) (path, name string, typ *array.DType) {
	path = text
	ending := archive(text)
	if ending != "" && !strings.HasSuffix(text, ending) {
		at := strings.Index(text, ending+":") + len(ending)
		path, name = text[:at], text[at+1:]
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			if typ = array.Named(name[i+1:]); typ != nil {
				name = name[:i]
			}
		}
		return path, name, typ
	}
	if i := strings.LastIndexByte(path, ':'); ending == "" && i > 1 { // beyond a Windows drive
		if typ = array.Named(path[i+1:]); typ != nil {
			path = path[:i]
		}
	}
	return path, "", typ
}

// Path is the file's in a text that names an array.
func Path(text string) string {
	path, _, _ := split(text)
	return path
}

// Read reads the array that a text names. Of an archive with one array the name may
// be left out.
func Read(text string) (*array.Array, error) {
	path, name, typ := split(text)
	read, help := readFile, "numpy.save writes such files"
	switch archive(text) {
	case npz:
		read, help = readArchive, "numpy.savez writes such files"
	case safetensors:
		read, help = readTensor, "safetensors.torch.save_file writes such files"
	}
	f, size, err := input.Open(path, input.Array)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := read(f, size, name, typ)
	if err != nil {
		d := diag.Errorf(diag.Pos{File: path}, "this is not an array that can be read: %v", err).WithHelp("%s", help)
		if m, ok := errors.AsType[*missing](err); ok {
			d = diag.Errorf(diag.Pos{File: path}, "%v", m)
			d.Help = m.help()
		}
		return nil, d
	}
	if typ != nil && typ != a.Type {
		a = a.Convert(typ)
	}
	return a, nil
}

// file is what is read from: an open file.
type file interface {
	io.Reader
	io.ReaderAt
}

func readFile(f file, size int64, _ string, typ *array.DType) (*array.Array, error) {
	return readNPY(f, size, typ)
}

// missing says that an archive does not have the array.
type missing struct {
	name  string
	count int      // of the arrays that it has
	first []string // of their names
}

// maxListed bounds how many names an error lists.
const maxListed = 12

// has counts an array of the archive.
func (m *missing) has(name string) {
	if m.count++; m.count <= maxListed {
		m.first = append(m.first, name)
	}
}

func (m *missing) Error() string {
	if m.name == "" {
		return fmt.Sprintf("the file has %s, and none is named", diag.Count(m.count, "array"))
	}
	return fmt.Sprintf("the file has no array %q", m.name)
}

func (m *missing) help() string {
	if m.count == 0 {
		return "it has none at all"
	}
	text := strings.Join(m.first, ", ")
	if more := m.count - len(m.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "FILE:NAME names one; its arrays: " + text
}

// readElements reads n bytes, and takes memory only as they come.
func readElements(r io.Reader, n int64) ([]byte, error) {
	const step = 64 << 20
	data := make([]byte, 0, min(n, step))
	for int64(len(data)) < n {
		more := min(n-int64(len(data)), step)
		at := len(data)
		data = slices.Grow(data, int(more))[:at+int(more)]
		if _, err := io.ReadFull(r, data[at:]); err != nil {
			return nil, fmt.Errorf("its elements end too early: %w", err)
		}
	}
	return data, nil
}

// bytesOf is how many bytes the elements of a shape take; ok is false where no file
// has as many.
func bytesOf(shape []int, size int) (n int64, ok bool) {
	total := float64(size)
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		total *= float64(d)
	}
	return int64(min(total, 1<<62)), total < 1<<62
}
