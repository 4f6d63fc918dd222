package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/bench/table"
	"github.com/tritonc/tritonc/driver/launch/host"
)

// marks runs what files have under @triton.testing.perf_report.
func (b *bencher) marks(ctx context.Context, files []string) error {
	f := b.flags
	for _, only := range []struct {
		flag  string
		given bool
	}{
		{"--arg", len(f.args) > 0}, {"--metric", len(f.metrics) > 0}, {"--config", f.config != ""}, {"--use", f.use != ""},
	} {
		if only.given {
			return usagef("%s is for a kernel, and no --grid is given", only.flag).
				withHelp("with --grid the kernel is launched as in tritonc run; without it the file's own benchmarks run")
		}
	}
	found := 0
	var failed errorList
	for _, file := range files {
		src, err := b.source(file)
		if err != nil {
			return err
		}
		if !src.IsPython() {
			return usagef("no --grid given").withHelp("%s is not a Python file, which could define benchmarks", src.Path)
		}
		options := host.Options{
			Source: src, Target: b.req.target, Compile: b.req.opts, Device: b.dev, Bench: f.options(), Seed: f.seed,
		}
		err = host.Run(ctx, options, func(p *host.Program) error {
			marks, err := p.Marks()
			if err != nil {
				return err
			}
			for _, m := range marks {
				if names := f.names(); len(names) > 0 && !slices.Contains(names, m.Name) {
					continue
				}
				found++
				for _, bm := range m.Benchmarks {
					err := b.benchmark(ctx, p, m, bm)
					if ctx.Err() != nil {
						return ctx.Err()
					}
					if err != nil {
						failed = append(failed, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	switch {
	case found == 0 && f.kernel != "":
		return usagef("no benchmark is called %s", f.kernel).withHelp("a kernel needs --grid: how many blocks run")
	case found == 0:
		return usagef("no --grid given").
			withHelp("--grid says how many blocks of a kernel run, for example --grid \"cdiv(n, BLOCK)\"; a file with @triton.testing.perf_report needs none")
	case len(failed) > 0:
		return failed
	}
	return nil
}

// benchmark measures the lines of a benchmark. A line that lacks something is left
// out; if all do, the benchmark cannot run, and why is the error.
func (b *bencher) benchmark(ctx context.Context, p *host.Program, m *host.Mark, bm *host.Benchmark) error {
	xs, err := b.abscissas(bm)
	if err != nil {
		return err
	}
	lines := &lines{bm: bm, missing: make([]*host.Missing, len(bm.Lines))}
	stop := b.bar.start(b.env.report.screen(), len(xs)*len(bm.Lines))
	var failed errorList
	for _, x := range xs {
		row := table.Row{X: make([]any, len(x))}
		for i, v := range x {
			row.X[i] = host.Plain(v)
		}
		for i, name := range bm.Lines {
			b.bar.next(fmt.Sprintf("%s %s %s", bm.Plot, name, describeX(bm.XNames, row.X)))
			cell := table.Absent()
			if lines.missing[i] == nil {
				var point host.Point
				point, err = p.Measure(m, bm, x, i)
				var lacks *host.Missing
				switch {
				case ctx.Err() != nil:
				case errors.As(err, &lacks):
					lines.missing[i] = lacks
				case err != nil:
					failed = append(failed, err)
				default:
					cell.Value = point.Value
					if point.Bands {
						cell.Low, cell.High = min(point.Low, point.High), max(point.Low, point.High)
					}
					lines.untime(point.Untimed)
				}
			}
			if ctx.Err() != nil {
				break
			}
			row.Y = append(row.Y, cell)
		}
		if ctx.Err() == nil || len(row.Y) > 0 {
			lines.rows = append(lines.rows, filled(row, len(bm.Lines)))
		}
		if ctx.Err() != nil || lines.none() || len(failed) >= len(bm.Lines) && len(lines.rows) == 1 {
			break // nothing more will come
		}
	}
	stop()
	if lines.none() {
		return lines.missing[0]
	}
	b.tables = append(b.tables, lines.table())
	lines.tell(b)
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// abscissas are the points of a benchmark: its own, or those of --sweep.
func (b *bencher) abscissas(bm *host.Benchmark) ([][]any, error) {
	if len(b.sweeps) == 0 {
		return bm.X, nil
	}
	names, list := points(b.sweeps)
	at := make([]int, len(bm.XNames))
	for i, name := range bm.XNames {
		if at[i] = slices.Index(names, name); at[i] < 0 {
			return nil, usagef("--sweep gives no %s; the points of the benchmark %s have %s", name, bm.Plot, strings.Join(bm.XNames, ", "))
		}
	}
	if len(names) > len(at) {
		return nil, usagef("--sweep gives %s; the points of the benchmark %s have %s", strings.Join(names, ", "), bm.Plot, strings.Join(bm.XNames, ", "))
	}
	var xs [][]any
	for _, p := range list {
		x := make([]any, len(at))
		for i := range at {
			x[i] = sweptValue(p[at[i]])
		}
		xs = append(xs, x)
	}
	return xs, nil
}

func describeX(names []string, x []any) string {
	p := make(point, len(x))
	for i, v := range x {
		p[i] = table.Text(v)
	}
	return describePoint(names, p)
}

// lines are those of a benchmark while it is measured.
type lines struct {
	bm      *host.Benchmark
	missing []*host.Missing // of each line
	rows    []table.Row
	untimed []string
}

// none reports whether all lines are left out.
func (l *lines) none() bool { return !slices.Contains(l.missing, nil) }

func (l *lines) untime(list []string) {
	for _, what := range list {
		if !slices.Contains(l.untimed, what) {
			l.untimed = append(l.untimed, what)
		}
	}
}

// table has the lines that were measured.
func (l *lines) table() *table.Table {
	bm := l.bm
	t := &table.Table{Title: bm.Plot, X: bm.XNames, XLabel: bm.XLabel, YLabel: bm.YLabel, XLog: bm.XLog, YLog: bm.YLog}
	for i, name := range bm.Lines {
		if l.missing[i] != nil {
			continue
		}
		line := table.Line{Name: name, Unit: bm.YLabel}
		if i < len(bm.Styles) {
			line.Color, line.Style = bm.Styles[i][0], bm.Styles[i][1]
		}
		t.Lines = append(t.Lines, line)
	}
	for _, r := range l.rows {
		row := table.Row{X: r.X}
		for i, c := range r.Y {
			if l.missing[i] == nil {
				row.Y = append(row.Y, c)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// tell says which lines are left out, and what their times leave out.
func (l *lines) tell(b *bencher) {
	for i, m := range l.missing {
		if m == nil {
			continue
		}
		d := *m.Diagnostic
		d.Severity, d.Help, d.Notes = diag.Note, "", nil
		d.Message = fmt.Sprintf("the line '%s' of %s is left out: it needs %s, which is not here", l.bm.Lines[i], l.bm.Plot, m.Name)
		b.env.report.diagnostics(&d)
	}
	if len(l.untimed) > 0 {
		b.env.report.diagnostics(&diag.Diagnostic{
			Severity: diag.Note, Message: fmt.Sprintf("the times of %s leave out %s, which Triton's include", l.bm.Plot, strings.Join(l.untimed, ", ")),
		})
	}
}
