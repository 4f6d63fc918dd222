package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"

	"github.com/tritonc/tritonc/core/plugin/manifest"
)

// TestPack holds that the order of entries does not enter an archive, and what does.
func TestPack(t *testing.T) {
	date := time.Date(2026, 11, 23, 21, 0, 0, 0, time.FixedZone("", 9*3600))
	entries := []entry{
		{"share/man/a.1", ordinary, []byte("page")},
		{"README.md", ordinary, []byte("text")},
		{"bin/tritonc", program, bytes.Repeat([]byte("program"), 1000)},
	}
	turned := slices.Clone(entries)
	slices.Reverse(turned)
	for _, name := range []string{"a.zip", "a.tar.gz"} {
		zipped := strings.HasSuffix(name, ".zip")
		one, err := pack(zipped, "top", date, entries)
		if err != nil {
			t.Fatal(err)
		}
		two, err := pack(zipped, "top", date.UTC(), turned)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, two) {
			t.Errorf("%s: the order of entries changes the bytes", name)
		}
		got, err := unpack(name, one)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, e := range got {
			list = append(list, e.mode.String()+" "+e.path)
		}
		want := "-rw-r--r-- top/README.md, -rwxr-xr-x top/bin/tritonc, -rw-r--r-- top/share/man/a.1"
		if text := strings.Join(list, ", "); text != want || !bytes.Equal(got[1].data, entries[2].data) {
			t.Errorf("%s holds %s, want %s", name, text, want)
		}
		for _, when := range times(t, name, one) {
			if !when.Equal(date) {
				t.Errorf("%s has the time %s, want %s", name, when, date)
			}
		}
	}
	if _, err := pack(false, "top", date, append(entries, entries[0])); err == nil {
		t.Error("two files have one path")
	}
}

// times are those in an archive.
func times(t *testing.T, name string, data []byte) (list []time.Time) {
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			list = append(list, f.Modified)
		}
		return list
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s names the user %d %q", h.Name, h.Uid, h.Uname)
		}
		list = append(list, h.ModTime)
	}
}

func TestCompare(t *testing.T) {
	make := func(entries ...entry) *archived {
		data, err := pack(false, "top", time.Unix(0, 0), entries)
		if err != nil {
			t.Fatal(err)
		}
		return &archived{name: "top.tar.gz", data: data}
	}
	a, b, c := entry{"a", ordinary, nil}, entry{"b", ordinary, nil}, entry{"c", ordinary, nil}
	if err := compare(make(a, b), make(b, a)); err != nil {
		t.Error(err)
	}
	changed := entry{"b", program, nil}
	err := compare(make(a, b), make(a, changed, c))
	if err == nil || !strings.HasSuffix(err.Error(), "these differ:\n    top/b\n    top/c") {
		t.Errorf("got %v", err)
	}
}

func TestVersions(t *testing.T) {
	root := t.TempDir()
	changelog := "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-23\n"
	if err := os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(changelog), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &release{root: root, env: os.Environ()}
	for given, want := range map[string]string{
		"v0.2.0": "", "0.2.0": "is not a version", "v0.2": "is not a version", "v0.3.0": "no section", "v0.2.0-rc.1": "no section",
	} {
		got, err := r.versionOf(t.Context(), given)
		switch {
		case want == "" && (err != nil || got != given):
			t.Errorf("%s: %q, %v", given, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want an error with %q", given, err, want)
		}
	}
}

// TestLicences holds that each module that a program is linked with has a licence that the
// archives pass on.
func TestLicences(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}",
		"./cmd/...", "./backends/...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	set := map[module.Version]bool{}
	var modules []module.Version
	for line := range strings.Lines(string(out)) {
		path, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if m := (module.Version{Path: path, Version: version}); ok && path != ourModule && !set[m] {
			set[m] = true
			modules = append(modules, m)
		}
	}
	if len(modules) < 10 {
		t.Fatalf("%d modules", len(modules))
	}
	r := &release{root: filepath.Join("..", ".."), env: os.Environ()}
	text, err := r.thirdParty(t.Context(), modules)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nGo's standard library go", "\ngithub.com/llir/llvm v0.3.6: internal/natsort/LICENSE\n", ": licenses/ftl.txt\n", ": NOTICE.txt\n", "\ngithub.com/nats-io/nats-server/v2 v2.15.3: LICENSE\n", "Apache License", "Mozilla Public License",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the licences lack %q", want)
		}
	}
	if err := appendLicences(new(strings.Builder), "none", t.TempDir(), true); err == nil {
		t.Error("a folder without a licence passes")
	}
}

// TestManifest holds that the backend's archive has what its manifest lists.
func TestManifest(t *testing.T) {
	var d described
	if err := json.Unmarshal([]byte(`{"name":"nvidia","version":"1.2.3","targets":[{"pattern":"cuda:80"},{"pattern":"cuda:9*"}]}`), &d); err != nil {
		t.Fatal(err)
	}
	entries := []entry{{"tritonc-backend-nvidia", program, []byte("program")}, {"LICENSE", ordinary, []byte("text")}}
	text, err := d.manifest(platform{"linux", "arm64"}, entries).Encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(manifest.FileName, text)
	if err != nil {
		t.Fatal(err)
	}
	file, _ := m.File(m.Program())
	if !file.Executable || file.Size != 7 || file.SHA256 != sum([]byte("program")) {
		t.Errorf("the program is listed as %+v", file)
	}
	if got := m.Name + " " + m.Version + " " + m.System + " " + strings.Join(m.Targets, ","); got != "nvidia 1.2.3 linux/arm64 cuda:80,cuda:9*" || len(m.Files) != 2 {
		t.Errorf("%s, %d files", got, len(m.Files))
	}
}

// TestWheelPrograms holds the Python package to programs that a release has.
func TestWheelPrograms(t *testing.T) {
	r := &release{root: filepath.Join("..", "..")}
	packages, err := r.packages()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range wheelPrograms {
		if !slices.Contains(packages, pkg) {
			t.Errorf("%s is not one of %v", pkg, packages)
		}
	}
}
