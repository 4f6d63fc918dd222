package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/bundle/ccode"
	"github.com/tritonc/tritonc/driver/bundle/gocode"
)

// write makes everything first, so that a mistake leaves no file.
func (f *buildFlags) write(env *environment, b *build) error {
	for _, k := range b.Kernels {
		b.Bundle.Kernels = append(b.Bundle.Kernels, &k.Kernel)
	}
	folders := map[string][]outFile{}
	if f.goDir != "" {
		files, err := f.goFiles(&b.Bundle)
		if err != nil {
			return err
		}
		folders[f.goDir] = append(folders[f.goDir], files...)
	}
	if f.c != "" {
		dir, out := filepath.Split(f.c)
		files, err := ccode.Files(strings.TrimSuffix(out, ".c"), &b.Bundle)
		if err != nil {
			return fmt.Errorf("--c %s: %w", f.c, err)
		}
		for _, file := range files {
			folders[dir] = append(folders[dir], outFile{file.Name, file.Data})
		}
	}
	if f.bundle != "" {
		data, err := b.Encode()
		if err != nil {
			return err
		}
		dir, name := filepath.Split(f.bundle)
		folders[dir] = append(folders[dir], outFile{name, data})
	}
	for dir, files := range folders {
		if dir == "" {
			dir = "."
		}
		if err := writeFiles(dir, files); err != nil {
			return err
		}
		for _, file := range files {
			env.report.record("", builtRecord{"built", filepath.ToSlash(filepath.Join(dir, file.name)), len(file.data)})
		}
	}
	return nil
}

// builtRecord tells with --json of a file that was written.
type builtRecord struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Size int    `json:"size"`
}

// goFiles are the files of the Go package.
func (f *buildFlags) goFiles(b *bundle.Bundle) ([]outFile, error) {
	path := filepath.Join(f.goDir, gocode.SourceFile)
	old, err := input.ReadFile(path, input.Library)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, unreadable(path, err)
	case !bytes.HasPrefix(old, []byte(gocode.Header)):
		return nil, diag.Errorf(diag.Pos{File: path}, "the file was not written by tritonc build, and is not replaced").
			WithHelp("--go with another folder keeps it")
	}
	name, err := f.goPackage()
	if err != nil {
		return nil, err
	}
	src, err := gocode.Package(name, b)
	if err != nil {
		return nil, err
	}
	data, err := b.Encode()
	return []outFile{{gocode.SourceFile, src}, {gocode.BundleFile, data}}, err
}

// goPackage is the name of the Go package: as --package says, as the folder's other
// files have it, or as the folder is called.
func (f *buildFlags) goPackage() (string, error) {
	if f.packageName != "" {
		return f.packageName, nil
	}
	others, err := filepath.Glob(filepath.Join(f.goDir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range others {
		if filepath.Base(path) == gocode.SourceFile || strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := input.ReadFile(path, input.Text)
		if err != nil {
			continue
		}
		if file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly); err == nil {
			return file.Name.Name, nil
		}
	}
	dir, err := filepath.Abs(f.goDir)
	if err != nil {
		return "", err
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, filepath.Base(dir))
	if !token.IsIdentifier(name) || name == "main" {
		name = "kernels"
	}
	return name, nil
}

// openBundle reads a bundle that the user named.
func openBundle(path string) (*bundle.Bundle, error) {
	b, err := bundle.Open(path)
	if errors.As(err, new(*fs.PathError)) || errors.As(err, new(*input.Error)) {
		return nil, unreadable(path, err)
	}
	return b, err
}

// inspectBundle shows what a bundle holds.
func inspectBundle(env *environment, path string) error {
	b, err := openBundle(path)
	if err != nil {
		return err
	}
	if env.report.json {
		return writeJSON(env.stdout, variantRows(b)...)
	}
	w := env.stdout
	fmt.Fprintf(w, "made by    tritonc %s, Triton %s\n", b.Tritonc, b.Triton)
	for _, t := range b.Targets {
		fmt.Fprintf(w, "target     %s, by %s %s (%.12s)\n", t.Name, t.Backend, t.Version, t.Hash)
	}
	for _, k := range b.Kernels {
		var params []string
		for _, p := range k.Params {
			params = append(params, p.Name+": "+p.Type)
		}
		fmt.Fprintf(w, "\n%s(%s)\n  of %s", k.Name, strings.Join(params, ", "), k.Source)
		if k.Grid != "" {
			fmt.Fprintf(w, ", grid %s", strings.Join(strings.Fields(k.Grid), " "))
		}
		fmt.Fprintln(w)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  target\tcode\tbytes\twarps\tshared\tregisters\ttensor maps\thints\tconstants")
		for i := range k.Variants {
			if err := writeVariant(table, k, &k.Variants[i]); err != nil {
				return fmt.Errorf("%s: kernel %s: %w", path, k.Name, err)
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// variantRow is a kernel of a bundle compiled once, with --json.
type variantRow struct {
	Kernel  string     `json:"kernel"`
	Source  string     `json:"source"`
	Grid    string     `json:"grid,omitempty"`
	Params  []paramRow `json:"params"`
	Target  string     `json:"target"`
	Stage   string     `json:"stage"`
	Bytes   int        `json:"bytes"`
	Options string     `json:"options,omitempty"` // as they were given
	// Constants and hints by the names of parameters.
	Constants map[string]string `json:"constants,omitempty"`
	Hints     map[string]int64  `json:"hints,omitempty"`
	Metadata  json.RawMessage   `json:"metadata"`
}

type paramRow struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func variantRows(b *bundle.Bundle) (rows []variantRow) {
	for _, k := range b.Kernels {
		var params []paramRow
		for _, p := range k.Params {
			params = append(params, paramRow{p.Name, p.Type})
		}
		for i := range k.Variants {
			v := &k.Variants[i]
			row := variantRow{
				Kernel: k.Name, Source: k.Source, Grid: strings.Join(strings.Fields(k.Grid), " "), Params: params,
				Target: v.Target, Stage: v.Stage, Bytes: len(v.Code), Options: v.Options, Metadata: v.Metadata,
				Constants: map[string]string{}, Hints: map[string]int64{},
			}
			for _, c := range v.Constants {
				row.Constants[c.Name] = fmt.Sprint(c.Value)
			}
			for p, h := range v.Hints {
				if h != 0 {
					row.Hints[k.Params[p].Name] = int64(h)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func writeVariant(w *tabwriter.Writer, k *bundle.Kernel, v *bundle.Variant) error {
	m, err := driver.ParseMetadata(v.Metadata)
	if err != nil {
		return err
	}
	var also struct{ Registers *int }
	if err := json.Unmarshal(v.Metadata, &also); err != nil {
		return err
	}
	registers := "-"
	if also.Registers != nil {
		registers = fmt.Sprint(*also.Registers)
	}
	var hints, constants []string
	for i, h := range v.Hints {
		if h != 0 {
			hints = append(hints, fmt.Sprintf("%s:%d", k.Params[i].Name, h))
		}
	}
	for _, a := range v.Constants {
		constants = append(constants, fmt.Sprintf("%s=%v", a.Name, a.Value))
	}
	maps := len(slices.DeleteFunc(slices.Clone(m.Descriptors), func(d *driver.DescriptorMeta) bool { return d == nil }))
	fmt.Fprintf(w, "  %s\t%s\t%d\t%d\t%d\t%s\t%d\t%s\t%s\n", v.Target, v.Stage, len(v.Code), m.NumWarps, m.Shared,
		registers, maps, dash(strings.Join(hints, " ")), dash(strings.TrimSpace(strings.Join(constants, " ")+" "+v.Options)))
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
