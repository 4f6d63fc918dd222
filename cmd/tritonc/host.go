package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/install"
)

// backendPathVar names folders to search for backends before all others.
const backendPathVar = "TRITONC_BACKEND_PATH"

// newHost finds the backends; none is started yet. What pick and the project of file
// say decides between several, and a tritonc.lock which may run. The caller closes it.
func newHost(env *environment, verbose int, pick *pickFlags, file string) (*plugin.Host, error) {
	opts, err := lockedOptions(env, verbose, pick, file)
	if err != nil {
		return nil, err
	}
	return plugin.New(opts), nil
}

// compileHost is newHost for a compile, which a server has do with one that other
// commands use, too. Calling done gives it back.
func compileHost(ctx context.Context, env *environment, verbose int, pick *pickFlags, file string) (host *plugin.Host, done func(), err error) {
	if env.hosts != nil {
		return env.hosts.borrow(ctx, env, verbose, pick, file)
	}
	if host, err = newHost(env, verbose, pick, file); err != nil {
		return nil, nil, err
	}
	return host, func() { host.Close() }, nil
}

// lockedOptions are those of newHost.
func lockedOptions(env *environment, verbose int, pick *pickFlags, file string) (plugin.Options, error) {
	opts, err := pickedOptions(env, verbose, pick, file)
	if err == nil {
		opts.Lock, opts.LockFile, err = loadLock(env.dir, file)
	}
	return opts, err
}

// pickedOptions are those of newHost but for the lock.
func pickedOptions(env *environment, verbose int, pick *pickFlags, file string) (plugin.Options, error) {
	choices, err := pick.choices(env, file)
	opts := hostOptions(env, verbose)
	opts.Override, opts.Dirs, opts.Choices = namedDirs(env), ownDirs(env), choices
	return opts, err
}

// hostOptions say how backends are run, wherever they are.
func hostOptions(env *environment, verbose int) plugin.Options {
	opts := plugin.Options{
		Settings:  map[string]string{settingMaxMemory: strconv.FormatInt(env.maxMemory, 10)},
		LookupEnv: env.lookupEnv,
		Logger:    newLogger(env, verbose),
	}
	env.confine.apply(&opts)
	return opts
}

// backendDirs lists the folders that may hold backends and device drivers: those that
// the user names, the one of this executable, and the user's own.
func backendDirs(env *environment) []string {
	return slices.Concat(namedDirs(env), ownDirs(env))
}

// namedDirs are the folders that the user names.
func namedDirs(env *environment) []string {
	list, _ := env.lookupEnv(backendPathVar)
	return slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return dir == "" })
}

// ownDirs are the folder of this executable, the user's own, and those of backends that
// were installed there.
func ownDirs(env *environment) []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dirs = append(dirs, filepath.Dir(exe))
	}
	if own := userBackends(env); own != "" {
		dirs = append(dirs, own)
		for _, b := range install.List(own) {
			dirs = append(dirs, b.Dir)
		}
	}
	return dirs
}

// userBackends is the user's own folder; "" for a user without a home.
func userBackends(env *environment) string {
	if data, ok := env.lookupEnv("XDG_DATA_HOME"); ok && filepath.IsAbs(data) {
		return filepath.Join(data, "tritonc", "backends")
	}
	if home, ok := env.lookupEnv("HOME"); ok && home != "" {
		return filepath.Join(home, ".local", "share", "tritonc", "backends")
	}
	return ""
}

// newLogger shows warnings, and with -v more.
func newLogger(env *environment, verbose int) hclog.Logger {
	return loggerTo(env.report.writer("log"), verbose)
}

// loggerTo is newLogger to w.
func loggerTo(w io.Writer, verbose int) hclog.Logger {
	levels := []hclog.Level{hclog.Warn, hclog.Debug, hclog.Trace}
	return hclog.New(&hclog.LoggerOptions{Name: "tritonc", Level: levels[min(verbose, len(levels)-1)], Output: w})
}
