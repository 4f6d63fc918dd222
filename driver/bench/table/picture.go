package table

import (
	"encoding/gob"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// PlotProgram is the name of the program that draws tables (package plot).
const PlotProgram = "tritonc-plot"

// PictureFormats are the endings of the files that it draws.
var PictureFormats = []string{"svg", "png"}

// PictureFormat is the format that a file's name ends in, or "".
func PictureFormat(path string) string {
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if slices.Contains(PictureFormats, ending) {
		return ending
	}
	return ""
}

// Encode writes a table with all that it has, for a Decode of the same build.
func (t *Table) Encode(w io.Writer) error { return gob.NewEncoder(w).Encode(t) }

// Decode reads a table that Encode has written.
func Decode(r io.Reader) (*Table, error) {
	t := new(Table)
	if err := gob.NewDecoder(r).Decode(t); err != nil {
		return nil, err
	}
	return t, nil
}
