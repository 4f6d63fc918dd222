// Package table holds the results of benchmarks: for each point of a sweep the
// numbers of several lines. It prints them as Triton's perf_report does, writes and
// reads CSV and JSON.
//
// A line is one kernel, configuration or provider under one metric. Numbers that are
// not there are NaN.
//
// It imports Go's own library only.
package table

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Table is one benchmark's results.
type Table struct {
	// Title is the name of the plot.
	Title string
	// X are the names of what changes from row to row.
	X []string
	// Lines are the columns.
	Lines []Line
	Rows  []Row

	// XLabel, YLabel, XLog and YLog are the plot's axes; an empty label is the first
	// of X.
	XLabel, YLabel string
	XLog, YLog     bool
	// Device is where it was measured, and Measure how: "do_bench", say.
	Device, Measure string
}

// Line is a column of numbers, with a band around them where there are Low and High.
type Line struct {
	Name string
	// Unit is that of the metric: "GB/s".
	Unit string
	// Style has a color and a line style by their names in matplotlib; both may be
	// empty.
	Color, Style string
	// More names further columns of the same line, such as quantiles: "q0.2".
	More []string
}

// Header is a line's name with its unit, as perf_report writes it.
func (l *Line) Header() string { return withUnit(l.Name, l.Unit) }

func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// Row is one point.
type Row struct {
	// X are the values of Table.X: an int64, a float64, a bool or a string.
	X []any
	// Y has a cell for each line.
	Y []Cell
}

// Cell is a line's numbers at one point.
type Cell struct {
	Value float64
	// Low and High are the band, NaN without one.
	Low, High float64
	// More are the numbers of Line.More.
	More []float64
}

// Absent is the cell of a line that has nothing at a point.
func Absent() Cell { return Cell{Value: math.NaN(), Low: math.NaN(), High: math.NaN()} }

// Of is a cell of one number.
func Of(v float64) Cell { return Cell{Value: v, Low: math.NaN(), High: math.NaN()} }

// Measured reports whether there is any number.
func (t *Table) Measured() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(r.Y, func(c Cell) bool { return !math.IsNaN(c.Value) })
	})
}

// Text is a value of a row as it is printed.
func Text(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// number is a measured value as it is printed: six decimals, as perf_report has
// them, or six digits where that says nothing.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v != 0 && math.Abs(v) < 1e-3:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}

// columns are the headers and each row's texts, made by text.
func (t *Table) columns(text func(v float64) string) (header []string, rows [][]string) {
	header = slices.Clone(t.X)
	for i := range t.Lines {
		l := &t.Lines[i]
		header = append(header, l.Header())
		for _, m := range l.More {
			header = append(header, withUnit(l.Name+" "+m, l.Unit))
		}
	}
	for _, r := range t.Rows {
		var cells []string
		for _, x := range r.X {
			cells = append(cells, Text(x))
		}
		for i, c := range r.Y {
			cells = append(cells, text(c.Value))
			for m := range t.Lines[i].More {
				v := math.NaN()
				if m < len(c.More) {
					v = c.More[m]
				}
				cells = append(cells, text(v))
			}
		}
		rows = append(rows, cells)
	}
	return header, rows
}

// Write prints the table for people.
func (t *Table) Write(w io.Writer) error {
	header, rows := t.columns(number)
	if t.Title != "" {
		fmt.Fprintf(w, "%s:\n", t.Title)
	}
	widths := make([]int, len(header))
	for _, r := range append([][]string{header}, rows...) {
		for i, text := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	digits := len(strconv.Itoa(max(len(rows)-1, 0)))
	line := func(first string, cells []string) error {
		text := fmt.Sprintf("%-*s", digits, first)
		for i, c := range cells {
			text += fmt.Sprintf("  %*s", widths[i], c)
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	if err := line("", header); err != nil {
		return err
	}
	for i, r := range rows {
		if err := line(strconv.Itoa(i), r); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes one line per point, with the headers of the table that people see;
// a number that is not there is empty.
func (t *Table) WriteCSV(w io.Writer) error {
	header, rows := t.columns(func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	})
	out := csv.NewWriter(w)
	out.Write(header)
	for _, r := range rows {
		out.Write(r)
	}
	out.Flush()
	return out.Error()
}

// The JSON form. Numbers that are not there are null.
type (
	jsonTable struct {
		Title  string     `json:"title"`
		X      []string   `json:"x"`
		XLabel string     `json:"xlabel,omitempty"`
		YLabel string     `json:"ylabel,omitempty"`
		XLog   bool       `json:"x_log,omitempty"`
		YLog   bool       `json:"y_log,omitempty"`
		Device string     `json:"device,omitempty"`
		How    string     `json:"measure,omitempty"`
		Lines  []jsonLine `json:"lines"`
	}
	jsonLine struct {
		Name   string      `json:"name"`
		Unit   string      `json:"unit,omitempty"`
		Points []jsonPoint `json:"points"`
	}
	jsonPoint struct {
		X     []any               `json:"x"`
		Value *float64            `json:"value"`
		Low   *float64            `json:"low,omitempty"`
		High  *float64            `json:"high,omitempty"`
		More  map[string]*float64 `json:"more,omitempty"`
	}
)

func optional(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// list is x, which JSON has as a list when it is empty, too.
func list[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}

func (t *Table) json() jsonTable {
	j := jsonTable{Title: t.Title, X: list(t.X), XLabel: t.XLabel, YLabel: t.YLabel, XLog: t.XLog, YLog: t.YLog, Device: t.Device, How: t.Measure, Lines: []jsonLine{}}
	for i, l := range t.Lines {
		line := jsonLine{Name: l.Name, Unit: l.Unit, Points: []jsonPoint{}}
		for _, r := range t.Rows {
			c := r.Y[i]
			p := jsonPoint{X: list(r.X), Value: optional(c.Value), Low: optional(c.Low), High: optional(c.High)}
			for m, name := range l.More {
				if p.More == nil {
					p.More = map[string]*float64{}
				}
				if m < len(c.More) {
					p.More[name] = optional(c.More[m])
				}
			}
			line.Points = append(line.Points, p)
		}
		j.Lines = append(j.Lines, line)
	}
	return j
}

// WriteJSON writes tables as one JSON array.
func WriteJSON(w io.Writer, tables []*Table) error {
	all := make([]jsonTable, len(tables))
	for i, t := range tables {
		all[i] = t.json()
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(all)
}
