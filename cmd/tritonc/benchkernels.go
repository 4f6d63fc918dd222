package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/bench/table"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/launch/calc"
	"github.com/tritonc/tritonc/driver/tune"
)

// sweptOptions are the options that --sweep may name.
var sweptOptions = []string{"num_warps", "num_stages", "num_ctas", "maxnreg"}

// subject is a kernel that is measured: one in one configuration, or in all.
type subject struct {
	label  string
	src    *core.Source
	kernel string
	config string // a number, or "" for the fastest
	info   *frontend.KernelInfo
}

// kernels measures kernels at each point of the sweeps.
func (b *bencher) kernels(ctx context.Context, files []string) error {
	subjects, err := b.subjects(ctx, files)
	if err != nil {
		return err
	}
	if b.flags.use != "" {
		if b.flags.times, err = readTimes(b.env.dir, b.flags.use, false); err != nil {
			return err
		}
	}
	names, list := points(b.sweeps)
	t := &table.Table{Title: titleOf(files, b.flags.names()), X: names}
	for _, s := range subjects {
		for _, m := range b.metrics {
			l := table.Line{Name: s.label, Unit: m.unit}
			for _, q := range b.quantiles[1:] {
				l.More = append(l.More, q.name)
			}
			t.Lines = append(t.Lines, l)
		}
	}
	if len(b.metrics) == 1 {
		t.YLabel = b.metrics[0].unit
	}
	t.XLog = logarithmic(b.sweeps)
	b.tables = append(b.tables, t)
	stop := b.bar.start(b.env.report.screen(), len(list)*len(subjects))
	defer stop()
	failed := errorList{}
	var arrays arrayMemo
	for _, p := range list {
		arrays.turn()
		row := table.Row{}
		for _, v := range p {
			row.X = append(row.X, sweptValue(v))
		}
		for _, s := range subjects {
			b.bar.next(s.label + " " + describePoint(names, p))
			cells, err := b.measure(ctx, s, names, p, &arrays)
			var usage *usageError
			switch {
			case ctx.Err() != nil:
				if len(row.Y) > 0 {
					t.Rows = append(t.Rows, filled(row, len(t.Lines)))
				}
				return ctx.Err()
			case errors.As(err, &usage):
				return err
			case err != nil:
				failed = append(failed, err)
				for range b.metrics {
					cells = append(cells, table.Absent())
				}
			}
			row.Y = append(row.Y, cells...)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// filled is a row that ends early, with cells that are absent.
func filled(r table.Row, n int) table.Row {
	for len(r.Y) < n {
		r.Y = append(r.Y, table.Absent())
	}
	return r
}

// titleOf names a table after the only kernel or file that it is about.
func titleOf(files, names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	if len(files) == 1 {
		return strings.TrimSuffix(filepath.Base(files[0]), ".py")
	}
	return ""
}

// logarithmic reports whether the first sweep goes by factors.
func logarithmic(sweeps []sweep) bool {
	if len(sweeps) == 0 || len(sweeps[0].values) < 3 {
		return false
	}
	v := make([]float64, 3)
	for i := range v {
		var err error
		if v[i], err = strconv.ParseFloat(sweeps[0].values[i], 64); err != nil || v[i] <= 0 {
			return false
		}
	}
	return v[2]-v[1] > v[1]-v[0] && v[1]*v[1] == v[0]*v[2]
}

// sweptValue is a value of a sweep as tables have it.
func sweptValue(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}

func describePoint(names []string, p point) string {
	parts := make([]string, len(p))
	for i, v := range p {
		parts[i] = names[i] + "=" + v
	}
	return strings.Join(parts, " ")
}

// subjects are the kernels of the files, each in each configuration that --config
// lists.
func (b *bencher) subjects(ctx context.Context, files []string) ([]*subject, error) {
	f := b.flags
	names := f.names()
	if len(names) == 0 {
		names = []string{""}
	}
	var list []*subject
	for _, file := range files {
		src, err := b.source(file)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			s := &subject{src: src, kernel: name, label: name}
			if !src.IsPython() {
				if name != "" || f.config != "" {
					return nil, usagef("-n and --config are for Python files; %s has one kernel", src.Path)
				}
				s.label = filepath.Base(src.Path)
				list = append(list, s)
				continue
			}
			if s.info, err = launch.Info(ctx, src, b.req.target, &b.req.opts, name); err != nil {
				return nil, err
			}
			s.label, s.kernel = s.info.Name, s.info.Name
			configs, err := f.configurations(len(s.info.Configs))
			if err != nil {
				return nil, err
			}
			for _, c := range configs {
				one := *s
				if one.config = c; c != "" && len(configs) > 1 {
					one.label += "#" + c
				}
				list = append(list, &one)
			}
		}
	}
	tellApart(list)
	return list, nil
}

// tellApart adds the file's name to labels that several subjects have.
func tellApart(list []*subject) {
	count := map[string]int{}
	for _, s := range list {
		count[s.label]++
	}
	for _, s := range list {
		if count[s.label] > 1 {
			s.label = strings.TrimSuffix(filepath.Base(s.src.Path), ".py") + ":" + s.label
		}
	}
}

// source reads a file, without a configuration or a kernel chosen.
func (b *bencher) source(file string) (*core.Source, error) {
	one := b.flags.runFlags
	one.config, one.kernel = "", ""
	return one.source(b.env, file, b.req)
}

// measure measures a subject at a point: a cell for each metric. Of an autotuned
// kernel that is in the configuration of --use, or the fastest.
func (b *bencher) measure(ctx context.Context, s *subject, names []string, p point, arrays *arrayMemo) ([]table.Cell, error) {
	at := b.at(s, names, p, arrays)
	if s.config == "" && s.info != nil && (len(s.info.Configs) > 1 || b.flags.times.Has(s.kernel)) {
		if err := b.choose(ctx, at, names, p); err != nil {
			return nil, err
		}
	}
	m, err := b.once(ctx, at)
	if err != nil {
		return nil, err
	}
	return b.cells(m)
}

// benchPoint is a subject at a point: the flags of a run that would launch it.
type benchPoint struct {
	subject *subject
	flags   runFlags
	req     request
	src     core.Source
}

func (b *bencher) at(s *subject, names []string, p point, arrays *arrayMemo) *benchPoint {
	at := &benchPoint{subject: s, flags: b.flags.runFlags, req: *b.req, src: *s.src}
	at.flags.kernel, at.flags.config, at.flags.memo = s.kernel, s.config, arrays
	at.src.Config = s.config
	at.req.opts.Values = maps.Clone(b.req.opts.Values)
	at.flags.args = nil
	for _, a := range b.flags.args {
		if name, _, _ := strings.Cut(a, "="); !slices.Contains(names, strings.TrimSpace(name)) {
			at.flags.args = append(at.flags.args, a)
		}
	}
	for i, name := range names {
		if slices.Contains(sweptOptions, name) && (s.info == nil || !slices.ContainsFunc(s.info.Params, func(p frontend.ParamInfo) bool { return p.Name == name })) {
			at.req.opts.Values[name] = p[i]
			continue
		}
		at.flags.args = append(at.flags.args, name+"="+p[i])
	}
	return at
}

// choose decides for one of an autotuned kernel's configurations.
func (b *bencher) choose(ctx context.Context, at *benchPoint, names []string, p point) error {
	s := at.subject
	if at.flags.use != "" {
		if err := at.flags.useConfigs(ctx, b.env, &at.src, &at.req); err != nil {
			return err
		}
	}
	vals, err := at.flags.arguments(ctx, &at.src, &at.req)
	if err != nil {
		return err
	}
	if at.flags.use != "" {
		if err := at.flags.ofRun(ctx, b.env, &at.src, &at.req, vals, b.dev); err != nil {
			return err
		}
		at.flags.config = at.src.Config
		return nil
	}
	if !vals.lacks(s.info.Configs[0].Constants) {
		return nil // the arguments give all that configurations would
	}
	t := &tuning{env: b.env, flags: &tuneFlags{runFlags: at.flags}, src: &at.src, req: &at.req}
	result, err := tune.Run(ctx, tune.Options{
		Source: &at.src, Kernel: s.kernel, Target: at.req.target, Options: at.req.opts, Device: b.dev,
		Args: func(config *frontend.ConfigInfo) ([]launch.Arg, error) { return t.args(ctx, config) },
		Grid: t.grid, Bench: b.flags.options(), ArgFlag: "--arg",
	})
	if err != nil {
		return explainArg(err)
	}
	n := result.Best.Number
	at.src.Config = strconv.Itoa(n)
	at.flags.config, at.flags.picked = at.src.Config, result.Best
	where := describePoint(names, p)
	if where != "" {
		where = " at " + where
	}
	b.bar.note(b.env.report, "%s%s: configuration %d of %d is the fastest (%s)", s.label, where, n, result.Configs, result.Best.Text)
	return nil
}

// lacks reports whether an argument is missing for some constant, or there is none.
func (v *values) lacks(constants map[string]any) bool {
	for name := range constants {
		if v.find(name) == nil {
			return true
		}
	}
	return len(constants) == 0
}

// measured is a launch that was measured.
type measured struct {
	vals    *values
	options map[string]any // that it was compiled with
	times   bench.Times
}

// once measures a launch.
func (b *bencher) once(ctx context.Context, at *benchPoint) (*measured, error) {
	flags, src, req := &at.flags, &at.src, &at.req
	vals, err := flags.arguments(ctx, src, req)
	if err != nil {
		return nil, err
	}
	texts := []string{flags.grid}
	for _, m := range b.metrics {
		texts = append(texts, m.formula)
	}
	prepared, err := launch.Prepare(ctx, launch.Request{
		Source: src, Kernel: at.subject.kernel, Args: vals.list(texts...), Target: req.target, Options: req.opts, Device: b.dev,
		ArgFlag: "--arg", ConfigFlag: "--config",
	})
	if err != nil {
		return nil, explainArg(err)
	}
	defer prepared.Release()
	vals.known = prepared.Known
	grid, err := vals.grid(flags.grid)
	if err != nil {
		return nil, err
	}
	kernel, err := prepared.Compile(ctx, b.dev)
	if err != nil {
		return nil, explainArg(err)
	}
	b.env.report.diagnostics(kernel.Compiled.Warnings...)
	placed, err := kernel.Place(grid, nil)
	if err != nil {
		return nil, explainArg(err)
	}
	defer placed.Free()
	times, err := bench.Measure(ctx, b.dev, placed.Kernel, placed.Launch, b.flags.options())
	if err != nil {
		return nil, (&runner{env: b.env, src: src}).explain(explainTimer(err))
	}
	m := &measured{vals: vals, times: times}
	return m, json.Unmarshal(kernel.Compiled.Metadata, &m.options)
}

// cells evaluates the metrics of a measurement.
func (b *bencher) cells(m *measured) ([]table.Cell, error) {
	var cells []table.Cell
	for _, metric := range b.metrics {
		cell := table.Absent()
		for i, q := range b.quantiles {
			v, err := m.evaluate(metric, q.of(m.times))
			if err != nil {
				return nil, err
			}
			if i == 0 {
				cell.Value = v
				continue
			}
			cell.More = append(cell.More, v)
		}
		if len(cell.More) > 1 {
			cell.Low, cell.High = slices.Min(cell.More), slices.Max(cell.More)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// evaluate computes a metric of a time.
func (m *measured) evaluate(metric metric, seconds float64) (float64, error) {
	v, err := calc.Eval(metric.formula, func(name string) (any, bool, error) {
		v, ok, err := m.vals.scope(name)
		switch {
		case ok || err != nil:
			return v, ok, err
		case name == "time":
			return seconds, true, nil
		case name == "bytes":
			return m.vals.bytes(), true, nil
		}
		if v, ok := m.options[name].(float64); ok && slices.Contains(sweptOptions, name) {
			return int64(v), true, nil
		}
		return nil, false, nil
	})
	if err != nil {
		usage := usagef("--metric %s=%s: %v", metric.unit, metric.formula, err)
		var unknown *calc.UnknownName
		if errors.As(err, &unknown) {
			usage.help = m.vals.names() + ", time and bytes"
		}
		return 0, usage
	}
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return math.NaN(), usagef("--metric %s=%s: it gives an array, not a number", metric.unit, metric.formula)
}

// bytes is the size of all arguments with memory.
func (v *values) bytes() int64 {
	total := int64(0)
	for _, a := range v.args {
		if x, ok := a.value.(*array.Array); ok {
			total += int64(len(x.Data))
		}
	}
	return total
}
