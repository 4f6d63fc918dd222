package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/plugin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Environment variables of the cache of compiled kernels.
const (
	cacheDirVar  = "TRITONC_CACHE_DIR"
	cacheSizeVar = "TRITONC_CACHE_SIZE"
)

// defaultCacheSize is the bound of the cache in MiB. A kernel takes some 20 KiB.
const defaultCacheSize = 512

// openStore is the user's cache of compiled kernels; nil for a user without a
// home who names no folder.
func openStore(env *environment) (*cache.Store, error) {
	size := int64(defaultCacheSize)
	if text, _ := env.lookupEnv(cacheSizeVar); text != "" {
		n, err := strconv.ParseInt(text, 10, 40)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s=%s is not a number of MiB", cacheSizeVar, text)
		}
		size = n
	}
	dir, _ := env.lookupEnv(cacheDirVar)
	if dir == "" {
		base, _ := env.lookupEnv("XDG_CACHE_HOME")
		if !filepath.IsAbs(base) {
			home, _ := env.lookupEnv("HOME")
			if !filepath.IsAbs(home) {
				return nil, nil
			}
			base = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(base, "tritonc", "kernels")
	}
	return cache.Open(dir, size<<20), nil
}

// compileCache is what core asks for kernels; nil without a cache.
func compileCache(env *environment, host *plugin.Host, log hclog.Logger) (*core.Cache, error) {
	store, err := openStore(env)
	if store == nil {
		return nil, err
	}
	return &core.Cache{
		Store: store, Compiler: sdk.ProgramHash(), Identity: host.Identity, Machine: host.SharedIdentity, Dir: string(env.dir),
		Log: func(message string) { log.Debug(message) },
	}, nil
}

func cacheCommand(env *environment) *cobra.Command {
	var f cacheFlags
	info := func(cmd *cobra.Command, _ []string) error {
		if f.remote {
			return f.info(cmd, env)
		}
		return cacheInfo(env)
	}
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "what the cache of compiled kernels holds; clean empties it",
		Long: `A kernel that was compiled before is taken from a cache, as long as nothing that
went into it has changed: the file and what it imports, signature, options and
target, tritonc, the backend, and the tools and libraries of the machine.
--no-cache compiles anew and leaves the cache alone.

It lies in the folder ` + cacheDirVar + `, or in the user's cache folder
(~/.cache/tritonc/kernels), and holds ` + cacheSizeVar + ` MiB at most (` + strconv.Itoa(defaultCacheSize) + `); the kernels
used least recently go first, in each of 64 parts: half of what there is room for is
always kept of what was used last, and a kernel beyond a 64th not at all. A folder that other users own or may write to is not
used: what they put there would be taken for a kernel.

Where tritonc.toml names a NATS server and whose kernels are believed, machines share
what they compile (docs/scale.md); --remote is about that cache.`,
		Args: exactArgs(),
		RunE: info,
	}
	cmd.PersistentFlags().BoolVar(&f.remote, "remote", false, "the cache that machines share, in the place of this machine's own")
	f.addNATS(cmd.PersistentFlags())
	cmd.AddCommand(
		&cobra.Command{
			Use: "info", Short: "its folder and how much it holds", Args: exactArgs(), RunE: info,
		},
		&cobra.Command{
			Use: "verify", Short: "read each kernel and check its checksum, or who signed it (--remote)", Args: exactArgs(),
			RunE: func(cmd *cobra.Command, _ []string) error { return f.verify(cmd, env) },
		},
		cacheKeyCommand(env),
		&cobra.Command{
			Use: "clean", Short: "remove every kernel from it", Args: exactArgs(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				if f.remote {
					return f.clean(cmd, env)
				}
				store, err := openStore(env)
				if store == nil {
					return err
				}
				return store.Clean()
			},
		},
	)
	return cmd
}

// cacheRow is what the cache holds, with --json.
type cacheRow struct {
	Folder  string `json:"folder"`
	Kernels int    `json:"kernels"`
	Bytes   int64  `json:"bytes"`
	Limit   int64  `json:"limit"`            // in bytes
	Unused  string `json:"unused,omitempty"` // why the cache is not used
}

// namedStore is the cache; there is an error where nothing says in which folder.
func namedStore(env *environment) (*cache.Store, error) {
	store, err := openStore(env)
	if err == nil && store == nil {
		err = fmt.Errorf("there is no folder for a cache\n  help: name one with %s", cacheDirVar)
	}
	return store, err
}

func cacheInfo(env *environment) error {
	store, err := namedStore(env)
	if err != nil {
		return err
	}
	usage, err := store.Usage()
	if err != nil {
		return err
	}
	if env.report.json {
		row := cacheRow{Folder: store.Dir(), Kernels: usage.Entries, Bytes: usage.Bytes, Limit: store.Limit()}
		if err := store.Check(); err != nil {
			row.Unused = err.Error()
		}
		return writeJSON(env.stdout, row)
	}
	fmt.Fprintf(env.stdout, "folder   %s\nkernels  %d\nsize     %.1f of %d MiB\n",
		store.Dir(), usage.Entries, float64(usage.Bytes)/(1<<20), store.Limit()>>20)
	if err := store.Check(); err != nil {
		fmt.Fprintf(env.stdout, "unused   %v\n", err)
	}
	return nil
}
