package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// checkVersion is the version of the module that check serves to "go install".
const checkVersion = "v0.0.1-check"

// install serves the checkout as the module proxy would a version of it, installs tritonc
// and the backends from there, and compiles with them. What that tritonc's backend init
// writes requires this version: it is built and checked.
func (r *release) install(ctx context.Context, dir string) error {
	served := filepath.Join(dir, "proxy", filepath.FromSlash(ourModule), "@v")
	if err := os.MkdirAll(served, 0o755); err != nil {
		return err
	}
	gomod, err := os.ReadFile(filepath.Join(r.root, "go.mod"))
	if err != nil {
		return err
	}
	version := filepath.Join(served, checkVersion)
	if err := os.WriteFile(version+".mod", gomod, 0o644); err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", checkVersion, r.date.Format("2006-01-02T15:04:05Z"))
	if err := os.WriteFile(version+".info", []byte(info), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(served, "list"), []byte(checkVersion+"\n"), 0o644); err != nil {
		return err
	}
	if err := zipModule(version+".zip", r.root); err != nil {
		return err
	}
	// What was downloaded for the other builds, and checked, is served, too: no network.
	cache, err := r.goOutput(ctx, "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	gobin := filepath.Join(dir, "bin")
	env := []string{
		"GOBIN=" + gobin, "GOMODCACHE=" + filepath.Join(dir, "modules"), "GOSUMDB=off",
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(cache, "cache", "download"),
		"GOFLAGS=-trimpath -modcacherw", // else nobody could remove it
	}
	packages, err := r.packages()
	if err != nil {
		return err
	}
	args := []string{"install"}
	for _, pkg := range packages {
		args = append(args, path.Join(ourModule, pkg)+"@"+checkVersion)
	}
	if err := r.run(ctx, env, dir, io.Discard, "go", args...); err != nil {
		return err
	}
	tritonc := filepath.Join(gobin, host.program("tritonc"))
	if err := r.compiles(ctx, tritonc, checkVersion, filepath.Join(r.root, "examples", "vector_add.py"), nil); err != nil {
		return err
	}
	return r.begins(ctx, env, tritonc, dir)
}

// begins has a tritonc write a backend's module in a folder, builds that and checks it.
func (r *release) begins(ctx context.Context, env []string, tritonc, dir string) error {
	written := filepath.Join(dir, "written")
	if err := r.run(ctx, env, dir, io.Discard, tritonc, "backend", "init", "mine", "--dir", written); err != nil {
		return err
	}
	gomod, err := os.ReadFile(filepath.Join(written, "go.mod"))
	if err != nil {
		return err
	}
	if require := ourModule + " " + checkVersion; !strings.Contains(string(gomod), require) {
		return fmt.Errorf("what backend init writes does not require %s:\n%s", require, indent(string(gomod)))
	}
	for _, args := range [][]string{{"go", "build", "."}, {"go", "test", "."}, {tritonc, "backend", "check", host.program("tritonc-backend-mine")}} {
		if err := r.run(ctx, env, written, io.Discard, args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// zipModule writes the zip of the module in a folder.
func zipModule(file, root string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = zip.CreateFromDir(f, module.Version{Path: ourModule, Version: checkVersion}, root)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
