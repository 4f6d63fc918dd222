package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// linked lists the modules of programs, ours left out.
func linked(programs []string) ([]module.Version, error) {
	set := map[module.Version]bool{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		for _, dep := range info.Deps {
			if dep.Path != ourModule {
				set[module.Version{Path: dep.Path, Version: dep.Version}] = true
			}
		}
	}
	list := slices.Collect(maps.Keys(set))
	module.Sort(list)
	return list, nil
}

// thirdParty is the text of the licences of modules and of Go's own library.
func (r *release) thirdParty(ctx context.Context, modules []module.Version) ([]byte, error) {
	var b strings.Builder
	b.WriteString("The programs of this archive hold code of the modules below. Their licences follow.\n" +
		"The source of a module is what \"go mod download MODULE@VERSION\" brings.\n\n")
	goroot, err := r.goOutput(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	goVersion, err := r.goOutput(ctx, "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	if err := appendLicences(&b, "Go's standard library "+goVersion, goroot, false); err != nil {
		return nil, err
	}
	for _, m := range modules {
		out, err := r.goOutput(ctx, "mod", "download", "-json", m.String())
		if err != nil {
			return nil, err
		}
		var found struct{ Dir string }
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			return nil, err
		}
		if err := appendLicences(&b, m.Path+" "+m.Version, found.Dir, true); err != nil {
			return nil, err
		}
	}
	return []byte(b.String()), nil
}

var licenceName = regexp.MustCompile(`(?i)^(un)?licen[cs]es?\b|^(copying|copyright|notice|patents|authors)\b`)

// appendLicences writes the files of a module or of Go's own tree that are, by their
// names, licences or what licences ask to be passed on. Without one it is an error.
func appendLicences(b *strings.Builder, title, dir string, below bool) error {
	any := false
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && file != dir && (!below || name == "testdata" || strings.HasPrefix(name, "_")):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(name, ".go"):
			return nil
		case !licenceName.MatchString(name) && filepath.Base(filepath.Dir(file)) != "licenses":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		any = true
		line := strings.Repeat("=", 80)
		fmt.Fprintf(b, "%s\n%s: %s\n%s\n\n%s\n\n", line, title, filepath.ToSlash(name), line, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		return nil
	})
	if err == nil && !any {
		err = fmt.Errorf("%s has no licence in %s", title, dir)
	}
	return err
}
