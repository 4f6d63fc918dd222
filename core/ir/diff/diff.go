package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/tritonc/tritonc/core/ir"
)

// Modules returns a unified diff of the normal forms of a and b, labelled with
// the given names; empty when they are equal. Values of b have the numbers of
// those of a that they correspond to, and others are numbered %b0, %b1, ….
func Modules(aName string, a *ir.Operation, bName string, b *ir.Operation) string {
	la, lb := normalLines(a), normalLines(b)
	own := number("%")
	aText, bText := render(la, own), render(lb, own)
	if aText == bText {
		return ""
	}
	return Texts(aName, aText, bName, render(lb, shared(la, lb)))
}

// Texts returns a unified diff of two normal forms; empty when they are equal.
func Texts(aName, a, bName, b string) string {
	if a == b {
		return ""
	}
	return string(diff.Diff(aName, []byte(a), bName, []byte(b)))
}

// Normal is the normal form of a module as text, a line an operation: values
// are numbered in order of definition, constants are where they are used, and
// functions other than public ones are numbered.
func Normal(module *ir.Operation) string { return render(normalLines(module), number("%")) }

func render(lines []line, name func(id int) string) string {
	var b strings.Builder
	for i := range lines {
		lines[i].write(&b, name)
	}
	return b.String()
}

// number names values by their ids.
func number(prefix string) func(int) string {
	return func(id int) string { return fmt.Sprintf("%s%d", prefix, id) }
}

// shared names the values of b: those that lines define which are in a, too,
// as there, the others in their own order.
func shared(a, b []line) func(int) string {
	names := make(map[int]string)
	for _, m := range align(a, b) {
		from, to := a[m[0]].defs, b[m[1]].defs
		for i, id := range to {
			names[id] = fmt.Sprintf("%%%d", from[i])
		}
	}
	fresh := 0
	for _, l := range b {
		for _, id := range l.defs {
			if names[id] == "" {
				names[id] = fmt.Sprintf("%%b%d", fresh)
				fresh++
			}
		}
	}
	return func(id int) string { return names[id] }
}

// align returns pairs of lines that correspond, in order. First come lines that
// say the same apart from the numbers of values; between those, lines with the
// same operation; and between those, where as many lines are on both sides,
// lines whose results have the same types. The lines of a pair define the same
// number of values.
func align(a, b []line) [][2]int {
	pairs := matches(keys(a, (*line).said), keys(b, (*line).said))
	pairs = fill(pairs, keys(a, (*line).named), keys(b, (*line).named), false)
	return fill(pairs, keys(a, (*line).typed), keys(b, (*line).typed), true)
}

func keys(lines []line, key func(*line) string) []string {
	list := make([]string, len(lines))
	for i := range lines {
		list[i] = key(&lines[i])
	}
	return list
}

// said is all of a line but the numbers of values.
func (l *line) said() string {
	var b strings.Builder
	l.write(&b, func(int) string { return "%" })
	return b.String()
}

// named is the operation, its place and how many values it defines.
func (l *line) named() string { return fmt.Sprint(l.depth, l.block, l.head, len(l.defs)) }

// typed is the operation's place and the types of what it defines.
func (l *line) typed() string { return fmt.Sprint(l.depth, l.block, strings.Join(l.types, ", ")) }

// fill adds matches of the lines that come between pairs; with even, only where
// their number is the same on both sides.
func fill(pairs [][2]int, a, b []string, even bool) [][2]int {
	var all [][2]int
	x, y := 0, 0
	for _, end := range append(slices.Clip(pairs), [2]int{len(a), len(b)}) {
		n, m := end[0]-x, end[1]-y
		if n > 0 && m > 0 && (n == m || !even) {
			for _, p := range matches(a[x:end[0]], b[y:end[1]]) {
				all = append(all, [2]int{x + p[0], y + p[1]})
			}
		}
		all = append(all, end)
		x, y = end[0]+1, end[1]+1
	}
	return all[:len(all)-1]
}
