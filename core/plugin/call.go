package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// task is what a call is about, for those who are told that it failed.
type task struct {
	method string
	kernel string // empty where the call is for none

	mu    sync.Mutex
	stage string // that began last
}

func (t *task) enter(stage string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage = stage
}

// phase is what was under way: "RunStages (stage llir)".
func (t *task) phase() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stage == "" {
		return t.method
	}
	return t.method + " (stage " + t.stage + ")"
}

// restarts counts how often a call has started a process anew because one died.
type restarts int

// again reports whether the call may do so after err: once, and only if its process
// died.
func (r *restarts) again(ctx context.Context, b *Backend, err error) bool {
	var crash *CrashError
	if !errors.As(err, &crash) && !errors.As(err, new(*process.KilledError)) || ctx.Err() != nil || b.host.isClosed() {
		return false
	}
	*r++
	if *r > 1 {
		if crash != nil {
			crash.Again = true
		}
		return false
	}
	b.host.opts.Logger.Warn("a backend died and is started anew", "error", err)
	return true
}

// fromOutside reports whether err, of a start, tells nothing of the program: somebody
// killed it, or it may not run here.
func fromOutside(err error) bool {
	var crash *CrashError
	return errors.As(err, &crash) && crash.Killed || errors.As(err, new(*process.KilledError)) || errors.As(err, new(*process.UnexpectedError))
}

// call runs one method on the living process.
func call[R any](ctx context.Context, b *Backend, method string, f func(context.Context, *host.Client, *sdk.Facts) (R, error)) (R, error) {
	return do(ctx, b, &task{method: method, kernel: wire.Kernel(ctx)}, f)
}

// do runs a method, and once more in a new process if the first one dies.
func do[R any](ctx context.Context, b *Backend, t *task, f func(context.Context, *host.Client, *sdk.Facts) (R, error)) (R, error) {
	var used restarts
	for {
		p, facts, err := b.running(ctx, &used, true)
		if err != nil {
			var zero R
			return zero, err
		}
		t.enter("")
		resp, err := try(ctx, b, p, t, func(ctx context.Context) (R, error) { return f(ctx, client(p), facts) })
		if err == nil || !used.again(ctx, b, err) {
			return resp, err
		}
	}
}

// try runs a method in a process.
func try[R any](ctx context.Context, b *Backend, p *process.Process, t *task, f func(context.Context) (R, error)) (R, error) {
	defer p.Begin()()
	ctx, s := b.span(ctx, p, t.method)
	resp, err := tryWithin(ctx, b, p, t, f)
	s.End(err)
	return resp, err
}

// tryWithin is try, within the bound of a call.
func tryWithin[R any](ctx context.Context, b *Backend, p *process.Process, t *task, f func(context.Context) (R, error)) (R, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if limit := b.host.opts.CallTimeout; limit > 0 {
		bounded, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	resp, err := f(bounded)
	if err == nil {
		return resp, nil
	}
	explained := b.callError(bounded, p, t, err)
	switch {
	case ctx.Err() != nil:
	case bounded.Err() != nil && process.Ended(bounded, err):
		explained = &TimeoutError{Backend: b.found.Name, Phase: t.phase(), Kernel: t.kernel, Limit: b.host.opts.CallTimeout}
		b.retire(p) // nobody knows whether it ever ends what it was told to
	case process.Broken(err):
		b.drop(p)
	}
	return resp, explained
}

// running returns the living process, starting one when there is none, and once
// more if that dies before it is of use. use says that it is to do more than to describe
// itself.
func (b *Backend) running(ctx context.Context, used *restarts, use bool) (*process.Process, *sdk.Facts, error) {
	b.starting.Lock()
	defer b.starting.Unlock()
	for {
		if b.host.isClosed() {
			return nil, nil, fmt.Errorf("backend %s: the session is closed", b.found.Name)
		}
		p, facts, ended := b.use(use)
		if p != nil {
			return p, facts, nil
		}
		if ended != nil {
			ended.Stop() // its socket is left over
		}
		p, facts, err := b.begin(ctx)
		if err == nil {
			b.mu.Lock()
			b.proc, b.facts, b.used = p, facts, use
			b.mu.Unlock()
			return p, facts, nil
		}
		if !used.again(ctx, b, err) {
			return nil, nil, err
		}
	}
}

// use returns the process that lives, or else the one that has ended, if there is one,
// and forgets it.
func (b *Backend) use(use bool) (lives *process.Process, facts *sdk.Facts, ended *process.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proc == nil || b.proc.HasExited() {
		ended, b.proc = b.proc, nil
		return nil, nil, ended
	}
	b.used = b.used || use
	return b.proc, b.facts, nil
}

// begin starts a process and asks what it is, unless that is remembered of a program
// that says the same as long as its file does.
func (b *Backend) begin(ctx context.Context) (*process.Process, *sdk.Facts, error) {
	var r remembered
	described := false
	recall := func() {
		var ok bool
		r, ok = b.remembered()
		described = ok && r.Description != nil
	}
	known := map[string]string{} // settings
	if b.host.opts.Confine.Sandbox != nil {
		if recall(); described {
			known = b.host.settings(r.Facts.Settings)
		}
	}
	before := fileState(b.found.Path)
	for {
		confine, err := b.confine(known)
		if err != nil {
			return nil, nil, err
		}
		p, err := b.start(ctx, confine)
		if err != nil {
			return nil, nil, err
		}
		client(p).MaxBytes = b.host.opts.MaxBytes
		if confine.Sandbox == nil {
			recall() // beside the start others have decoded the facts, which takes half a millisecond
		}
		if described && isBinary(b.found.Path) && fileState(b.found.Path) == before {
			return p, &r.Facts, nil
		}
		facts, err := b.introduce(ctx, p)
		if err != nil {
			p.Kill() // it may not understand that it should end
			p.Stop()
			return nil, nil, err
		}
		// Which files its settings name is only known now.
		now := b.host.settings(facts.Settings)
		if confine.Sandbox == nil || !b.namesMore(known, now) {
			b.remember(facts)
			return p, facts, nil
		}
		known = now
		p.Stop()
	}
}

// isBinary reports whether a program is a binary. What a script says may change with the
// modules that it imports.
func isBinary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) != "#!"
}

