package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Read reads tables that were written as JSON or CSV, by this package or, CSV, by
// Triton's perf_report. x are the names that a CSV's columns of points have; the
// others are lines. A CSV without one of them is an error.
func Read(text []byte, x []string) ([]*Table, error) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '[' {
		return readJSON(text)
	}
	t, err := readCSV(text, x)
	if err != nil {
		return nil, err
	}
	return []*Table{t}, nil
}

func readJSON(text []byte) ([]*Table, error) {
	var list []jsonTable
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var out []*Table
	for _, j := range list {
		t := &Table{Title: j.Title, X: j.X, XLabel: j.XLabel, YLabel: j.YLabel, XLog: j.XLog, YLog: j.YLog, Device: j.Device, Measure: j.How}
		for i, l := range j.Lines {
			line := Line{Name: l.Name, Unit: l.Unit}
			for _, p := range l.Points {
				if len(p.X) != len(j.X) {
					return nil, fmt.Errorf("a point of %s has the values %v for %s", l.Name, p.X, strings.Join(j.X, ", "))
				}
				cell := Absent()
				for at, v := range map[*float64]*float64{&cell.Value: p.Value, &cell.Low: p.Low, &cell.High: p.High} {
					if v != nil {
						*at = *v
					}
				}
				t.put(p.X, i, cell)
			}
			t.Lines = append(t.Lines, line)
		}
		for i := range t.Rows {
			for len(t.Rows[i].Y) < len(t.Lines) {
				t.Rows[i].Y = append(t.Rows[i].Y, Absent())
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// put enters a cell of a line at a point.
func (t *Table) put(x []any, line int, c Cell) {
	i := t.row(x)
	if i < 0 {
		i = len(t.Rows)
		t.Rows = append(t.Rows, Row{X: x})
	}
	for len(t.Rows[i].Y) <= line {
		t.Rows[i].Y = append(t.Rows[i].Y, Absent())
	}
	t.Rows[i].Y[line] = c
}

// row is the number of the row of a point, or -1.
func (t *Table) row(x []any) int {
	return slices.IndexFunc(t.Rows, func(r Row) bool { return slices.EqualFunc(r.X, x, same) })
}

// same compares values of points: numbers as numbers, others by their text.
func same(a, b any) bool {
	x, err1 := strconv.ParseFloat(Text(a), 64)
	y, err2 := strconv.ParseFloat(Text(b), 64)
	if err1 == nil && err2 == nil {
		return x == y
	}
	return Text(a) == Text(b)
}

func readCSV(text []byte, x []string) (*Table, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, errors.New("it is empty")
	}
	t := &Table{X: x}
	at := make([]int, len(x))
	for i, name := range x {
		if at[i] = slices.Index(records[0], name); at[i] < 0 {
			return nil, fmt.Errorf("it has no column %s; its columns are %s", name, strings.Join(records[0], ", "))
		}
	}
	var lines []int
	for i, header := range records[0] {
		if slices.Contains(at, i) || header == "" {
			continue
		}
		l := Line{Name: header}
		if name, unit, ok := strings.Cut(header, " ("); ok && strings.HasSuffix(unit, ")") {
			l = Line{Name: name, Unit: strings.TrimSuffix(unit, ")")}
		}
		t.Lines, lines = append(t.Lines, l), append(lines, i)
	}
	for n, record := range records[1:] {
		r := Row{}
		for _, i := range at {
			r.X = append(r.X, value(record[i]))
		}
		for _, i := range lines {
			v := math.NaN()
			if record[i] != "" {
				if v, err = strconv.ParseFloat(record[i], 64); err != nil {
					return nil, fmt.Errorf("line %d: %q in the column %s is not a number", n+2, record[i], records[0][i])
				}
			}
			r.Y = append(r.Y, Of(v))
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// value is a point's value of its text.
func value(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if n := int64(f); float64(n) == f {
			return n // a size that pandas has written
		}
		return f
	}
	return text
}

// Join adds the lines of another table, where they have the same points.
func (t *Table) Join(o *Table) error {
	for _, name := range t.X {
		if !slices.Contains(o.X, name) {
			return fmt.Errorf("it has no %s; its points have %s", name, strings.Join(o.X, ", "))
		}
	}
	for i, l := range o.Lines {
		l.More = nil
		t.Lines = append(t.Lines, l)
		for n := range t.Rows {
			t.Rows[n].Y = append(t.Rows[n].Y, o.at(t, n, i))
		}
	}
	return nil
}

// at is the cell of a line of o at a point of t.
func (o *Table) at(t *Table, row, line int) Cell {
	x := make([]any, len(o.X))
	for i, name := range o.X {
		if at := slices.Index(t.X, name); at >= 0 {
			x[i] = t.Rows[row].X[at]
		}
	}
	if i := o.row(x); i >= 0 {
		c := o.Rows[i].Y[line]
		c.More = nil
		return c
	}
	return Absent()
}
