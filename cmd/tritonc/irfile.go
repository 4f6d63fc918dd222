package main

import (
	"context"
	"fmt"
	"io"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/plugin"
)

// readIR reads a file of MLIR text with core's dialects and those declared.
func readIR(path string, declared []*ir.Dialect) (*text.File, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return text.ParseFile(dialect.NewContext(declared...), path, src)
}

// standardInput is what diagnostics call the file -.
const standardInput = "<stdin>"

// readFileOrInput reads a file, or standard input for -. The name is the one for
// diagnostics.
func readFileOrInput(env *environment, path string) (name string, src []byte, err error) {
	if path != "-" {
		src, err = readFile(path)
		return path, src, err
	}
	if src, err = io.ReadAll(env.stdin); err != nil {
		err = fmt.Errorf("standard input: %w", err)
	}
	return standardInput, src, err
}

// targetBackend is the backend for a target as it stands on the command line,
// and the target completed. An empty target gives nil.
func targetBackend(ctx context.Context, host *plugin.Host, s string) (*plugin.Backend, core.Target, error) {
	if s == "" {
		return nil, core.Target{}, nil
	}
	target, err := parseTarget(s)
	if err != nil {
		return nil, target, err
	}
	return host.Select(ctx, target)
}

// backendDialects returns the dialects that a backend declares; a nil backend
// declares none.
func backendDialects(ctx context.Context, backend *plugin.Backend) ([]*ir.Dialect, error) {
	if backend == nil {
		return nil, nil
	}
	facts, err := backend.Facts(ctx)
	if err != nil {
		return nil, err
	}
	var list []*ir.Dialect
	for _, d := range facts.Dialects {
		loaded, err := decl.Load([]byte(d.Declaration), dialect.All()...)
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", backend.Name(), err)
		}
		list = append(list, loaded)
	}
	return list, nil
}
