package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/project"
	"github.com/tritonc/tritonc/core/trust"
)

func backendLockCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "lock [NAME[@VERSION]...]",
		Short: "write into tritonc.lock which backends' programs may run",
		Long: `Write the SHA-256 of backends' programs into the project's tritonc.lock: of those named, or
of all that there are. Commands in its folder and below then run no others; a program is
summed up at each start, and what was summed up is what is executed.

The file is that of the current folder or the nearest one above it; without one it is made
beside the project's tritonc.toml, or here. Entries of other backends and other systems stay.`,
		Example: "  tritonc backend lock\n  tritonc backend lock nvidia@0.1.0 acme",
		RunE: func(cmd *cobra.Command, args []string) error {
			return lockBackends(cmd.Context(), env, args)
		},
		ValidArgsFunction: beginning((&completer{env}).backends),
	}
}

func lockBackends(ctx context.Context, env *environment, names []string) error {
	opts, err := pickedOptions(env, 0, &pickFlags{}, "")
	if err != nil {
		return err
	}
	host := plugin.New(opts) // without the lock, which is about to change
	defer host.Close()
	entries, err := lockEntries(ctx, host, names)
	if err != nil {
		return err
	}
	lock, file, err := loadLock(env.dir, "")
	if err != nil {
		return err
	}
	if lock == nil {
		lock = &manifest.Lock{}
		p, err := loadProject(env.dir, "")
		if err != nil {
			return err
		}
		if file = manifest.LockName; p != nil {
			file = filepath.Join(filepath.Dir(p.Path), manifest.LockName)
		}
	}
	lock.Replace(entries)
	text, err := lock.Encode()
	if err != nil {
		return err
	}
	if err := writeFiles(filepath.Dir(file), []outFile{{filepath.Base(file), text}}); err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		if env.report.json {
			err = writeJSON(env.stdout, lockedRow{file, e.Name, e.Version, e.System, e.SHA256})
		} else {
			_, err = fmt.Fprintf(env.stdout, "%s: %s@%s\t%s\n", file, e.Name, e.Version, e.SHA256)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lockedRow is an entry of tritonc.lock, with --json.
type lockedRow struct {
	File    string `json:"file"` // the lock
	Name    string `json:"name"`
	Version string `json:"version"`
	System  string `json:"system"`
	SHA256  string `json:"sha256"`
}

// lockEntries are the programs of some backends; without names, of all that can be used.
func lockEntries(ctx context.Context, host *plugin.Host, names []string) ([]manifest.LockedBackend, error) {
	var entries []manifest.LockedBackend
	add := func(b *plugin.Backend, known *plugin.Description) {
		e := manifest.LockedBackend{
			Name: b.Name(), Version: known.Facts.Version, System: manifest.System, File: filepath.Base(b.Path()), SHA256: known.SHA256,
		}
		if !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	for _, name := range names {
		ref, err := parseBackend(name)
		if err != nil {
			return nil, err
		}
		b, known, err := namedBackend(ctx, host, ref, "the command line")
		if err != nil {
			return nil, err
		}
		add(b, known)
	}
	if len(names) > 0 {
		return entries, nil
	}
	for _, b := range host.Backends() {
		known, err := b.DescribeAgain(ctx)
		if err != nil {
			return nil, err
		}
		add(b, known)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("there is no backend to lock")
	}
	return entries, nil
}

// loadLock reads the tritonc.lock that holds for a file, or for the current folder
// where there is none; nil without one.
func loadLock(dir folder, file string) (lock *manifest.Lock, at string, err error) {
	found, err := project.FindFile(dir.beside(file), manifest.LockName)
	if err != nil || found == "" {
		return nil, "", err
	}
	at = dir.short(found)
	text, err := trust.ReadShared(found)
	if err != nil {
		return nil, at, err
	}
	lock, err = manifest.ParseLock(at, text)
	return lock, at, err
}
