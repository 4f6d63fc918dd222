package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/measure"
	"github.com/tritonc/tritonc/farm/remote"
	"github.com/tritonc/tritonc/farm/times"
	farm "github.com/tritonc/tritonc/farm/work"
)

func farmSetupCommand(env *environment) *cobra.Command {
	var f farmFlags
	cmd := &cobra.Command{
		Use:   "setup [flags]",
		Short: "make a farm's streams and buckets",
		Long: `Make the streams and buckets of a farm that are not there, and list all. Whoever comes
first makes them; a server on which workers and clients may not (deploy/) needs this once,
from its administrator. replicas, cache_size and cache_age are those of the table [farm]
of tritonc.toml. What is there stays as it is.`,
		Example:               "  tritonc farm setup --nats tls://farm.example:4222",
		Args:                  exactArgs(),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return f.setUp(cmd.Context(), env) },
	}
	cmd.Flags().SortFlags = false
	f.addNATS(cmd.Flags())
	return cmd
}

// setUp is the verb.
func (f *farmFlags) setUp(ctx context.Context, env *environment) error {
	settings, err := f.reach(ctx, env, "", "tritonc farm setup", false)
	if err != nil {
		return err
	}
	b, _, err := settings.open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := measure.OpenContents(ctx, b, measure.ContentsConfig{}); err != nil {
		return err
	}
	if _, err := times.Open(ctx, b, times.Config{}); err != nil {
		return err
	}
	cache := remote.Options{Bus: settings.Options, MaxBytes: settings.table.CacheSize << 20, MaxAge: settings.table.CacheAge}
	if _, err := cache.Usage(ctx); err != nil {
		return err
	}
	return listStreams(ctx, env, b)
}

func farmCleanCommand(env *environment) *cobra.Command {
	var f farmFlags
	var withTimes bool
	cmd := &cobra.Command{
		Use:   "clean [flags]",
		Short: "remove a farm's streams and buckets",
		Long: `Remove tasks, results, and arrays of tuning, with the streams and buckets that hold them,
also those that another version of tritonc has made. The next command makes new ones, or
tritonc farm setup. End the workers first. Times of tuning stay unless --times is given;
the shared cache is emptied by tritonc cache clean --remote.`,
		Example:               "  tritonc farm clean --nats nats://farm.example:4222",
		Args:                  exactArgs(),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return f.clean(cmd.Context(), env, withTimes) },
	}
	cmd.Flags().SortFlags = false
	f.addNATS(cmd.Flags())
	cmd.Flags().BoolVar(&withTimes, "times", false, "the times of tuning, too (tritonc tune --farm)")
	return cmd
}

// clean is the verb.
func (f *farmFlags) clean(ctx context.Context, env *environment, withTimes bool) error {
	settings, err := f.reach(ctx, env, "", "tritonc farm clean", false)
	if err != nil {
		return err
	}
	b, err := bus.Connect(ctx, settings.Options)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := farm.Remove(ctx, b); err != nil {
		return err
	}
	if err := measure.RemoveContents(ctx, b); err != nil {
		return err
	}
	if !withTimes {
		return nil
	}
	return times.Remove(ctx, b)
}

// listStreams writes which streams there are, buckets among them.
func listStreams(ctx context.Context, env *environment, b *bus.Bus) error {
	type row struct {
		Name     string  `json:"name"`
		Replicas int     `json:"replicas"`
		Messages uint64  `json:"messages"`
		Bytes    uint64  `json:"bytes"`
		Limit    int64   `json:"limit"`   // in bytes
		MaxAge   float64 `json:"max_age"` // in seconds
	}
	rows := []row{}
	list := b.JetStream().ListStreams(ctx, jetstream.WithStreamListSubject(">"))
	for info := range list.Info() {
		c := &info.Config
		rows = append(rows, row{c.Name, c.Replicas, info.State.Msgs, info.State.Bytes, c.MaxBytes, c.MaxAge.Seconds()})
	}
	if err := list.Err(); err != nil {
		return b.Explain(err, "listing streams")
	}
	if env.report.json {
		return writeJSON(env.stdout, rows)
	}
	t := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STREAM\tREPLICAS\tMESSAGES\tMIB\tOF MIB")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f\t%d\n", r.Name, r.Replicas, r.Messages, float64(r.Bytes)/(1<<20), r.Limit>>20)
	}
	return t.Flush()
}
