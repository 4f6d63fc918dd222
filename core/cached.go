package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/span"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Cache keeps kernels from one compile for the next that would make the same.
//
// A kernel is found under what is known before anything is compiled: the source,
// the signature, the options, the target, this compiler and the backend. With it
// lies what else went into it, which only the compile could tell: the files that
// were imported (or looked for), and the tools and libraries of the machine. It
// counts as long as these are what they were.
type Cache struct {
	Store *cache.Store
	// Compiler identifies this program.
	Compiler string
	// Identity tells in one text what a compile for a target depends on of the
	// backends and of what they see of the machine, less the folders that they look for
	// programs in, which are searchPath, as PATH lists them. The text is empty when
	// there is no backend for the target. It is plugin.Host's method.
	Identity func(ctx context.Context, target Target) (text, searchPath string, err error)
	// Dir is the folder that paths of backends are relative to; empty: that of this
	// process.
	Dir string
	// Machine tells what Identity does in a form that machines share; it may start the
	// backends. It is plugin.Host's method SharedIdentity; nil where nothing is shared.
	Machine func(ctx context.Context, target Target) (*Machine, error)
	// Shared has the kernels of other machines; nil for none.
	Shared cache.Shared
	// Trusts reports whether kernels are taken that a signer has put into Shared, or that
	// came from there and are in Store since; nil for nobody's.
	Trusts func(signer string) bool
	// Log receives what is of interest to somebody who wonders about the cache;
	// nil drops it.
	Log func(message string)
}

// entryForm is in every key. It changes with what an entry is made of.
const entryForm = "kernel 6"

// cacheEntry is a kernel as it is stored: this as JSON, a newline, and the
// artifacts one after the other.
type cacheEntry struct {
	Name      string           `json:"name"`
	Target    Target           `json:"target"`
	Artifacts []cachedArtifact `json:"artifacts"`
	Metadata  string           `json:"metadata"`
	Tools     []sdk.ToolInfo   `json:"tools"`
	Warnings  diag.List        `json:"warnings"`
	Printed   string           `json:"printed"`
	Imports   []importedFile   `json:"imports"`
	Files     []fileState      `json:"files"`
	// Path is the search path that the programs were found by.
	Path string `json:"path"`
	// SharedKey is the key under which machines share the kernel, in hex; "" for one that
	// was not shared.
	SharedKey string `json:"shared_key,omitempty"`
	// Signer is who put it into Cache.Shared; "" for a kernel of this machine.
	Signer string `json:"signer,omitempty"`
}

type cachedArtifact struct {
	Stage  string `json:"stage"`
	Ending string `json:"ending"`
	Binary bool   `json:"binary"`
	Size   int    `json:"size"`
}

// importedFile is a module that the source asked for.
type importedFile struct {
	Module    string `json:"module"`
	Path      string `json:"path"`   // as Source.Path
	Name      string `json:"name"`   // as Source.Name, which locations have
	SHA256    string `json:"sha256"` // of the text; "" when there was none of that name
	Installed bool   `json:"installed,omitempty"`
}

// fileState is a file or folder of the machine.
type fileState struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"` // -1 when it is not there
	MTime int64  `json:"mtime"`
}

// stateOf is that of a file or folder of the machine as it is now.
func (c *Cache) stateOf(path string) fileState {
	at := path
	if c.Dir != "" && !filepath.IsAbs(path) {
		at = filepath.Join(c.Dir, path)
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return fileState{path, -1, 0}
	case info.IsDir():
		return fileState{path, 0, info.ModTime().UnixNano()}
	}
	return fileState{path, info.Size(), info.ModTime().UnixNano()}
}

// cachedTrip is the part of the cache in one compile. A nil one does nothing.
type cachedTrip struct {
	*Cache
	t   *trip
	key cache.Key
	// path is the search path of now, and pathKey a key for it alone: of an entry for
	// which another path finds other programs.
	path    string
	pathKey cache.Key
	// identity and target are what the key is made of, among others.
	identity string
	target   Target
	// unused warns of a cache that may not be used. It is about no kernel, and is
	// not kept with one.
	unused diag.List
}

