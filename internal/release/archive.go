package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive. Its path is relative to the archive's one folder.
type entry struct {
	path string
	mode fs.FileMode
	data []byte
}

// Modes of an archive's files, whatever those of the files that they were made from.
const (
	program  fs.FileMode = 0o755
	ordinary fs.FileMode = 0o644
)

// sum is a SHA-256 as in SHA256SUMS.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// pack makes an archive whose files lie in folder: a zip, or a tar with gzip. Equal
// entries, in whichever order, give equal bytes.
func pack(zipped bool, folder string, date time.Time, entries []entry) ([]byte, error) {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	for i := range entries {
		if i > 0 && entries[i].path == entries[i-1].path {
			return nil, fmt.Errorf("two files have the path %s", entries[i].path)
		}
	}
	var buf bytes.Buffer
	write := writeTar
	if zipped {
		write = writeZip
	}
	err := write(&buf, folder, date.UTC(), entries)
	return buf.Bytes(), err
}

func writeTar(w io.Writer, folder string, date time.Time, entries []entry) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, dir := range folders(folder, entries) {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: date, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
	}
	for _, e := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(folder, e.path), Mode: int64(e.mode.Perm()),
			Size: int64(len(e.data)), ModTime: date, Format: tar.FormatUSTAR,
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, folder string, date time.Time, entries []entry) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: path.Join(folder, e.path), Method: zip.Deflate, Modified: date}
		header.SetMode(e.mode)
		f, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// unpack returns the files of an archive that pack made.
func unpack(name string, data []byte) ([]entry, error) {
	if strings.HasSuffix(name, ".zip") {
		return unzip(data)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for t := tar.NewReader(z); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		e := entry{path: header.Name, mode: header.FileInfo().Mode()}
		if e.data, err = io.ReadAll(t); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}

func unzip(data []byte) ([]entry, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, file := range z.File {
		f, err := file.Open()
		if err != nil {
			return nil, err
		}
		e := entry{path: file.Name, mode: file.Mode()}
		if e.data, err = io.ReadAll(f); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// folders lists the folders of entries, sorted, each after the one that it lies in.
func folders(top string, entries []entry) []string {
	set := map[string]bool{top: true}
	for _, e := range entries {
		for dir := path.Dir(e.path); dir != "."; dir = path.Dir(dir) {
			set[path.Join(top, dir)] = true
		}
	}
	var list []string
	for dir := range set {
		list = append(list, dir)
	}
	slices.Sort(list)
	return list
}
