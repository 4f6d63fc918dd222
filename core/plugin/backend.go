package plugin

import (
	"context"
	"fmt"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Backend is one backend of a Host. Its methods may be called from several
// goroutines; the first call starts the process. Errors are a diag.List for a
// user's mistakes, a *wire.BugError for one of the backend, a *CrashError when
// the process died, ctx's error, or an error of the machine.
type Backend struct {
	host  *Host
	found process.Found

	mu    sync.Mutex // held during a start, so that there is only one
	proc  *process.Process
	facts *sdk.Facts // of proc's program

	loadedMu sync.Mutex
	modules  map[string]sdk.Module    // those that were asked for
	dialects map[string][]sdk.Dialect // by the facts' hash of them

	hidden bool // by one of its name in Options.Override
	hides  bool // those of its name that were found later
	learning
}

// Name is the <name> of the program tritonc-backend-<name>.
func (b *Backend) Name() string { return b.found.Name }

// Path is the program's file.
func (b *Backend) Path() string { return b.found.Path }

// Hidden reports whether one of its name goes before it: it is taken only where a
// Choice asks for its version.
func (b *Backend) Hidden() bool { return b.hidden }

// Facts is the backend's Describe answer, asked once per process.
func (b *Backend) Facts(ctx context.Context) (*sdk.Facts, error) {
	_, facts, err := b.running(ctx)
	return facts, err
}

// GetModule returns one of the facts' modules whole. It is asked once per session.
func (b *Backend) GetModule(ctx context.Context, name string) (sdk.Module, error) {
	b.loadedMu.Lock()
	defer b.loadedMu.Unlock()
	if m, ok := b.modules[name]; ok {
		return m, nil
	}
	m, err := call(ctx, b, "GetModule", func(c *sdk.Client, _ *sdk.Facts) (sdk.Module, error) {
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

// SupportsTarget asks whether the backend compiles for t. One that does not serve
// this is known by the targets of its facts.
func (b *Backend) SupportsTarget(ctx context.Context, t sdk.Target) (sdk.SupportsTargetResponse, error) {
	return call(ctx, b, "SupportsTarget", func(c *sdk.Client, f *sdk.Facts) (sdk.SupportsTargetResponse, error) {
		resp, err := c.SupportsTarget(ctx, t)
		if status.Code(err) == codes.Unimplemented {
			return f.Supports(t), nil
		}
		return resp, err
	})
}

// ParseOptions checks and completes the user's options, by the facts where the
// backend does not serve this. A nil Settings, here and below, means the host's.
func (b *Backend) ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return call(ctx, b, "ParseOptions", func(c *sdk.Client, f *sdk.Facts) (sdk.ParseOptionsResponse, error) {
		if req.Settings == nil {
			req.Settings = b.host.settings(f.Settings)
		}
		resp, err := c.ParseOptions(ctx, req)
		if status.Code(err) != codes.Unimplemented {
			return resp, err
		}
		values, err := sdk.ParseOptions(f.Options, req.OptionsJSON)
		if err != nil {
			return sdk.ParseOptionsResponse{}, err
		}
		return sdk.ParseOptionsResponse{OptionsJSON: values.JSON()}, nil
	})
}

// AddStages lists the stages of a compile.
func (b *Backend) AddStages(ctx context.Context, req sdk.AddStagesRequest) (sdk.AddStagesResponse, error) {
	return call(ctx, b, "AddStages", func(c *sdk.Client, f *sdk.Facts) (sdk.AddStagesResponse, error) {
		if req.Settings == nil {
			req.Settings = b.host.settings(f.Settings)
		}
		return c.AddStages(ctx, req)
	})
}

// RunStages runs stages. Beside an error the response holds what was made.
func (b *Backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	return call(ctx, b, "RunStages", func(c *sdk.Client, f *sdk.Facts) (sdk.RunStagesResponse, error) {
		if req.Settings == nil {
			req.Settings = b.host.settings(f.Settings)
		}
		return c.RunStages(ctx, req)
	})
}

// RunPasses runs a pipeline of passes on one IR text.
func (b *Backend) RunPasses(ctx context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	return call(ctx, b, "RunPasses", func(c *sdk.Client, f *sdk.Facts) (sdk.RunPassesResponse, error) {
		if req.Settings == nil {
			req.Settings = b.host.settings(f.Settings)
		}
		return c.RunPasses(ctx, req)
	})
}

// call runs one method on the living process.
func call[R any](ctx context.Context, b *Backend, method string, f func(*sdk.Client, *sdk.Facts) (R, error)) (R, error) {
	p, facts, err := b.running(ctx)
	if err != nil {
		var zero R
		return zero, err
	}
	resp, err := f(client(p), facts)
	if err == nil {
		return resp, nil
	}
	explained := b.callError(ctx, p, method, err)
	if ctx.Err() == nil && process.Broken(err) {
		b.drop(p)
	}
	return resp, explained
}

// running returns the living process, starting one when there is none.
func (b *Backend) running(ctx context.Context) (*process.Process, *sdk.Facts, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.host.isClosed() {
		return nil, nil, fmt.Errorf("backend %s: the session is closed", b.found.Name)
	}
	if b.proc != nil && !b.proc.HasExited() {
		return b.proc, b.facts, nil
	}
	if b.proc != nil {
		b.proc.Stop() // its socket is left over
		b.proc = nil
	}
	p, err := b.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	client(p).MaxBytes = b.host.opts.MaxBytes
	bounded, cancel := context.WithTimeout(ctx, b.host.opts.StartTimeout)
	defer cancel()
	facts, method, err := askFacts(bounded, client(p))
	if err != nil {
		if err = b.callError(bounded, p, method, err); bounded.Err() != nil {
			p.Kill() // it does not answer
		}
		p.Stop()
		return nil, nil, err
	}
	b.proc, b.facts = p, &facts
	b.remember(&facts)
	return p, b.facts, nil
}

// askFacts asks for a backend's facts and the names of its modules. Beside an error
// it says which call failed.
func askFacts(ctx context.Context, c *sdk.Client) (facts sdk.Facts, method string, err error) {
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

// start runs the backend's program up to an open connection.
func (b *Backend) start(ctx context.Context) (*process.Process, error) {
	opts := &b.host.opts
	return process.Start(ctx, b.found, process.Config{
		Kind: "backend", Handshake: sdk.Handshake, PluginName: sdk.PluginName,
		Versions: map[int]goplugin.Plugin{sdk.ProtocolVersion: &sdk.BackendPlugin{}},
		Env:      b.host.env(), Logger: opts.Logger.Named(b.found.Name), StartTimeout: opts.StartTimeout,
		AutoMTLS: opts.AutoMTLS, TempDir: opts.TempDir,
	})
}

func client(p *process.Process) *sdk.Client { return p.Client().(*sdk.Client) }

// drop forgets a process whose connection broke, so that the next call starts a
// new one even while this one is slow to end.
func (b *Backend) drop(p *process.Process) {
	if !b.host.beginStop() {
		return // Close stops it
	}
	b.mu.Lock()
	if b.proc == p {
		b.proc = nil
	}
	b.mu.Unlock()
	go func() {
		defer b.host.stopping.Done()
		p.Stop()
	}()
}

// stop ends the process, if there is one.
func (b *Backend) stop() {
	b.mu.Lock()
	p := b.proc
	b.proc = nil
	b.mu.Unlock()
	if p != nil {
		p.Stop()
	}
}
