package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/remote"
	"github.com/tritonc/tritonc/farm/sign"
)

// cacheFlags are those of the cache verb.
type cacheFlags struct {
	farmFlags
	remote bool
}

// far is the shared cache that --remote is about.
func (f *cacheFlags) far(env *environment) (*remote.Options, error) {
	opts, err := f.sharing(env, "")
	if err != nil {
		return nil, err
	}
	if opts == nil {
		return nil, usagef("nothing is shared here").
			withHelp("tritonc.toml names a server (nats in [farm]) and whose kernels are taken ([farm.trusted]); see docs/scale.md")
	}
	return opts, nil
}

// remoteRow is what the shared cache holds, with --json.
type remoteRow struct {
	Servers  string     `json:"servers"`
	Version  string     `json:"version"` // of the server
	Kernels  int        `json:"kernels"`
	Bytes    uint64     `json:"bytes"`
	Limit    int64      `json:"limit"`            // in bytes
	MaxAge   float64    `json:"max_age"`          // in seconds
	Oldest   *time.Time `json:"oldest,omitempty"` // kernel, by the server's clock
	Replicas int        `json:"replicas"`
	Trip     float64    `json:"round_trip"` // in seconds
	Signs    string     `json:"signs,omitempty"`
	Trusted  []string   `json:"trusted"`
}

func (f *cacheFlags) info(cmd *cobra.Command, env *environment) error {
	opts, err := f.far(env)
	if err != nil {
		return err
	}
	u, err := opts.Usage(cmd.Context())
	if err != nil {
		return err
	}
	row := remoteRow{
		Servers: opts.Bus.Servers(), Version: u.Server, Kernels: u.Entries, Bytes: u.Bytes, Limit: u.Limit,
		MaxAge: u.MaxAge.Seconds(), Replicas: u.Replicas, Trip: u.Trip.Seconds(), Trusted: []string{},
	}
	if !u.Oldest.IsZero() {
		row.Oldest = &u.Oldest
	}
	if opts.Sign != nil {
		row.Signs = opts.Sign.Public()
	}
	for _, t := range opts.Trusted {
		row.Trusted = append(row.Trusted, t.Name)
	}
	if env.report.json {
		return writeJSON(env.stdout, row)
	}
	fmt.Fprintf(env.stdout, "servers  %s (nats-server %s, %v there and back)\nkernels  %d, kept for %v", row.Servers, row.Version, u.Trip.Round(time.Microsecond), row.Kernels, u.MaxAge)
	if row.Oldest != nil {
		fmt.Fprintf(env.stdout, ", the oldest since %s", u.Oldest.UTC().Format(time.DateTime+" MST"))
	}
	fmt.Fprintf(env.stdout, "\nsize     %.1f of %d MiB on %s\n", float64(row.Bytes)/(1<<20), row.Limit>>20, diag.Count(row.Replicas, "server"))
	for _, t := range opts.Trusted {
		fmt.Fprintf(env.stdout, "trusted  %s %s\n", t.Name, t.ID())
	}
	if row.Signs == "" {
		fmt.Fprintln(env.stdout, "signs    nothing: kernels are taken, and none are given")
	} else {
		fmt.Fprintf(env.stdout, "signs    %s\n", row.Signs)
	}
	return nil
}

// verifyRow is what a look at every entry found, with --json.
type verifyRow struct {
	Good    int          `json:"good"`
	Refused []refusedRow `json:"refused"`
}

type refusedRow struct {
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Path   string `json:"path,omitempty"` // of a local entry
	Reason string `json:"reason"`
}

func (f *cacheFlags) verify(cmd *cobra.Command, env *environment) error {
	row := verifyRow{Refused: []refusedRow{}}
	if f.remote {
		opts, err := f.far(env)
		if err != nil {
			return err
		}
		v, err := opts.Verify(cmd.Context())
		if err != nil {
			return err
		}
		row.Good = v.Good
		for _, r := range v.Refused {
			row.Refused = append(row.Refused, refusedRow{Kind: r.Kind, Key: r.Name, Reason: r.Why.Error()})
		}
	} else {
		store, err := namedStore(env)
		if err != nil {
			return err
		}
		good, refused, err := store.Verify()
		if err != nil {
			return err
		}
		row.Good = good
		for _, r := range refused {
			row.Refused = append(row.Refused, refusedRow{Kind: "entry", Key: filepath.Base(r.Path), Path: r.Path, Reason: r.Reason})
		}
	}
	var err error
	if env.report.json {
		err = writeJSON(env.stdout, row)
	} else {
		for _, r := range row.Refused {
			name := r.Key
			if r.Path != "" {
				name = r.Path
			}
			fmt.Fprintf(env.stdout, "%s %s: %s\n", r.Kind, name, r.Reason)
		}
		fmt.Fprintf(env.stdout, "%d are good, %d are refused\n", row.Good, len(row.Refused))
	}
	if err == nil && len(row.Refused) > 0 {
		return errReported
	}
	return err
}

func (f *cacheFlags) clean(cmd *cobra.Command, env *environment) error {
	opts, err := f.far(env)
	if err != nil {
		return err
	}
	return opts.Clean(cmd.Context())
}

// cacheKeyCommand makes a key.
func cacheKeyCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "key FILE", Short: "make a key to sign shared kernels by, and print its public half", Args: exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := sign.Create(env.dir.at(args[0]))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.stdout, k.Public())
			return err
		},
	}
}
