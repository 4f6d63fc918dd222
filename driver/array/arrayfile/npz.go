package arrayfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tritonc/tritonc/driver/array"
)

// readArchive reads one array of an archive of NumPy files.
func readArchive(f file, size int64, name string, typ *array.DType) (*array.Array, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, err
	}
	var entry *zip.File
	m := &missing{name: name}
	for _, e := range z.File {
		own, isArray := strings.CutSuffix(e.Name, NPY)
		if !isArray {
			continue
		}
		m.has(own)
		if name == "" || name == own {
			if entry != nil && name != "" {
				return nil, fmt.Errorf("it has two arrays %q", name)
			}
			entry = e
		}
	}
	if entry == nil || name == "" && m.count > 1 {
		return nil, m
	}
	if entry.UncompressedSize64 > maxBytes {
		return nil, fmt.Errorf("its array %q has more than %d MiB, which is the limit", name, maxBytes>>20)
	}
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a, err := readNPY(r, int64(entry.UncompressedSize64), typ)
	if err != nil {
		return nil, err
	}
	// The end, where the checksum is compared.
	if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return nil, errors.New("it has more elements than it says")
	} else if err != io.EOF {
		return nil, err
	}
	return a, nil
}
