package compile

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/tritonc/tritonc/core"
)

// Request is a compile as a message.
type Request struct {
	Target  core.Target       `json:"target"`
	Source  file              `json:"source"`
	Config  string            `json:"config,omitempty"`
	Configs *core.ConfigFile  `json:"configs,omitempty"`
	Define  []core.Definition `json:"define,omitempty"`
	Modules []module          `json:"modules,omitempty"`
	// Kernel and Signature are those of core.Want; Key and Variant tell which of the
	// variants that they ask for is to be compiled.
	Kernel    string         `json:"kernel,omitempty"`
	Signature string         `json:"signature,omitempty"`
	Key       string         `json:"key,omitempty"`
	Variant   string         `json:"variant,omitempty"`
	Values    map[string]any `json:"values,omitempty"`
	Stages    []string       `json:"stages,omitempty"`
	// Unlaunchable is core.Options.AllowUnlaunchable.
	Unlaunchable bool `json:"unlaunchable,omitempty"`
	// Fresh, where it is not empty, tells the request from equal ones that were done
	// before: the kernel is not to come from a cache.
	Fresh string `json:"fresh,omitempty"`
}

// file is a core.Source as far as it is a file.
type file struct {
	Path      string `json:"path"`
	Name      string `json:"name,omitempty"`
	Module    string `json:"module,omitempty"`
	Ending    string `json:"ending,omitempty"`
	Text      []byte `json:"text"`
	Metadata  []byte `json:"metadata,omitempty"`
	Installed bool   `json:"installed,omitempty"`
}

func fileOf(s *core.Source) file {
	return file{s.Path, s.Name, s.Module, s.Ending, s.Text, s.Metadata, s.Installed}
}

func (f *file) source() *core.Source {
	return &core.Source{
		Path: f.Path, Name: f.Name, Module: f.Module, Ending: f.Ending, Text: f.Text, Metadata: f.Metadata, Installed: f.Installed,
	}
}

// module is what a name of a module stands for.
type module struct {
	Name string `json:"name"`
	File *file  `json:"file"` // nil: there is none of that name
}

// Modules remembers which modules a file imports.
type Modules struct {
	find func(name string) (*core.Source, error)

	mu    sync.Mutex
	found map[string]*core.Source // nil: there is none of that name
}

// Record returns Modules that find finds.
func Record(find func(name string) (*core.Source, error)) *Modules {
	return &Modules{find: find, found: map[string]*core.Source{}}
}

// Import finds the file of a module, as core.Source.Import does.
func (m *Modules) Import(name string) (*core.Source, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if src, ok := m.found[name]; ok {
		return src, nil
	}
	src, err := m.find(name)
	if err == nil {
		m.found[name] = src
	}
	return src, err
}

// list is what was asked for so far.
func (m *Modules) list() (list []module) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.found)) {
		one := module{Name: name}
		if src := m.found[name]; src != nil {
			f := fileOf(src)
			one.File = &f
		}
		list = append(list, one)
	}
	return list
}

// ErrNoText is the error of a variant that no text tells from others: only this process
// can compile it.
var ErrNoText = errors.New("no text tells the variant from others")

// NewRequest makes the request for a variant, or for a file that is not Python. modules are
// those of its Import; nil where it has none.
func NewRequest(src *core.Source, target core.Target, opts *core.Options, want core.Want, modules *Modules) (*Request, error) {
	r := &Request{
		Target: target, Source: fileOf(src), Define: src.Define, Values: opts.Values, Stages: opts.Stages, Unlaunchable: opts.AllowUnlaunchable,
	}
	if !src.IsPython() {
		return r, nil
	}
	known := src.Known()
	if known == nil || known.Key() == "" {
		return nil, ErrNoText
	}
	r.Config, r.Configs, r.Kernel, r.Signature = src.Config, src.Configs, want.Kernel, want.Signature
	r.Key, r.Variant = known.Key(), src.Variant
	if modules != nil {
		r.Modules = modules.list()
	}
	return r, nil
}

// maxText bounds what a request may unpack to.
const maxText = 64 << 20

// Encode writes the request.
func (r *Request) Encode() ([]byte, error) {
	text, err := json.Marshal(r) // sorts the keys of maps
	if err != nil {
		return nil, err
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("the files are too large to be sent: %d MiB", len(text)>>20)
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// Decode reads a request.
func Decode(data []byte) (*Request, error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxText+1))
	if err != nil {
		return nil, fmt.Errorf("a request: %w", err)
	}
	if len(text) > maxText {
		return nil, errors.New("a request unpacks to too much")
	}
	r := &Request{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("a request: %w", err)
	}
	for name, v := range r.Values {
		if r.Values[name], err = plain(v); err != nil {
			return nil, fmt.Errorf("a request: the option %s: %w", name, err)
		}
	}
	return r, nil
}

// plain gives a number the type that the command line's has.
func plain(v any) (any, error) {
	n, ok := v.(json.Number)
	if !ok {
		return v, nil
	}
	if i, err := n.Int64(); err == nil {
		return int(i), nil
	}
	return n.Float64()
}

// open makes what core compiles of the request. It calls need with the name of a module
// that the request does not have.
func (r *Request) open(need func(name string)) *core.Source {
	src := r.Source.source()
	src.Config, src.Configs, src.Define = r.Config, r.Configs, r.Define
	if !src.IsPython() {
		return src
	}
	found := make(map[string]*core.Source, len(r.Modules))
	for _, m := range r.Modules {
		found[m.Name] = nil
		if m.File != nil {
			found[m.Name] = m.File.source()
		}
	}
	src.Import = func(name string) (*core.Source, error) {
		if src, ok := found[name]; ok {
			return src, nil
		}
		need(name)
		return nil, fmt.Errorf("the module %s was not sent", name)
	}
	return src
}