// openCache makes the trip's key; nil where there is no cache, or no backend to
// ask for it: the trip will say what is wrong.
func (t *trip) openCache(ctx context.Context, target Target) *cachedTrip {
	c := t.opts.Cache
	if c == nil {
		return nil
	}
	begin := time.Now()
	identity, path, err := c.Identity(ctx, target)
	t.identifying = time.Since(begin)
	if err != nil || identity == "" {
		return nil
	}
	h := cache.NewHasher(entryForm)
	for _, s := range []string{c.Compiler, identity, target.String()} {
		h.String(s)
	}
	if !addKey(h, sourceKey, t.src, false) || !addKey(h, optionsKey, t.opts, false) {
		return nil
	}
	trip := &cachedTrip{Cache: c, t: t, key: h.Key(), path: path, identity: identity, target: target}
	h.String(path)
	trip.pathKey = h.Key()
	return trip
}

// keyPart is what one field of a T adds to a kernel's key. Its add reports false
// where no text tells the value from others, and nothing can be cached.
type keyPart[T any] struct {
	field string
	add   func(h *cache.Hasher, v *T) bool
	why   string // nothing is added: add is nil
	// shared is add for a key that several machines share, where it adds something else.
	shared func(h *cache.Hasher, v *T) bool
}

// addKey adds the parts of v, each under the name of its field, to a key of this machine's
// or to one that several share.
func addKey[T any](h *cache.Hasher, parts []keyPart[T], v *T, shared bool) bool {
	for _, p := range parts {
		add := p.add
		if shared && p.shared != nil {
			add = p.shared
		}
		if add == nil {
			continue
		}
		h.String(p.field)
		if !add(h, v) {
			return false
		}
	}
	return true
}

// sourceKey and optionsKey name every field of their types: a test holds them to
// it, so that no field can be forgotten.
var sourceKey = []keyPart[Source]{
	{
		field: "Path", add: func(h *cache.Hasher, s *Source) bool { h.String(s.Path); return true },
		// The folder is the machine's. What shows it is not shared (sharedTrip.entry).
		shared: func(h *cache.Hasher, s *Source) bool { h.String(filepath.Base(s.Path)); return true },
	},
	{field: "Name", add: func(h *cache.Hasher, s *Source) bool { h.String(s.Name); return true }},
	{field: "Module", add: func(h *cache.Hasher, s *Source) bool { h.String(s.Module); return true }},
	{field: "Ending", add: func(h *cache.Hasher, s *Source) bool { h.String(s.Kind()); return true }},
	{field: "Text", add: func(h *cache.Hasher, s *Source) bool { h.Bytes(s.Text); return true }},
	{field: "Metadata", add: func(h *cache.Hasher, s *Source) bool { h.Bytes(s.Metadata); return true }},
	{field: "Import", why: "what it found lies with the entry, and is looked for again"},
	{field: "Installed", why: "it is about what other files import"},
	{field: "Config", why: "Variants turns it into the variant"},
	{field: "Configs", why: "Variants turns it into the variant"},
	{field: "Define", add: func(h *cache.Hasher, s *Source) bool {
		h.String(fmt.Sprint(len(s.Define)))
		for _, d := range s.Define {
			h.String(d.Name)
			h.String(d.Value)
		}
		return true
	}},
	{field: "Variant", why: "it names files, and an entry is given the name that is asked for"},
	{field: "Options", add: func(h *cache.Hasher, s *Source) bool { return addJSON(h, s.Options) }},
	{field: "python", why: "it is Text as it was parsed"},
	{field: "variant", add: func(h *cache.Hasher, s *Source) bool {
		if s.variant == nil {
			h.String("")
			return true
		}
		h.String(s.variant.Key())
		return s.variant.Key() != ""
	}},
}

