package main

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/plugin"
)

// backendPathVar names folders to search for backends before all others.
const backendPathVar = "TRITONC_BACKEND_PATH"

// newHost finds the backends; none is started yet. The caller closes it.
func newHost(env *environment, verbose int) *plugin.Host {
	settings := map[string]string{settingMaxMemory: strconv.FormatInt(env.maxMemory, 10)}
	return plugin.New(plugin.Options{
		Dirs:      backendDirs(env),
		Settings:  settings,
		LookupEnv: env.lookupEnv,
		Logger:    newLogger(env, verbose),
	})
}

// backendDirs lists the folders that may hold backends: those that the user
// names, the one of this executable, and the user's own.
func backendDirs(env *environment) []string {
	var dirs []string
	if list, ok := env.lookupEnv(backendPathVar); ok {
		for _, dir := range filepath.SplitList(list) {
			if dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dirs = append(dirs, filepath.Dir(exe))
	}
	if data, ok := env.lookupEnv("XDG_DATA_HOME"); ok && filepath.IsAbs(data) {
		dirs = append(dirs, filepath.Join(data, "tritonc", "backends"))
	} else if home, ok := env.lookupEnv("HOME"); ok && home != "" {
		dirs = append(dirs, filepath.Join(home, ".local", "share", "tritonc", "backends"))
	}
	return dirs
}

// newLogger shows warnings, and with -v more.
func newLogger(env *environment, verbose int) hclog.Logger {
	levels := []hclog.Level{hclog.Warn, hclog.Debug, hclog.Trace}
	return hclog.New(&hclog.LoggerOptions{
		Name:   "tritonc",
		Level:  levels[min(verbose, len(levels)-1)],
		Output: env.report.writer("log"),
	})
}
