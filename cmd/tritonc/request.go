package main

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/farm/compile"
)

// compileFlags are the flags of the compile verb as written on the command
// line.
type compileFlags struct {
	useFlags
	pickFlags
	farmFlags
	target       string   // of a verb that takes one
	targets      []string // of those that take several
	kernel       string
	signature    string
	config       string
	configs      string
	numWarps     int
	numStages    int
	options      []string
	externLibs   []string
	emit         []string
	output       string
	sourceRoot   string
	include      []string
	pythonPath   []string
	define       []string
	as           string
	noCache      bool
	time         bool
	verbose      int
	unlaunchable bool
	jobs         int // kernels at a time; 0: as many as there are processors
	noServer     bool
	farm         bool
}

// request is what the flags ask for, checked as far as that needs no backend.
type request struct {
	target core.Target
	opts   core.Options
	json   bool   // whether the metadata are asked for
	binary bool   // whether the last stage's artifact is, by no name
	output string // a folder, or "-"
	// stages, where it has a target, are those of opts for it.
	stages map[core.Target][]string
	// modules are those that the file imports, for a farm.
	modules *compile.Modules
}

func parseTarget(s string) (core.Target, error) {
	if strings.Contains(s, ",") {
		return core.Target{}, usagef("--target %s is not one target", s).
			withHelp("a compile for several takes --target once for each")
	}
	target, err := core.ParseTarget(s)
	if err != nil {
		return target, usagef("%v", err).withHelp("for example --target cuda:80; tritonc backend list shows what there is")
	}
	return target, nil
}

func (f *compileFlags) request(cmd *cobra.Command) (*request, error) {
	if f.target == "" {
		return nil, usagef("no --target given").withHelp("for example --target cuda:80; tritonc backend list shows what there is")
	}
	target, err := parseTarget(f.target)
	if err != nil {
		return nil, err
	}
	req := &request{target: target, output: f.output}
	if err := req.setEmit(f.emit); err != nil {
		return nil, err
	}
	req.opts.AllowUnlaunchable = f.unlaunchable
	req.opts.Values, err = f.values(cmd)
	return req, err
}

// requests is request for several targets: the request's own is the first.
func (f *compileFlags) requests(cmd *cobra.Command) (*request, []core.Target, error) {
	var targets []core.Target
	for _, text := range f.targets {
		target, err := parseTarget(text)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(targets, target) {
			return nil, nil, usagef("--target %s is given twice", target)
		}
		targets = append(targets, target)
	}
	if len(targets) > 0 {
		f.target = f.targets[0]
	}
	req, err := f.request(cmd)
	return req, targets, err
}

// setEmit reads --emit; without it the binary and the metadata are wanted, or
// the binary alone where only one thing can be put out.
func (req *request) setEmit(emit []string) error {
	req.binary = len(emit) == 0
	req.json = req.binary && req.output != "-"
	for _, what := range emit {
		switch what = strings.TrimSpace(what); what {
		case "":
			return usagef("--emit has an empty name")
		case "json":
			req.json = true
		default:
			req.opts.Stages = append(req.opts.Stages, what)
		}
	}
	many := len(req.opts.Stages) > 1 || len(req.opts.Stages) == 1 && req.json
	if req.output == "-" && many {
		return usagef("-o - can write one thing, and --emit asks for several")
	}
	return nil
}

// values gathers the backend's options from the flags.
func (f *compileFlags) values(cmd *cobra.Command) (map[string]any, error) {
	values := map[string]any{}
	if cmd.Flags().Changed("num-warps") {
		values["num_warps"] = f.numWarps
	}
	if cmd.Flags().Changed("num-stages") {
		values["num_stages"] = f.numStages
	}
	for _, option := range f.options {
		name, value, ok := strings.Cut(option, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, usagef("--option %s is not of the form NAME=VALUE", option)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("option %s is given twice", name)
		}
		values[name] = value
	}
	libs := map[string]string{}
	for _, text := range f.externLibs {
		name, path, err := pair("--extern-lib", text, "PATH")
		if err != nil {
			return nil, err
		}
		if _, twice := libs[name]; twice {
			return nil, usagef("--extern-lib %s is given twice", name)
		}
		libs[name] = path
	}
	if len(libs) > 0 {
		if _, twice := values["extern_libs"]; twice {
			return nil, usagef("--option extern_libs and --extern-lib cannot both be given")
		}
		values["extern_libs"] = libs
	}
	return values, nil
}

// setConfigs reads --config and --configs. A run may leave the choice open.
func (f *compileFlags) setConfigs(dir folder, src *core.Source, run bool) error {
	src.Config = f.config
	if f.configs == "" {
		return nil
	}
	if f.config == "" && !run {
		return usagef("--configs %s needs --config", f.configs).
			withHelp("--config gives the number of one of its configurations, from 0, or %s", core.AllConfigs)
	}
	text, err := dir.read(f.configs)
	src.Configs = &core.ConfigFile{Path: f.configs, Text: text}
	return err
}

// definitions reads the values of --define.
func definitions(list []string) ([]core.Definition, error) {
	var out []core.Definition
	given := map[string]bool{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return nil, usagef("--define %s is not of the form NAME=VALUE", text)
		}
		if given[name] {
			return nil, usagef("--define %s is given twice", name)
		}
		given[name] = true
		out = append(out, core.Definition{Name: name, Value: value})
	}
	return out, nil
}

// unreadable is the diagnostic of a file that could not be read; nil without err.
func unreadable(path string, err error) error {
	if err == nil {
		return nil
	}
	reason, help := err.Error(), ""
	var pe *fs.PathError
	var refused *input.Error
	switch {
	case errors.As(err, &pe):
		reason = pe.Err.Error() // the path comes before it already
	case errors.As(err, &refused):
		reason, help = refused.Reason, refused.Help
	}
	d := diag.Errorf(diag.Pos{File: path}, "the file cannot be read: %s", reason)
	d.Help = help
	return d
}
