package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/span"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Machine is what compiles for a target depend on, as machines share it.
type Machine = wire.Machine

// sharedForm is in every key that machines share. It changes with what an entry, or the
// index, is made of.
const sharedForm = "shared kernel 2"

// sharedIndex is which inputs kernels of one key had, beside what is in the key. Each set
// of inputs, as they are on a machine, makes the key of an entry.
type sharedIndex struct {
	Sets []inputSet `json:"sets"` // the newest first
}

// Bounds of an index. A kernel imports a few modules; there is a second set where what one
// module imports depends on another's text.
const (
	maxSets      = 4
	maxInputs    = 512
	maxIndexSize = 64 << 10
)

// maxWaits bounds how often a compile waits for another's kernel which is then not the one
// that it needs, or not to be had.
const maxWaits = 3

// inputSet names inputs.
type inputSet struct {
	Modules []string `json:"modules"`
	// Files are those that the user named, and places that were looked at, which are the
	// same on all machines that may share the kernel.
	Files []string `json:"files"`
	// Tools are those that had a part in it and do not have one in every kernel.
	Tools []string `json:"tools"`
}

// sharedTrip is the part of Cache.Shared in one compile. A nil one does nothing.
type sharedTrip struct {
	*cachedTrip
	machine *Machine
	key     cache.Key
	index   sharedIndex
	claim   cache.Claim
}

// share makes the key that the compile has on all machines; nil where nothing is shared.
func (c *cachedTrip) share(ctx context.Context) *sharedTrip {
	if c == nil || c.Shared == nil || c.Machine == nil {
		return nil
	}
	m := c.describeMachine(ctx)
	if m == nil {
		return nil
	}
	if m.Unshared != "" {
		c.log("shared cache: %s", m.Unshared)
		return nil
	}
	h := cache.NewHasher(sharedForm)
	for _, s := range []string{c.Compiler, m.Text, c.target.String()} {
		h.String(s)
	}
	if !addKey(h, sourceKey, c.t.src, true) || !addKey(h, optionsKey, c.t.opts, true) {
		return nil
	}
	return &sharedTrip{cachedTrip: c, machine: m, key: h.Key()}
}

// machineEntry is a Machine as Store has it, for as long as the files are what they were.
type machineEntry struct {
	Machine *Machine    `json:"machine"`
	Files   []fileState `json:"files"`
}

// describeMachine asks for the Machine, which Store remembers: a backend need not be
// started for it each time.
func (c *cachedTrip) describeMachine(ctx context.Context) *Machine {
	h := cache.NewHasher("machine 2")
	for _, s := range []string{c.Compiler, c.identity, c.path, c.target.String()} {
		h.String(s)
	}
	key := h.Key()
	if data, err := c.Store.Get(key); err == nil {
		var e machineEntry
		if json.Unmarshal(data, &e) == nil && e.Machine != nil && !slices.ContainsFunc(e.Files, func(f fileState) bool { return c.stateOf(f.Path) != f }) {
			return e.Machine
		}
	}
	m, err := c.Cache.Machine(ctx, c.target)
	if err != nil {
		c.log("shared cache: %v", err)
		return nil
	}
	e := machineEntry{Machine: m}
	for _, path := range m.LookedAt {
		e.Files = append(e.Files, c.stateOf(path))
	}
	if data, err := json.Marshal(e); err == nil {
		if err := c.Store.Put(key, data); err != nil {
			c.log("cache: %v", err)
		}
	}
	return m
}

// kernel is the one that another machine has made, or nil. Where another makes it now it
// waits for that.
func (s *sharedTrip) kernel(ctx context.Context) *Kernel {
	if s == nil {
		span.Of(ctx).Set(span.String(sharedResult, cacheOff))
		return nil
	}
	return s.traced(ctx, s.kernelOrClaim)
}

// traced has look made a span.
func (s *sharedTrip) traced(ctx context.Context, look func(context.Context) *Kernel) *Kernel {
	in, sp := span.Start(ctx, "shared cache")
	k := look(in)
	found := cacheMiss
	switch off, ok := s.Shared.(cache.Away); {
	case k != nil:
		found = cacheHit
	case ok && off.Away():
		found = cacheOff
	}
	sp.Set(span.String(sharedResult, found))
	sp.End(ctx.Err())
	span.Of(ctx).Set(span.String(sharedResult, found))
	return k
}

// kernelOrClaim looks for the kernel until it is there, or until it is this machine's to
// make.
func (s *sharedTrip) kernelOrClaim(ctx context.Context) *Kernel {
	start := time.Now()
	for range maxWaits {
		if k := s.lookUp(ctx, start); k != nil {
			s.giveUp()
			return k
		}
		if s.claim != nil || ctx.Err() != nil {
			return nil // nobody has made it between our look and our claim
		}
		in, sp := span.Start(ctx, "claim")
		claim, waited := s.Shared.Claim(in, s.key)
		sp.Set(span.Bool("tritonc.cache.claimed", claim != nil), span.Bool("tritonc.cache.waited", waited))
		sp.End(nil)
		if s.claim = claim; claim == nil && !waited {
			return nil
		}
	}
	return nil
}

