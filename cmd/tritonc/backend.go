package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/manifest"
)

const backendLong = `List the backends and their targets, show what one says of itself, install and remove
backends, and pin those of a project (docs/backends.md).

A backend is a program named tritonc-backend-NAME in a folder of
` + backendPathVar + `, beside tritonc itself, or in the user's own folder
(~/.local/share/tritonc/backends), where several versions of one may be installed.
Where several are for a target, --backend, ` + backendVar + ` or a project's tritonc.toml
says which one compiles.`

// backendCommand has the verbs about backends, each in a file of its own.
func backendCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backend",
		Aliases: []string{"backends"},
		Short:   "begin, list, describe, check, install, remove and pin backends",
		Long:    backendLong,
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listBackends(cmd.Context(), env, 0) },
	}
	cmd.AddCommand(
		backendListCommand(env),
		backendDescribeCommand(env),
		backendInitCommand(env),
		backendCheckCommand(env),
		backendInstallCommand(env),
		backendRemoveCommand(env),
		backendPinCommand(env),
		backendLockCommand(env),
	)
	return cmd
}

func backendListCommand(env *environment) *cobra.Command {
	verbose := 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the backends and their targets",
		Long: `List the backends, in the order in which they are looked for, and their targets.

Programs that are known are not started. One that cannot be used is shown with the
reason; it is asked again when its file changes, or by "tritonc backend describe NAME".
With --json there is an object a line.`,
		Example: "  tritonc backend list\n  tritonc backend list --json",
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listBackends(cmd.Context(), env, verbose) },
	}
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

// backendRow is a backend in the list, as --json writes it.
type backendRow struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Path    string      `json:"path"`
	Hash    string      `json:"hash,omitempty"`   // of what it makes
	SHA256  string      `json:"sha256,omitempty"` // of its program
	Targets []targetRow `json:"targets,omitempty"`
	// Hidden: another of its name in TRITONC_BACKEND_PATH goes before it.
	Hidden bool `json:"hidden,omitempty"`
	// Chosen says for which targets it is chosen, and where.
	Chosen []chosenRow `json:"chosen,omitempty"`
	Error  string      `json:"error,omitempty"` // why it cannot be used
}

type targetRow struct {
	Pattern  string `json:"pattern"`
	WarpSize int    `json:"warp_size"`
	Doc      string `json:"doc,omitempty"`
}

type chosenRow struct {
	Target string `json:"target"` // a pattern, or "" for all
	From   string `json:"from"`
}

func listBackends(ctx context.Context, env *environment, verbose int) error {
	choices, err := (&pickFlags{}).choices(env, "")
	if err != nil {
		return err
	}
	host, err := newHost(env, verbose, &pickFlags{}, "")
	if err != nil {
		return err
	}
	defer host.Close()
	if len(host.Backends()) == 0 {
		return fmt.Errorf("no backend found\n  help: searched in %s", strings.Join(backendDirs(env), ", "))
	}
	host.DescribeAll(ctx)
	enc := json.NewEncoder(env.stdout)
	enc.SetEscapeHTML(false)
	for _, b := range host.Backends() {
		row := rowOf(ctx, b, choices)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if env.report.json {
			err = enc.Encode(&row)
		} else {
			err = row.write(env.stdout)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rowOf(ctx context.Context, b *plugin.Backend, choices []plugin.Choice) backendRow {
	row := backendRow{Name: b.Name(), Path: b.Path(), Hidden: b.Hidden()}
	known, err := b.Describe(ctx)
	if err != nil {
		row.Error = err.Error()
		return row
	}
	row.Version, row.Hash, row.SHA256 = known.Facts.Version, known.Facts.Hash, known.SHA256
	for i := range known.Facts.Targets {
		t := &known.Facts.Targets[i]
		row.Targets = append(row.Targets, targetRow{t.Pattern, t.WarpSize, t.Doc})
	}
	for _, c := range choices {
		if isMeant(c.Ref, b, known) {
			row.Chosen = append(row.Chosen, chosenRow{c.Target, c.From})
		}
	}
	return row
}

// isMeant reports whether ref is a backend of that description.
func isMeant(ref manifest.Ref, b *plugin.Backend, known *plugin.Description) bool {
	return ref.Name == b.Name() && (ref.Version == "" && !b.Hidden() || ref.Version == known.Facts.Version) &&
		(ref.SHA256 == "" || ref.SHA256 == known.SHA256)
}

func (r *backendRow) write(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\t%s\n", strings.TrimSpace(r.Name+" "+r.Version), r.Path)
	if r.Error != "" {
		fmt.Fprintf(&out, "  cannot be used: %s\n", strings.ReplaceAll(r.Error, "\n", "\n  "))
	}
	if r.Hidden {
		fmt.Fprintf(&out, "  hidden by one of its name in %s\n", backendPathVar)
	}
	writeTargets(&out, r.Targets)
	for _, c := range r.Chosen {
		target := c.Target
		if target == "" {
			target = "all targets"
		}
		fmt.Fprintf(&out, "  chosen for %s by %s\n", target, c.From)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func writeTargets(out io.Writer, rows []targetRow) {
	for _, t := range rows {
		fmt.Fprintf(out, "  %-12s warp size %d", t.Pattern, t.WarpSize)
		if t.Doc != "" {
			fmt.Fprintf(out, "  %s", t.Doc)
		}
		fmt.Fprintln(out)
	}
}

// namedBackend is the one backend that NAME[@VERSION] means.
func namedBackend(ctx context.Context, host *plugin.Host, ref manifest.Ref, from string) (*plugin.Backend, *plugin.Description, error) {
	list, err := host.Named(ctx, ref, from)
	if err != nil {
		return nil, nil, err
	}
	var found *plugin.Backend
	var known *plugin.Description
	var versions []string
	for _, b := range list {
		d, err := b.DescribeAgain(ctx)
		if err != nil {
			return nil, nil, err
		}
		if found == nil || d.Facts.Version != known.Facts.Version {
			versions = append(versions, ref.Name+"@"+d.Facts.Version)
		}
		if found == nil {
			found, known = b, d
		}
	}
	if len(versions) > 1 {
		return nil, nil, usagef("there are several versions of the backend %s", ref.Name).withHelp("name one: %s", strings.Join(versions, ", "))
	}
	return found, known, nil
}

// parseBackend reads the argument NAME[@VERSION].
func parseBackend(text string) (manifest.Ref, error) {
	ref, err := manifest.ParseRef(text)
	if err != nil {
		return ref, usagef("%v", err)
	}
	return ref, nil
}

// backends offers NAME@VERSION of what there is.
func (c *completer) backends(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	host := c.host(cmd, nil)
	defer host.Close()
	host.DescribeAll(cmd.Context())
	var list []string
	for _, b := range host.Backends() {
		if known, err := b.Describe(cmd.Context()); err == nil {
			list = append(list, cobra.CompletionWithDesc(b.Name()+"@"+known.Facts.Version, b.Path()))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