// introduce asks a new process for its facts.
func (b *Backend) introduce(ctx context.Context, p *process.Process) (*sdk.Facts, error) {
	defer p.Begin()()
	bounded, cancel := context.WithTimeout(ctx, b.host.opts.StartTimeout)
	defer cancel()
	facts, method, err := askFacts(bounded, client(p))
	if err != nil {
		return nil, b.callError(bounded, p, &task{method: method, kernel: wire.Kernel(ctx)}, err)
	}
	return &facts, nil
}

// start runs the backend's program up to an open connection.
func (b *Backend) start(ctx context.Context, confine process.Confine) (_ *process.Process, err error) {
	ctx, s := b.startSpan(ctx)
	defer func() { s.End(err) }()
	opts := &b.host.opts
	found, err := b.expected()
	if err != nil {
		return nil, err
	}
	go host.Warm()
	p, err := process.Start(ctx, found, process.Config{
		Kind: "backend", Handshake: host.Handshake, PluginName: host.PluginName,
		Versions: map[int]goplugin.Plugin{host.ProtocolVersion: &host.BackendPlugin{}},
		Env:      b.env(confine), Logger: opts.Logger.Named(b.found.Name), StartTimeout: opts.StartTimeout,
		AutoMTLS: opts.AutoMTLS, Dir: opts.Dir, TempDir: opts.TempDir,
		Confine: confine, HangTime: b.host.hangTime,
	})
	if kernel := wire.Kernel(ctx); err != nil && kernel != "" && ctx.Err() == nil {
		err = fmt.Errorf("kernel %s: %w", kernel, err)
	}
	return p, err
}

// forget has the next call start another process.
func (b *Backend) forget(p *process.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proc == p {
		b.proc = nil
	}
}

// drop ends a process whose connection broke; the next call starts a new one even
// while this one is slow to end.
func (b *Backend) drop(p *process.Process) { b.end(p, nil) }

// retire ends a process that takes no more calls once those under way have ended,
// which have a bound each.
func (b *Backend) retire(p *process.Process) { b.end(p, p.Idle()) }

// end ends a process when ready is closed or the host is; nil: now.
func (b *Backend) end(p *process.Process, ready <-chan struct{}) {
	if !b.host.beginStop() {
		return // Close stops it
	}
	b.forget(p)
	go func() {
		defer b.host.stopping.Done()
		if ready != nil {
			select {
			case <-ready:
			case <-b.host.closing:
			}
		}
		p.Stop()
	}()
}

// stop ends the process, if there is one.
func (b *Backend) stop() {
	b.starting.Lock() // the host is closed, so that no start follows one under way
	defer b.starting.Unlock()
	b.mu.Lock()
	p := b.proc
	b.proc = nil
	b.mu.Unlock()
	if p != nil {
		p.Stop()
	}
}
