package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// A part is an entry of an archive.
type part struct {
	name string
	data string
	mode fs.FileMode
	link string // of a symbolic link or, with a mode of 0, a hard link
}

func sumOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

const program = "the program"

// acme is a manifest of a program and a table.
func acme(version string) *manifest.Manifest {
	return &manifest.Manifest{
		Name: "acme", Version: version, Protocol: []int{1, 2}, Targets: []string{"acme:*"},
		Files: []manifest.File{
			{Path: "tritonc-backend-acme", Size: int64(len(program)), SHA256: sumOf(program), Executable: true},
			{Path: "lib/table", Size: 5, SHA256: sumOf("table")},
		},
	}
}

// parts are what an archive of m holds.
func parts(t *testing.T, m *manifest.Manifest) []part {
	t.Helper()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return []part{
		{name: "tritonc-backend-acme", data: program, mode: 0o755},
		{name: "lib/", mode: fs.ModeDir | 0o755},
		{name: "lib/table", data: "table", mode: 0o600},
		{name: manifest.FileName, data: string(text), mode: 0o644},
	}
}

func tarGz(t *testing.T, list []part) string {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for _, p := range list {
		h := &tar.Header{Name: p.name, Size: int64(len(p.data)), Mode: int64(p.mode.Perm()), Typeflag: tar.TypeReg}
		switch {
		case p.mode.IsDir():
			h.Typeflag = tar.TypeDir
		case p.mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Linkname = tar.TypeSymlink, p.link
		case p.mode&fs.ModeDevice != 0:
			h.Typeflag = tar.TypeBlock
		case p.link != "":
			h.Typeflag, h.Linkname = tar.TypeLink, p.link
		case p.mode&fs.ModeSetuid != 0:
			h.Mode |= 0o4000
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(p.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return write(t, "acme.tar.gz", out.Bytes())
}

func zipped(t *testing.T, list []part) string {
	t.Helper()
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, p := range list {
		h := &zip.FileHeader{Name: p.name, Method: zip.Deflate}
		h.SetMode(p.mode)
		w, err := zw.CreateHeader(h)
		if err == nil && !p.mode.IsDir() {
			_, err = w.Write([]byte(p.data + p.link))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "acme.zip", out.Bytes())
}

func inFolder(t *testing.T, list []part) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range list {
		path := filepath.Join(dir, filepath.FromSlash(p.name))
		var err error
		switch {
		case p.mode.IsDir():
			err = os.MkdirAll(path, 0o755)
		case p.mode&fs.ModeSymlink != 0:
			err = os.Symlink(p.link, path)
		default:
			err = os.WriteFile(path, []byte(p.data), p.mode.Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// options install into a folder of the test's own; the program says that it is what
// facts are.
func options(t *testing.T, version string) Options {
	return Options{
		Root: filepath.Join(t.TempDir(), "backends"), Protocol: []int{1},
		Describe: func(_ context.Context, dir string) (*sdk.Facts, error) {
			if data, err := os.ReadFile(filepath.Join(dir, "tritonc-backend-acme")); err != nil || string(data) != program {
				t.Errorf("the program that is asked: %q, %v", data, err)
			}
			return &sdk.Facts{Name: "acme", Version: version, Targets: []sdk.TargetFacts{{Pattern: "acme:*"}}}, nil
		},
	}
}

// files lists what is in a folder, with the modes of files.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		rel, _ := filepath.Rel(dir, path)
		list = append(list, fmt.Sprintf("%s %v", filepath.ToSlash(rel), info.Mode().Perm()&0o100 != 0))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestSources: an archive, one with a folder around it, a folder, and a program beside
// a manifest install the same.
func TestSources(t *testing.T) {
	list := parts(t, acme("1.2"))
	around := slices.Clone(list)
	for i := range around {
		around[i].name = "./acme-1.2/" + around[i].name
	}
	around = append([]part{{name: "./", mode: fs.ModeDir | 0o755}}, around...)
	more := append(slices.Clone(list), part{name: "notes", data: "x", mode: 0o644})
	for name, from := range map[string]string{
		"tar.gz": tarGz(t, list), "zip": zipped(t, list), "a folder around it": tarGz(t, around), "folder": inFolder(t, list),
		"folder with more": inFolder(t, more), "program": filepath.Join(inFolder(t, list), "tritonc-backend-acme"),
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(t, "1.2")
			in, err := Install(t.Context(), from, opts)
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(opts.Root, "acme", "1.2"); in.String() != "acme@1.2" || in.Dir != want {
				t.Errorf("got %v in %s", in, in.Dir)
			}
			want := "acme/1.2/lib/table false\nacme/1.2/tritonc-backend-acme true\nacme/1.2/tritonc-backend.json false"
			if got := files(t, opts.Root); got != want && runtime.GOOS != "windows" {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			text, err := os.ReadFile(filepath.Join(in.Dir, manifest.FileName))
			if err != nil {
				t.Fatal(err)
			}
			if m, err := manifest.Parse("m", text); err != nil || m.Version != "1.2" || len(m.Files) != 2 {
				t.Errorf("the manifest is %+v, %v", m, err)
			}
		})
	}
}

// TestHostile: what leads elsewhere, is a link or a device, or differs from the manifest
// is refused, and nothing is left of it.
func TestHostile(t *testing.T) {
	m := acme("1.2")
	good := parts(t, m)
	with := func(p part) []part { return append(slices.Clone(good), p) }
	swap := func(name, data string) []part {
		list := slices.Clone(good)
		for i := range list {
			if list[i].name == name {
				list[i].data = data
			}
		}
		return list
	}
	foreign := acme("1.2")
	foreign.System = "plan9/vax"
	future := acme("1.2")
	future.Protocol = []int{9}
	for _, tt := range []struct {
		name, from, want string
	}{
		{"traversal", tarGz(t, with(part{name: "../evil", data: "x", mode: 0o644})), "not a plain relative one"},
		{"traversal in a zip", zipped(t, with(part{name: "../evil", data: "x", mode: 0o644})), "not a plain relative one"},
		{"absolute", tarGz(t, with(part{name: "/etc/evil", data: "x", mode: 0o644})), "not a plain relative one"},
		{"backslash", zipped(t, with(part{name: `lib\..\evil`, data: "x", mode: 0o644})), "not a plain relative one"},
		{"symbolic link", tarGz(t, with(part{name: "lib/evil", mode: fs.ModeSymlink, link: "/etc/passwd"})), "a symbolic link"},
		{"symbolic link in a zip", zipped(t, with(part{name: "lib/evil", mode: fs.ModeSymlink | 0o777, link: "/etc/passwd"})), "a symbolic link"},
		{"hard link", tarGz(t, with(part{name: "lib/evil", link: "/etc/passwd"})), "a hard link"},
		{"device", tarGz(t, with(part{name: "lib/evil", mode: fs.ModeDevice})), "not a regular file"},
		{"setuid", tarGz(t, with(part{name: "lib/evil", mode: fs.ModeSetuid | 0o755})), "run as another user"},
		{"unlisted", tarGz(t, with(part{name: "lib/evil", data: "x", mode: 0o755})), "lib/evil is not in tritonc-backend.json"},
		{"twice", tarGz(t, with(part{name: "lib/table", data: "table", mode: 0o600})), "lib/table is there twice"},
		{"two manifests", tarGz(t, with(part{name: "lib/" + manifest.FileName, data: "{}", mode: 0o600})), "there are several"},
		{"no manifest", tarGz(t, good[:3]), "there is no tritonc-backend.json"},
		{"no file", tarGz(t, append(slices.Clone(good[:2]), good[3])), "lib/table is listed in tritonc-backend.json and is not there"},
		{"size", tarGz(t, swap("lib/table", "tables")), "the size of lib/table is 6, and tritonc-backend.json says 5"},
		{"sum", tarGz(t, swap("lib/table", "tabel")), "the SHA-256 of lib/table is " + sumOf("tabel")},
		{"sum in a zip", zipped(t, swap("tritonc-backend-acme", "the PROGRAM")), "the SHA-256 of tritonc-backend-acme is"},
		{"sum in a folder", inFolder(t, swap("lib/table", "tabel")), "the SHA-256 of lib/table is"},
		{"manifest", tarGz(t, swap(manifest.FileName, "{")), "tritonc-backend.json:1:"},
		{"another system", tarGz(t, parts(t, foreign)), "it is for plan9/vax"},
		{"another protocol", tarGz(t, parts(t, future)), "it speaks version 9 of the plugin protocol, and this tritonc version 1"},
		{"no archive", write(t, "text.txt", []byte("hello")), "neither an archive"},
		{"damaged", write(t, "a.tar.gz", []byte("\x1f\x8bxxxxxxxxxxx")), "gzip"},
		{"nothing", filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := options(t, "1.2")
			opts.Force = true
			_, err := Install(t.Context(), tt.from, opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) || diag.All(err) == nil {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if left := files(t, opts.Root); left != "" {
				t.Errorf("left:\n%s", left)
			}
		})
	}
}

// TestLinksInFolder: a listed file may not be a link, wherever that leads.
func TestLinksInFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	list := parts(t, acme("1.2"))
	secret := write(t, "secret", []byte("table"))
	list[2] = part{name: "lib/table", mode: fs.ModeSymlink, link: secret}
	if _, err := Install(t.Context(), inFolder(t, list), options(t, "1.2")); err == nil || !strings.Contains(err.Error(), "a symbolic link") {
		t.Errorf("got %v", err)
	}
	list[1], list[2] = part{name: "lib", mode: fs.ModeSymlink, link: filepath.Dir(secret)}, part{name: "notes", mode: 0o600}
	if err := os.Rename(secret, filepath.Join(filepath.Dir(secret), "table")); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), inFolder(t, list), options(t, "1.2")); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("got %v", err)
	}
}

// TestVersions: several lie side by side, and the same is replaced only with Force,
// whole or not at all.
func TestVersions(t *testing.T) {
	opts := options(t, "1.2")
	if _, err := Install(t.Context(), tarGz(t, parts(t, acme("1.2"))), opts); err != nil {
		t.Fatal(err)
	}
	newer := options(t, "2.0")
	newer.Root = opts.Root
	if _, err := Install(t.Context(), tarGz(t, parts(t, acme("2.0"))), newer); err != nil {
		t.Fatal(err)
	}
	_, err := Install(t.Context(), zipped(t, parts(t, acme("1.2"))), opts)
	if l := diag.All(err); len(l) != 1 || l[0].Help != "--force replaces it" {
		t.Errorf("got %v", err)
	}
	mark := filepath.Join(opts.Root, "acme", "1.2", "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Force = true
	if _, err := Install(t.Context(), zipped(t, parts(t, acme("1.2"))), opts); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a file of the version before is left")
	}
	list := List(opts.Root)
	if got := fmt.Sprintf("%d %s %s", len(list), &list[0], &list[1]); got != "2 acme@1.2 acme@2.0" {
		t.Errorf("got %s", got)
	}
	if err := Remove(opts.Root, &list[0]); err != nil {
		t.Fatal(err)
	}
	if err := Remove(opts.Root, &list[1]); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(opts.Root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestProgramAlone: a program without a manifest gets one of what it says of itself.
func TestProgramAlone(t *testing.T) {
	from := write(t, "tritonc-backend-acme", []byte(program))
	opts := options(t, "7")
	opts.SHA256 = sumOf("another")
	if _, err := Install(t.Context(), from, opts); err == nil || !strings.Contains(err.Error(), "its SHA-256 is "+sumOf(program)) {
		t.Errorf("got %v", err)
	}
	opts.SHA256 = sumOf(program)
	in, err := Install(t.Context(), from, opts)
	if err != nil || in.String() != "acme@7" {
		t.Fatalf("got %v, %v", in, err)
	}
	text, err := os.ReadFile(filepath.Join(in.Dir, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := manifest.Parse("m", text); err != nil || m.Files[0].SHA256 != sumOf(program) || !m.RunsHere() {
		t.Errorf("the manifest is %+v, %v", m, err)
	}
	for version, want := range map[string]string{"": "the version", "../..": "the version", "1 beta": "the version"} {
		if _, err := Install(t.Context(), from, options(t, version)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// TestContradiction: a program that says something else than its manifest is refused,
// and so is one that cannot be asked.
func TestContradiction(t *testing.T) {
	from := tarGz(t, parts(t, acme("1.2")))
	for want, facts := range map[string]*sdk.Facts{
		`its name is "other"`:       {Name: "other", Version: "1.2", Targets: []sdk.TargetFacts{{Pattern: "acme:*"}}},
		`its version is "1.3"`:      {Name: "acme", Version: "1.3", Targets: []sdk.TargetFacts{{Pattern: "acme:*"}}},
		"its targets are cuda:80":   {Name: "acme", Version: "1.2", Targets: []sdk.TargetFacts{{Pattern: "cuda:80"}}},
		"it printed something else": nil,
	} {
		opts := options(t, "")
		opts.Describe = func(context.Context, string) (*sdk.Facts, error) {
			if facts == nil {
				return nil, errors.New("it printed something else")
			}
			return facts, nil
		}
		if _, err := Install(t.Context(), from, opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if left := files(t, opts.Root); left != "" {
			t.Errorf("left:\n%s", left)
		}
	}
}

// TestWritableByOthers: what others could have put there is not looked at.
func TestWritableByOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	opts := options(t, "1.2")
	in, err := Install(t.Context(), tarGz(t, parts(t, acme("1.2"))), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{opts.Root, filepath.Dir(in.Dir)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if list := List(opts.Root); len(list) > 0 {
			t.Errorf("%s: %v", dir, list)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(opts.Root, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), tarGz(t, parts(t, acme("2.0"))), opts); err == nil || !strings.Contains(err.Error(), "written by others") {
		t.Errorf("got %v", err)
	}
}

// FuzzArchive: whatever an archive holds, it leaves all that its manifest lists, with
// these sums, or nothing.
func FuzzArchive(f *testing.F) {
	good := acme("1.2")
	text, err := good.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("lib/table", "table", byte(tar.TypeReg), string(text))
	f.Add("../lib/table", "table", byte(tar.TypeReg), string(text))
	f.Add("lib/table", "table", byte(tar.TypeSymlink), string(text))
	f.Add("a/b", "x", byte(tar.TypeXGlobalHeader), "{}")
	f.Fuzz(func(t *testing.T, name, data string, kind byte, text string) {
		var out bytes.Buffer
		zw := gzip.NewWriter(&out)
		tw := tar.NewWriter(zw)
		for _, h := range []struct {
			name, data string
			kind       byte
		}{{"tritonc-backend-acme", program, tar.TypeReg}, {manifest.FileName, text, tar.TypeReg}, {name, data, kind}} {
			if tw.WriteHeader(&tar.Header{Name: h.name, Size: int64(len(h.data)), Mode: 0o644, Typeflag: h.kind, Linkname: "/etc/passwd"}) != nil {
				return
			}
			if _, err := tw.Write([]byte(h.data)); err != nil {
				return
			}
		}
		if errors.Join(tw.Close(), zw.Close()) != nil {
			return
		}
		top := t.TempDir()
		from := filepath.Join(top, "a.tar.gz")
		if err := os.WriteFile(from, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := Options{Root: filepath.Join(top, "root"), Protocol: []int{1}, Describe: func(context.Context, string) (*sdk.Facts, error) {
			return &sdk.Facts{Name: "acme", Version: "1.2", Targets: []sdk.TargetFacts{{Pattern: "acme:*"}}}, nil
		}}
		in, err := Install(t.Context(), from, opts)
		if err != nil {
			if got := files(t, top); got != "a.tar.gz false" {
				t.Errorf("%v, and there are\n%s", err, got)
			}
			return
		}
		m, err := manifest.Parse("m", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Files {
			if got, err := os.ReadFile(filepath.Join(in.Dir, filepath.FromSlash(f.Path))); err != nil || sumOf(string(got)) != f.SHA256 {
				t.Errorf("%s: %q, %v", f.Path, got, err)
			}
		}
		if n := strings.Count(files(t, top), "\n"); n != len(m.Files)+1 {
			t.Errorf("%d files and the archive\n%s", n, files(t, top))
		}
	})
}
