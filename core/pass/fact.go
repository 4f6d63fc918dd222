package pass

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// Fact is a statement about a module, which holds or does not. Passes name the facts
// that they need before, give after, and break; Check follows these through a
// pipeline, and a Runner checks them on modules.
type Fact struct {
	Name string // "layouts"
	Doc  string // what holds: "every tensor has a layout"
	// Broken finds the first operation of a module at which the fact does not hold,
	// and says why: "the result of tt.load has no layout". It is nil where the fact
	// holds.
	Broken func(module *ir.Operation) (at *ir.Operation, why string)
	// Help says what makes it hold, for users who order passes themselves.
	Help string
	// From lists facts that imply this one.
	From []*Fact
	// Fragile facts are broken by every pass that does not give them.
	Fragile bool
}

// FactSet holds facts that are known to hold. Facts that these imply are not listed.
type FactSet []*Fact

// Has reports whether f is known to hold, itself or by what implies it.
func (s FactSet) Has(f *Fact) bool {
	return slices.Contains(s, f) || slices.ContainsFunc(f.From, s.Has)
}

// through is what is known after a row where s was before.
func (s FactSet) through(r Row) FactSet {
	var out FactSet
	for _, f := range s {
		if !f.Fragile && !slices.ContainsFunc(r.Pass.Breaks, func(b *Fact) bool { return b == f || b.isFrom(f) }) {
			out = append(out, f)
		}
	}
	for _, f := range r.After() {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// isFrom reports whether other implies f.
func (f *Fact) isFrom(other *Fact) bool {
	return slices.ContainsFunc(f.From, func(g *Fact) bool { return g == other || g.isFrom(other) })
}

// Before are the facts that the row needs.
func (r Row) Before() []*Fact { return r.Pass.Before }

// After are the facts that hold after the row: those of its pass, and of the values
// that its options have.
func (r Row) After() []*Fact {
	facts := slices.Clone(r.Pass.After)
	for _, o := range r.Pass.Options {
		v := o.Default
		for _, s := range r.With {
			if s.Name == o.Name {
				v = s.Value
			}
		}
		facts = append(facts, o.After[v]...)
	}
	return facts
}

// Check follows facts through a pipeline of rows, all of which run: what each row
// needs must be given by a row before it, or by the input, and not be broken since. It
// returns what is known of the output.
func Check(rows []Row, input FactSet) (FactSet, error) {
	known := input
	for i, r := range rows {
		for _, f := range r.Before() {
			if known.Has(f) {
				continue
			}
			err := fmt.Errorf("row %d, %s, needs %s (%s), which no row before it gives", i+1, r.Pass.Name, f.Name, f.Doc)
			had := input
			for k, earlier := range rows[:i] {
				next := had.through(earlier)
				if had.Has(f) && !next.Has(f) {
					err = fmt.Errorf("row %d, %s, needs %s (%s), which row %d, %s, breaks", i+1, r.Pass.Name, f.Name, f.Doc, k+1, earlier.Pass.Name)
				}
				had = next
			}
			return nil, err
		}
		known = known.through(r)
	}
	return known, nil
}

// Mentioned lists the facts that rows need, give or break, each once.
func Mentioned(rows []Row) []*Fact {
	var all []*Fact
	for _, r := range rows {
		for _, f := range slices.Concat(r.Before(), r.After(), r.Pass.Breaks) {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// Unmet makes the diagnostic of a module of which who needs a fact that does not hold;
// nil where it holds. The place is what place says of the operation, or, where it is
// nil or says nothing, the operation's own.
func (f *Fact) Unmet(m *ir.Operation, who string, place func(*ir.Operation) diag.Pos) *diag.Diagnostic {
	at, why := f.Broken(m)
	if at == nil {
		return nil
	}
	return diag.Errorf(placeOf(at, place), "%s needs %s: %s", who, f.Doc, why).WithHelp("%s", f.Help)
}

// placeOf is what place says of op, or, where it is nil or says nothing, op's own place.
func placeOf(op *ir.Operation, place func(*ir.Operation) diag.Pos) diag.Pos {
	var pos diag.Pos
	if place != nil {
		pos = place(op)
	}
	if l := ir.FileLocOf(op.Loc()); l != nil && pos.Line == 0 {
		pos = diag.Pos{File: l.File, Line: l.Line, Col: l.Col + 1}
	}
	return pos
}
