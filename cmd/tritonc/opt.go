package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
)

// optFlags are the flags of the opt verb.
type optFlags struct {
	target  string
	output  string
	generic bool
	verbose int
}

func optCommand(env *environment) *cobra.Command {
	var f optFlags
	cmd := &cobra.Command{
		Use:   "opt [flags] FILE",
		Short: "parse, verify and print a file of IR",
		Long: `Parse, verify and print a file of IR: the MLIR text of ttir and ttgir stages.

What comes out for a file that Triton or tritonc printed has the file's own
bytes. Locations are printed where the file has them. With --target the dialects
that the target's backend declares are known, too; without it their operations
may stand in generic form only.`,
		Example:               "  tritonc opt -o out.ttir in.ttir\n  tritonc opt --target cuda:90 kernel.ttgir",
		Args:                  exactArgs("FILE"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return optFile(cmd.Context(), env, &f, args[0])
		},
	}
	cmd.Flags().StringVarP(&f.target, "target", "t", "", "know the dialects of the backend for a `TARGET` such as cuda:90")
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", "the `FILE` to write; - is standard output")
	cmd.Flags().BoolVar(&f.generic, "generic", false, "print operations in MLIR's generic form")
	cmd.Flags().CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

func optFile(ctx context.Context, env *environment, f *optFlags, path string) error {
	src, err := readFile(path)
	if err != nil {
		return err
	}
	declared, err := f.dialects(ctx, env)
	if err != nil {
		return err
	}
	file, err := text.ParseFile(dialect.NewContext(declared...), path, src)
	if err != nil {
		return err
	}
	if err := file.Verify(); err != nil {
		return err
	}
	out := text.Append(nil, file.Op, text.Options{
		Locations: bytes.Contains(src, []byte("loc(")),
		Generic:   f.generic,
	})
	if f.output == "-" {
		_, err := env.stdout.Write(out)
		return err
	}
	return writeFiles(filepath.Dir(f.output), []outFile{{filepath.Base(f.output), out}})
}

// dialects returns those that the target's backend declares.
func (f *optFlags) dialects(ctx context.Context, env *environment) ([]*ir.Dialect, error) {
	if f.target == "" {
		return nil, nil
	}
	target, err := parseTarget(f.target)
	if err != nil {
		return nil, err
	}
	host := newHost(env, f.verbose)
	defer host.Close()
	backend, _, err := host.Select(ctx, target)
	if err != nil {
		return nil, err
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
