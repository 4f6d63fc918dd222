package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("o", "dist", "the `FOLDER` to write to")
	version := flag.String("version", os.Getenv("VERSION"), "the `VERSION` to stamp (the tag of the commit, or devel and the commit)")
	platforms := flag.String("platforms", "", "the `GOOS/GOARCH,…` to build for ("+platformNames(all)+")")
	check := flag.Bool("check", false, "make this system's archive twice, compare, and try it; write nothing")
	programs := flag.String("programs", "", "a `FOLDER` that gets the programs of the Python package, for the first platform, and no archives")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *version, *platforms, *programs, *check); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, version, names, programs string, check bool) (err error) {
	work, err := os.MkdirTemp("", "tritonc-release-")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.RemoveAll(work); err == nil {
			err = removed
		}
	}()
	r, err := newRelease(ctx, ".", filepath.Join(work, "first"), version)
	if err != nil {
		return err
	}
	if check {
		return r.check(ctx, work)
	}
	chosen := all
	if names != "" {
		if chosen, err = parsePlatforms(names); err != nil {
			return err
		}
	}
	if programs != "" {
		return r.programs(ctx, programs, chosen[0])
	}
	return r.write(ctx, out, chosen)
}

// write makes the archives of platforms and SHA256SUMS in a folder.
func (r *release) write(ctx context.Context, out string, platforms []platform) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, p := range platforms {
		list, err := r.archives(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, a := range list {
			if err := os.WriteFile(filepath.Join(out, a.name), a.data, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%s  %s\n", sum(a.data), a.name)
			a.report(os.Stdout)
		}
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
