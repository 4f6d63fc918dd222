package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core/plugin/manifest"
)

// maxManifest bounds the text of a manifest, and maxEntries what an archive may hold.
const (
	maxManifest = 8 << 20
	maxEntries  = 4 * manifest.MaxFiles
)

// item is a regular file of a source.
type item struct {
	path string
	size int64
	open func() (io.ReadCloser, error) // valid until each goes on
}

// source is a folder or an archive.
type source interface {
	// each calls do for every file, the same ones each time.
	each(do func(item) error) error
}

// openSource finds out what a path is: a folder, an archive or, with a nil source, a
// program.
func openSource(at string) (source, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return folder(at), nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a file nor a folder", at)
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return tarball(at), nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipFile(at), nil
	}
	return nil, nil
}

// folder is a source whose files are those of its manifest; others stay where they are.
type folder string

func (d folder) each(do func(item) error) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	defer root.Close()
	one := func(name string) error {
		info, err := root.Lstat(filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file (%s)", name, kindOf(info.Mode()))
		}
		return do(item{name, info.Size(), func() (io.ReadCloser, error) { return root.Open(filepath.FromSlash(name)) }})
	}
	if err := one(manifest.FileName); err != nil {
		return err
	}
	f, err := root.Open(manifest.FileName)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	m, err := manifest.Parse(filepath.Join(string(d), manifest.FileName), text)
	if err != nil {
		return err
	}
	for i := range m.Files {
		if err := one(m.Files[i].Path); err != nil {
			return err
		}
	}
	return nil
}

// tarball is a .tar.gz file.
type tarball string

func (a tarball) each(do func(item) error) error {
	f, err := os.Open(string(a))
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	// Headers come on top of the files; more than this is not an archive of ours.
	limited := &io.LimitedReader{R: unpacked, N: manifest.MaxTotalSize + 2048*maxEntries}
	r := tar.NewReader(limited)
	c := counter{}
	for {
		h, err := r.Next()
		switch {
		case limited.N <= 0:
			return tooLarge()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink {
			mode |= fs.ModeIrregular // a hard link looks like a file
		}
		name, skip, err := c.check(h.Name, mode, h.Size)
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := do(item{name, h.Size, func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}); err != nil {
			return err
		}
	}
}

// zipFile is a .zip file.
type zipFile string

func (a zipFile) each(do func(item) error) error {
	r, err := zip.OpenReader(string(a))
	if err != nil {
		return err
	}
	defer r.Close()
	c := counter{}
	for _, f := range r.File {
		if f.UncompressedSize64 > manifest.MaxTotalSize {
			return tooLarge()
		}
		name, skip, err := c.check(f.Name, f.Mode(), int64(f.UncompressedSize64))
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := do(item{name, int64(f.UncompressedSize64), f.Open}); err != nil {
			return err
		}
	}
	return nil
}

// counter bounds what an archive holds.
type counter struct {
	entries int
	bytes   int64
}

// check refuses an entry that is not a file or folder below the archive's own place,
// and says whether it is a folder.
func (c *counter) check(name string, mode fs.FileMode, size int64) (clean string, folder bool, err error) {
	clean = strings.TrimPrefix(strings.TrimSuffix(name, "/"), "./")
	if mode.IsDir() && (clean == "" || clean == ".") {
		return "", true, nil
	}
	if err := manifest.CheckPath(clean); err != nil {
		return "", false, err
	}
	if !mode.IsDir() && !mode.IsRegular() {
		return "", false, fmt.Errorf("%s is not a regular file (%s)", clean, kindOf(mode))
	}
	if mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 && !mode.IsDir() {
		return "", false, fmt.Errorf("%s would run as another user (mode %s)", clean, mode)
	}
	c.entries++
	if size < 0 || size > manifest.MaxTotalSize-c.bytes || c.entries > maxEntries {
		return "", false, tooLarge()
	}
	c.bytes += size
	return clean, mode.IsDir(), nil
}

func tooLarge() error {
	return fmt.Errorf("the archive holds more than %d GiB or %d entries", manifest.MaxTotalSize>>30, maxEntries)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeIrregular != 0:
		return "a hard link"
	case mode.IsDir():
		return "a folder"
	}
	return "mode " + mode.String()
}

// contents is what a first look at a source finds.
type contents struct {
	manifest *manifest.Manifest
	prefix   string // the one folder that all is in, with its slash, or ""
}

// look reads a source's manifest and holds all else against it. Nothing is written.
func look(at string, src source) (*contents, error) {
	var text []byte
	at = filepath.Join(at, manifest.FileName)
	c := &contents{}
	sizes := map[string]int64{}
	err := src.each(func(it item) error {
		if _, twice := sizes[it.path]; twice {
			return fmt.Errorf("%s is there twice", it.path)
		}
		sizes[it.path] = it.size
		if path.Base(it.path) != manifest.FileName || strings.Count(it.path, "/") > 1 {
			return nil
		}
		if text != nil {
			return fmt.Errorf("there are several %s", manifest.FileName)
		}
		if it.size > maxManifest {
			return fmt.Errorf("%s is larger than %d MiB", it.path, maxManifest>>20)
		}
		r, err := it.open()
		if err != nil {
			return err
		}
		defer r.Close()
		c.prefix = strings.TrimSuffix(it.path, manifest.FileName)
		text, err = io.ReadAll(io.LimitReader(r, maxManifest))
		return err
	})
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, fmt.Errorf("there is no %s", manifest.FileName)
	}
	if c.manifest, err = manifest.Parse(at, text); err != nil {
		return nil, err
	}
	return c, c.check(sizes)
}

// check compares the files that are there with those that the manifest lists.
func (c *contents) check(sizes map[string]int64) error {
	for name, size := range sizes {
		if name == c.prefix+manifest.FileName {
			continue
		}
		inside, ok := strings.CutPrefix(name, c.prefix)
		listed, known := c.manifest.File(inside)
		switch {
		case !ok || !known:
			return fmt.Errorf("%s is not in %s", name, manifest.FileName)
		case size != listed.Size:
			return fmt.Errorf("the size of %s is %d, and %s says %d", name, size, manifest.FileName, listed.Size)
		}
	}
	for i := range c.manifest.Files {
		if p := c.manifest.Files[i].Path; !has(sizes, c.prefix+p) {
			return fmt.Errorf("%s is listed in %s and is not there", p, manifest.FileName)
		}
	}
	return nil
}

func has(m map[string]int64, key string) bool { _, ok := m[key]; return ok }
