package host

import (
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
)

// Mark is a function with benchmarks, as @triton.testing.perf_report makes it.
type Mark struct {
	// Name of the function, or of the variable that has it.
	Name       string
	Benchmarks []*Benchmark

	fn *eval.Function
}

// Benchmark is a triton.testing.Benchmark: the lines of a plot.
type Benchmark struct {
	Plot           string // the plot's name
	XNames         []string
	X              [][]any // for each point a value for each of XNames
	Lines          []string
	Styles         [][2]string // color and line of matplotlib, or nil
	XLabel, YLabel string
	XLog, YLog     bool

	lineArg  string
	lineVals []any
	args     *eval.Dict
}

// benchmarkParams are those of triton.testing.Benchmark.
const benchmarkParams = "x_names x_vals line_arg line_vals line_names plot_name args xlabel ylabel x_log y_log styles"

func newBenchmark(c *call) any {
	text := func(name string) string {
		s, ok := c.args[name]
		if !ok || s == nil {
			return ""
		}
		return eval.Str(s)
	}
	b := &Benchmark{
		Plot: text("plot_name"), XLabel: text("xlabel"), YLabel: text("ylabel"), lineArg: eval.Str(c.need("line_arg")),
		lineVals: eval.Iterate(c.need("line_vals")), args: &eval.Dict{},
	}
	b.XLog, b.YLog = eval.Truth(c.args["x_log"]), eval.Truth(c.args["y_log"])
	for _, v := range eval.Iterate(c.need("x_names")) {
		b.XNames = append(b.XNames, eval.Str(v))
	}
	for _, v := range eval.Iterate(c.need("x_vals")) {
		var point []any
		switch v.(type) {
		case *eval.Tuple, *eval.List:
			point = eval.Iterate(v)
		default:
			for range b.XNames {
				point = append(point, v)
			}
		}
		if len(point) != len(b.XNames) {
			eval.Fail("expected %s, got %s", diag.Count(len(b.XNames), "value"), eval.Repr(v))
		}
		b.X = append(b.X, point)
	}
	for _, v := range eval.Iterate(c.need("line_names")) {
		b.Lines = append(b.Lines, eval.Str(v))
	}
	if len(b.Lines) != len(b.lineVals) {
		eval.Fail("Benchmark() has %s of line_vals and %d line_names", diag.Count(len(b.lineVals), "value"), len(b.Lines))
	}
	if d, ok := c.args["args"].(*eval.Dict); ok {
		b.args = d
	}
	if c.has("styles") {
		for _, v := range eval.Iterate(c.args["styles"]) {
			if s := eval.Iterate(v); len(s) == 2 {
				b.Styles = append(b.Styles, [2]string{eval.Str(s[0]), eval.Str(s[1])})
			}
		}
	}
	return b
}

func perfReport(c *call) any {
	list := []any{c.need("benchmarks")}
	switch v := list[0].(type) {
	case *eval.List, *eval.Tuple:
		list = eval.Iterate(v)
	}
	m := &Mark{}
	for _, v := range list {
		b, ok := v.(*Benchmark)
		if !ok {
			eval.Fail("perf_report() takes a Benchmark or a list of them, not %s", eval.TypeName(v))
		}
		m.Benchmarks = append(m.Benchmarks, b)
	}
	return function("perf_report", "fn", nil, func(c *call) any {
		fn, ok := c.need("fn").(*eval.Function)
		if !ok || fn.Kind != eval.Plain {
			eval.Fail("perf_report() decorates functions, not %s", eval.TypeName(c.args["fn"]))
		}
		marked := *m
		marked.fn, marked.Name = fn, fn.Name()
		return &marked
	})
}

// Attr is run, which the file itself may call; a Program runs marks by Measure.
func (m *Mark) Attr(name string) (any, bool) {
	return function(name, "*args", []string{"show_plots", "print_data", "save_path", "return_df"}, func(*call) any { return nil }), name == "run"
}

// TypeName is Triton's.
func (m *Mark) TypeName() string { return "Mark" }

// TypeName is Triton's.
func (b *Benchmark) TypeName() string { return "Benchmark" }

// perfReportName marks the statements in which marks are made.
const perfReportName = "perf_report"

// Marks returns the file's marked functions in order. A mark that cannot be
// evaluated is an error at its line.
func (p *Program) Marks() ([]*Mark, error) {
	var marks []*Mark
	for _, st := range p.module.File.Tree.Body {
		names := marked(st)
		for _, name := range names {
			var v any
			err := p.try(func() {
				v, _ = p.module.Lookup(name)
				if fn, ok := v.(*eval.Function); ok {
					for _, s := range fn.Skipped {
						if mentions(s.Decorator) {
							panic(s.Failure)
						}
					}
				}
			})
			if err != nil {
				return nil, err
			}
			if m, ok := v.(*Mark); ok {
				one := *m
				one.Name = name
				marks = append(marks, &one)
			}
		}
	}
	return marks, nil
}

// marked are the names that a statement gives to marks.
func marked(st syntax.Stmt) []string {
	switch st := st.(type) {
	case *syntax.FunctionDef:
		for _, d := range st.Decorators {
			if mentions(d) {
				return []string{st.Name}
			}
		}
	case *syntax.Assign:
		if !mentions(st.Value) {
			return nil
		}
		var names []string
		for _, t := range st.Targets {
			if n, ok := t.(*syntax.Name); ok {
				names = append(names, n.ID)
			}
		}
		return names
	}
	return nil
}

// mentions reports whether an expression calls perf_report.
func mentions(e syntax.Expr) (found bool) {
	syntax.Inspect(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Name:
			found = found || n.ID == perfReportName
		case *syntax.Attribute:
			found = found || n.Attr == perfReportName
		}
		return !found
	})
	return found
}

