package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/bench/table"
)

// show puts out the tables: printed, as files, and drawn.
func (b *bencher) show() error {
	var tables []*table.Table
	for _, t := range b.tables {
		if t.Measured() {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		return nil
	}
	b.origin(tables)
	unjoined := b.join(tables) // the rest is worth showing
	if err := b.print(tables); err != nil {
		return err
	}
	for i, t := range tables {
		if err := b.writeCSV(t, i, len(tables)); err != nil {
			return err
		}
		if err := b.draw(t, i, len(tables)); err != nil {
			return err
		}
	}
	return unjoined
}

// origin says where the times come from.
func (b *bencher) origin(tables []*table.Table) {
	props, measure := b.dev.Properties(), "do_bench"
	if b.flags.graph {
		measure = "do_bench_cudagraph"
	}
	if props.Simulated {
		measure = "model"
		b.env.report.diagnostics(&diag.Diagnostic{
			Severity: diag.Note, Message: "the times are what the model of the " + props.Name + " says (docs/model.md)",
		})
	}
	for _, t := range tables {
		t.Device, t.Measure = props.Name, measure
	}
}

// join adds the baselines to the tables, each to those that have its points.
func (b *bencher) join(tables []*table.Table) error {
	for _, base := range b.baselines {
		joined := false
		var first error
		for _, t := range tables {
			known, err := table.Read(base.text, t.X)
			for _, k := range known {
				if len(known) > 1 && k.Title != t.Title {
					continue
				}
				if err = t.Join(k); err == nil {
					joined = true
				}
			}
			if err != nil && first == nil {
				first = err
			}
		}
		if !joined {
			if first == nil {
				return usagef("--baseline %s: no table of it is about %s", base.path, tables[0].Title)
			}
			return usagef("--baseline %s: %v", base.path, first)
		}
	}
	return nil
}

// print writes the tables to standard output: as text, as CSV, or as JSON.
func (b *bencher) print(tables []*table.Table) error {
	w := b.env.stdout
	if b.env.report.json {
		return table.WriteJSON(w, tables)
	}
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		write := t.Write
		if b.flags.csv == "-" {
			write = t.WriteCSV
		}
		if err := write(w); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes the file of --csv.
func (b *bencher) writeCSV(t *table.Table, i, n int) error {
	if b.flags.csv == "" || b.flags.csv == "-" {
		return nil
	}
	var text bytes.Buffer
	if err := t.WriteCSV(&text); err != nil {
		return err
	}
	return writeFile(nameOf(b.flags.csv, t.Title, i, n), text.Bytes())
}

// draw writes the pictures of --plot, one for each unit.
func (b *bencher) draw(t *table.Table, i, n int) error {
	if b.flags.plot == "" {
		return nil
	}
	var units []string
	for _, l := range t.Lines {
		if !slices.Contains(units, l.Unit) {
			units = append(units, l.Unit)
		}
	}
	for k, unit := range units {
		one := *t
		one.Lines, one.Rows = nil, nil
		if one.YLabel == "" || len(units) > 1 {
			one.YLabel = unit
		}
		for _, l := range t.Lines {
			if l.Unit == unit {
				one.Lines = append(one.Lines, l)
			}
		}
		for _, r := range t.Rows {
			row := table.Row{X: r.X}
			for c, l := range t.Lines {
				if l.Unit == unit {
					row.Y = append(row.Y, r.Y[c])
				}
			}
			one.Rows = append(one.Rows, row)
		}
		picture, err := drawTable(b.plotter, table.PictureFormat(b.flags.plot), &one)
		if err != nil {
			return err
		}
		path := nameOf(nameOf(b.flags.plot, t.Title, i, n), unit, k, len(units))
		if err := writeFile(path, picture); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is a file's name, with what tells it from the others where there are
// several.
func nameOf(path, what string, i, n int) string {
	if n < 2 {
		return path
	}
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, what)
	if clean == "" {
		clean = fmt.Sprint(i)
	}
	ending := filepath.Ext(path)
	return strings.TrimSuffix(path, ending) + "-" + clean + ending
}

// writeFile writes one file, whole or not at all.
func writeFile(path string, data []byte) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return writeFiles(dir, []outFile{{base, data}})
}
