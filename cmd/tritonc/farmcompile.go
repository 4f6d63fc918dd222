package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/compile"
	"github.com/tritonc/tritonc/farm/local"
	farm "github.com/tritonc/tritonc/farm/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// addFarm adds the flags of a compile by workers.
func (f *compileFlags) addFarm(flags *pflag.FlagSet) {
	flags.BoolVar(&f.farm, "farm", false, "have workers compile (tritonc help worker), and compile here what they cannot; where no\nserver is named, and none runs, by a server and a worker of this command")
	f.addNATS(flags)
}

// sampled is how many kernels there are for each that two workers compile.
const sampled = 64

// farmSession is the farm of one command.
type farmSession struct {
	farm *compile.Farm
	bus  *bus.Bus
	env  *environment
	log  hclog.Logger

	worker func() // ends the worker of this process; nil: there is none

	mu   sync.Mutex
	away map[core.Target]bool // targets for which the farm compiles nothing
}

// joinFarm connects with the farm, if the command is for one. Without a server, which is
// told, the session is nil: everything is compiled here. Where nobody names a server, and
// none of this machine runs, it starts one, and a worker in this process.
func (f *compileFlags) joinFarm(ctx context.Context, env *environment, host *plugin.Host, file string, cache *core.Cache) (*farmSession, error) {
	if !f.farm {
		if opts, err := f.sharing(env, file); f.nats != "" && opts == nil {
			return nil, cmp.Or(err, error(usagef("--nats is for --farm, or for a shared cache").
				withHelp("a cache takes kernels of those whom the table [farm.trusted] of tritonc.toml lists")))
		}
		return nil, nil
	}
	settings, err := f.reach(ctx, env, file, "tritonc compile", true)
	if err != nil {
		return nil, err
	}
	settings.Stay = true
	s := &farmSession{env: env, log: newLogger(env, f.verbose), away: map[core.Target]bool{}}
	b, q, err := settings.open(ctx)
	if err != nil {
		return nil, s.compileHere(ctx, err)
	}
	grace := time.Duration(0) // the default
	if settings.started {
		grace = time.Minute // the worker is ours, and comes when it has looked at its tools
		if s.worker, err = f.workHere(ctx, env, settings, host, q, cache, s.log); err != nil {
			b.Close()
			return nil, err
		}
	}
	client, err := farm.Connect(ctx, q, farm.ClientConfig{
		Sample: sampled, Grace: grace, Verifier: settings.verifier(), Log: func(format string, args ...any) { s.log.Debug(fmt.Sprintf(format, args...)) },
	})
	if err != nil {
		s.endWorker()
		b.Close()
		return nil, s.compileHere(ctx, err)
	}
	s.bus = b
	s.farm = &compile.Farm{Client: client, Compiler: sdk.ProgramHash(), Machine: host.SharedIdentity, Fresh: f.noCache}
	return s, nil
}

// workHere has this process work for a server that it has started. Calling end ends that.
func (f *compileFlags) workHere(ctx context.Context, env *environment, settings *farmSettings, host *plugin.Host, q *farm.Queue, cache *core.Cache, log hclog.Logger) (end func(), err error) {
	signer, err := settings.signer(env)
	if err != nil {
		return nil, err
	}
	w := newWorker(&workerFlags{jobs: f.jobs, timeout: taskTimeout}, env, &compile.Handler{
		Compiler: sdk.ProgramHash(), Machine: host.SharedIdentity, Select: host.Select, Cache: cache,
	})
	w.Signer = signer
	w.Log = func(format string, args ...any) { log.Debug(fmt.Sprintf(format, args...)) }
	env.report.note("this command works for it, %s at a time; tritonc worker may join", diag.Count(w.Jobs, "kernel"))
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx, ctx, q); err != nil {
			log.Debug("the worker of this command", "error", err)
		}
	}()
	return func() { cancel(); <-ended }, nil
}

func (s *farmSession) endWorker() {
	if s.worker != nil {
		s.worker()
	}
}

// compileHere tells why there is no farm. What the user says of the servers must make
// sense; for all else there is this machine.
func (s *farmSession) compileHere(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *bus.Error
	if !errors.As(err, &known) || known.Kind == bus.Setting {
		return err
	}
	d := *known.Diagnostic()
	d.Severity = diag.Warning
	d.Message += "; kernels are compiled here"
	s.env.report.aside(&d)
	return nil
}

// close ends the session.
func (s *farmSession) close() {
	if s == nil {
		return
	}
	n := s.farm.Client.Counts()
	s.log.Debug("the farm", "asked", n.Asked, "found", n.Found, "queued", n.Queued, "checked", n.Checked, "disputed", n.Disputed)
	s.farm.Client.Close()
	s.endWorker()
	s.bus.Close()
	if s.worker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endWait)
		defer cancel()
		local.End(ctx)
	}
}

// endWait bounds how long the end of a server of this machine is waited for.
const endWait = 5 * time.Second

// compile has workers do a job; false where it is to be done here.
func (s *farmSession) compile(ctx context.Context, j *job, keep bool) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	away := s.away[j.target]
	s.mu.Unlock()
	if away {
		return false
	}
	opts := *j.opts
	if keep {
		opts.Print = func(text string) { j.printed.WriteString(text) }
	}
	k, err := core.Cached(ctx, j.src, j.target, &opts)
	if k == nil && err == nil {
		k, err = s.farm.Compile(ctx, j.src, j.target, &opts, j.want, j.modules)
	}
	var local *compile.LocalError
	if errors.As(err, &local) {
		if local.Lasting {
			s.mu.Lock()
			s.away[j.target] = true
			s.mu.Unlock()
		}
		if !local.Serious {
			s.log.Debug("not for the farm", "file", j.file, "reason", local.Reason)
			return false
		}
		d := diag.Errorf(diag.Pos{}, "%s; what it would have compiled is compiled here", local.Reason)
		d.Severity = diag.Warning
		s.env.report.aside(d.WithHelp("%s", local.Help))
		return false
	}
	if err == nil {
		err = checkWarps(j.src, k, opts.Values)
	}
	if j.err = err; err == nil {
		j.kernel = k
	}
	return true
}
