package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/install"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

const installLong = `Install a backend into the user's folder (~/.local/share/tritonc/backends), as
NAME/VERSION: an archive (.tar.gz or .zip) or a folder with a manifest,
` + manifest.FileName + `, or a program alone.

Files are held against the manifest's sizes and SHA-256 sums, and the program is asked
what it is, before anything is in its place; then all of it is, or nothing. Links,
paths that lead elsewhere and files that the manifest lacks are refused. Several
versions of a backend lie side by side.`

func backendInstallCommand(env *environment) *cobra.Command {
	opts := install.Options{Protocol: []int{host.ProtocolVersion}}
	verbose := 0
	cmd := &cobra.Command{
		Use:                   "install [flags] FILE|FOLDER",
		Short:                 "install a backend for this user",
		Long:                  installLong,
		Example:               "  tritonc backend install acme-1.2-linux-amd64.tar.gz\n  tritonc backend install --force build/tritonc-backend-acme",
		Args:                  exactArgs("FILE|FOLDER"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return installBackend(cmd.Context(), env, args[0], opts, verbose)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.SHA256, "sha256", "", "the `SUM` that the archive or program must have")
	flags.BoolVar(&opts.Force, "force", false, "replace the version that is installed")
	flags.CountVarP(&verbose, "verbose", "v", "show what tritonc and the backend log")
	return cmd
}

func installBackend(ctx context.Context, env *environment, from string, opts install.Options, verbose int) error {
	opts.SHA256 = strings.ToLower(opts.SHA256)
	if err := manifest.CheckSum(opts.SHA256); err != nil && opts.SHA256 != "" {
		return usagef("--sha256: %v", err)
	}
	if opts.Root = userBackends(env); opts.Root == "" {
		return errors.New("there is no folder for backends\n  help: set HOME or XDG_DATA_HOME")
	}
	opts.Describe = func(ctx context.Context, dir string) (*sdk.Facts, error) {
		o := hostOptions(env, verbose)
		o.Dirs = []string{dir}
		host := plugin.New(o)
		defer host.Close()
		if len(host.Backends()) != 1 {
			return nil, errors.New("it has several programs of backends")
		}
		known, err := host.Backends()[0].DescribeAgain(ctx)
		if err != nil {
			return nil, err
		}
		return &known.Facts, nil
	}
	in, err := install.Install(ctx, from, opts)
	if err != nil {
		return err
	}
	if env.report.json {
		err = writeJSON(env.stdout, installedRow{in.Name, in.Version, in.Dir})
	} else {
		_, err = fmt.Fprintf(env.stdout, "%s\t%s\n", in, in.Dir)
	}
	if err != nil {
		return err
	}
	return others(ctx, env, in, verbose)
}

// installedRow is what was installed or removed, with --json.
type installedRow struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Folder  string `json:"folder"`
}

// others warns of backends that now are one of several for a target.
func others(ctx context.Context, env *environment, in *install.Installed, verbose int) error {
	host, err := newHost(env, verbose, &pickFlags{}, "")
	if err != nil {
		return err
	}
	defer host.Close()
	host.DescribeAll(ctx)
	ref := manifest.Ref{Name: in.Name, Version: in.Version}
	list, err := host.Named(ctx, ref, "the command line")
	if err != nil {
		return err
	}
	own, err := list[0].Describe(ctx)
	if err != nil {
		return err
	}
	for i := range own.Facts.Targets {
		pattern := own.Facts.Targets[i].Pattern
		for _, b := range host.Backends() {
			known, err := b.Describe(ctx)
			if err != nil || b.Hidden() || b.Name() == in.Name && known.Facts.Version == in.Version || !hasPattern(&known.Facts, pattern) {
				continue
			}
			d := diag.Errorf(diag.Pos{}, "%s and %s@%s (%s) are both for %s", in, b.Name(), known.Facts.Version, b.Path(), pattern)
			d.Severity = diag.Warning
			env.report.diagnostics(d.WithHelp("choose one for a project with: tritonc backend pin '%s' %s", pattern, in))
			return nil
		}
	}
	return nil
}

func hasPattern(f *sdk.Facts, pattern string) bool {
	for i := range f.Targets {
		if f.Targets[i].Pattern == pattern {
			return true
		}
	}
	return false
}

func backendRemoveCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME[@VERSION]",
		Short:             "remove a backend that was installed",
		Args:              exactArgs("NAME"),
		ValidArgsFunction: beginning((&completer{env}).installed),
		RunE:              func(_ *cobra.Command, args []string) error { return removeBackend(env, args[0]) },
	}
}

func removeBackend(env *environment, name string) error {
	ref, err := parseBackend(name)
	if err != nil {
		return err
	}
	root := userBackends(env)
	var found []install.Installed
	var all []string
	for _, in := range install.List(root) {
		all = append(all, in.String())
		if in.Name == ref.Name && (ref.Version == "" || in.Version == ref.Version) {
			found = append(found, in)
		}
	}
	switch {
	case len(found) > 1:
		return usagef("several versions of %s are installed", ref.Name).withHelp("name one: %s", list(versionsOf(found)))
	case len(found) == 0 && len(all) == 0:
		return diag.Errorf(diag.Pos{}, "%s is not installed", ref).WithHelp("nothing is, in %s; programs elsewhere are for their owners to remove", root)
	case len(found) == 0:
		return diag.Errorf(diag.Pos{}, "%s is not installed", ref).WithHelp("these are: %s", list(all))
	}
	choices, err := (&pickFlags{}).choices(env, "")
	if err != nil {
		return err
	}
	if err := install.Remove(root, &found[0]); err != nil {
		return err
	}
	if env.report.json {
		err = writeJSON(env.stdout, installedRow{found[0].Name, found[0].Version, found[0].Dir})
	} else {
		_, err = fmt.Fprintf(env.stdout, "removed %s\n", &found[0])
	}
	if err != nil {
		return err
	}
	for _, c := range choices {
		if c.Ref.Name == found[0].Name && (c.Ref.Version == "" || c.Ref.Version == found[0].Version) {
			d := diag.Errorf(diag.Pos{}, "%s asks for %s", c.From, c.Ref)
			d.Severity = diag.Warning
			env.report.diagnostics(d)
		}
	}
	return nil
}

func versionsOf(list []install.Installed) []string {
	var out []string
	for i := range list {
		out = append(out, list[i].String())
	}
	return out
}

// installed offers what can be removed.
func (c *completer) installed(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return versionsOf(install.List(userBackends(c.env))), cobra.ShellCompDirectiveNoFileComp
}