var optionsKey = []keyPart[Options]{
	{field: "Select", why: "the identity of backends is in every key"},
	{field: "Values", add: func(h *cache.Hasher, o *Options) bool { return addJSON(h, o.Values) }},
	{field: "Stages", add: func(h *cache.Hasher, o *Options) bool {
		h.String(fmt.Sprint(len(o.Stages)))
		for _, s := range o.Stages {
			h.String(s)
		}
		return true
	}},
	{field: "Print", why: "an entry keeps what was printed"},
	{field: "LookedAt", why: "an entry keeps what was looked at"},
	{field: "AllowUnlaunchable", why: "an entry keeps the warnings, which become errors again"},
	{field: "Cache", why: "it is where entries lie"},
}

// addJSON adds values, which are what JSON has.
func addJSON(h *cache.Hasher, values map[string]any) bool {
	text, err := json.Marshal(values) // sorts the keys
	if err != nil {
		return false
	}
	h.Bytes(text)
	return true
}

func (c *cachedTrip) log(format string, args ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, args...))
	}
}

// kernel is the one that the cache has, or nil.
func (c *cachedTrip) kernel(ctx context.Context) *Kernel {
	if c == nil {
		span.Of(ctx).Set(span.String(localResult, cacheOff))
		return nil
	}
	_, s := span.Start(ctx, "cache")
	k := c.look()
	found := cacheMiss
	if k != nil {
		found = cacheHit
	}
	s.Set(span.String(localResult, found))
	s.End(nil)
	span.Of(ctx).Set(span.String(localResult, found))
	return k
}

func (c *cachedTrip) look() *Kernel {
	start := time.Now()
	e, k, err := c.read()
	if err == nil && !e.samePrograms(c.path) {
		c.key = c.pathKey
		e, k, err = c.read()
	}
	if errors.Is(err, cache.ErrAbsent) {
		return nil
	}
	if err != nil {
		c.log("cache: %v", err)
		c.warnOf(err)
		return nil
	}
	if e.Signer != "" && (c.Trusts == nil || !c.Trusts(e.Signer)) {
		c.log("cache: the kernel was shared by %s, who is not trusted here", e.Signer)
		return nil
	}
	if what := c.changed(e); what != "" {
		c.log("cache: %s is not what it was", what)
		return nil
	}
	return c.use(e, k, "cache", start)
}

// use is the kernel of an entry, as this compile gets it.
func (c *cachedTrip) use(e *cacheEntry, k *Kernel, stage string, start time.Time) *Kernel {
	if c.t.opts.Print != nil && e.Printed != "" {
		c.t.opts.Print(e.Printed)
	}
	if c.t.opts.LookedAt != nil {
		paths := make([]string, len(e.Files))
		for i, f := range e.Files {
			paths[i] = f.Path
		}
		c.t.opts.LookedAt(paths)
	}
	k.Variant = c.t.src.Variant
	k.Timings = []Timing{{Stage: stage, Time: time.Since(start)}}
	return k
}

// read reads the entry that c.key has.
func (c *cachedTrip) read() (*cacheEntry, *Kernel, error) {
	data, err := c.Store.Get(c.key)
	if err != nil {
		return nil, nil, err
	}
	e := &cacheEntry{}
	k, err := e.decode(data)
	return e, k, err
}

// warnOf tells of a cache that is not used since others may write to it. The
// warning is the same for each kernel, and shown once.
func (c *cachedTrip) warnOf(err error) {
	var bad *trust.Error
	if errors.As(err, &bad) {
		d := diag.Errorf(diag.Pos{}, "the cache of compiled kernels is not used: %v", bad)
		d.Severity = diag.Warning
		c.unused = append(c.unused, d.WithHelp("%s, or name another folder for the cache with TRITONC_CACHE_DIR", bad.Help))
	}
}

