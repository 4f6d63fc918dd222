package main

import (
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/project"
)

// backendVar chooses backends for a user's commands, as --backend does for one.
const backendVar = "TRITONC_BACKEND"

// pickFlags choose one of several backends.
type pickFlags struct{ backends []string }

// addBackend adds --backend, which every verb with --target has.
func (f *pickFlags) addBackend(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.backends, "backend", nil, "the backend, as `NAME[@VERSION]`, where several are for the target\n(TARGET=NAME@VERSION for one of several targets; may be repeated)")
}

// choices are what the command line, then the environment, then the project's file says
// of which backend to take. The project is that of file or, without one, of the current
// folder.
func (f *pickFlags) choices(env *environment, file string) ([]plugin.Choice, error) {
	var list []plugin.Choice
	for _, text := range f.backends {
		c, err := parseChoice(text, "--backend")
		if err != nil {
			return nil, usagef("--backend %s: %v", text, err)
		}
		list = append(list, c)
	}
	for text := range strings.SplitSeq(variable(env, backendVar), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		c, err := parseChoice(text, backendVar)
		if err != nil {
			return nil, usagef("%s: %v", backendVar, err)
		}
		list = append(list, c)
	}
	p, err := loadProject(env.dir, file)
	if err != nil || p == nil {
		return list, err
	}
	for _, pin := range p.Pins {
		list = append(list, plugin.Choice{Target: pin.Target, Ref: pin.Ref, From: p.Path + ":" + strconv.Itoa(pin.Line)})
	}
	return list, nil
}

// parseChoice reads [TARGET=]NAME[@VERSION].
func parseChoice(text, from string) (plugin.Choice, error) {
	target, name, ok := strings.Cut(text, "=")
	if !ok {
		target, name = "", text
	}
	if _, err := path.Match(target, ""); err != nil || ok && target == "" {
		return plugin.Choice{}, errors.New("what is before = is not a pattern of targets, such as cuda:90 or hip:gfx9*")
	}
	ref, err := manifest.ParseRef(name)
	return plugin.Choice{Target: target, Ref: ref, From: from}, err
}

// loadProject reads the tritonc.toml that holds for a file, or for the current folder
// where there is none; nil without one.
func loadProject(dir folder, file string) (*project.File, error) {
	found, err := project.Find(dir.beside(file))
	if err != nil {
		return nil, err
	}
	return project.Load(found, dir.short(found))
}

// firstOf is the first of some files, or "".
func firstOf(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[0]
}
