package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/tritonc/tritonc/cmd/tritonc/scaffold"
	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

const backendInitLong = `Write a Go module with a backend to begin with, a test of it and a kernel to try. It builds
at once, and the commands that are printed build, test and check it.

The backend gets Triton's IR as text, and its program serves a device, too: an interpreter
of what it compiles to. With --kit it is one for a GPU instead, over tritonc's own passes
and lowering to LLVM IR (docs/add-a-backend.md).

The module requires the released version that this tritonc is. That of a build from source
is not released: there a replace line names the source, which is --replace, or the folder
that this program was built in, lies in, or was started in.`

func backendInitCommand(env *environment) *cobra.Command {
	f := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init [flags] NAME",
		Short: "write a module with a backend to begin with",
		Long:  backendInitLong,
		Example: "  tritonc backend init mine\n" +
			"  tritonc backend init mine --kit --target mine:gfx90a --module example.com/gpu/tritonc-backend-mine",
		Args:                  exactArgs("NAME"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.config.Name = args[0]
			return f.run(cmd.Context(), env)
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "the `FOLDER` to write, new or empty; tritonc-backend-NAME, if not given")
	cmd.Flags().StringVar(&f.config.Module, "module", "", "the `PATH` of the module; example.com/tritonc-backend-NAME, if not given")
	cmd.Flags().StringArrayVarP(&f.config.Targets, "target", "t", nil, "a `TARGET` that the backend compiles for; may be repeated; NAME:v1, if not given")
	cmd.Flags().BoolVar(&f.config.Kit, "kit", false, "begin over the kit for GPUs, core/backend")
	cmd.Flags().StringVar(&f.replace, "replace", "", "the `FOLDER` of tritonc's source, for the module's replace line")
	return cmd
}

type initFlags struct {
	config       scaffold.Config
	dir, replace string
}

// begun is what was written, with --json.
type begun struct {
	Name     string   `json:"name"`
	Folder   string   `json:"folder"`
	Module   string   `json:"module"`
	Targets  []string `json:"targets"`
	Commands []string `json:"commands"` // that build, test and check it
}

func (f *initFlags) run(ctx context.Context, env *environment) error {
	c := &f.config
	if err := c.Check(); err != nil {
		return usagef("%v", err)
	}
	if f.dir == "" {
		f.dir = c.Program()
	}
	if err := f.findSource(); err != nil {
		return err
	}
	files, err := scaffold.Files(*c)
	if err != nil {
		return err
	}
	if err := scaffold.Write(f.dir, files); err != nil {
		return diag.Errorf(diag.Pos{}, "%v", err).WithHelp("name another folder with --dir")
	}
	if c.Source == "" {
		if err := scaffold.Tidy(ctx, f.dir); err != nil {
			return fmt.Errorf("%s is written, but not what its module requires: %w\n  help: run \"go mod tidy\" there", f.dir, err)
		}
	}
	commands := c.Commands(f.dir)
	if env.report.json {
		return writeJSON(env.stdout, begun{c.Name, f.dir, c.Module, c.Targets, commands})
	}
	_, err = fmt.Fprintf(env.stdout, "%s: a backend for %s\nbuild, test and check it:\n    %s\n",
		f.dir, strings.Join(c.Targets, ", "), strings.Join(commands, "\n    "))
	return err
}

// findSource decides how the module gets tritonc's packages.
func (f *initFlags) findSource() error {
	if f.replace != "" {
		if !scaffold.IsSource(f.replace) {
			return usagef("--replace: %s is not the folder of tritonc's source", f.replace)
		}
		return f.useSource(f.replace)
	}
	if f.config.Version = releasedVersion(); f.config.Version != "" {
		return nil
	}
	for _, dir := range sourceNear() {
		if scaffold.IsSource(dir) {
			return f.useSource(dir)
		}
	}
	return usagef("this tritonc is not a released version, and its source is not around").
		withHelp("name the folder of its source with --replace")
}

func (f *initFlags) useSource(dir string) (err error) {
	f.config.Source, err = filepath.Abs(dir)
	return err
}

// releasedVersion is that of this program if the module proxy has it, else "".
func releasedVersion() string {
	v := sdk.ProgramVersion()
	info, ok := debug.ReadBuildInfo()
	downloaded := ok && info.Main.Sum != ""
	if !semver.IsValid(v) || semver.Build(v) != "" || module.IsPseudoVersion(v) && !downloaded {
		return ""
	}
	return v
}

// sourceNear lists the folders that this program was built in, lies in and was started
// in, each with those above it.
func sourceNear() []string {
	var list []string
	if dir := builtIn(); dir != "" {
		list = append(list, above(dir)...)
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		list = append(list, above(filepath.Dir(exe))...)
	}
	if wd, err := os.Getwd(); err == nil {
		list = append(list, above(wd)...)
	}
	return list
}

// builtIn is the folder with this package's source where the program was built; empty
// where that was done with -trimpath, which has the package's path instead.
var builtIn = func() string {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		return filepath.Dir(file)
	}
	return ""
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
