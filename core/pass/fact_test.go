package pass

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// has makes a fact that holds of modules with an attribute.
func has(name string, from ...*Fact) *Fact {
	return &Fact{
		Name: name, Doc: "a module with " + name, Help: "a pass gives " + name, From: from,
		Broken: func(m *ir.Operation) (*ir.Operation, string) {
			if m.HasAttr(name) {
				return nil, ""
			}
			return m, "it lacks " + name
		},
	}
}

// sets makes a pass that gives the module an attribute; without takes one away.
func sets(name, attr string) *Pass {
	return &Pass{Name: name, Run: func(r *Run) error { r.Module.SetAttr(attr, r.Module.Context().Unit()); return nil }}
}

func without(name, attr string) *Pass {
	return &Pass{Name: name, Run: func(r *Run) error { r.Module.SetAttr(attr, nil); return nil }}
}

func TestCheck(t *testing.T) {
	base := has("base")
	wide := has("wide", base) // base implies it
	fresh := &Fact{Name: "fresh", Doc: "a fresh module", Fragile: true}
	gives := &Pass{Name: "gives", After: []*Fact{base}}
	needs := &Pass{Name: "needs", Before: []*Fact{wide}}
	breaks := &Pass{Name: "breaks", Breaks: []*Fact{wide}}
	other := &Pass{Name: "other"}
	freshens := &Pass{Name: "freshens", After: []*Fact{fresh}}
	wantsFresh := &Pass{Name: "wants-fresh", Before: []*Fact{fresh}}
	optional := &Pass{Name: "optional", Options: []Option{{Name: "keep", Default: "none", After: map[any][]*Fact{"none": {base}}}}}
	for _, test := range []struct {
		rows  []Row
		input FactSet
		want  string
	}{
		{[]Row{{Pass: gives}, {Pass: other}, {Pass: needs}}, nil, ""},
		{[]Row{{Pass: needs}}, FactSet{base}, ""},
		{[]Row{{Pass: other}, {Pass: needs}, {Pass: gives}}, nil, "row 2, needs, needs wide (a module with wide), which no row before it gives"},
		// What breaks a fact breaks what implies it.
		{[]Row{{Pass: gives}, {Pass: breaks}, {Pass: other}, {Pass: needs}}, nil, "row 4, needs, needs wide (a module with wide), which row 2, breaks, breaks"},
		{[]Row{{Pass: gives}, {Pass: breaks}, {Pass: gives}, {Pass: needs}}, nil, ""},
		{[]Row{{Pass: freshens}, {Pass: wantsFresh}}, nil, ""},
		{[]Row{{Pass: freshens}, {Pass: other}, {Pass: wantsFresh}}, nil, "row 3, wants-fresh, needs fresh (a fresh module), which row 2, other, breaks"},
		{[]Row{{Pass: optional}, {Pass: needs}}, nil, ""},
		{[]Row{{Pass: optional, With: []Setting{{"keep", "all"}}}, {Pass: needs}}, nil, "row 2, needs, needs wide (a module with wide), which no row before it gives"},
	} {
		_, err := Check(test.rows, test.input)
		if got := errorText(err); got != test.want {
			t.Errorf("%s: %q, want %q", Format(test.rows), got, test.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A module of which a pass needs more is the mistake of who ordered the passes, if the
// runner checks needs; the text says where and what to do.
func TestNeeds(t *testing.T) {
	needs := &Pass{Name: "needs", Before: []*Fact{has("x")}, Run: func(*Run) error { return nil }}
	rows := []Row{{Pass: needs}}
	if _, err := (&Runner{}).Run(module(), rows, nil); err != nil {
		t.Errorf("unasked: %v", err)
	}
	place := func(*ir.Operation) diag.Pos { return diag.Pos{File: "k.mlir", Line: 3, Col: 5} }
	_, err := (&Runner{CheckNeeds: true, Place: place}).Run(module(), rows, nil)
	var d *diag.Diagnostic
	if !errors.As(err, &d) || d.Message != "pass needs needs a module with x: it lacks x" || d.Help != "a pass gives x" || d.Pos.Line != 3 {
		t.Errorf("got %v", err)
	}
	if _, err := (&Runner{CheckNeeds: true}).Run(module(), []Row{{Pass: sets("sets", "x")}, {Pass: needs}}, nil); err != nil {
		t.Errorf("with x: %v", err)
	}
}

// A pass that does not give what it says, or breaks a fact and does not say so, is a
// bug that VerifyEach finds, in that pass.
func TestMutants(t *testing.T) {
	x := has("x")
	liar := &Pass{Name: "liar", After: []*Fact{x}, Run: func(*Run) error { return nil }}
	silent := without("silent", "x")
	honest := without("honest", "x")
	honest.Breaks = []*Fact{x}
	gives := sets("gives", "x")
	gives.After = []*Fact{x}
	for _, test := range []struct {
		rows []Row
		want string
	}{
		{[]Row{{Pass: gives}, {Pass: honest}, {Pass: gives}}, ""},
		{[]Row{{Pass: liar}}, "BUG: pass liar: after it, x no longer holds (a module with x): it lacks x"},
		{[]Row{{Pass: gives}, {Pass: silent}, {Pass: gives}}, "BUG: pass silent: after it, x no longer holds (a module with x): it lacks x"},
	} {
		_, err := (&Runner{VerifyEach: true, Print: func(*ir.Operation) string { return "text" }}).Run(module(), test.rows, nil)
		var c *Crash
		if got := errorText(err); got != test.want || err != nil && !errors.As(err, &c) {
			t.Errorf("%s: %q, want %q", Format(test.rows), got, test.want)
		}
		if c != nil && !strings.HasPrefix(c.Reproducer, "// tritonc opt --verify-each --passes '"+c.Pass+"'") {
			t.Errorf("%s: reproducer %q", Format(test.rows), c.Reproducer)
		}
		if _, err := (&Runner{}).Run(module(), test.rows, nil); err != nil {
			t.Errorf("%s, unverified: %v", Format(test.rows), err)
		}
	}
}
