package plugin

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// confine is what a process with these settings runs under: in a sandbox it may
// read what lies in PATH and what a setting names, and has a folder of its own to
// remember things in.
func (b *Backend) confine(settings map[string]string) (process.Confine, error) {
	c := b.host.opts.Confine
	if c.Sandbox == nil {
		return c, nil
	}
	box := process.Sandbox{Read: slices.Clone(c.Sandbox.Read), Write: slices.Clone(c.Sandbox.Write)}
	path, _ := b.host.opts.LookupEnv("PATH")
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			box.Read = append(box.Read, process.ToolFolders(dir)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		box.Read = append(box.Read, toolsAt(settings[name])...)
	}
	if cache := cacheFolder(b.host.opts.LookupEnv); cache != "" {
		box.Read = append(box.Read, filepath.Join(cache, "toolchain"))
		own := b.cacheFolder()
		if err := os.MkdirAll(own, 0o700); err != nil {
			return c, err
		}
		box.Write = append(box.Write, own)
	}
	c.Sandbox = &box
	return c, nil
}

// toolsAt is what has to be read to use what a setting names: a folder with all in
// it, or a file and what lies beside it.
func toolsAt(value string) []string {
	if !filepath.IsAbs(value) {
		return nil // a name in PATH, or no file at all
	}
	if info, err := os.Stat(value); err == nil && info.IsDir() {
		return []string{value}
	}
	return append(process.ToolFolders(filepath.Dir(value)), value)
}

// namesMore reports whether settings name files that others did not.
func (b *Backend) namesMore(before, now map[string]string) bool {
	for name, value := range now {
		if filepath.IsAbs(value) && before[name] != value {
			return true
		}
	}
	return false
}

// cacheFolder is the backend's own part of the user's cache folder, for one in a
// sandbox; empty for a user without a home.
func (b *Backend) cacheFolder() string {
	cache := cacheFolder(b.host.opts.LookupEnv)
	if cache == "" {
		return ""
	}
	return filepath.Join(cache, "plugins", b.found.Name)
}

// env is the process's environment besides go-plugin's own variables.
func (b *Backend) env(c process.Confine) []string {
	env := b.host.env()
	if own := b.cacheFolder(); c.Sandbox != nil && own != "" {
		env = append(env, host.EnvCacheDir+"="+own)
	}
	if c.Memory > 0 {
		// A program in Go collects what it can before it runs into the bound.
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", c.Memory/10*9))
	}
	return env
}
