package plugin

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Backend is one backend of a Host. Its methods may be called from several
// goroutines; the first call starts the process. Errors are a diag.List for a
// user's mistakes, a *wire.BugError for one of the backend, a *CrashError when
// the process died, ctx's error, or an error of the machine.
type Backend struct {
	host  *Host
	found process.Found

	starting sync.Mutex // held during a start, so that there is only one

	mu    sync.Mutex // not held while anything is waited for
	proc  *process.Process
	facts *sdk.Facts // of proc's program
	used  bool       // proc was asked for more than what it is
	ahead *ahead     // the start under way that began last, if it was begun ahead

	answers answers
	stored  atomic.Int32 // how many were kept for other processes

	loadedMu sync.Mutex
	modules  map[string]sdk.Module    // those that were asked for
	dialects map[string][]sdk.Dialect // by the facts' hash of them

	hidden bool // by one of its name in Options.Override
	hides  bool // those of its name that were found later
	warned atomic.Bool
	learning
}

// Name is the <name> of the program tritonc-backend-<name>.
func (b *Backend) Name() string { return b.found.Name }

// Path is the program's file.
func (b *Backend) Path() string { return b.found.Path }

// Hidden reports whether one of its name goes before it: it is taken only where a
// Choice asks for its version.
func (b *Backend) Hidden() bool { return b.hidden }

// Facts is the backend's Describe answer: of a binary that has not changed since it
// was asked what it said then, else asked once per process.
func (b *Backend) Facts(ctx context.Context) (*sdk.Facts, error) {
	_, facts, err := b.running(ctx, new(restarts), true)
	return facts, err
}

// KnownFacts is Facts without a process where they are remembered.
func (b *Backend) KnownFacts(ctx context.Context) (*sdk.Facts, error) {
	if c, facts := b.current(); c != nil {
		return facts, nil
	}
	if r, ok := b.remembered(); ok && r.Description != nil && isBinary(b.found.Path) {
		return &r.Facts, nil
	}
	return b.Facts(ctx)
}

// ahead is a start that nobody waits for yet.
type ahead struct {
	kernel string // that it is for, as its error says
	over   chan struct{}
	err    error // once it is over
}

func (a *ahead) await(ctx context.Context) error {
	select {
	case <-a.over:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// StartAhead begins to start a process, if there is none, and returns what waits until
// there is one or its start has failed; nil where one runs. Of a start for the same kernel
// that is under way there is no second one.
func (b *Backend) StartAhead(ctx context.Context) (await func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proc != nil && !b.proc.HasExited() {
		return nil
	}
	kernel := wire.Kernel(ctx)
	if a := b.ahead; a != nil && a.kernel == kernel {
		return a.await
	}
	a := &ahead{kernel: kernel, over: make(chan struct{})}
	b.ahead = a
	// What fails before it needs the process does not end the start: the next compile
	// of the session will need it.
	apart, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		_, _, a.err = b.running(apart, new(restarts), true)
		b.mu.Lock()
		if b.ahead == a {
			b.ahead = nil
		}
		b.mu.Unlock()
		close(a.over)
		cancel()
	}()
	go func() {
		select {
		case <-b.host.closing:
			cancel()
		case <-apart.Done():
		}
	}()
	return a.await
}

// FactsAgain is Facts as the program tells them now.
func (b *Backend) FactsAgain(ctx context.Context) (*sdk.Facts, error) {
	return call(ctx, b, "Describe", func(ctx context.Context, c *host.Client, _ *sdk.Facts) (*sdk.Facts, error) {
		facts, _, err := askFacts(ctx, c)
		if err != nil {
			return nil, err
		}
		b.remember(&facts)
		return &facts, nil
	})
}

// GetModule returns one of the facts' modules whole. It is asked once per session.
func (b *Backend) GetModule(ctx context.Context, name string) (sdk.Module, error) {
	b.loadedMu.Lock()
	defer b.loadedMu.Unlock()
	if m, ok := b.modules[name]; ok {
		return m, nil
	}
	m, err := call(ctx, b, "GetModule", func(ctx context.Context, c *host.Client, _ *sdk.Facts) (sdk.Module, error) {
		return c.GetModule(ctx, name)
	})
	if err == nil {
		if b.modules == nil {
			b.modules = make(map[string]sdk.Module)
		}
		b.modules[name] = m
	}
	return m, err
}

// SupportsTarget asks whether the backend compiles for t, a process once. One that does not serve
// this is known by the targets of its facts.
func (b *Backend) SupportsTarget(ctx context.Context, t sdk.Target) (sdk.SupportsTargetResponse, error) {
	return b.supportsTarget(ctx, t, false)
}

// supportsTarget is SupportsTarget; with afresh what another process answered does not
// count, so that a program which does not start any more is found out.
func (b *Backend) supportsTarget(ctx context.Context, t sdk.Target, afresh bool) (sdk.SupportsTargetResponse, error) {
	return kept(ctx, b, request{method: "SupportsTarget", target: t, settings: map[string]string{}, afresh: afresh},
		func(ctx context.Context, c *host.Client, f *sdk.Facts, _ map[string]string) (sdk.SupportsTargetResponse, bool, error) {
			resp, err := c.SupportsTarget(ctx, t)
			if status.Code(err) == codes.Unimplemented {
				return f.Supports(t), true, nil
			}
			return resp, true, err
		})
}

// ParseOptions checks and completes the user's options, by the facts where the
// backend does not serve this. A nil Settings, here and below, means the host's.
func (b *Backend) ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return kept(ctx, b, request{method: "ParseOptions", target: req.Target, options: req.OptionsJSON, settings: req.Settings},
		func(ctx context.Context, c *host.Client, f *sdk.Facts, settings map[string]string) (sdk.ParseOptionsResponse, bool, error) {
			req := req
			req.Settings = settings
			resp, err := parseOptions(ctx, c, f, req)
			return resp, len(resp.Diagnostics) == 0 && !namesFiles(f, req.OptionsJSON), err
		})
}

