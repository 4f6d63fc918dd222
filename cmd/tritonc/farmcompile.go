package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/compile"
	farm "github.com/tritonc/tritonc/farm/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// addFarm adds the flags of a compile by workers.
func (f *compileFlags) addFarm(flags *pflag.FlagSet) {
	flags.BoolVar(&f.farm, "farm", false, "have workers compile (tritonc help worker), and compile here what they cannot")
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

	mu   sync.Mutex
	away map[core.Target]bool // targets for which the farm compiles nothing
}

// joinFarm connects with the farm, if the command is for one. Without a server, which is
// told, the session is nil: everything is compiled here.
func (f *compileFlags) joinFarm(ctx context.Context, env *environment, host *plugin.Host, file string) (*farmSession, error) {
	if !f.farm {
		if opts, err := f.sharing(env, file); f.nats != "" && opts == nil {
			return nil, cmp.Or(err, error(usagef("--nats is for --farm, or for a shared cache").
				withHelp("a cache takes kernels of those whom the table [farm.trusted] of tritonc.toml lists")))
		}
		return nil, nil
	}
	settings, err := f.reach(ctx, env, file, "tritonc compile", false)
	if err != nil {
		return nil, err
	}
	settings.Stay = true
	s := &farmSession{env: env, log: newLogger(env, f.verbose), away: map[core.Target]bool{}}
	b, q, err := settings.open(ctx)
	if err != nil {
		return nil, s.compileHere(ctx, err)
	}
	client, err := farm.Connect(ctx, q, farm.ClientConfig{
		Sample: sampled, Verifier: settings.verifier(), Log: func(format string, args ...any) { s.log.Debug(fmt.Sprintf(format, args...)) },
	})
	if err != nil {
		b.Close()
		return nil, s.compileHere(ctx, err)
	}
	s.bus = b
	s.farm = &compile.Farm{Client: client, Compiler: sdk.ProgramHash(), Machine: host.SharedIdentity, Fresh: f.noCache}
	return s, nil
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
	s.env.report.aside(categoryEnvironment, &d)
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
	s.bus.Close()
}

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
		s.env.report.aside(categoryEnvironment, d.WithHelp("%s", local.Help))
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
