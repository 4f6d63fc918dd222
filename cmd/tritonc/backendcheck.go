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
	"github.com/tritonc/tritonc/driver/remote"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func backendCheckCommand(env *environment) *cobra.Command {
	target := ""
	cmd := &cobra.Command{
		Use:   "check [flags] FILE [FILE]",
		Short: "check that a program is a backend or a device driver as the protocol says",
		Long: `Start a program as tritonc does and hold what it answers to docs/plugin-protocol.md:
handshake, facts, options, dialects, stages, passes, kernels, inputs that are none, calls
at once and cancelled ones, and how it ends. If it serves devices, too, their memory is
used, and the kernels run on the first one of the target and what they computed is
compared. A program named tritonc-device-NAME is checked as a driver; with a backend's
program beside it, it runs the kernels that the backend compiles.

Of each check that failed it says what is wrong and in which section of that page to read
on; then the exit code is 1. With --json there is an object a line.`,
		Example: "  tritonc backend check tritonc-backend-acme/tritonc-backend-acme\n" +
			"  tritonc backend check --target hip:gfx942 --json bin/tritonc-backend-amd\n" +
			"  tritonc backend check bin/tritonc-backend-nvidia bin/tritonc-device-cuda",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactArgs("FILE")(cmd, args)
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkBackend(cmd.Context(), env, args, target)
		},
	}
	cmd.Flags().StringVarP(&target, "target", "t", "", "the `TARGET` to compile for; the first of its own, if not given")
	return cmd
}

func checkBackend(ctx context.Context, env *environment, files []string, target string) error {
	opts := conform.Options{
		LookupEnv: env.lookupEnv, Env: env.environ,
		Settings: map[string]string{settingMaxMemory: strconv.FormatInt(env.maxMemory, 10)},
	}
	for _, file := range files {
		switch name := filepath.Base(file); {
		case strings.HasPrefix(name, plugin.Prefix) && opts.Program == "":
			opts.Program = file
		case strings.HasPrefix(name, remote.Prefix) && opts.Driver == "":
			opts.Driver = file
		case len(files) > 1:
			return usagef("one file must be named %sNAME and the other %sNAME", plugin.Prefix, remote.Prefix)
		default:
			return usagef("%s is not named %sNAME or %sNAME", file, plugin.Prefix, remote.Prefix)
		}
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	var err error
	if target != "" {
		if opts.Target, err = sdk.ParseTarget(target); err != nil {
			return usagef("--target: %v", err)
		}
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
