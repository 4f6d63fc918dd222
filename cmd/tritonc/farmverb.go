package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/diag"
	farm "github.com/tritonc/tritonc/farm/work"
)

func farmCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "farm",
		Short: "what a farm of workers does",
		Long: `A farm is workers (tritonc worker) that compile for others (tritonc compile --farm).
They meet at a NATS server (docs/scale.md).`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(farmStatusCommand(env), farmSetupCommand(env), farmCleanCommand(env))
	return cmd
}

// farmStatusFlags are the flags of farm status.
type farmStatusFlags struct {
	farmFlags
	watch time.Duration
}

// watchEvery is how often --watch looks where no time is given.
const watchEvery = 2 * time.Second

func farmStatusCommand(env *environment) *cobra.Command {
	var f farmStatusFlags
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "the queues, workers and rates of a farm",
		Long: `Show what a farm does: its queues by target, with the kernels that wait and that are
being compiled, and its workers. With --json it is an object a time.

Queues of one target that are several have different builds of tritonc, backends or
tools: a worker takes from the queue whose kernels it compiles to the same bytes. Those in
which nothing waits, and that have no worker, are only counted.`,
		Example: `  tritonc farm status --nats nats://farm.example:4222
  tritonc farm status --watch
  tritonc farm status --json | jq '.queues[].waiting'`,
		Args:                  exactArgs(),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.addNATS(flags)
	flags.DurationVar(&f.watch, "watch", 0, "show it again after each `TIME` (2s), until a signal")
	flags.Lookup("watch").NoOptDefVal = watchEvery.String()
	return cmd
}

func (f *farmStatusFlags) run(ctx context.Context, env *environment) error {
	if f.watch < 0 {
		return usagef("--watch %s is not a time such as 2s", f.watch)
	}
	settings, err := f.reach(ctx, env, "", "tritonc farm status", false)
	if err != nil {
		return err
	}
	settings.Stay = f.watch > 0
	servers := settings.Servers()
	b, q, err := settings.open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	for shown := false; ; {
		status, err := q.Status(ctx)
		switch {
		case err == nil:
			err = f.show(env, servers, status, shown)
			if shown = true; err != nil || f.watch == 0 {
				return err
			}
		case ctx.Err() != nil:
			return nil
		default:
			if err = b.Explain(err, "asking what the farm does"); !shown {
				return err
			}
			for _, d := range diag.All(err) { // it may come back
				d.Severity = diag.Warning
				env.report.aside(d)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.watch):
		}
	}
}

// show writes a status; on a terminal that is watched, in the place of the last one.
func (f *farmStatusFlags) show(env *environment, servers string, status *farm.Status, again bool) error {
	if env.report.json {
		return writeJSON(env.stdout, status)
	}
	var text bytes.Buffer
	switch {
	case f.watch > 0 && isTerminal(env.stdout):
		text.WriteString("\x1b[H\x1b[2J")
	case again:
		text.WriteByte('\n')
	}
	writeFarm(&text, servers, status, time.Now())
	_, err := env.stdout.Write(text.Bytes())
	return err
}

// writeFarm writes a status as tables.
func writeFarm(w io.Writer, servers string, s *farm.Status, now time.Time) {
	rate := 0.0
	for _, o := range s.Workers {
		rate += o.Rate
	}
	fmt.Fprintf(w, "%s\n%s, %.1f kernels/s; %s in the queue; %s kept, %.1f MiB\n", servers,
		diag.Count(len(s.Workers), "worker"), rate, diag.Count(s.Tasks, "kernel"), diag.Count(s.Results, "result"), float64(s.Bytes)/(1<<20))
	if len(s.Workers) == 0 {
		fmt.Fprintln(w, "no worker is there: tritonc worker starts one")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	used := slices.DeleteFunc(slices.Clone(s.Queues), func(q farm.QueueStatus) bool { return q.Workers+q.Held == 0 && q.Waiting == 0 })
	if len(used) > 0 {
		fmt.Fprintln(t, "\nTARGET\tQUEUE\tWAITING\tCOMPILING\tTRIED AGAIN\tWORKERS")
	}
	for _, q := range used {
		fmt.Fprintf(t, "%s\t%.8s\t%d\t%d\t%d\t%d\n", q.Target, q.Class, q.Waiting, q.Held, q.Redone, q.Workers)
	}
	t.Flush()
	if n := len(s.Queues) - len(used); n > 0 {
		fmt.Fprintf(w, "and %s without kernels or workers\n", diag.Count(n, "queue"))
	}
	if len(s.Workers) > 0 {
		fmt.Fprintln(t, "\nWORKER\tUP\tJOBS\tCOMPILING\tDONE\tFAILED\tGIVEN UP\tKERNELS/S\tTARGETS")
	}
	for _, o := range s.Workers {
		var targets []string
		for _, q := range s.Queues {
			if slices.Contains(o.Classes, q.Class) {
				targets = append(targets, q.Target)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t%s\n", o.ID, now.Sub(o.Started).Round(time.Second), o.Jobs, o.Running, o.Done, o.Failed, o.GivenUp, o.Rate, strings.Join(slices.Compact(targets), " "))
	}
	t.Flush()
}