func parseOptions(ctx context.Context, c *host.Client, f *sdk.Facts, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	resp, err := c.ParseOptions(ctx, req)
	if status.Code(err) != codes.Unimplemented {
		return resp, err
	}
	values, err := sdk.ParseOptions(f.Options, req.OptionsJSON)
	if err != nil {
		return sdk.ParseOptionsResponse{}, err
	}
	return sdk.ParseOptionsResponse{OptionsJSON: values.JSON()}, nil
}

// AddStages lists the stages of a compile. The list is shared by all who ask: it is not
// to be changed.
func (b *Backend) AddStages(ctx context.Context, req sdk.AddStagesRequest) (wire.AddStagesResponse, error) {
	return kept(ctx, b, request{method: "AddStages", target: req.Target, options: req.OptionsJSON, settings: req.Settings},
		func(ctx context.Context, c *host.Client, _ *sdk.Facts, settings map[string]string) (wire.AddStagesResponse, bool, error) {
			req := req
			req.Settings = settings
			stages, warnings, err := c.AddStages(ctx, req)
			return wire.AddStagesResponse{Stages: stages, Diagnostics: warnings}, len(warnings) == 0, err
		})
}

// RunStages runs stages. Beside an error the response holds what was made.
func (b *Backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	doing := &task{method: "RunStages", kernel: wire.Kernel(ctx)}
	if req.First == req.Last {
		doing.enter(req.First) // which a process that dies may not have told yet
	}
	told := req.Progress
	req.Progress = func(p sdk.Progress) {
		doing.enter(p.Stage)
		if p.Text != "" || p.Fraction > 0 {
			b.host.opts.Logger.Named(b.found.Name).Info("progress", "stage", p.Stage, "done", fmt.Sprintf("%.0f%%", 100*p.Fraction), "text", p.Text)
		}
		if told != nil {
			told(p)
		}
	}
	return do(ctx, b, doing, func(ctx context.Context, c *host.Client, f *sdk.Facts) (sdk.RunStagesResponse, error) {
		if req.Settings == nil {
			req.Settings = b.host.settings(f.Settings)
		}
		began := time.Now()
		resp, err := c.RunStages(ctx, req)
		steps(ctx, began, resp.Timings, err)
		return resp, err
	})
}

// RunPasses runs a pipeline of passes on one IR text.
func (b *Backend) RunPasses(ctx context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	return call(ctx, b, "RunPasses", func(ctx context.Context, c *host.Client, f *sdk.Facts) (sdk.RunPassesResponse, error) {
		if req.Settings == nil {
			req.Settings = b.host.settings(f.Settings)
		}
		return c.RunPasses(ctx, req)
	})
}

// askFacts asks for a backend's facts and the names of its modules. Beside an error
// it says which call failed.
func askFacts(ctx context.Context, c *host.Client) (facts sdk.Facts, method string, err error) {
	facts, err = c.Describe(ctx)
	if err == nil && facts.Name == "" {
		err = fmt.Errorf("its description has no name")
	}
	if err != nil {
		return facts, "Describe", err
	}
	facts.Modules, err = c.GetModuleMap(ctx)
	if status.Code(err) == codes.Unimplemented {
		return facts, "", nil
	}
	return facts, "GetModuleMap", err
}

func client(p *process.Process) *host.Client { return p.Client().(*host.Client) }
