package main

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/project"
)

func backendPinCommand(env *environment) *cobra.Command {
	sum := false
	cmd := &cobra.Command{
		Use:   "pin [flags] TARGET NAME[@VERSION]",
		Short: "write into tritonc.toml which backend compiles for a target",
		Long: `Write into the project's tritonc.toml which backend compiles for a target, or for all
targets of a pattern. The file is that of the current folder or the nearest one above
it, and is made here if there is none; the rest of it, comments too, stays as it is.`,
		Example:               "  tritonc backend pin cuda:90 nvidia@0.1.0\n  tritonc backend pin --sha256 'cuda:*' nvidia@0.1.0",
		Args:                  exactArgs("TARGET", "NAME"),
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			c := &completer{env}
			values := [...]cobra.CompletionFunc{c.targets, c.backends}
			if len(args) >= len(values) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(values[len(args)])(cmd, nil, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return pinBackend(cmd.Context(), env, args[0], args[1], sum)
		},
	}
	cmd.Flags().BoolVar(&sum, "sha256", false, "pin the program's SHA-256, too")
	return cmd
}

func pinBackend(ctx context.Context, env *environment, target, name string, sum bool) error {
	ref, err := parseBackend(name)
	if err != nil {
		return err
	}
	if _, err := path.Match(target, ""); err != nil || strings.Count(target, ":") != 1 {
		return usagef("%q is not a target or a pattern of targets", target).withHelp("for example cuda:90, or 'hip:gfx9*'")
	}
	host, err := newHost(env, 0, &pickFlags{}, "")
	if err != nil {
		return err
	}
	defer host.Close()
	b, known, err := namedBackend(ctx, host, ref, "the command line")
	if err != nil {
		return err
	}
	if !mayCompile(known, target) {
		return usagef("the backend %s does not compile for %s", ref, target).withHelp("its targets are %s", list(patternsOf(known)))
	}
	if sum {
		ref.SHA256 = known.SHA256
	}
	p, err := loadProject(env.dir, "")
	if err == nil && p == nil {
		p, err = project.Parse(project.FileName, nil)
	}
	if err != nil {
		return err
	}
	text, err := p.WithPin(target, ref)
	if err != nil {
		return err
	}
	if err := writeFiles(filepath.Dir(p.Path), []outFile{{filepath.Base(p.Path), text}}); err != nil {
		return err
	}
	if env.report.json {
		return writeJSON(env.stdout, pinnedRow{p.Path, target, ref.Name, ref.Version, ref.SHA256, b.Path()})
	}
	_, err = fmt.Fprintf(env.stdout, "%s: %s is for %s (%s)\n", p.Path, target, ref, b.Path())
	return err
}

// pinnedRow is a line of tritonc.toml, with --json.
type pinnedRow struct {
	File    string `json:"file"`
	Target  string `json:"target"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // empty: any
	SHA256  string `json:"sha256,omitempty"`
	Path    string `json:"path"` // of the program that it means now
}

// mayCompile reports whether a backend is for a target or, as far as can be told, for
// some of a pattern's.
func mayCompile(known *plugin.Description, target string) bool {
	if !strings.ContainsAny(target, `*?[\`) {
		t, err := core.ParseTarget(target)
		_, ok := known.Facts.For(t)
		return err == nil && ok
	}
	return slices.ContainsFunc(patternsOf(known), func(p string) bool {
		kind, _, _ := strings.Cut(p, ":")
		mine, _, _ := strings.Cut(target, ":")
		match, err := path.Match(mine, kind)
		return kind == mine || match && err == nil
	})
}

func patternsOf(known *plugin.Description) []string {
	var out []string
	for i := range known.Facts.Targets {
		out = append(out, known.Facts.Targets[i].Pattern)
	}
	return out
}
