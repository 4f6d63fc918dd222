package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// check makes the archives of this system twice, from two folders and with two build
// caches, compares the bytes, and tries what is in it.
func (r *release) check(ctx context.Context, work string) error {
	first, err := r.archives(ctx, host)
	if err != nil {
		return err
	}
	second, err := r.elsewhere(ctx, filepath.Join(work, "another", "folder"))
	if err != nil {
		return err
	}
	other, err := second.archives(ctx, host)
	if err != nil {
		return err
	}
	for i, a := range first {
		if err := compare(a, other[i]); err != nil {
			return err
		}
		a.report(os.Stdout)
		fmt.Printf("    the same %d bytes from %s and %s\n", len(a.data), r.root, second.root)
	}
	if err := r.try(ctx, first[0], first[1:], filepath.Join(work, "unpacked")); err != nil {
		return err
	}
	fmt.Println("the archive's tritonc finds its backends and drivers, and compiles; so it does with the backends installed")
	if err := second.install(ctx, filepath.Join(work, "proxy")); err != nil {
		return err
	}
	fmt.Println("go install", ourModule+"/cmd/tritonc@"+checkVersion, "finds its backends, and compiles; what its backend init writes passes the checks")
	return nil
}

// elsewhere is the same release of a copy of the checkout, built from nothing.
func (r *release) elsewhere(ctx context.Context, dir string) (*release, error) {
	list, err := r.output(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "checkout")
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(r.root, name), filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := r.run(ctx, nil, root, io.Discard, "git", "init", "-q"); err != nil { // for git ls-files
		return nil, err
	}
	env := append(r.env[:len(r.env):len(r.env)], "GOCACHE="+filepath.Join(dir, "gocache"), "TZ=Asia/Tokyo", "TMPDIR="+dir)
	if header, err := r.output(ctx, "scripts/device-cuda.sh", "--check"); err == nil {
		// The same cuda.h at another place, as is what the script makes of it.
		cuda := filepath.Join(dir, "cuda")
		if err := copyFile(filepath.Join(header, "cuda.h"), filepath.Join(cuda, "include", "cuda.h")); err != nil {
			return nil, err
		}
		env = append(env, "CUDA_HOME="+cuda, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	}
	return &release{root: root, work: filepath.Join(dir, "work"), version: r.version, date: r.date, env: env}, nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, data, info.Mode().Perm())
}

func writeFile(name string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, mode)
}

// compare says which files of two archives differ.
func compare(a, b *archived) error {
	if bytes.Equal(a.data, b.data) {
		return nil
	}
	one, err := unpack(a.name, a.data)
	if err != nil {
		return err
	}
	two, err := unpack(b.name, b.data)
	if err != nil {
		return err
	}
	of := map[string]entry{}
	for _, e := range two {
		of[e.path] = e
	}
	var differ []string
	for _, e := range one {
		f, ok := of[e.path]
		if !ok || f.mode != e.mode || !bytes.Equal(e.data, f.data) {
			differ = append(differ, e.path)
		}
		delete(of, e.path)
	}
	for path := range of {
		differ = append(differ, path)
	}
	slices.Sort(differ)
	return fmt.Errorf("%s is not reproducible; these differ:\n%s", a.name, indent(strings.Join(differ, "\n")))
}

// try unpacks the archive of everything and compiles with what is in it, from another
// folder and through a link; then with its tritonc alone, for which the archives of the
// backends are installed.
func (r *release) try(ctx context.Context, whole *archived, backends []*archived, dir string) error {
	entries, err := unpack(whole.name, whole.data)
	if err != nil {
		return err
	}
	top, _, _ := strings.Cut(entries[0].path, "/")
	for _, e := range entries {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(e.path)), e.data, e.mode.Perm()); err != nil {
			return err
		}
	}
	tritonc := filepath.Join(dir, top, "bin", host.program("tritonc"))
	kernel := filepath.Join(dir, top, "examples", "vector_add.py")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(tritonc, link); err != nil {
		return err
	}
	for _, program := range []string{tritonc, link} {
		if err := r.compiles(ctx, program, r.version, kernel, nil); err != nil {
			return err
		}
	}
	for _, d := range host.drivers() {
		if err := r.drives(ctx, tritonc, path.Base(d.program)); err != nil {
			return err
		}
	}
	alone := filepath.Join(dir, "alone", host.program("tritonc"))
	if err := copyFile(tritonc, alone); err != nil {
		return err
	}
	var files []string
	for _, b := range backends {
		file := filepath.Join(dir, b.name)
		if err := writeFile(file, b.data, ordinary); err != nil {
			return err
		}
		files = append(files, file)
	}
	return r.compiles(ctx, alone, r.version, kernel, files)
}

// drives checks that a tritonc finds a driver beside it and speaks with it, whether there
// is a device or the driver says why not.
func (r *release) drives(ctx context.Context, program, driver string) error {
	out, err := r.output(ctx, program, "devices", "--json")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, driver+`"`) && !strings.Contains(line, "handshake") {
			return nil
		}
	}
	return fmt.Errorf("%s devices does not list %s:\n%s", program, driver, indent(out))
}

// compiles checks that a tritonc has a version, and with it the backends of that version,
// each of which compiles a kernel. Those of archives are installed before.
func (r *release) compiles(ctx context.Context, program, version, kernel string, archives []string) error {
	home, err := os.MkdirTemp(filepath.Dir(r.work), "")
	if err != nil {
		return err
	}
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=", "XDG_DATA_HOME="}
	try := func(want string, args ...string) error {
		var out strings.Builder
		if err := r.run(ctx, env, home, &out, program, args...); err != nil {
			return err
		}
		if !strings.Contains(out.String(), want) {
			return fmt.Errorf("%s %s lacks %q:\n%s", program, strings.Join(args, " "), want, indent(out.String()))
		}
		return nil
	}
	if err := try("tritonc "+version+", ", "version"); err != nil {
		return err
	}
	for _, file := range archives {
		if err := try("", "backend", "install", file); err != nil {
			return err
		}
	}
	for _, b := range r.backends {
		if err := try(b.Name+" "+strings.TrimPrefix(version, "v")+"\t", "backend", "list"); err != nil {
			return err
		}
		target := b.Targets[0].Pattern
		if err := try(fmt.Sprintf("ttg.target = %q", target), "--target", target, "--emit", "ttgir", "-o", "-", kernel); err != nil {
			return err
		}
	}
	return nil
}
