package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/remote"
	"github.com/tritonc/tritonc/farm/sign"
)

// farmKeyVar names the file of the key that shared kernels are signed by.
const farmKeyVar = "TRITONC_FARM_KEY"

// sharing is what a command line and its project say of the cache that machines share;
// nil where nothing is shared.
func (f *farmFlags) sharing(env *environment, file string) (*remote.Options, error) {
	s, err := f.settings(env, file, "tritonc")
	var usage *usageError
	if errors.As(err, &usage) && f.nats == "" {
		return nil, nil // no server is named
	}
	if err != nil {
		return nil, err
	}
	key, err := s.signingKey(env)
	if err != nil {
		return nil, err
	}
	opts := &remote.Options{
		Bus: s.Options, Wait: s.table.Wait, MaxBytes: s.table.CacheSize << 20, MaxAge: s.table.CacheAge, Sign: key,
	}
	for _, t := range s.table.Trusted {
		opts.Trusted = append(opts.Trusted, sign.Trustee{Name: t.Name, Key: t.Key})
	}
	if key != nil && !opts.Trusted.Knows(key.Public()) {
		own, err := sign.ParseTrusted("own", key.Public())
		if err != nil {
			return nil, err
		}
		opts.Trusted = append(opts.Trusted, own...)
	}
	if len(opts.Trusted) == 0 {
		return nil, nil // there is nobody whose kernels could be taken
	}
	return opts, nil
}

// signingKey is the user's key: that of the environment, of the project, or of the user's
// configuration folder. Without one kernels are taken, and none are given.
func (s *farmSettings) signingKey(env *environment) (*sign.Key, error) {
	if path := variable(env, farmKeyVar); path != "" {
		return sign.Load(env.dir.at(path), diag.Pos{})
	}
	if s.table.Sign != "" {
		at := s.table.Pos["sign"]
		k, err := sign.Load(s.at(s.table.Sign), at)
		for _, d := range diag.All(err) {
			d.Line = s.file.Line(at.Line)
		}
		return k, err
	}
	base, _ := env.lookupEnv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, _ := env.lookupEnv("HOME")
		if !filepath.IsAbs(home) {
			return nil, nil
		}
		base = filepath.Join(home, ".config")
	}
	path := filepath.Join(base, "tritonc", "farm.key")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return sign.Load(path, diag.Pos{})
}

// share has a command's cache take kernels of other machines, and give them its own.
func (f *farmFlags) share(env *environment, c *core.Cache, log hclog.Logger, file string) error {
	opts, err := f.sharing(env, file)
	if opts == nil || err != nil {
		return err
	}
	opts.OffFile = filepath.Join(c.Store.Dir(), "server-off.json")
	c.Shared = env.shared.store(env, opts, log)
	c.Trusts = opts.Trusts
	return nil
}

// sharedPool has the connections of a process with shared caches. What they have to say
// goes to the commands that are under way.
type sharedPool struct {
	mu       sync.Mutex
	stores   []*pooledStore
	commands []command
}

// command is one that is under way, with its log.
type command struct {
	env *environment
	log hclog.Logger
}

type pooledStore struct {
	*remote.Store
	id string
}

// store returns the one that there is for options, or a new one.
func (p *sharedPool) store(env *environment, opts *remote.Options, log hclog.Logger) *remote.Store {
	id := storeID(opts)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.commands, func(c command) bool { return c.env == env }) {
		p.commands = append(p.commands, command{env, log})
	}
	if i := slices.IndexFunc(p.stores, func(s *pooledStore) bool { return s.id == id }); i >= 0 {
		return p.stores[i].Store
	}
	own := *opts
	own.Warn = func(d *diag.Diagnostic) {
		p.each(func(c command) { c.env.report.located(categoryEnvironment, d) })
	}
	own.Log = func(message string) {
		p.each(func(c command) { c.log.Debug(message) })
	}
	s := &pooledStore{remote.New(own), id}
	p.stores = append(p.stores, s)
	return s.Store
}

// storeID tells stores apart.
func storeID(o *remote.Options) string {
	parts := append([]string{
		strings.Join(o.Bus.URLs, ","), o.Bus.Credentials, o.Bus.CA, o.Bus.Cert, o.Bus.Key, o.OffFile,
		o.Wait.String(), o.MaxAge.String(), time.Duration(o.MaxBytes).String(), time.Duration(o.Bus.Replicas).String(),
	}, o.Bus.From.String())
	if o.Sign != nil {
		parts = append(parts, o.Sign.Public())
	}
	for i := range o.Trusted {
		parts = append(parts, o.Trusted[i].ID())
	}
	return strings.Join(parts, "\x00")
}

// each does f for the commands that are under way. None ends meanwhile: nothing is
// written to a client that has its answer.
func (p *sharedPool) each(f func(c command)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.commands {
		f(c)
	}
}

// leave ends what a command had of the pool.
func (p *sharedPool) leave(env *environment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commands = slices.DeleteFunc(p.commands, func(c command) bool { return c.env == env })
}

// counts are what became of the questions of all commands; nil where nothing is shared.
func (p *sharedPool) counts() *cache.Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.stores) == 0 {
		return nil
	}
	all := &cache.Counts{}
	for _, s := range p.stores {
		c := s.Counts()
		all.Add(&c)
	}
	return all
}

// close waits, for a moment, for what is being kept.
func (p *sharedPool) close() {
	p.mu.Lock()
	list := p.stores
	p.stores = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range list {
		wg.Go(s.Close)
	}
	wg.Wait()
}