// lookUp tries the sets of inputs that the index has.
func (s *sharedTrip) lookUp(ctx context.Context, start time.Time) *Kernel {
	s.index = sharedIndex{}
	data := s.Shared.Index(ctx, s.key)
	if len(data) == 0 || len(data) > maxIndexSize || json.Unmarshal(data, &s.index) != nil {
		return nil
	}
	s.index.Sets = s.index.Sets[:min(len(s.index.Sets), maxSets)]
	for i := range s.index.Sets {
		set := &s.index.Sets[i]
		imports, key, ok := s.entryKey(set)
		if !ok {
			continue
		}
		data, signer := s.Shared.Entry(ctx, key)
		if data == nil {
			continue
		}
		e := &cacheEntry{}
		k, err := e.decode(data)
		if err == nil && e.SharedKey != hex.EncodeToString(s.key[:]) {
			err = errors.New("an entry is that of another kernel")
		}
		if err == nil {
			err = s.fromShared(e, k, imports)
		}
		if err != nil {
			s.log("shared cache: %v", err)
			continue
		}
		e.Imports, e.Path, e.Signer = imports, s.path, signer
		e.Files = nil
		for _, path := range slices.Concat(s.machine.LookedAt, set.Files) {
			e.Files = append(e.Files, s.stateOf(path))
		}
		s.put(e, k)
		s.log("shared cache: %s comes from %s", k.Name, signer)
		return s.use(e, k, "shared cache", start)
	}
	return nil
}

// entryKey is the key of the entry for a set of inputs as they are here; false where they
// are nothing that can be shared.
func (s *sharedTrip) entryKey(set *inputSet) ([]importedFile, cache.Key, bool) {
	if len(set.Modules)+len(set.Files)+len(set.Tools) > maxInputs {
		return nil, cache.Key{}, false
	}
	h := cache.NewHasher("entry of a " + sharedForm)
	h.Bytes(s.key[:])
	if len(set.Modules) > 0 && (s.t.src.python == nil || s.t.src.Import == nil) {
		return nil, cache.Key{}, false
	}
	var imports []importedFile
	for _, module := range set.Modules {
		f, err := s.t.src.python.find(module, s.t.src.Import)
		if err != nil {
			return nil, cache.Key{}, false
		}
		imports = append(imports, f)
		for _, text := range []string{"module", module, f.Name, f.SHA256, fmt.Sprint(f.Installed)} {
			h.String(text)
		}
	}
	for _, path := range set.Files {
		sum, ok := s.contentOf(path)
		if !ok {
			return nil, cache.Key{}, false
		}
		for _, text := range []string{"file", path, sum} {
			h.String(text)
		}
	}
	for _, name := range set.Tools {
		text := s.machine.ToolText(name)
		if text == "" {
			return nil, cache.Key{}, false
		}
		h.String(text)
	}
	return imports, h.Key(), true
}

