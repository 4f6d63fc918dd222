package main

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/tritonc/tritonc/core/plugin"
)

// maxHosts bounds how many hosts a server keeps whose backends nobody uses. Each is for
// a folder, since backends take paths as relative to theirs, and for one set of limits
// and variables.
const maxHosts = 8

// hostPool keeps hosts, and their backends, from one command for the next.
type hostPool struct {
	making sync.Mutex // held while a host is looked for and made, so that there is one of a kind
	mu     sync.Mutex
	hosts  []*pooledHost // that were used last, last
	closed sync.WaitGroup
}

// pooledHost is a host with what it was made for.
type pooledHost struct {
	*plugin.Host
	options, programs string // its state
	env               *environment
	logs              *fanout
	users             int
}

// borrow returns a host that runs the programs that one would run which were made for
// this command now, in the same way, and what gives it back.
func (p *hostPool) borrow(ctx context.Context, env *environment, verbose int, pick *pickFlags, file string) (*plugin.Host, func(), error) {
	logs := &fanout{}
	opts, err := lockedOptions(env, verbose, pick, file)
	if err != nil {
		return nil, nil, err
	}
	opts.Logger, opts.Dir = loggerTo(logs, verbose), string(env.dir)
	if verbose > 0 {
		// What its backends log is for this command alone, to the last line.
		logs.add(env.report.writer("log"))
		h := plugin.New(opts)
		return h, func() { h.Close() }, nil
	}
	p.making.Lock()
	defer p.making.Unlock()
	fresh := &pooledHost{Host: plugin.New(opts), env: env, logs: logs}
	fresh.options, fresh.programs = fresh.State()
	h := p.take(fresh)
	remove := h.logs.add(env.report.writer("log"))
	if h == fresh {
		// Which variables count all programs have to say, and what they say is kept in a
		// file that is part of the state.
		h.DescribeAll(ctx)
		h.EndUnused() // most are for other devices
		_, h.programs = h.State()
	}
	return h.Host, func() {
		h.DrainLog() // or a warning that came with the answer would be nobody's
		remove()
		p.giveBack(h)
	}, nil
}

// take is the host that there is for what fresh is for, or fresh.
func (p *hostPool) take(fresh *pooledHost) *pooledHost {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := fresh
	if i := slices.IndexFunc(p.hosts, fresh.isLike); i >= 0 {
		h = p.hosts[i]
		p.hosts = slices.Delete(p.hosts, i, i+1)
		if h.programs != fresh.programs { // which have changed since
			if h.users == 0 {
				p.end(h)
			}
			h = fresh
		}
	}
	p.hosts = append(p.hosts, h)
	h.users++
	p.evict()
	return h
}

// giveBack ends a host that is in the list no more once nobody uses it.
func (p *hostPool) giveBack(h *pooledHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.users--; h.users == 0 && !slices.Contains(p.hosts, h) {
		p.end(h)
	}
	p.evict()
}

// isLike reports whether other is for commands such as h's own.
func (h *pooledHost) isLike(other *pooledHost) bool {
	if h.options != other.options {
		return false
	}
	names, complete := other.EnvNames()
	if !complete {
		return slices.Equal(slices.Sorted(slices.Values(h.env.environ)), slices.Sorted(slices.Values(other.env.environ)))
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		a, hasA := h.env.lookupEnv(name)
		b, hasB := other.env.lookupEnv(name)
		return a != b || hasA != hasB
	})
}

// evict ends hosts that nobody uses, those that were used last staying.
func (p *hostPool) evict() {
	for i := 0; i < len(p.hosts) && len(p.hosts) > maxHosts; {
		if h := p.hosts[i]; h.users == 0 {
			p.hosts = slices.Delete(p.hosts, i, i+1)
			p.end(h)
		} else {
			i++
		}
	}
}

// end ends a host's backends, for which nobody waits but close.
func (p *hostPool) end(h *pooledHost) { p.closed.Go(func() { h.Close() }) }

// close ends all backends.
func (p *hostPool) close() {
	p.mu.Lock()
	for _, h := range p.hosts {
		p.end(h)
	}
	p.hosts = nil
	p.mu.Unlock()
	p.closed.Wait()
}

// running lists the processes of all backends.
func (p *hostPool) running() (list []plugin.Running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hosts {
		list = append(list, h.Running()...)
	}
	return list
}

// fanout writes to all who want to read: what a backend logs is for every command that
// is under way with it.
type fanout struct {
	mu      sync.Mutex
	writers []*io.Writer
}

// add adds a writer; calling what it returns takes it away, with no Write under way.
func (f *fanout) add(w io.Writer) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writers = append(f.writers, &w)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.writers = slices.DeleteFunc(f.writers, func(other *io.Writer) bool { return other == &w })
	}
}

// Write implements io.Writer. That a client is gone is not the backend's affair.
func (f *fanout) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.writers {
		_, _ = (*w).Write(p)
	}
	return len(p), nil
}
