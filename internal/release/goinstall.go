package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// checkVersion is the version of the module that check serves to "go install".
const checkVersion = "v0.0.1-check"

// install serves the checkout as the module proxy would a version of it, installs tritonc
// and the backend from there, and compiles with them.
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
	if err := r.run(ctx, env, dir, io.Discard, "go", "install", ourModule+"/cmd/tritonc@"+checkVersion,
		ourModule+"/backends/nvidia/cmd/tritonc-backend-nvidia@"+checkVersion); err != nil {
		return err
	}
	return r.compiles(ctx, filepath.Join(gobin, host.program("tritonc")), checkVersion, filepath.Join(r.root, "examples", "vector_add.py"), "")
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
