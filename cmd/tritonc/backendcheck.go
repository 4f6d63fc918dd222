package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/conform"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func backendCheckCommand(env *environment) *cobra.Command {
	target := ""
	cmd := &cobra.Command{
		Use:   "check [flags] FILE",
		Short: "check that a program is a backend as the protocol says",
		Long: `Start a program as tritonc does and hold what it answers to docs/plugin-protocol.md:
handshake, facts, options, stages, a kernel, inputs that are none, calls at once and
cancelled ones, and how it ends. Of each check that failed it says what is wrong and in
which section of that page to read on; then the exit code is 1. With --json there is an
object a line.`,
		Example:               "  tritonc backend check build/tritonc-backend-acme\n  tritonc backend check --target hip:gfx90a build/tritonc-backend-gcn --json",
		Args:                  exactArgs("FILE"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkBackend(cmd.Context(), env, args[0], target)
		},
	}
	cmd.Flags().StringVarP(&target, "target", "t", "", "the `TARGET` to compile for; the first of its own, if not given")
	return cmd
}

func checkBackend(ctx context.Context, env *environment, file, target string) error {
	if !strings.HasPrefix(filepath.Base(file), plugin.Prefix) {
		return usagef("%s is not named %sNAME", file, plugin.Prefix)
	}
	opts := conform.Options{
		Program: file, LookupEnv: env.lookupEnv,
		Settings: map[string]string{settingMaxMemory: strconv.FormatInt(env.maxMemory, 10)},
	}
	var err error
	if target != "" {
		if opts.Target, err = sdk.ParseTarget(target); err != nil {
			return usagef("--target: %v", err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if opts.TempDir, err = os.MkdirTemp("", "tritonc-check"); err != nil {
		return err
	}
	defer os.RemoveAll(opts.TempDir)
	results, err := conform.Run(ctx, opts)
	if err != nil {
		return err
	}
	failed := false
	enc := json.NewEncoder(env.stdout)
	enc.SetEscapeHTML(false)
	for i := range results {
		r := &results[i]
		failed = failed || r.Status == conform.Failed
		if env.report.json {
			err = enc.Encode(r)
		} else {
			_, err = fmt.Fprint(env.stdout, checkText(r))
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// checkText is a check's result for people.
func checkText(r *conform.Result) string {
	var out strings.Builder
	line := fmt.Sprintf("%-8s %-16s %s", r.Status, r.Check, strings.ReplaceAll(r.Text, "\n", "\n"+strings.Repeat(" ", 26)))
	out.WriteString(strings.TrimRight(line, " ") + "\n")
	if r.Section != "" {
		fmt.Fprintf(&out, "%26ssee docs/plugin-protocol.md, %s\n", "", r.Section)
	}
	return out.String()
}
