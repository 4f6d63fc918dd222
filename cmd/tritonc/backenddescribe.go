package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func backendDescribeCommand(env *environment) *cobra.Command {
	verbose := 0
	cmd := &cobra.Command{
		Use:   "describe NAME[@VERSION]",
		Short: "show what a backend says of itself",
		Long: `Show a backend's targets, options, settings and dialects, and the modules that kernels
may import with the signatures of their functions. It starts the program: one that could
not be used before is asked again, and what tritonc remembers of it is renewed. With
--json it is one object.`,
		Example:           "  tritonc backend describe nvidia\n  tritonc backend describe nvidia@0.1.0 --json",
		Args:              exactArgs("NAME"),
		ValidArgsFunction: beginning((&completer{env}).backends),
		RunE: func(cmd *cobra.Command, args []string) error {
			return describeBackend(cmd, env, args[0], verbose)
		},
	}
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

// backendText is what --json writes of one backend.
type backendText struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of its program
	sdk.Facts
	Modules []sdk.Module `json:"modules"` // whole ones
}

func describeBackend(cmd *cobra.Command, env *environment, name string, verbose int) error {
	ctx := cmd.Context()
	ref, err := parseBackend(name)
	if err != nil {
		return err
	}
	host, err := newHost(env, verbose, &pickFlags{}, "")
	if err != nil {
		return err
	}
	defer host.Close()
	b, known, err := namedBackend(ctx, host, ref, "the command line")
	if err != nil {
		return err
	}
	facts, err := b.FactsAgain(ctx) // not what is remembered
	if err != nil {
		return err
	}
	out := backendText{Path: b.Path(), SHA256: known.SHA256, Facts: *facts}
	for i := range facts.Modules {
		m, err := b.GetModule(ctx, facts.Modules[i].Name)
		if err != nil {
			return err
		}
		out.Modules = append(out.Modules, m)
	}
	if env.report.json {
		enc := json.NewEncoder(env.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(&out)
	}
	_, err = io.WriteString(env.stdout, out.text())
	return err
}

func (t *backendText) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n  program  %s\n  sha256   %s\n  hash     %s\n", t.Name, t.Version, t.Path, t.SHA256, t.Hash)
	title := func(name string, n int) bool {
		if n > 0 {
			fmt.Fprintf(&out, "\n%s\n", name)
		}
		return n > 0
	}
	if title("targets", len(t.Targets)) {
		writeTargets(&out, targetRows(&t.Facts))
	}
	if title("options", len(t.Options)) {
		for i := range t.Options {
			o := &t.Options[i]
			fmt.Fprintf(&out, "  %s: %s = %s  %s", o.Name, o.Type, orNull(o.Default), o.Doc)
			if len(o.Choices) > 0 {
				fmt.Fprintf(&out, " (%s)", strings.Join(o.Choices, ", "))
			}
			fmt.Fprintln(&out)
		}
	}
	if title("settings", len(t.Settings)) {
		for _, s := range t.Settings {
			fmt.Fprintf(&out, "  %s  %s  %s\n", s.Name, strings.Join(s.Env, ", "), s.Doc)
		}
	}
	if title("dialects", len(t.Dialects)) {
		fmt.Fprintf(&out, "  %s\n", strings.Join(t.Dialects, " "))
	}
	if title("modules", len(t.Modules)) {
		for i := range t.Modules {
			writeModule(&out, &t.Modules[i])
		}
	}
	return out.String()
}

// writeModule writes a module's names and the signatures of its functions.
func writeModule(out io.Writer, m *sdk.Module) {
	fmt.Fprintf(out, "  %s\n", strings.Join(append([]string{m.Name}, m.Aliases...), ", "))
	for line := range strings.Lines(m.Source) {
		if def, ok := strings.CutPrefix(line, "def "); ok {
			fmt.Fprintf(out, "    %s\n", strings.TrimSuffix(strings.TrimSpace(def), ":"))
		}
	}
	for i := range m.Externs {
		e := &m.Externs[i]
		fmt.Fprintf(out, "    %s(%s) -> %s\n", e.Name, strings.Join(e.Args, ", "), e.Result)
	}
}

func targetRows(f *sdk.Facts) []targetRow {
	var rows []targetRow
	for i := range f.Targets {
		t := &f.Targets[i]
		rows = append(rows, targetRow{t.Pattern, t.WarpSize, t.Doc})
	}
	return rows
}

// orNull is a JSON value as text.
func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}