// Point is what a marked function returns for one x and one line. Low and High are
// NaN where it returns one number.
type Point struct {
	Value, Low, High float64
	// Bands says that Low and High are there.
	Bands bool
	// Untimed names what the function measures in Triton and not here.
	Untimed []string
}

// Measure runs a marked function for one point of one of its lines. The error is a
// *Missing if the line needs what is not here, such as torch's own kernels.
func (p *Program) Measure(m *Mark, b *Benchmark, x []any, line int) (Point, error) {
	var point Point
	kept := len(p.owned)
	defer func() { p.release(kept) }()
	p.untimed = nil
	err := p.try(func() {
		var kw []eval.Keyword
		for i, name := range b.XNames {
			kw = append(kw, eval.Keyword{Name: name, Value: x[i]})
		}
		kw = append(kw, eval.Keyword{Name: b.lineArg, Value: b.lineVals[line]})
		for i, k := range b.args.Keys {
			kw = append(kw, eval.Keyword{Name: eval.Str(k), Value: b.args.Values[i]})
		}
		result := eval.Require(p.module.Session.Apply(m.fn, nil, kw))
		values := []any{result}
		switch result.(type) {
		case *eval.Tuple, *eval.List:
			values = eval.Iterate(result)
		}
		if len(values) != 1 && len(values) != 3 {
			eval.Fail("%s() returns %s; it should return one, or three: mean, least and greatest", m.Name, diag.Count(len(values), "value"))
		}
		var numbers [3]float64
		for i, v := range values {
			f, ok := eval.AsFloat(eval.Require(v))
			if !ok {
				eval.Fail("%s() returns %s, not a number", m.Name, eval.TypeName(v))
			}
			numbers[i] = f
		}
		point = Point{Value: numbers[0], Low: numbers[1], High: numbers[2], Bands: len(values) == 3}
	})
	p.recording = nil
	point.Untimed = p.untimed
	return point, err
}

// recording is what a do_bench measures.
type recording struct{ launches []recorded }

type recorded struct {
	name   string
	placed *launch.Placed
}

// doBench is triton.testing.do_bench.
func (p *Program) doBench() any {
	return function("do_bench", "fn warmup rep grad_to_none quantiles return_mode", nil, func(c *call) any {
		opts := p.opts.Bench
		opts.Warmup, opts.Rep = c.milliseconds("warmup", opts.Warmup), c.milliseconds("rep", opts.Rep)
		return p.doBenchOf(c, opts)
	})
}

// doBenchGraph is triton.testing.do_bench_cudagraph.
func (p *Program) doBenchGraph() any {
	return function("do_bench_cudagraph", "fn rep grad_to_none quantiles return_mode", nil, func(c *call) any {
		opts := p.opts.Bench
		opts.Graph, opts.Rep = true, c.milliseconds("rep", 0)
		return p.doBenchOf(c, opts)
	})
}

func (c *call) milliseconds(name string, absent time.Duration) time.Duration {
	if _, ok := c.args[name]; !ok {
		return absent
	}
	return max(time.Duration(c.number(name, 0)*float64(time.Millisecond)), 1)
}

// doBenchOf runs a function once to see what it launches, and then measures each
// launch by itself.
func (p *Program) doBenchOf(c *call, opts bench.Options) any {
	if p.recording != nil {
		eval.Fail("%s() within another one", c.name)
	}
	var times []bench.Times
	func() {
		p.recording = &recording{}
		defer func() { p.recording = nil }()
		result := p.module.Session.Apply(c.need("fn"), nil, nil)
		launches := p.recording.launches
		if len(launches) == 0 {
			eval.Require(result)
			eval.Fail("%s() of a function that launches no kernel", c.name)
		}
		for _, l := range launches {
			t, err := bench.Measure(p.ctx, p.opts.Device, l.placed.Kernel, l.placed.Launch, opts)
			if err != nil {
				p.fail(l.name+"()", err)
			}
			times = append(times, t)
		}
	}()
	return summary(c, times)
}

// summary is what do_bench returns of the times of one launch or of several, which
// add up.
func summary(c *call, times []bench.Times) any {
	sum := func(f func(t bench.Times) time.Duration) any {
		total := time.Duration(0)
		for _, t := range times {
			total += f(t)
		}
		return float64(total) / float64(time.Millisecond)
	}
	if c.has("quantiles") {
		out := &eval.List{}
		for _, v := range eval.Iterate(c.args["quantiles"]) {
			q, ok := eval.AsFloat(v)
			if !ok || q < 0 || q > 1 {
				eval.Fail("Quantiles must be in the range [0, 1]")
			}
			out.Elems = append(out.Elems, sum(func(t bench.Times) time.Duration { return t.Quantile(q) }))
		}
		if len(out.Elems) == 1 {
			return out.Elems[0]
		}
		return out
	}
	mode, ok := c.args["return_mode"]
	if !ok {
		mode = "mean"
	}
	switch mode {
	case "mean":
		return sum(bench.Times.Mean)
	case "median":
		return sum(bench.Times.Median)
	case "min":
		return sum(bench.Times.Min)
	case "max":
		return sum(bench.Times.Max)
	case "all":
		if len(times) != 1 {
			eval.Fail("all times of a function that launches %s", diag.Count(len(times), "kernel"))
		}
		out := &eval.List{}
		for _, t := range times[0] {
			out.Elems = append(out.Elems, float64(t)/float64(time.Millisecond))
		}
		return out
	}
	eval.Fail("%s() has no return_mode %s", c.name, eval.Repr(mode))
	return nil
}

// Plain is a value of a point as Go has it: an int64, a float64, a bool or a string.
func Plain(v any) any {
	switch v := v.(type) {
	case int64, float64, bool, string:
		return v
	}
	return eval.Repr(v)
}
