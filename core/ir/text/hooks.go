package text

import "github.com/tritonc/tritonc/core/ir"

// Dialect is what a dialect gives as ir.Dialect.Asm: how its own types and
// attributes are written, and the operations whose form no format string can
// say. Any part may be nil.
type Dialect struct {
	// ParseType reads what comes after "!dialect.name". An unknown name is
	// reported by returning nil.
	ParseType func(p *Parser, name string) ir.Type
	// PrintType writes everything after "!dialect.", the name included.
	PrintType func(w *Printer, t ir.Type)
	// ParseAttr reads what comes after "#dialect.name". An unknown name is
	// reported by returning nil.
	ParseAttr func(p *Parser, name string) ir.Attribute
	// PrintAttr writes everything after "#dialect.", the name included.
	PrintAttr func(w *Printer, a ir.Attribute)
	// Alias is the name that a file gives the attribute on a line of its own
	// ("blocked" for #blocked, #blocked1 …); empty: it is printed in place.
	Alias func(a ir.Attribute) string
	// Constraints are those over the dialect's types that a declaration of another
	// dialect may name: "tt.ptr".
	Constraints map[string]ir.Constraint
	// Ops are the irregular operations.
	Ops map[*ir.OpDef]OpAsm
}

// OpAsm reads and writes one irregular operation. Parse fills s, beginning
// after the operation's name and ending before the location. Print writes what
// Parse reads, its leading space included.
type OpAsm struct {
	Parse func(p *Parser, s *OpState)
	Print func(w *Printer, op *ir.Operation)
}

// OpState is an operation while it is being parsed.
type OpState struct {
	ir.State
	Def *ir.OpDef
	// Bodies are the regions, in order.
	Bodies []*ir.Region

	names []resultName
	pos   int // of the operation's name
	// implicit are terminators that do not appear in the text; they take the
	// operation's location.
	implicit []*ir.Operation
}

// Add gives the operation an attribute. It does nothing if a is nil.
func (s *OpState) Add(name string, a ir.Attribute) {
	if a != nil {
		s.Attrs = append(s.Attrs, ir.NamedAttr{Name: name, Attr: a})
	}
}

// resultName is one name, or name:count, before the = of an operation.
type resultName struct {
	name  string
	count int
	pos   int
}

func hooksOf(d *ir.Dialect) *Dialect {
	if d == nil || d.Asm == nil {
		return nil
	}
	h, ok := d.Asm.(*Dialect)
	if !ok {
		panic("BUG: text: the Asm of dialect " + d.Name + " is not a *text.Dialect")
	}
	return h
}
