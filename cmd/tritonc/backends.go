package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/plugin"
)

func backendsCommand(env *environment) *cobra.Command {
	verbose := 0
	cmd := &cobra.Command{
		Use:   "backends",
		Short: "list the backends and their targets",
		Long: `List the backends, in the order in which they are tried, and their targets.

A backend is a program named tritonc-backend-NAME in a folder of
` + backendPathVar + `, beside tritonc itself, or in the user's own folder
(~/.local/share/tritonc/backends).`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			host := newHost(env, verbose)
			defer host.Close()
			return listBackends(cmd.Context(), env, host)
		},
	}
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

func listBackends(ctx context.Context, env *environment, host *plugin.Host) error {
	if len(host.Backends()) == 0 {
		return fmt.Errorf("no backend found\n  help: searched in %s", strings.Join(backendDirs(env), ", "))
	}
	for _, b := range host.Backends() {
		facts, err := b.Facts(ctx)
		if err != nil {
			fmt.Fprintf(env.stdout, "%s\t%s\n  cannot be used: %v\n", b.Name(), b.Path(), err)
			continue
		}
		fmt.Fprintf(env.stdout, "%s %s\t%s\n", facts.Name, facts.Version, b.Path())
		for i := range facts.Targets {
			row := &facts.Targets[i]
			fmt.Fprintf(env.stdout, "  %-12s warp size %d", row.Pattern, row.WarpSize)
			if row.Doc != "" {
				fmt.Fprintf(env.stdout, "  %s", row.Doc)
			}
			fmt.Fprintln(env.stdout)
		}
	}
	return nil
}
