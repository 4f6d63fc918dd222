package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Options say how to install.
type Options struct {
	// Root is the user's folder. It is made if it is not there.
	Root string
	// SHA256, if not empty, is what the archive or program as a whole must have.
	SHA256 string
	// Force replaces the same version.
	Force bool
	// Protocol lists the versions of the protocol that this tritonc speaks.
	Protocol []int
	// Describe starts the program in a folder and asks what it is.
	Describe func(ctx context.Context, dir string) (*sdk.Facts, error)
}

// Installed is one version of a backend in the user's folder.
type Installed struct {
	Name    string
	Version string
	Dir     string // of its files
}

// String is NAME@VERSION.
func (i *Installed) String() string { return i.Name + "@" + i.Version }

// unfinished begins the names of folders that are being filled or emptied.
const unfinished = ".install-"

// List returns what is installed in the user's folder, by name and version. Folders
// that others may write to are passed over.
func List(root string) []Installed {
	var list []Installed
	for _, name := range folders(root) {
		for _, version := range folders(filepath.Join(root, name)) {
			list = append(list, Installed{name, version, filepath.Join(root, name, version)})
		}
	}
	return list
}

// folders lists those in dir whose names do not begin with a dot, sorted.
func folders(dir string) []string {
	if trust.Dir(dir) != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// Install takes a program, a folder or an archive with a manifest, checks it, and puts
// it into the user's folder.
func Install(ctx context.Context, from string, opts Options) (*Installed, error) {
	in, err := install(ctx, from, opts)
	if err != nil && diag.All(err) == nil && ctx.Err() == nil {
		err = diag.Errorf(diag.Pos{File: from}, "this cannot be installed: %v", err)
	}
	return in, err
}

func install(ctx context.Context, from string, opts Options) (*Installed, error) {
	src, err := openSource(from)
	if err != nil {
		return nil, err
	}
	if err := checkWhole(from, src, opts.SHA256); err != nil {
		return nil, err
	}
	if src == nil && hasManifest(from) {
		src, from = folder(filepath.Dir(from)), filepath.Dir(from)
	}
	var c *contents
	if src != nil {
		if c, err = look(from, src); err == nil {
			err = fits(c.manifest, opts.Protocol)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := makeRoot(opts.Root); err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(opts.Root, unfinished+"*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	var m *manifest.Manifest
	if src != nil {
		m, err = c.manifest, unpack(ctx, src, c, stage)
	} else {
		m, err = takeProgram(from, stage)
	}
	if err != nil {
		return nil, err
	}
	if err := describe(ctx, m, stage, opts); err != nil {
		return nil, err
	}
	return place(m, stage, opts)
}

// checkWhole compares a file's SHA-256 with the one that the user expects.
func checkWhole(from string, src source, want string) error {
	if want == "" {
		return nil
	}
	if _, is := src.(folder); is {
		return errors.New("a folder as a whole has no SHA-256")
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("its SHA-256 is %s, not %s", got, want)
	}
	return nil
}

// hasManifest reports whether a manifest that lists the program lies beside it.
func hasManifest(program string) bool {
	at := filepath.Join(filepath.Dir(program), manifest.FileName)
	text, err := os.ReadFile(at)
	if err != nil {
		return false
	}
	m, err := manifest.Parse(at, text)
	return err == nil && m.Program() == filepath.Base(program)
}

// fits refuses a backend that cannot run here.
func fits(m *manifest.Manifest, protocol []int) error {
	if !m.RunsHere() {
		return fmt.Errorf("it is for %s, and this is %s/%s", m.System, runtime.GOOS, runtime.GOARCH)
	}
	if !slices.ContainsFunc(m.Protocol, func(v int) bool { return slices.Contains(protocol, v) }) {
		return fmt.Errorf("it speaks version %s of the plugin protocol, and this tritonc version %s", join(m.Protocol), join(protocol))
	}
	return nil
}

func join(list []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ", "), "[]")
}

// makeRoot makes the user's folder, and removes what an install that was killed has
// left there.
func makeRoot(root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := trust.Dir(root); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(root, unfinished+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
	}
	return nil
}

// unpack copies the files of a manifest into a folder and compares their sums.
func unpack(ctx context.Context, src source, c *contents, stage string) error {
	return src.each(func(it item) error {
		listed, ok := c.manifest.File(strings.TrimPrefix(it.path, c.prefix))
		if !ok {
			return nil // the manifest, which is written anew
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := it.open()
		if err != nil {
			return err
		}
		defer r.Close()
		got, err := copyFile(filepath.Join(stage, filepath.FromSlash(listed.Path)), r, listed)
		if err == nil && got != listed.SHA256 {
			err = fmt.Errorf("the SHA-256 of %s is %s, and %s says %s", listed.Path, got, manifest.FileName, listed.SHA256)
		}
		return err
	})
}

// copyFile writes a file of a known size, and returns its SHA-256.
func copyFile(to string, r io.Reader, as manifest.File) (string, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", err
	}
	mode := os.FileMode(0o644)
	if as.Executable {
		mode = 0o755
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, as.Size+1))
	if err == nil && n != as.Size {
		err = fmt.Errorf("%s does not have the size that it should, %d", as.Path, as.Size)
	}
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// takeProgram copies a program that has no manifest, and begins one.
func takeProgram(from, stage string) (*manifest.Manifest, error) {
	base := filepath.Base(from)
	name, ok := strings.CutPrefix(strings.TrimSuffix(base, ".exe"), manifest.ProgramPrefix)
	if !ok || name == "" {
		return nil, fmt.Errorf("it is neither an archive (.tar.gz, .zip) nor a program named %sNAME", manifest.ProgramPrefix)
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file := manifest.File{Path: base, Size: info.Size(), Executable: true}
	if file.SHA256, err = copyFile(filepath.Join(stage, base), f, file); err != nil {
		return nil, err
	}
	return &manifest.Manifest{Name: name, System: runtime.GOOS + "/" + runtime.GOARCH, Files: []manifest.File{file}}, nil
}

// describe asks the program in a folder what it is: the manifest must say the same, and
// one that was begun is completed.
func describe(ctx context.Context, m *manifest.Manifest, stage string, opts Options) error {
	facts, err := opts.Describe(ctx, stage)
	if err != nil {
		return err
	}
	var targets []string
	for i := range facts.Targets {
		targets = append(targets, facts.Targets[i].Pattern)
	}
	if m.Version == "" {
		m.Version, m.Targets, m.Protocol = facts.Version, targets, opts.Protocol
	}
	switch {
	case facts.Name != m.Name:
		return fmt.Errorf("the program says that its name is %q, not %q", facts.Name, m.Name)
	case facts.Version != m.Version:
		return fmt.Errorf("the program says that its version is %q, not %q", facts.Version, m.Version)
	case !slices.Equal(slices.Sorted(slices.Values(targets)), slices.Sorted(slices.Values(m.Targets))):
		return fmt.Errorf("the program says that its targets are %s, not %s", strings.Join(targets, " "), strings.Join(m.Targets, " "))
	}
	text, err := m.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(stage, manifest.FileName), text, 0o644)
}

// place gives a folder that is complete its name.
func place(m *manifest.Manifest, stage string, opts Options) (*Installed, error) {
	in := &Installed{m.Name, m.Version, filepath.Join(opts.Root, m.Name, m.Version)}
	if err := os.Chmod(stage, 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(in.Dir), 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(in.Dir); err == nil {
		if !opts.Force {
			return nil, diag.Errorf(diag.Pos{}, "%s is installed already, in %s", in, in.Dir).WithHelp("--force replaces it")
		}
		old, err := setAside(opts.Root, in.Dir)
		if err != nil {
			return nil, err
		}
		if err := os.Rename(stage, in.Dir); err != nil {
			return nil, errors.Join(err, os.Rename(old, in.Dir))
		}
		return in, os.RemoveAll(filepath.Dir(old))
	}
	return in, os.Rename(stage, in.Dir)
}

// setAside moves a folder to where nobody looks for it.
func setAside(root, dir string) (string, error) {
	aside, err := os.MkdirTemp(root, unfinished+"*")
	if err != nil {
		return "", err
	}
	old := filepath.Join(aside, "old")
	return old, os.Rename(dir, old)
}

// Remove takes a version away.
func Remove(root string, in *Installed) error {
	old, err := setAside(root, in.Dir)
	if err != nil {
		return err
	}
	os.Remove(filepath.Dir(in.Dir)) // unless there are other versions
	return os.RemoveAll(filepath.Dir(old))
}
