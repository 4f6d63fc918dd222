package frontend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
)

// ConfigFile is a list of configurations of an autotuned kernel that is
// outside the Python file, for decorators that cannot be evaluated at compile
// time. It is JSON: an array of objects, each a configuration in one of two
// forms. As Python's vars(triton.Config) has it:
//
//	{"kwargs": {"BLOCK": 128}, "num_warps": 4, "num_stages": 2, "maxnreg": null}
//
// or flat, as Config.all_kwargs() and the names of our variants have it:
//
//	{"BLOCK": 128, "num_warps": 4}
//
// A name that is a parameter of the kernel gives that constant; every other one
// is an option of the compile, of which null says nothing. Arrays are tuples.
type ConfigFile struct {
	path    string
	text    string
	configs []fileConfig
}

type fileConfig struct {
	line    int
	entries []configEntry // of kwargs, and then the others, as written
}

type configEntry struct {
	name  string
	value any // as Python has it
	at    int64
}

// ParseConfigs reads such a file; path is its name in diagnostics. A mistake is a
// *diag.Diagnostic.
func ParseConfigs(path string, text []byte) (*ConfigFile, error) {
	r := &configReader{file: &ConfigFile{path: path, text: string(text)}, dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	if err := r.list(); err != nil {
		return nil, err
	}
	return r.file, nil
}

// errorf makes a diagnostic at a byte of the file.
func (f *ConfigFile) errorf(at int64, format string, args ...any) *diag.Diagnostic {
	before := f.text[:min(int(at), len(f.text))]
	line := strings.Count(before, "\n") + 1
	col := len(before) - (strings.LastIndexByte(before, '\n') + 1) + 1
	return diag.Errorf(diag.Pos{File: f.path, Line: line, Col: col}, format, args...).WithSource(f.text)
}

// configReader walks the tokens of the JSON, so that the order of names and the
// places of mistakes are kept.
type configReader struct {
	file *ConfigFile
	dec  *json.Decoder
}

const configsHelp = `the file is a list such as [{"kwargs": {"BLOCK": 128}, "num_warps": 4}]`

// next returns a token and where it begins.
func (r *configReader) next() (tok json.Token, at int64, err error) {
	at = r.begin()
	if tok, err = r.dec.Token(); err == nil {
		return tok, at, nil
	}
	message := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the file ends too early"
	}
	return nil, at, r.file.errorf(at, "this is not JSON: %s", message).WithHelp(configsHelp)
}

// begin is where the next token begins.
func (r *configReader) begin() int64 {
	at, text := r.dec.InputOffset(), r.file.text
	for at < int64(len(text)) && strings.IndexByte(" \t\r\n,:", text[at]) >= 0 {
		at++
	}
	return at
}

func (r *configReader) list() error {
	tok, at, err := r.next()
	if err != nil {
		return err
	}
	if tok != json.Delim('[') {
		return r.file.errorf(at, "expected a list of configurations").WithHelp(configsHelp)
	}
	for r.dec.More() {
		tok, at, err := r.next()
		if err != nil {
			return err
		}
		if tok != json.Delim('{') {
			return r.file.errorf(at, "expected a configuration, which begins with {").WithHelp(configsHelp)
		}
		c := fileConfig{line: strings.Count(r.file.text[:at], "\n") + 1}
		if err := r.config(&c, true); err != nil {
			return err
		}
		r.file.configs = append(r.file.configs, c)
	}
	if _, _, err := r.next(); err != nil { // the ]
		return err
	}
	if at := r.begin(); at < int64(len(r.file.text)) {
		return r.file.errorf(at, "something follows the list")
	}
	if len(r.file.configs) == 0 {
		return r.file.errorf(at, "the list has no configuration").WithHelp(configsHelp)
	}
	return nil
}

// config reads an object after its {: a configuration, or its kwargs.
func (r *configReader) config(c *fileConfig, whole bool) error {
	for r.dec.More() {
		tok, at, err := r.next()
		if err != nil {
			return err
		}
		name := tok.(string) // the decoder takes nothing else here
		if whole && name == "kwargs" {
			tok, at, err := r.next()
			if err != nil {
				return err
			}
			if tok != json.Delim('{') {
				return r.file.errorf(at, "kwargs are an object, which begins with {").WithHelp(configsHelp)
			}
			if err := r.config(c, false); err != nil {
				return err
			}
			continue
		}
		for _, e := range c.entries {
			if e.name == name {
				return r.file.errorf(at, "'%s' is given twice", name)
			}
		}
		value, err := r.value()
		if err != nil {
			return err
		}
		c.entries = append(c.entries, configEntry{name, value, at})
	}
	_, _, err := r.next() // the }
	return err
}

// value reads a value as Python would have it.
func (r *configReader) value() (any, error) {
	tok, at, err := r.next()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Number:
		return number(string(tok)), nil
	case json.Delim:
		if tok != '[' {
			return nil, r.file.errorf(at, "an object is not a value of a parameter or option")
		}
		t := &eval.Tuple{}
		for r.dec.More() {
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			t.Elems = append(t.Elems, v)
		}
		_, _, err := r.next() // the ]
		return t, err
	default: // a string, a bool, or nil
		return tok, nil
	}
}

func number(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if n, ok := new(big.Int).SetString(s, 10); ok {
		return n
	}
	f, _ := strconv.ParseFloat(s, 64) // JSON's numbers are all floats of Python; the far ones infinite
	return f
}

// of gives the configurations for a kernel with these parameters.
func (f *ConfigFile) of(kernel string, params []string) ([]*lang.Config, error) {
	known := map[string]bool{}
	for _, p := range params {
		known[p] = true
	}
	var list []*lang.Config
	for i := range f.configs {
		c := &lang.Config{Kwargs: &eval.Dict{}}
		given := map[string]bool{}
		for _, e := range f.configs[i].entries {
			given[e.name] = true
		}
		for _, e := range f.configs[i].entries {
			if known[e.name] {
				c.Kwargs.Set(e.name, e.value)
				continue
			}
			if near := diag.Closest(e.name, params); near != "" && !given[near] {
				return nil, f.errorf(e.at, "'%s' has no parameter '%s'", kernel, e.name).WithHelp("did you mean '%s'?", near)
			}
			if e.value == nil {
				continue
			}
			v, ok := optionValue(e.value)
			if !ok {
				return nil, f.errorf(e.at, "the option '%s' cannot be a list", e.name).
					WithHelp("'%s' has no parameter of that name", kernel)
			}
			c.Options = append(c.Options, eval.Keyword{Name: e.name, Value: v})
		}
		list = append(list, c)
	}
	return list, nil
}

// place is where configuration i gives name.
func (f *ConfigFile) place(i int, name string) diag.Diagnostic {
	for _, e := range f.configs[i].entries {
		if e.name == name {
			return *f.errorf(e.at, "")
		}
	}
	return diag.Diagnostic{Pos: diag.Pos{File: f.path}}
}

// optionValue checks that a value may appear in a signature's options.
func optionValue(v any) (any, bool) {
	switch v := v.(type) {
	case int64, float64, bool, string:
		return v, true
	case *big.Int:
		return fmt.Sprint(v), true
	}
	return nil, false
}
