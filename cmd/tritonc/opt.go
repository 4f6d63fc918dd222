package main

import (
	"bytes"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

// optFlags are the flags of the opt verb.
type optFlags struct {
	output  string
	generic bool
}

func optCommand(env *environment) *cobra.Command {
	var f optFlags
	cmd := &cobra.Command{
		Use:   "opt [flags] FILE",
		Short: "parse, verify and print a file of IR",
		Long: `Parse, verify and print a file of IR: the MLIR text of ttir and ttgir stages.

What comes out for a file that Triton or tritonc printed has the file's own
bytes. Locations are printed where the file has them.`,
		Example:               "  tritonc opt kernel.ttgir\n  tritonc opt -o out.ttir in.ttir",
		Args:                  exactArgs("FILE"),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return optFile(env, &f, args[0])
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", "the file to write; - is standard output")
	cmd.Flags().BoolVar(&f.generic, "generic", false, "print operations in MLIR's generic form")
	return cmd
}

func optFile(env *environment, f *optFlags, path string) error {
	src, err := readFile(path)
	if err != nil {
		return err
	}
	file, err := text.ParseFile(dialect.NewContext(), path, src)
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
