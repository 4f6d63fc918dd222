package pass

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// Pass transforms a module.
type Pass struct {
	Name    string // as in Triton: "tritongpu-coalesce"
	Doc     string // one line
	Options []Option
	// Example shows what the pass does: a txtar archive with a sentence, a module
	// (in.mlir), and the module that comes out (out.mlir), as tests hold it.
	Example string
	// ByTarget says that targets have a version of their own, which asks their units.
	ByTarget bool
	// Takes says why the target's version cannot take a module; nil: it takes all. The
	// runner asks it.
	Takes func(module *ir.Operation) error
	// Before are the facts that the pass needs of a module, beside that it verifies;
	// After are those that hold when it has run, whatever held before. Others that
	// held still do, but for those of Breaks.
	Before, After, Breaks []*Fact
	// Run changes the module. A returned error is the user's mistake or the
	// environment's; a bug of ours is a panic.
	Run func(r *Run) error
}

// Option is a typed parameter of a pass with its default: an int, a bool or a
// string.
type Option struct {
	Name    string
	Doc     string
	Default any
	// After are further facts that the pass gives if the option has that value.
	After map[any][]*Fact
}

func (p *Pass) option(name string) *Option {
	for i := range p.Options {
		if p.Options[i].Name == name {
			return &p.Options[i]
		}
	}
	return nil
}

// Setting gives one option a value of the type of its default.
type Setting struct {
	Name  string
	Value any
}

// Facts are the capabilities that conditions ask about, by name.
type Facts map[string]int

// Condition is a named predicate over facts, so that a listing can say why a
// row is in or out.
type Condition struct {
	Name  string
	Holds func(Facts) bool
}

// Row is one line of a pipeline.
type Row struct {
	Pass *Pass
	With []Setting
	When *Condition // nil: always
	Why  string
	// Needed: without it nothing comes of the module, so that it cannot be left
	// out. All others only improve what is right already.
	Needed bool
}

// String is the row in the notation of Parse: name{option=value …}, where only
// options that were set are shown.
func (r Row) String() string {
	if len(r.With) == 0 {
		return r.Pass.Name
	}
	return r.Pass.Name + "{" + r.Options() + "}"
}

// Options are the options that were set: option=value …
func (r Row) Options() string {
	parts := make([]string, len(r.With))
	for i, s := range r.With {
		parts[i] = fmt.Sprintf("%s=%v", s.Name, s.Value)
	}
	return strings.Join(parts, " ")
}

// Effective are the rows whose conditions hold.
func Effective(rows []Row, f Facts) []Row {
	var out []Row
	for _, r := range rows {
		if r.When == nil || r.When.Holds(f) {
			out = append(out, r)
		}
	}
	return out
}

// Without are rows of which those of the given passes are left out, under a
// condition of that name. The passes must have rows that are not Needed.
func Without(rows []Row, names []string, condition string) ([]Row, error) {
	out := slices.Clone(rows)
	never := &Condition{Name: condition, Holds: func(Facts) bool { return false }}
	for _, name := range names {
		found := false
		for i := range out {
			if out[i].Pass.Name != name {
				continue
			}
			if out[i].Needed {
				return nil, fmt.Errorf("the pass %s cannot be left out: %s", name, out[i].Why)
			}
			out[i].When, found = never, true
		}
		if !found {
			return nil, fmt.Errorf("there is no pass %q to leave out; %s", name, Hint(name, passNames(rows)))
		}
	}
	return out, nil
}

// WithoutOwn is Without for those of the names that have rows here: the others are of
// another stage. The names have been checked by Without over the rows of all stages.
func WithoutOwn(rows []Row, names []string, condition string) []Row {
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(rows, func(r Row) bool { return r.Pass.Name == name })
	})
	out, err := Without(rows, own, condition)
	if err != nil {
		panic("BUG: " + condition + " was not checked: " + err.Error())
	}
	return out
}

// Format writes rows in the notation of Parse.
func Format(rows []Row) string {
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// Parse reads a comma-separated list of passes, each with options in braces:
// "tritongpu-coalesce,convert-triton-to-tritongpu{num-warps=8}".
func Parse(known []*Pass, s string) ([]Row, error) {
	var rows []Row
	for s = strings.TrimSpace(s); s != ""; {
		end := strings.IndexAny(s, ",{")
		name, opts := s, ""
		switch {
		case end < 0:
			s = ""
		case s[end] == ',':
			name, s = s[:end], s[end+1:]
		default:
			name = s[:end]
			shut := strings.IndexByte(s, '}')
			if shut < 0 {
				return nil, fmt.Errorf("pass %q: missing '}'", name)
			}
			opts, s = s[end+1:shut], strings.TrimPrefix(strings.TrimSpace(s[shut+1:]), ",")
		}
		row, err := parseRow(known, strings.TrimSpace(name), opts)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		s = strings.TrimSpace(s)
	}
	return rows, nil
}

func parseRow(known []*Pass, name, opts string) (Row, error) {
	i := slices.IndexFunc(known, func(p *Pass) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(known))
		for k, p := range known {
			names[k] = p.Name
		}
		return Row{}, fmt.Errorf("no pass %q; %s", name, Hint(name, names))
	}
	row := Row{Pass: known[i]}
	for _, f := range strings.Fields(opts) {
		key, text, ok := strings.Cut(f, "=")
		o := row.Pass.option(key)
		if !ok || o == nil {
			return Row{}, fmt.Errorf("pass %q has no option %q; it has: %s", name, f, optionNames(row.Pass))
		}
		v, err := parseValue(o.Default, text)
		if err != nil {
			return Row{}, fmt.Errorf("pass %q, option %q: %w", name, key, err)
		}
		row.With = append(row.With, Setting{key, v})
	}
	return row, nil
}

