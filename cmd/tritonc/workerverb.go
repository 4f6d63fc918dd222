package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/farm/compile"
	farm "github.com/tritonc/tritonc/farm/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// workerFlags are the flags of the worker verb as written on the command line.
type workerFlags struct {
	farmFlags
	pickFlags
	deviceFlags
	targets []string
	jobs    int
	timeout time.Duration
	metrics string
	noCache bool
	verbose int
}

func workerVerb(env *environment) *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker [flags]",
		Short: "compile or measure kernels that other machines ask for with --farm",
		Long: `Compile kernels that tritonc compile --farm asks for, anywhere. Workers and clients meet
at a NATS server with JetStream, or a cluster of them (docs/scale.md).

A worker takes kernels that it compiles to the same bytes as the client would: it has
the same tritonc, backend and tools, by their content. It reads no file of a client's,
and refuses options that name files or arguments of tools.

With --device it measures instead, for tritonc tune --farm: one worker per device, on
which nothing else should run.

The first signal has it finish what it compiles, and take nothing new; a second one has
it give that back. What a worker compiled that dies, hangs or loses the network another
compiles; a kernel that three workers failed at is given up.`,
		Example: `  tritonc worker --nats nats://farm.example:4222
  tritonc worker --nats nats://a:4222,nats://b:4222,nats://c:4222 --targets 'cuda:*' -j 8
  tritonc worker --metrics localhost:9100`,
		Args:                  exactArgs(),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return f.run(cmd, env) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.addNATS(flags)
	flags.StringSliceVar(&f.targets, "targets", nil, "the `TARGETS` to compile for, with commas between: cuda:90, or patterns such as\n'hip:gfx9*' (all that the backends are for)")
	f.addDevice(flags)
	f.addBackend(flags)
	flags.IntVarP(&f.jobs, "jobs", "j", 0, "compile `N` kernels at a time (as many as there are processors)")
	flags.DurationVar(&f.timeout, "task-timeout", taskTimeout, "stop a compile after this `TIME` and let another worker try; 0 means never")
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at `ADDRESS`/metrics: localhost:9100, say")
	flags.BoolVar(&f.noCache, "no-cache", false, "compile anew what was compiled before")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log; -vv shows more")
	return cmd
}

// taskTimeout is how long a task may run where no time is given.
const taskTimeout = 10 * time.Minute

// run is the verb.
func (f *workerFlags) run(cmd *cobra.Command, env *environment) error {
	switch {
	case f.jobs < 0 || cmd.Flags().Changed("jobs") && f.jobs == 0:
		return usagef("--jobs %d is not a number of kernels", f.jobs)
	case f.timeout < 0:
		return usagef("--task-timeout %s is not a time such as 10m, nor 0 for never", f.timeout)
	}
	if err := f.checkDevice(cmd); err != nil {
		return err
	}
	if f.device != "" {
		return f.measure(cmd, env)
	}
	for _, pattern := range f.targets {
		if err := checkTargets(pattern); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	settings, err := f.reach(ctx, env, "", "tritonc worker", true)
	if err != nil {
		return err
	}
	settings.Stay = true
	signer, err := settings.signer(env)
	if err != nil {
		return err
	}
	b, q, err := settings.open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	host, err := newHost(env, f.verbose, &f.pickFlags, "")
	if err != nil {
		return err
	}
	defer host.Close()
	handler := &compile.Handler{Compiler: sdk.ProgramHash(), Machine: host.SharedIdentity, Select: host.Select, Targets: f.targets}
	log := newLogger(env, f.verbose)
	if !f.noCache {
		if handler.Cache, err = compileCache(env, host, log); err != nil {
			return err
		}
		if handler.Cache != nil {
			if err := f.share(env, handler.Cache, log, ""); err != nil {
				return err
			}
		}
	}
	frontend.KeepTrees(keptText)
	w := newWorker(f, env, handler)
	w.Signer = signer
	env.report.note("worker %s waits for kernels at %s", w.ID, settings.Servers())
	return f.work(ctx, env, w, q, "compiles")
}

// work has a worker work until a signal comes, and then end what it does.
func (f *workerFlags) work(ctx context.Context, env *environment, w *farm.Worker, q *farm.Queue, does string) error {
	if f.metrics != "" {
		stop, err := serveMetrics(f.metrics, w, env.shared)
		if err != nil {
			return err
		}
		defer stop()
	}
	// The first signal ended ctx, and is caught no more; the second is for this.
	now, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		env.report.note("worker %s ends when what it %s is done", w.ID, does)
		select {
		case <-again:
			cancel()
		case <-now.Done():
		}
	})()
	return w.Run(ctx, now, q)
}

// checkTargets refuses what matches no target.
func checkTargets(pattern string) error {
	if _, err := parseChoice(pattern+"=x", ""); err != nil || !targetPattern().MatchString(pattern) {
		return usagef("--targets %s is not a target, nor a pattern of targets", pattern).withHelp("for example cuda:90, or 'hip:gfx9*'")
	}
	return nil
}

var targetPattern = lazily(`^[^:,]+:[^:,]+$`)

// notInSubject are letters that subjects of NATS do not have.
var notInSubject = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func newWorker(f *workerFlags, env *environment, handler farm.Handler) *farm.Worker {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return &farm.Worker{
		ID:   fmt.Sprintf("%s-%d-%04x", notInSubject.ReplaceAllString(host, "_"), os.Getpid(), rand.Uint32N(1<<16)),
		Host: host, PID: os.Getpid(), Build: sdk.ProgramHash(), Jobs: cmp.Or(f.jobs, runtime.GOMAXPROCS(0)),
		TaskTimeout: f.timeout, Handler: handler,
		Log: env.report.note,
	}
}

// serveMetrics answers to Prometheus until stop is called.
func serveMetrics(address string, w *farm.Worker, shared *sharedPool) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; version=0.0.4")
		state := w.State()
		if err := state.WriteMetrics(rw); err != nil {
			return // the other end is gone
		}
		if counts := shared.counts(); counts != nil {
			_ = counts.WriteMetrics(rw)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	return func() {
		_ = server.Close()
		if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
			w.Log("--metrics: %v", err)
		}
	}, nil
}
