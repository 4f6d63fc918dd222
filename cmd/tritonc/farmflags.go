package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/project"
	"github.com/tritonc/tritonc/farm/bus"
	farm "github.com/tritonc/tritonc/farm/work"
)

// farmFlags say by which servers machines share work.
type farmFlags struct{ nats string }

// addNATS adds --nats.
func (f *farmFlags) addNATS(flags *pflag.FlagSet) {
	flags.StringVar(&f.nats, "nats", "", "the `URL` of the NATS server, or URLs of a cluster's with commas between\n(nats in the table [farm] of tritonc.toml)")
}

// farmSettings are what the command line and the project say of a farm.
type farmSettings struct {
	bus.Options
	table project.Farm
	dir   string // that files in table are relative to
	file  *project.File
	// started: this process has started the server, and nobody else works for it yet.
	started bool
}

// settings reads them, for the project of file or of the current folder.
func (f *farmFlags) settings(env *environment, file, name string) (*farmSettings, error) {
	found, err := project.Find(env.dir.beside(file))
	if err != nil {
		return nil, err
	}
	p, err := project.Load(found, env.dir.short(found))
	if err != nil {
		return nil, err
	}
	s := &farmSettings{dir: filepath.Dir(found)}
	if p != nil {
		s.table, s.file = p.Farm, p
		s.Options.At = func(key string) (diag.Pos, string) {
			at := p.Farm.Pos[key]
			return at, p.Line(at.Line)
		}
	}
	text := s.table.NATS
	if f.nats != "" {
		text = f.nats
	} else if p != nil {
		s.From = s.table.Pos["nats"]
		s.Line = p.Line(s.From.Line)
	}
	if text == "" {
		return s, usagef("nothing says which server to use").withHelp("--nats nats://HOST:4222, or nats in the table [farm] of tritonc.toml")
	}
	if s.URLs, err = bus.ParseURLs(text); err != nil {
		if d := diag.All(err); f.nats == "" && len(d) == 1 {
			d[0].Pos, d[0].Line = s.From, s.Line
			return nil, d[0]
		}
		return nil, usagef("--nats: %v", err)
	}
	s.Name = name
	s.Credentials, s.CA = s.at(s.table.Credentials), s.at(s.table.CA)
	s.Cert, s.Key = s.at(s.table.Cert), s.at(s.table.Key)
	s.Replicas = s.table.Replicas
	return s, nil
}

// at is where a file is that the project's file names.
func (s *farmSettings) at(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.dir, path)
}

// open connects and opens the queue. The caller closes the connection.
func (s *farmSettings) open(ctx context.Context) (*bus.Bus, *farm.Queue, error) {
	b, err := bus.Connect(ctx, s.Options)
	if err != nil {
		return nil, nil, err
	}
	q, err := farm.Open(ctx, b, farm.Config{})
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return b, q, nil
}