func optionNames(p *Pass) string {
	if len(p.Options) == 0 {
		return "none"
	}
	names := make([]string, len(p.Options))
	for i, o := range p.Options {
		names[i] = o.Name
	}
	return strings.Join(names, ", ")
}

// parseValue reads a value of the type that like has.
func parseValue(like any, text string) (any, error) {
	switch like.(type) {
	case int:
		if n, err := strconv.Atoi(text); err == nil {
			return n, nil
		}
		return nil, fmt.Errorf("%q is not an integer", text)
	case bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b, nil
		}
		return nil, fmt.Errorf("%q is not true or false", text)
	}
	return text, nil
}

// Run is one execution of a pass: the module, the options, the counters.
type Run struct {
	Module *ir.Operation
	pass   *Pass
	with   []Setting
	counts []Counter
	notes  []Remark
	said   diag.List
	place  func(op *ir.Operation) diag.Pos
}

// Remark is what a pass decided about an operation, for people who wonder.
type Remark struct {
	Subject  string // what the operation is: "descriptor"
	At       ir.Location
	Decision string // one word: "pointers"
	Why      string
	// Open: the pass, or another with remarks on that subject, may run again and
	// decide otherwise. Its remarks replace this one.
	Open bool
}

// Also runs another pass on the module as a part of this one, with settings. What it
// counts counts as this one's.
func (r *Run) Also(p *Pass, with ...Setting) error {
	part := &Run{Module: r.Module, pass: p, with: with, place: r.place}
	err := p.Run(part)
	for _, c := range part.counts {
		r.Count(c.Name, c.N)
	}
	r.notes, r.said = append(r.notes, part.notes...), append(r.said, part.said...)
	return err
}

// Remark tells of a decision.
func (r *Run) Remark(m Remark) { r.notes = append(r.notes, m) }

// Place is the place of op for a diagnostic.
func (r *Run) Place(op *ir.Operation) diag.Pos { return placeOf(op, r.place) }

// Errorf is an error about op. Where op came from a function of another file that was
// inlined, it is at the call in the kernel's file, and a note says where it came from.
func (r *Run) Errorf(op *ir.Operation, format string, args ...any) *diag.Diagnostic {
	inner := r.Place(op)
	d := diag.Errorf(r.CallPlace(op), format, args...)
	if d.Pos != inner {
		d.WithNote(inner, "in what is called here")
	}
	return d
}

// CallPlace is Place, or where op came from another file than that of its function, the
// place of the call in that one.
func (r *Run) CallPlace(op *ir.Operation) diag.Pos {
	pos := r.Place(op)
	inner, own := ir.FileLocOf(op.Loc()), ir.OwnFileLocOf(op)
	if inner == nil || inner == own || inner.File != pos.File {
		return pos
	}
	return diag.Pos{File: own.File, Line: own.Line, Col: own.Col + 1}
}

// Say tells whoever runs the pass by its name something of op, as a remark at op's place.
func (r *Run) Say(op *ir.Operation, format string, args ...any) {
	r.say(diag.Remark, op, format, args...)
}

// Warn tells whoever runs the pass by its name of what makes op slow, at op's place. The
// caller may add notes to what it returns.
func (r *Run) Warn(op *ir.Operation, format string, args ...any) *diag.Diagnostic {
	return r.say(diag.Warning, op, format, args...)
}

func (r *Run) say(s diag.Severity, op *ir.Operation, format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(r.Place(op), format, args...)
	d.Severity = s
	r.said = append(r.said, d)
	return d
}

// Counter is a number that a pass reports about its work.
type Counter struct {
	Name string
	N    int
}

// Count adds n to the counter of that name.
func (r *Run) Count(name string, n int) {
	for i := range r.counts {
		if r.counts[i].Name == name {
			r.counts[i].N += n
			return
		}
	}
	r.counts = append(r.counts, Counter{name, n})
}

// Int is the value of an integer option.
func (r *Run) Int(name string) int { return value[int](r, name) }

// Bool is the value of a boolean option.
func (r *Run) Bool(name string) bool { return value[bool](r, name) }

// Text is the value of a string option.
func (r *Run) Text(name string) string { return value[string](r, name) }

func value[T any](r *Run, name string) T {
	o := r.pass.option(name)
	if o == nil {
		panic("BUG: pass " + r.pass.Name + " has no option " + name)
	}
	v := o.Default
	for _, s := range r.with {
		if s.Name == name {
			v = s.Value
		}
	}
	t, ok := v.(T)
	if !ok {
		panic(fmt.Sprintf("BUG: pass %s: option %s has value %v", r.pass.Name, name, v))
	}
	return t
}
