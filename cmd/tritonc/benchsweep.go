package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// sweep is one --sweep: names that take the same values, one after another.
type sweep struct {
	names  []string
	values []string // as --arg has them
}

// maxPoints bounds a sweep and the product of all.
const maxPoints = 100_000

// parseSweeps reads the sweeps.
func parseSweeps(list []string) ([]sweep, error) {
	var out []sweep
	points := 1
	for _, text := range list {
		s, err := parseSweep(text)
		if err != nil {
			return nil, err
		}
		for _, name := range s.names {
			for _, other := range out {
				if slices.Contains(other.names, name) {
					return nil, usagef("--sweep %s: %s is swept twice", text, name)
				}
			}
		}
		if points *= len(s.values); points > maxPoints {
			return nil, usagef("--sweep %s: more than %s", text, diag.Count(maxPoints, "point"))
		}
		out = append(out, s)
	}
	return out, nil
}

// parseSweep reads NAME=…=VALUES.
func parseSweep(text string) (sweep, error) {
	parts := strings.Split(text, "=")
	var s sweep
	for _, name := range parts[:len(parts)-1] {
		name = strings.TrimSpace(name)
		if identifiers().FindString(name) != name || name == "" || slices.Contains(s.names, name) {
			return s, usagef("--sweep %s is not of the form NAME=VALUES or NAME=NAME=VALUES", text)
		}
		s.names = append(s.names, name)
	}
	values := strings.TrimSpace(parts[len(parts)-1])
	if len(s.names) == 0 || values == "" {
		return s, usagef("--sweep %s is not of the form NAME=VALUES", text).withHelp("for example --sweep n=1024:65536:x2, or --sweep n=100,200,500")
	}
	var err error
	if !strings.Contains(values, ":") {
		s.values = splitList(values)
		return s, nil
	}
	s.values, err = readRange(text, values)
	return s, err
}

// splitList splits at commas that are outside of brackets and quotes.
func splitList(text string) []string {
	var list []string
	depth, from, quote := 0, 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			list, from = append(list, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(list, strings.TrimSpace(text[from:]))
}

// readRange reads FIRST:LAST:xFACTOR and FIRST:LAST:STEP; LAST is included if it is met.
func readRange(flag, text string) ([]string, error) {
	wrong := usagef("--sweep %s: %s is neither FIRST:LAST:xFACTOR nor FIRST:LAST:STEP", flag, text).
		withHelp("for example 256:4096:x2, or 256:4096:256")
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, wrong
	}
	step, times := strings.CutPrefix(strings.TrimSpace(parts[2]), "x")
	var n [3]int64
	for i, part := range []string{parts[0], parts[1], step} {
		var err error
		if n[i], err = strconv.ParseInt(strings.TrimSpace(part), 10, 64); err != nil {
			return nil, wrong
		}
	}
	first, last, by := n[0], n[1], n[2]
	if last < first || by < 1 || times && (by < 2 || first < 1) {
		return nil, usagef("--sweep %s: %s has no end", flag, text).withHelp("FIRST is the least value, and each is greater than the one before")
	}
	var list []string
	for v := first; v <= last; {
		if len(list) == maxPoints {
			return nil, usagef("--sweep %s: more than %s", flag, diag.Count(maxPoints, "point"))
		}
		list = append(list, strconv.FormatInt(v, 10))
		next := v + by
		if times {
			next = v * by
		}
		if next <= v || times && next/by != v {
			break // beyond 64 bits
		}
		v = next
	}
	return list, nil
}

// point is one combination of the sweeps' values.
type point []string // of names, in order

// points are all combinations; the last sweep changes fastest.
func points(sweeps []sweep) (names []string, list []point) {
	list = []point{nil}
	for _, s := range sweeps {
		names = append(names, s.names...)
		var next []point
		for _, p := range list {
			for _, v := range s.values {
				q := slices.Clone(p)
				for range s.names {
					q = append(q, v)
				}
				next = append(next, q)
			}
		}
		list = next
	}
	return names, list
}

// metric is one --metric.
type metric struct{ unit, formula string }

// inMilliseconds is the metric where none is given.
var inMilliseconds = metric{"ms", "time*1e3"}

func parseMetrics(list []string) ([]metric, error) {
	if len(list) == 0 {
		return []metric{inMilliseconds}, nil
	}
	var out []metric
	for _, text := range list {
		if text == inMilliseconds.unit {
			out = append(out, inMilliseconds)
			continue
		}
		unit, formula, err := pair("--metric", text, "FORMULA")
		if err != nil {
			return nil, err
		}
		if _, err := calc.Parse(formula); err != nil {
			return nil, usagef("--metric %s: %v", text, err)
		}
		if slices.ContainsFunc(out, func(m metric) bool { return m.unit == unit }) {
			return nil, usagef("--metric %s is given twice", unit)
		}
		out = append(out, metric{unit, formula})
	}
	return out, nil
}

// quantile is one of --quantiles.
type quantile struct {
	name string
	of   func(t bench.Times) float64 // seconds
}

func parseQuantiles(text string) ([]quantile, error) {
	var out []quantile
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		q := quantile{name: part}
		switch part {
		case "mean":
			q.of = func(t bench.Times) float64 { return t.Mean().Seconds() }
		case "min":
			q.of = func(t bench.Times) float64 { return t.Min().Seconds() }
		case "max":
			q.of = func(t bench.Times) float64 { return t.Max().Seconds() }
		default:
			v, err := strconv.ParseFloat(part, 64)
			if err != nil || !(v >= 0 && v <= 1) || math.IsNaN(v) {
				return nil, usagef("--quantiles %s: %q is neither a number from 0 to 1 nor mean, min or max", text, part)
			}
			q.name = "q" + part
			q.of = func(t bench.Times) float64 { return t.Quantile(v).Seconds() }
		}
		if slices.ContainsFunc(out, func(o quantile) bool { return o.name == q.name }) {
			return nil, usagef("--quantiles %s: %s is there twice", text, part)
		}
		out = append(out, q)
	}
	return out, nil
}

// baseline is a file of lines that were measured before.
type baseline struct {
	path string
	text []byte
}
