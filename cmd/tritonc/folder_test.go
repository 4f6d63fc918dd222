package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFolder: a folder finds what a process that runs in it finds, by the same names.
func TestFolder(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"here/venv/lib/python3.12/site-packages", "here/pkg", ".git"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"here/k.py", "here/pkg/__init__.py", "here/pkg/m.py", "here/tritonc.toml"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("[backends]\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	here := filepath.Join(root, "here")
	type answers struct {
		text, name, module, root, project string
		found                             []string
		has, hasNot                       bool
	}
	ask := func(d folder) (a answers) {
		text, err := d.read("k.py")
		if err != nil {
			t.Fatal(err)
		}
		a.text = string(text)
		if a.name, err = d.sourceName("../here/k.py", ""); err != nil {
			t.Fatal(err)
		}
		p := d.packageOf("pkg/m.py")
		a.module, a.root = p.module, p.root
		a.found = d.glob(filepath.Join("venv", "lib", "python*", "site-packages"))
		a.has, a.hasNot = d.has("pkg"), d.has("none")
		project, err := loadProject(d, filepath.Join("pkg", "m.py"))
		if err != nil || project == nil {
			t.Fatal(project, err)
		}
		a.project = project.Path
		return a
	}
	far := ask(folder(here))
	t.Chdir(here)
	near := ask("")
	if far.name != "here/k.py" || far.module != "pkg.m" || far.project != "tritonc.toml" || len(far.found) != 1 || !far.has || far.hasNot {
		t.Errorf("%+v", far)
	}
	if !slices.Equal(far.found, near.found) {
		t.Errorf("%q, and in the folder itself %q", far.found, near.found)
	}
	far.found, near.found = nil, nil
	if far.name != near.name || far.text != near.text || far.module != near.module || far.root != near.root || far.project != near.project {
		t.Errorf("%+v, and in the folder itself %+v", far, near)
	}
}
