package ptxforms

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed testdata/h200.tsv
var ranText []byte

//go:embed testdata/unrun.tsv
var unrunText []byte

// Code says which assembler makes a form's machine code.
type Code string

const (
	// Cubin is machine code that ptxas made here for the GPU's own target.
	Cubin Code = "cubin"
	// PTX is text of an older target, which the GPU's driver compiles.
	PTX Code = "ptx"
)

// CodeOn is what a GPU of compute capability 9.0 gets of a kernel for a target, and
// false of one that it does not run.
func CodeOn(target string) (Code, bool) {
	arch, ok := strings.CutPrefix(target, "cuda:")
	switch {
	case !ok || len(arch) != 2: // 100 and later
		return "", false
	case arch == "90":
		return Cubin, true
	}
	return PTX, arch < "90"
}

// Row says of one form that it ran: by which code, in which test, when.
type Row struct {
	Code             Code
	Form, Test, Date string
}

// A List is rows by code and form.
type List map[Code]map[string]Row

// Add adds a row unless its form is there, and reports whether it was not.
func (l List) Add(r Row) bool {
	if _, known := l[r.Code][r.Form]; known {
		return false
	}
	if l[r.Code] == nil {
		l[r.Code] = map[string]Row{}
	}
	l[r.Code][r.Form] = r
	return true
}

// Has reports whether a form is listed.
func (l List) Has(code Code, form string) bool {
	_, ok := l[code][form]
	return ok
}

// Parse reads a list: lines of code, form, test and date with tabs between; those
// that begin with # are comments.
func Parse(name string, text []byte) (List, error) {
	l := List{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || Code(f[0]) != Cubin && Code(f[0]) != PTX {
			return nil, fmt.Errorf("%s:%d: not of the form \"cubin|ptx TAB form TAB test TAB date\"", name, number)
		}
		if !l.Add(Row{Code(f[0]), f[1], f[2], f[3]}) {
			return nil, fmt.Errorf("%s:%d: %s is listed twice", name, number, f[1])
		}
	}
	return l, nil
}

// Format is the text of a list, sorted.
func (l List) Format() []byte {
	var rows []Row
	for _, forms := range l {
		for _, r := range forms {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, compare)
	var b bytes.Buffer
	b.WriteString("# code\tform\ttest\tdate\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", r.Code, r.Form, r.Test, r.Date)
	}
	return b.Bytes()
}

// compare orders rows by code and opcode.
func compare(a, b Row) int {
	opcode := func(r Row) string { return strings.TrimPrefix(r.Form, "@ ") }
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(opcode(a), opcode(b)), cmp.Compare(a.Form, b.Form))
}

// Known are the lists of this package: the forms that ran, and those that did not,
// with the reason in the place of the test.
func Known() (ran, unrun List, err error) {
	if ran, err = Parse("internal/ptxforms/testdata/h200.tsv", ranText); err != nil {
		return nil, nil, err
	}
	unrun, err = Parse("internal/ptxforms/testdata/unrun.tsv", unrunText)
	return ran, unrun, err
}

// Missing are the forms of a text that neither list has, once each; none of a
// target that an H200 does not run.
func Missing(name string, text []byte, lists ...List) ([]Row, error) {
	target, uses, err := Read(name, text)
	if err != nil {
		return nil, err
	}
	code, ok := CodeOn(target)
	if !ok {
		return nil, nil
	}
	missing := List{}
	var rows []Row
	for _, u := range uses {
		known := slices.ContainsFunc(lists, func(l List) bool { return l.Has(code, u.Form) })
		if r := (Row{Code: code, Form: u.Form, Test: name}); !known && missing.Add(r) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}
