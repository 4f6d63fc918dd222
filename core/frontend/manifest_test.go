package frontend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/ir"
)

// TestManifest builds the public kernels that testdata/manifest.tsv lists, each
// with a signature that it is known to build with. The sources are not here:
// TRITONC_KERNELS names a folder that holds each repository at its commit, as
// owner/name. The types in the signatures are guesses: the list tells whether
// something that was accepted is refused now, not what a launch passes.
//
//	@owner/name	commit
//	path	kernel	signature
func TestManifest(t *testing.T) {
	root := os.Getenv("TRITONC_KERNELS")
	if root == "" {
		t.Skip("set TRITONC_KERNELS to the folder with the checkouts that testdata/manifest.tsv lists, to build their kernels")
	}
	list, err := os.ReadFile("testdata/manifest.tsv")
	if err != nil {
		t.Fatal(err)
	}
	fs := facts()
	fs.FP8 = nil
	var repo string
	var files map[string]*File
	built, absent := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		f := strings.Split(line, "\t")
		if name, ok := strings.CutPrefix(f[0], "@"); ok {
			repo, files = filepath.Join(root, filepath.FromSlash(name)), map[string]*File{}
			continue
		}
		file := checkout(repo, f[0], files)
		if file == nil {
			absent++
			continue
		}
		spec, err := signature.Parse("-s", f[2])
		if err != nil {
			t.Fatal(err)
		}
		spec.Kernel = f[1]
		m, err := Build(dialect.NewContext(), file, spec, &Options{Facts: fs, Open: func(module string) *File {
			for _, base := range []string{"", "src/"} {
				for _, end := range []string{".py", "/__init__.py"} {
					if g := checkout(repo, base+strings.ReplaceAll(module, ".", "/")+end, files); g != nil {
						return g
					}
				}
			}
			return nil
		}})
		if err == nil {
			if v := ir.Verify(m); v != nil {
				err = v
			}
		}
		if err != nil {
			t.Errorf("%s: %s(%s):\n%s", f[0], f[1], f[2], explain(err))
			continue
		}
		built++
	}
	t.Logf("%d kernels built, %d absent", built, absent)
}

// checkout parses a file of a repository, once; nil if it is not there.
func checkout(repo, path string, files map[string]*File) *File {
	if f, ok := files[path]; ok {
		return f
	}
	files[path] = nil
	full := filepath.Join(repo, filepath.FromSlash(path))
	src, err := os.ReadFile(full)
	if err != nil {
		return nil
	}
	module := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(path, ".py"), "src/"), "/", ".")
	f, err := ParseModule(full, path, strings.TrimSuffix(module, ".__init__"), src)
	if err != nil {
		return nil
	}
	files[path] = f
	return f
}