// contentOf is the hash of a file's bytes, "" where there is none; false for what is not a
// file: no bytes say what a folder is.
func (s *sharedTrip) contentOf(path string) (sum string, ok bool) {
	at := path
	if s.Dir != "" && !filepath.IsAbs(path) {
		at = filepath.Join(s.Dir, path)
	}
	info, err := os.Stat(at)
	if err != nil {
		return "", os.IsNotExist(err)
	}
	if !info.Mode().IsRegular() {
		return "", false
	}
	f, err := os.Open(at)
	if err != nil {
		return "", false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", false
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

// giveUp ends a claim of which nothing was kept.
func (s *sharedTrip) giveUp() {
	if s != nil && s.claim != nil {
		s.claim.Drop()
		s.claim = nil
	}
}

// keep has what the trip made stored for other machines.
func (s *sharedTrip) keep(k *Kernel) {
	if s == nil || s.claim == nil {
		return
	}
	set, key, data, err := s.entry(k)
	if err != nil {
		s.log("shared cache: the kernel %s is not shared: %v", k.Name, err)
		return
	}
	same := func(other inputSet) bool {
		return slices.Equal(other.Modules, set.Modules) && slices.Equal(other.Files, set.Files) && slices.Equal(other.Tools, set.Tools)
	}
	sets := append([]inputSet{*set}, slices.DeleteFunc(s.index.Sets, same)...)
	index, err := json.Marshal(sharedIndex{Sets: sets[:min(len(sets), maxSets)]})
	if err != nil || len(index) > maxIndexSize {
		return
	}
	s.claim.Keep(index, key, data)
	s.claim = nil
}

// entry is the kernel as other machines may take it, with its inputs; or why they may not.
func (s *sharedTrip) entry(k *Kernel) (*inputSet, cache.Key, []byte, error) {
	none := func(format string, args ...any) (*inputSet, cache.Key, []byte, error) {
		return nil, cache.Key{}, nil, fmt.Errorf(format, args...)
	}
	set := &inputSet{Modules: []string{}, Files: []string{}, Tools: s.machine.Ran(k.Tools)}
	for _, path := range s.t.result.LookedAt {
		if !slices.Contains(s.machine.LookedAt, path) && !slices.Contains(set.Files, path) {
			set.Files = append(set.Files, path)
		}
	}
	for _, tool := range k.Tools {
		if !s.knows(tool, set) {
			return none("%s had a part in it, which the backend does not list", tool.Path)
		}
	}
	e := s.entryOf(k)
	places := map[string]string{s.t.src.Path: placeOfSource}
	for _, f := range e.Imports {
		set.Modules = append(set.Modules, f.Module)
		if f.Path != "" {
			places[f.Path] = placeOfModule + f.Module
		}
	}
	imports, key, ok := s.entryKey(set)
	if !ok || !slices.Equal(imports, e.Imports) {
		return none("its inputs are not what they were, or no files")
	}
	var err error
	if e.Warnings, err = replaced(e.Warnings, places); err != nil {
		return none("%v", err)
	}
	e.Imports, e.Tools, e.SharedKey = nil, nil, hex.EncodeToString(s.key[:])
	for _, tool := range k.Tools {
		tool.Path = ""
		e.Tools = append(e.Tools, tool)
	}
	data, err := e.encode(k.Artifacts)
	if err != nil {
		return none("%v", err)
	}
	if shown := s.shows(data, places, imports); shown != "" {
		return none("it shows the path %s", shown)
	}
	return set, key, data, nil
}

// knows reports whether a tool is one of the machine's that the key has, or a file among
// the inputs.
func (s *sharedTrip) knows(tool sdk.ToolInfo, set *inputSet) bool {
	if tool.SHA256 == "" {
		return false
	}
	return slices.ContainsFunc(s.machine.Tools, func(t sdk.ToolInfo) bool { return t.Path == tool.Path && t.SHA256 == tool.SHA256 }) ||
		slices.Contains(set.Files, tool.Path)
}

// What stands in shared entries for the paths of files.
const (
	placeOfSource = "\x00source"
	placeOfModule = "\x00module "
)

// replaced is diagnostics with other names for files. One about a file that has no other
// name is an error.
func replaced(list diag.List, names map[string]string) (diag.List, error) {
	out := make(diag.List, len(list))
	for i, d := range list {
		changed, err := replacedOne(*d, names)
		if err != nil {
			return nil, err
		}
		out[i] = &changed
	}
	return out, nil
}

func replacedOne(d diag.Diagnostic, names map[string]string) (diag.Diagnostic, error) {
	if d.Pos.File != "" {
		name, ok := names[d.Pos.File]
		if !ok {
			return d, fmt.Errorf("it has a message about %q", d.Pos.File)
		}
		d.Pos.File = name
	}
	d.Notes = slices.Clone(d.Notes)
	for i := range d.Notes {
		var err error
		if d.Notes[i], err = replacedOne(d.Notes[i], names); err != nil {
			return d, err
		}
	}
	return d, nil
}

// shows is a path of this machine that an entry's bytes contain, or "". A path that the
// name of the file in locations contains may be shown: the name is in the key.
func (s *sharedTrip) shows(data []byte, places map[string]string, imports []importedFile) string {
	names := []string{s.t.src.name()}
	for _, f := range imports {
		names = append(names, f.Name)
	}
	for path := range places {
		if filepath.Base(path) == path {
			continue // the key has it
		}
		n := occurrences(data, path)
		for _, name := range names {
			if strings.Contains(name, path) {
				n -= occurrences(data, name)
			}
		}
		if n > 0 {
			return path
		}
	}
	for _, tool := range s.machine.Tools {
		if tool.Path != "" && occurrences(data, tool.Path) > 0 {
			return tool.Path
		}
	}
	return ""
}

// occurrences counts a text in an entry, whose head has it as JSON.
func occurrences(data []byte, text string) int {
	n := bytes.Count(data, []byte(text))
	if quoted, err := json.Marshal(text); err == nil {
		if escaped := quoted[1 : len(quoted)-1]; string(escaped) != text {
			n += bytes.Count(data, escaped)
		}
	}
	return n
}

// fromShared makes an entry, and its kernel, of another machine one of this machine.
func (s *sharedTrip) fromShared(e *cacheEntry, k *Kernel, imports []importedFile) error {
	names := map[string]string{placeOfSource: s.t.src.Path}
	for _, f := range imports {
		names[placeOfModule+f.Module] = f.Path
	}
	var err error
	if e.Warnings, err = replaced(e.Warnings, names); err != nil {
		return err
	}
	for i := range e.Tools {
		t := &e.Tools[i]
		here := slices.IndexFunc(s.machine.Tools, func(m sdk.ToolInfo) bool { return m.Name == t.Name && m.SHA256 == t.SHA256 })
		if here >= 0 {
			t.Path = s.machine.Tools[here].Path
		}
	}
	k.Warnings, k.Tools = e.Warnings, e.Tools
	return nil
}
