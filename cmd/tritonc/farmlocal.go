package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tritonc/tritonc/farm/local"
)

// natsFolder is where a server of this machine for its user keeps its files; "" for a user
// without a home.
func natsFolder(env *environment) local.Folder {
	base, _ := env.lookupEnv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		home, _ := env.lookupEnv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return local.Folder(filepath.Join(base, "tritonc", "nats"))
}

// natsProgram is the server's program beside this one; "" where it is not there.
func natsProgram() string { return besideThis(local.Program) }

// reach is settings, of a server of this machine where neither the command line nor the
// project names one: that which runs, or with start a new one, which ends with this
// process.
func (f *farmFlags) reach(ctx context.Context, env *environment, file, name string, start bool) (*farmSettings, error) {
	s, err := f.settings(env, file, name)
	var usage *usageError
	dir := natsFolder(env)
	if !errors.As(err, &usage) || s == nil || dir == "" {
		return s, err
	}
	n, ok := dir.Running()
	if program := natsProgram(); !ok && start && program != "" {
		if n, err = dir.Start(ctx, program); err != nil {
			return nil, fmt.Errorf("a NATS server cannot be started: %w", err)
		}
		env.report.note("a NATS server for this machine has started, in %s", dir)
		ok, s.started = true, true
	}
	if !ok {
		usage.withHelp("%s; tritonc worker starts one for this machine, where %s is beside tritonc", usage.help, local.Program)
		return nil, usage
	}
	s.Name, s.URLs = name, []string{n.URL}
	return s, nil
}