// changed names a thing that went into an entry and is another now; "" for none.
func (c *cachedTrip) changed(e *cacheEntry) string {
	for _, f := range e.Files {
		if c.stateOf(f.Path) != f {
			return f.Path
		}
	}
	if len(e.Imports) > 0 && (c.t.src.python == nil || c.t.src.Import == nil) {
		return e.Imports[0].Module
	}
	for _, f := range e.Imports {
		if now, err := c.t.src.python.find(f.Module, c.t.src.Import); err != nil || now != f {
			return f.Module
		}
	}
	return ""
}

// find says which file a module is, as far as the source's variants have not
// found it already.
func (p *python) find(module string, load func(module string) (*Source, error)) (importedFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.imported[module]; ok {
		return known.from, nil
	}
	src, err := load(module)
	return identify(module, src), err
}

// identify says which file was found for a module; src is nil for none.
func identify(module string, src *Source) importedFile {
	f := importedFile{Module: module}
	if src != nil {
		sum := sha256.Sum256(src.Text)
		f.Path, f.Name, f.SHA256, f.Installed = src.Path, src.name(), hex.EncodeToString(sum[:]), src.Installed
	}
	return f
}

// keep stores the kernel that the trip has made.
func (c *cachedTrip) keep(k *Kernel) {
	if c == nil {
		return
	}
	e := c.entryOf(k)
	e.Path = c.path
	for _, path := range c.t.result.LookedAt {
		e.Files = append(e.Files, c.stateOf(path))
	}
	c.put(e, k)
	k.Warnings = append(slices.Clip(k.Warnings), c.unused...)
}

// entryOf is an entry of what the trip has made, less what is this machine's.
func (c *cachedTrip) entryOf(k *Kernel) *cacheEntry {
	e := &cacheEntry{
		Name: k.Name, Target: k.Target, Metadata: string(k.Metadata), Tools: k.Tools,
		Warnings: k.Warnings, Printed: c.t.printed.String(),
	}
	if p := c.t.src.python; p != nil {
		p.mu.Lock()
		for _, module := range slices.Sorted(maps.Keys(p.imported)) {
			e.Imports = append(e.Imports, p.imported[module].from)
		}
		p.mu.Unlock()
	}
	return e
}

// put stores an entry with the kernel's artifacts.
func (c *cachedTrip) put(e *cacheEntry, k *Kernel) {
	data, err := e.encode(k.Artifacts)
	if err == nil {
		err = c.Store.Put(c.key, data)
	}
	if err != nil {
		c.log("cache: %v", err)
	}
}

func (e *cacheEntry) encode(artifacts []Artifact) ([]byte, error) {
	e.Artifacts = nil
	for _, a := range artifacts {
		e.Artifacts = append(e.Artifacts, cachedArtifact{a.Stage, a.Ending, a.Binary, len(a.Data)})
	}
	data, err := json.Marshal(e)
	data = append(data, '\n')
	for _, a := range artifacts {
		data = append(data, a.Data...)
	}
	return data, err
}

// decode reads an entry and makes the kernel of it.
func (e *cacheEntry) decode(data []byte) (*Kernel, error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, errors.New("an entry has no head")
	}
	if err := json.Unmarshal(head, e); err != nil {
		return nil, fmt.Errorf("an entry's head: %w", err)
	}
	k := &Kernel{Name: e.Name, Target: e.Target, Metadata: []byte(e.Metadata), Tools: e.Tools, Warnings: e.Warnings}
	for _, a := range e.Artifacts {
		if a.Size < 0 || a.Size > len(rest) {
			return nil, fmt.Errorf("an entry lacks its %s", a.Stage)
		}
		k.Artifacts = append(k.Artifacts, Artifact{a.Stage, a.Ending, a.Binary, rest[:a.Size:a.Size]})
		rest = rest[a.Size:]
	}
	return k, nil
}
