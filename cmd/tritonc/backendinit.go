package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
)

func backendInitCommand(env *environment) *cobra.Command {
	dir, sdkDir := "", ""
	cmd := &cobra.Command{
		Use:   "init [flags] NAME",
		Short: "write a module with a backend to begin with",
		Long: `Write a Go module with a backend and the driver of its device in one program, which
compiles and runs elementwise kernels, and a test. It is the example acme of tritonc's
source with another name. While tritonc has no released version, the module's replace
line says where that source is: --sdk, or the checkout that the current folder or this
program lies in.`,
		Example:               "  tritonc backend init mine --sdk ~/src/tritonc",
		Args:                  exactArgs("NAME"),
		DisableFlagsInUseLine: true,
		RunE:                  func(_ *cobra.Command, args []string) error { return initBackend(env, args[0], dir, sdkDir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the `FOLDER` to write, which must be empty; tritonc-backend-NAME, if not given")
	cmd.Flags().StringVar(&sdkDir, "sdk", "", "the `FOLDER` of tritonc's source")
	return cmd
}

var backendName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// initExample is what a new backend is made of, in tritonc's source.
const initExample = "examples/backends/acme"

func initBackend(env *environment, name, dir, sdkDir string) error {
	if !backendName.MatchString(name) {
		return usagef("%q cannot be the name of a backend: it has small letters and digits, a letter first", name)
	}
	if dir == "" {
		dir = plugin.Prefix + name
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return diag.Errorf(diag.Pos{}, "the folder %s is not empty", dir).WithHelp("name another one with --dir")
	}
	source, err := sourceTree(sdkDir)
	if err != nil {
		return err
	}
	rename := strings.NewReplacer("acme", name, "Acme", strings.ToUpper(name[:1])+name[1:], "=> ../../..", "=> "+modfile.AutoQuote(source))
	files := map[string]string{"README.md": fmt.Sprintf(`# %[1]s

A backend for tritonc, and the driver of its device.

    go build . && go test .
    tritonc backend check tritonc-backend-%[1]s
    tritonc backend install tritonc-backend-%[1]s
`, name)}
	for _, file := range []string{"main.go", "device.go", "main_test.go", "go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(initExample), file))
		if err != nil {
			return err
		}
		files[file] = string(text)
		if file != "go.sum" {
			files[file] = rename.Replace(string(text))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(env.stdout, "%s\n", dir)
	return err
}

// sourceTree is the folder of tritonc's source: the one given, or the one that the
// current folder or this program lies in.
func sourceTree(given string) (string, error) {
	var from []string
	if given != "" {
		from = []string{given}
	} else {
		if wd, err := os.Getwd(); err == nil {
			from = append(from, above(wd)...)
		}
		if exe, err := os.Executable(); err == nil {
			from = append(from, above(filepath.Dir(exe))...)
		}
	}
	for _, dir := range from {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(initExample), "main.go")); err == nil {
			return filepath.Abs(dir)
		}
	}
	if given != "" {
		return "", usagef("--sdk: %s is not the folder of tritonc's source", given)
	}
	return "", usagef("tritonc's source is not above the current folder nor above this program").withHelp("name its folder with --sdk")
}

// above lists dir and the folders above it.
func above(dir string) (list []string) {
	for {
		list = append(list, dir)
		parent := filepath.Dir(dir)
		if parent == dir {
			return list
		}
		dir = parent
	}
}
