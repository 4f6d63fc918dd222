package promtext

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The kinds of families.
const (
	Counter = "counter" // only grows while the process lives
	Gauge   = "gauge"
)

// Text is what a process tells at once. The names of all its families begin alike.
type Text struct {
	prefix string
	b      strings.Builder
}

// New returns a Text without families.
func New(prefix string) *Text { return &Text{prefix: prefix} }

// Family begins figures that have one name and differ by labels.
func (t *Text) Family(name, kind, help string) {
	fmt.Fprintf(&t.b, "# HELP %s%s %s\n# TYPE %s%s %s\n", t.prefix, name, help, t.prefix, name, kind)
}

// Value is one figure of the family that began last, under labels such as {stage="ptx"}.
func (t *Text) Value(name, labels string, value float64) {
	fmt.Fprintf(&t.b, "%s%s%s %s\n", t.prefix, name, labels, strconv.FormatFloat(value, 'f', -1, 64))
}

// One is a family of one figure without labels.
func (t *Text) One(name, kind, help string, value float64) {
	t.Family(name, kind, help)
	t.Value(name, "", value)
}

// WriteTo implements io.WriterTo.
func (t *Text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, t.b.String())
	return int64(n), err
}
