package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/core/frontend"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// defaultIdle is how long a server stays without anything to do.
const defaultIdle = 10 * time.Minute

type serveFlags struct {
	socket  string
	idle    time.Duration
	jobs    int
	status  bool
	metrics bool
	stop    bool
}

func serveVerb(env *environment) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "compile for other tritonc commands, with backends that stay",
		Long: `Compile for other commands: while a server runs, tritonc without a verb and tritonc
compile have it compile, unless they are given --no-server. It keeps backends running,
which saves a command their start. Files, messages and exit codes are the same.

The server listens at a socket that only its user reaches. It ends when nobody has
asked for anything for some time, with --stop, or with a signal. A command whose server
ends meanwhile compiles by itself.

Commands look for the socket of --socket where ` + socketVar + ` names it; its value
off has them look for none.`,
		Example: `  tritonc serve &
  tritonc serve --jobs 4 --idle 1h
  tritonc serve --status
  tritonc serve --stop`,
		Args:                  exactArgs(),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return f.run(cmd, env) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.socket, "socket", "", "the socket's `PATH` (in XDG_RUNTIME_DIR, or in the user's cache folder)")
	flags.DurationVar(&f.idle, "idle", defaultIdle, "end after this `TIME` without anything to do; 0 means never")
	flags.IntVarP(&f.jobs, "jobs", "j", 0, "compile `N` kernels at a time (as many as there are processors)")
	flags.BoolVar(&f.status, "status", false, "show what the server that runs does and did")
	flags.BoolVar(&f.metrics, "metrics", false, "the same in the text form of Prometheus")
	flags.BoolVar(&f.stop, "stop", false, "have the server that runs end, once what it compiles is done")
	return cmd
}

// keptText is how much text of files a server keeps the trees of. A tree takes some ten
// times as much memory as its text.
const keptText = 512 << 10

// run is the verb.
func (f *serveFlags) run(cmd *cobra.Command, env *environment) error {
	switch {
	case f.jobs < 0 || cmd.Flags().Changed("jobs") && f.jobs == 0:
		return usagef("--jobs %d is not a number of kernels", f.jobs)
	case f.status && f.metrics || f.status && f.stop || f.metrics && f.stop:
		return usagef("of --status, --metrics and --stop one can be given")
	case f.idle < 0:
		return usagef("--idle %s is not a time such as 10m, nor 0 for never", f.idle)
	}
	socket := cmp.Or(f.socket, serverSocket(env), serve.SocketPath(env.lookupEnv))
	if socket == "" {
		return errors.New("there is no folder for a socket\n  help: name one with --socket")
	}
	socket, err := filepath.Abs(socket)
	if err != nil {
		return err
	}
	if f.status || f.metrics || f.stop {
		return f.ask(cmd.Context(), env, socket)
	}
	jobs := f.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	frontend.KeepTrees(keptText)
	hosts := &hostPool{}
	defer hosts.close()
	server, err := serve.Listen(serve.Config{
		Socket: socket, Build: sdk.ProgramHash(), Jobs: jobs, Idle: f.idle,
		Handle: func(ctx context.Context, call *serve.Call) int {
			return serveCompile(ctx, cmd.Context(), call, hosts, env.shared)
		},
		Backends: hosts.running, Shared: env.shared.counts, Log: env.report.note,
	})
	if err != nil {
		return err
	}
	env.report.note("listening at %s", socket)
	return server.Serve(cmd.Context())
}

// ask asks the server that runs.
func (f *serveFlags) ask(ctx context.Context, env *environment, socket string) error {
	client, err := serve.Dial(socket)
	if errors.Is(err, serve.ErrNoServer) {
		return fmt.Errorf("%w at %s", err, socket)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if f.stop {
		return client.Stop(ctx)
	}
	status, err := client.Status(ctx)
	switch {
	case err != nil:
		return err
	case f.metrics:
		return status.WriteMetrics(env.stdout)
	case env.report.json:
		return writeJSON(env.stdout, status)
	}
	return status.WriteText(env.stdout)
}
