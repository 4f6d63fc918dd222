package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// built says what the programs of a folder are, for whoever packs them.
type built struct {
	Version  string   `json:"version"`
	Date     int64    `json:"date"`     // of the commit, in seconds since 1970
	Platform string   `json:"platform"` // GOOS/GOARCH
	Programs []string `json:"programs"`
}

// wheelPrograms are the packages whose programs the Python package holds.
var wheelPrograms = []string{"./cmd/tritonc", "./backends/amd/cmd/tritonc-backend-amd", "./backends/nvidia/cmd/tritonc-backend-nvidia"}

// programs builds the programs that the Python package holds and leaves them in a folder,
// with the licences of all that is linked, and build.json.
func (r *release) programs(ctx context.Context, out string, p platform) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-tags", buildTags, "-ldflags", "-s -w " + r.stamp(), "-o", out + string(filepath.Separator)}, wheelPrograms...)
	if err := r.run(ctx, []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0"}, r.root, io.Discard, "go", args...); err != nil {
		return err
	}
	b := built{Version: r.version, Date: r.date.Unix(), Platform: p.String()}
	var files []string
	for _, pkg := range wheelPrograms {
		name := p.program(path.Base(pkg))
		b.Programs = append(b.Programs, name)
		files = append(files, filepath.Join(out, name))
	}
	slices.Sort(b.Programs)
	modules, err := linked(files)
	if err != nil {
		return err
	}
	licences, err := r.thirdParty(ctx, modules)
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	facts, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"THIRD_PARTY_LICENSES": licences, "LICENSE": licence, "build.json": append(facts, '\n')} {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %s for %s of %s\n", out, r.version, p, time.Unix(b.Date, 0).UTC().Format(time.DateOnly))
	return nil
}
