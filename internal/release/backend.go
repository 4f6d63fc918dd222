package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tritonc/tritonc/core/plugin/manifest"
	sdkhost "github.com/tritonc/tritonc/plugin-sdk/host"
)

// described is what a backend says of itself.
type described struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Targets []struct {
		Pattern string `json:"pattern"`
	} `json:"targets"`
}

// program is the name of its program.
func (d *described) program() string { return manifest.ProgramPrefix + d.Name }

// backendArchive is what "tritonc backend install" takes: the backend with its manifest,
// which lists all other files.
func (r *release) backendArchive(ctx context.Context, p platform, dir string, d *described) (*archived, error) {
	name := p.program(d.program())
	file := filepath.Join(dir, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sbom, err := r.sbom(ctx, file)
	if err != nil {
		return nil, err
	}
	modules, err := linked([]string{file})
	if err != nil {
		return nil, err
	}
	licences, err := r.thirdParty(ctx, modules)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name, program, data},
		{"sbom.cdx.json", ordinary, sbom},
		{"LICENSE", ordinary, licence},
		{"THIRD_PARTY_LICENSES", ordinary, licences},
	}
	m, err := d.manifest(p, entries).Encode()
	if err != nil {
		return nil, err
	}
	a := &archived{programs: []string{name}}
	return a, a.pack(r, p, d.program(), append(entries, entry{manifest.FileName, ordinary, m}))
}

// manifest lists the files of the backend's archive.
func (d *described) manifest(p platform, entries []entry) *manifest.Manifest {
	m := &manifest.Manifest{Name: d.Name, Version: d.Version, Protocol: []int{sdkhost.ProtocolVersion}, System: p.String()}
	for _, t := range d.Targets {
		m.Targets = append(m.Targets, t.Pattern)
	}
	for _, e := range entries {
		m.Files = append(m.Files, manifest.File{Path: e.path, Size: int64(len(e.data)), SHA256: sum(e.data), Executable: e.mode == program})
	}
	return m
}
