package ncu

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Launch is one launch of a kernel, with its metrics or counters by name.
type Launch struct {
	Kernel string
	// Case tells apart launches of a kernel that are to have rows of their own; ncu
	// does not know it.
	Case        string
	Grid, Block [3]int
	Values      map[string]float64
}

// Name is the case, or else the kernel.
func (l *Launch) Name() string {
	if l.Case != "" {
		return l.Case
	}
	return l.Kernel
}

// Parse reads the output of ncu --csv, of the page "raw", a column a metric, or
// "details", a line a metric. Lines before the table, as ncu writes of its progress,
// are passed over. Launches come in their order.
func Parse(r io.Reader) ([]Launch, error) {
	in := bufio.NewReader(r)
	for {
		head, err := in.Peek(5)
		if err != nil {
			return nil, fmt.Errorf("no table begins with a column \"ID\": %w", err)
		}
		if string(head) == `"ID",` {
			break
		}
		if _, err := in.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("no table begins with a column \"ID\": %w", err)
		}
	}
	table := csv.NewReader(in)
	table.FieldsPerRecord = -1
	names, err := table.Read()
	if err != nil {
		return nil, err
	}
	column := make(map[string]int, len(names))
	for i, n := range names {
		column[n] = i
	}
	for _, n := range []string{"Kernel Name", "Block Size", "Grid Size"} {
		if _, ok := column[n]; !ok {
			return nil, fmt.Errorf("the table has no column %q", n)
		}
	}
	var launches []Launch
	id := ""
	for {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			return launches, nil
		}
		if err != nil {
			return nil, err
		}
		if len(row) != len(names) || row[0] == "" {
			continue // the units of the columns, or ncu's last words
		}
		if row[0] != id {
			id = row[0]
			l := Launch{Kernel: row[column["Kernel Name"]], Values: map[string]float64{}}
			if l.Grid, err = shape(row[column["Grid Size"]]); err != nil {
				return nil, err
			}
			if l.Block, err = shape(row[column["Block Size"]]); err != nil {
				return nil, err
			}
			// Some versions write a kernel with its parameters.
			l.Kernel, _, _ = strings.Cut(l.Kernel, "(")
			launches = append(launches, l)
		}
		values := launches[len(launches)-1].Values
		if at, ok := column["Metric Name"]; ok {
			if v, err := number(row[column["Metric Value"]]); err == nil {
				values[row[at]] = v
			}
			continue
		}
		for i, n := range names {
			if strings.Contains(n, "__") {
				if v, err := number(row[i]); err == nil {
					values[n] = v
				}
			}
		}
	}
}

// number reads a value with commas between thousands.
func number(s string) (float64, error) { return strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64) }

// shape reads a grid or a block: (2, 1, 1).
func shape(s string) (d [3]int, err error) {
	parts := strings.Split(strings.Trim(s, "() "), ",")
	if len(parts) != len(d) {
		return d, fmt.Errorf("%q is not a shape", s)
	}
	for i, p := range parts {
		if d[i], err = strconv.Atoi(strings.TrimSpace(p)); err != nil {
			return d, fmt.Errorf("%q is not a shape", s)
		}
	}
	return d, nil
}
