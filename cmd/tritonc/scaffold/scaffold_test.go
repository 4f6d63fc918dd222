package scaffold

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/tritonc/tritonc/internal/golden"
)

var root = filepath.Join("..", "..", "..")

// TestExamples holds that examples/backends has what Files makes. TRITONC_UPDATE=1
// rewrites it.
func TestExamples(t *testing.T) {
	for _, c := range []Config{
		{Name: "acme"},
		{Name: "gcn", Kit: true, Targets: []string{"gcn:gfx90a"}},
	} {
		t.Run(c.Name, func(t *testing.T) {
			c.Source, c.Replace = root, "../../.."
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			files, err := Files(c)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(root, "examples", "backends", c.Name)
			want := map[string]string{}
			for _, f := range files {
				want[f.Name] = string(f.Data)
				if os.Getenv(golden.UpdateEnv) == "1" {
					if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(want, filesOf(t, dir)); diff != "" {
				t.Errorf("%s is not what init writes; %s=1 rewrites it:\n%s", dir, golden.UpdateEnv, diff)
			}
		})
	}
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	return got
}

// TestReleased: with a version of tritonc that a proxy serves, the module builds and its
// test passes.
func TestReleased(t *testing.T) {
	const version = "v0.0.1-test"
	env, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	modcache, outside, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	proxy := t.TempDir()
	serve(t, proxy, version)
	// What a new machine's cache lacks, since this module needs nothing of it, is outside.
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(modcache)+"/cache/download,"+outside)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "modules"))
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath -modcacherw -buildvcs=false") // what was compiled elsewhere stays compiled
	c := Config{Name: "mine", Version: version}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	files, err := Files(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "mine")
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	if err := Tidy(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, command := range c.Commands(dir)[:2] { // without the check, which is tritonc's
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

// serve puts a version of tritonc's module, with the SDK alone, into a folder as a proxy
// has it.
func serve(t *testing.T, proxy, version string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(ourModule), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf("{%q:%q}\n", "Version", version),
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var files []zip.File
	add := func(path string) { files = append(files, sourceFile(path)) }
	add("go.mod")
	err = fs.WalkDir(os.DirFS(root), "plugin-sdk", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".go" {
			add(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := zip.Create(out, module.Version{Path: ourModule, Version: version}, files); err != nil {
		t.Fatal(err)
	}
}

// sourceFile is a zip.File of the repository.
type sourceFile string

func (f sourceFile) Path() string                { return string(f) }
func (f sourceFile) Lstat() (os.FileInfo, error) { return os.Lstat(filepath.Join(root, string(f))) }
func (f sourceFile) Open() (io.ReadCloser, error) {
	return os.Open(filepath.Join(root, string(f)))
}

// TestCheck lists what cannot be a backend.
func TestCheck(t *testing.T) {
	for _, x := range []struct {
		config Config
		want   string
	}{
		{Config{Name: "mine"}, ""},
		{Config{Name: "x2", Targets: []string{"hip:gfx90a", "hip:gfx942"}, Module: "example.com/x"}, ""},
		{Config{Name: ""}, "letters and digits"},
		{Config{Name: "a b"}, "letters and digits"},
		{Config{Name: "../x"}, "letters and digits"},
		{Config{Name: "Mine"}, "letters and digits"},
		{Config{Name: "2x"}, "letters and digits"},
		{Config{Name: "func"}, "a keyword of Go"},
		{Config{Name: "nvidia"}, "tritonc's backend for NVIDIA GPUs"},
		{Config{Name: "sim"}, "the simulated devices"},
		{Config{Name: "mine", Targets: []string{"mine"}}, "not of the form"},
		{Config{Name: "mine", Targets: []string{"mine:*"}}, "letters and digits"},
		{Config{Name: "mine", Targets: []string{`mine:"`}}, "letters and digits"},
		{Config{Name: "mine", Targets: []string{"mine:v1", "mine:v1"}}, "there twice"},
		{Config{Name: "mine", Module: "a b"}, "import path"},
		{Config{Name: "mine", Module: "github.com/tritonc/tritonc/mine"}, "tritonc's own module"},
	} {
		got := ""
		if err := x.config.Check(); err != nil {
			got = err.Error()
		}
		if (x.want == "") != (got == "") || !strings.Contains(got, x.want) {
			t.Errorf("%+v: %q, want %q", x.config, got, x.want)
		}
	}
}

func TestCommands(t *testing.T) {
	c := Config{Name: "mine", Module: "example.com/lux"}
	got := strings.Join(c.Commands("it's mine"), "\n")
	want := strings.ReplaceAll(`go -C 'it'\''s mine' build -o tritonc-backend-mine# .
go -C 'it'\''s mine' test .
tritonc backend check 'it'\''s mine/tritonc-backend-mine#'`, "#", exe)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWrite: what is there stays, and what fails leaves nothing.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := []File{{"a", []byte("1")}, {"b", []byte("2")}}
	for _, x := range []struct {
		dir   string
		files []File
	}{
		{dir, files},
		{filepath.Join(dir, "kept"), files},
		{filepath.Join(dir, "new"), append(files, File{"no/such", nil})},
	} {
		if err := Write(x.dir, x.files); err == nil {
			t.Errorf("%s is written", x.dir)
		}
	}
	if diff := cmp.Diff(map[string]string{"kept": "x"}, filesOf(t, dir)); diff != "" {
		t.Error(diff)
	}
	empty := t.TempDir()
	if err := Write(empty, files); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, filesOf(t, empty)); diff != "" {
		t.Error(diff)
	}
}
