package text

import (
	"io"
	"strconv"

	"github.com/tritonc/tritonc/core/ir"
)

// Options say how to print.
type Options struct {
	// Locations prints loc(…) after every operation and block argument.
	Locations bool
	// Generic prints every operation in generic form.
	Generic bool
	// Local prints attributes in place, without aliases.
	Local bool
	// Unnamed leaves out the names that locations give values, as mlir-opt does
	// unless it is asked for them: what remains are numbers, %arg0 and what
	// operations call their results, as %true.
	Unnamed bool
	// MLIR is the version of MLIR whose syntax operations are printed in, where it
	// differs; 0 is that of Triton.
	MLIR int
}

// Printer writes one operation. Its methods are for the hooks of dialects.
type Printer struct {
	ctx *ir.Context
	opt Options
	buf []byte
	// visiting: nothing is written; types, attributes and locations are
	// collected for their aliases.
	visiting   bool
	deferrable bool // of the locations being visited
	aliaser    aliaser

	attrAlias map[ir.Attribute]string
	locAlias  map[ir.Location]int
	types     map[ir.Type]string // as printed, once the aliases are known
	names     map[*ir.Value]valueName
	blocks    map[*ir.Block]int
	indent    int
}

// valueName is a printed name, or a number where name is empty.
type valueName struct {
	name string
	id   int
}

// Print writes op, with the aliases it needs and a newline at the end. What does
// not verify may have parts missing that its own form is made of: print that
// with Options.Generic.
func Print(out io.Writer, op *ir.Operation, opt Options) error {
	_, err := out.Write(Append(nil, op, opt))
	return err
}

// String is op as text, with locations.
func String(op *ir.Operation) string { return string(Append(nil, op, Options{Locations: true})) }

// Append appends what Print writes to b.
func Append(b []byte, op *ir.Operation, opt Options) []byte {
	w := &Printer{
		ctx: op.Context(), opt: opt, buf: b,
		names: make(map[*ir.Value]valueName, 128), blocks: make(map[*ir.Block]int),
	}
	n := &namer{
		named: locName,
		set:   func(v *ir.Value, name string, id int) { w.names[v] = valueName{name, id} },
		block: func(b *ir.Block, id int) { w.blocks[b] = id },
	}
	n.generic = opt.Generic
	if opt.Unnamed {
		n.named = func(_ *ir.Value, own string) string { return own }
	}
	n.run(topOf(op))
	var entries []*aliasEntry
	if !opt.Local {
		w.visiting = true
		w.aliaser.index = make(map[any]int, 64)
		w.aliaser.entries = make([]aliasEntry, 0, 64)
		start := len(w.buf)
		w.operation(op)
		w.buf = w.buf[:start]
		w.visiting = false
		entries = w.assign()
	}
	w.types = make(map[ir.Type]string, 32)
	w.aliasLines(entries, false)
	w.operation(op)
	w.Str("\n")
	w.aliasLines(entries, true)
	return w.buf
}

// topOf is the operation that all others around op are in: names are those of
// the whole, also where a part is printed.
func topOf(op *ir.Operation) *ir.Operation {
	for p := op.Parent(); p != nil; p = op.Parent() {
		op = p
	}
	return op
}

// TypeString is t as text, without aliases.
func TypeString(ctx *ir.Context, t ir.Type) string {
	w := &Printer{ctx: ctx}
	w.Type(t)
	return string(w.buf)
}

// AttrString is a as text, without aliases.
func AttrString(ctx *ir.Context, a ir.Attribute) string {
	w := &Printer{ctx: ctx}
	w.Attr(a)
	return string(w.buf)
}

// --- small pieces

// MLIR is the version of MLIR whose syntax is wanted, as Options has it.
func (w *Printer) MLIR() int { return w.opt.MLIR }

// Str writes s as it is.
func (w *Printer) Str(s string) {
	if !w.visiting {
		w.buf = append(w.buf, s...)
	}
}

// Int writes v in decimal.
func (w *Printer) Int(v int64) {
	if !w.visiting {
		w.buf = strconv.AppendInt(w.buf, v, 10)
	}
}

// Bool writes true or false.
func (w *Printer) Bool(v bool) {
	if v {
		w.Str("true")
	} else {
		w.Str("false")
	}
}

// Quoted writes s as a string literal.
func (w *Printer) Quoted(s string) {
	if !w.visiting {
		w.buf = appendQuoted(w.buf, s)
	}
}

// Symbol writes @name, quoted where needed.
func (w *Printer) Symbol(name string) {
	w.Str("@")
	if isBareIdent(name) {
		w.Str(name)
	} else {
		w.Quoted(name)
	}
}

// Value writes %name, with #n where the name stands for several results.
func (w *Printer) Value(v *ir.Value) {
	if w.visiting {
		return
	}
	op := v.Def()
	if op == nil || op.NumResults() == 1 {
		w.name(v)
		return
	}
	first, size := w.group(op, v.Index())
	w.name(op.Result(first))
	if size > 1 {
		w.Str("#")
		w.Int(int64(v.Index() - first))
	}
}

func (w *Printer) name(v *ir.Value) {
	if w.visiting {
		return
	}
	n, ok := w.names[v]
	switch {
	case !ok:
		w.buf = append(w.buf, "<<UNKNOWN SSA VALUE>>"...)
	case n.name != "":
		w.buf = append(append(w.buf, '%'), n.name...)
	default:
		w.buf = strconv.AppendInt(append(w.buf, '%'), int64(n.id), 10)
	}
}

// group is the run of results that shares a name with result i.
func (w *Printer) group(op *ir.Operation, i int) (first, size int) {
	starts := func(k int) bool {
		_, ok := w.names[op.Result(k)]
		return ok
	}
	for first = i; first > 0 && !starts(first); first-- {
	}
	end := i + 1
	for end < op.NumResults() && !starts(end) {
		end++
	}
	return first, end - first
}

// Values writes %a, %b, ….
func (w *Printer) Values(vs []*ir.Value) {
	if w.visiting {
		return
	}
	for i, v := range vs {
		if i > 0 {
			w.Str(", ")
		}
		w.Value(v)
	}
}

// ValueTypes writes the types of vs.
func (w *Printer) ValueTypes(vs []*ir.Value) {
	for i, v := range vs {
		if i > 0 {
			w.Str(", ")
		}
		w.Type(v.Type())
	}
}

// Successor writes ^name.
func (w *Printer) Successor(b *ir.Block) {
	if w.visiting {
		return
	}
	id, ok := w.blocks[b]
	if !ok {
		w.Str("^INVALIDBLOCK")
		return
	}
	w.Str("^bb")
	w.Int(int64(id))
}

// OptDict writes a space and {…} if attrs is not empty.
func (w *Printer) OptDict(attrs []ir.NamedAttr) {
	if len(attrs) > 0 {
		w.Str(" ")
		w.Dict(attrs)
	}
}

// AttrDict writes the attributes of op, after a space, that are not named in
// elided and do not have their default.
func (w *Printer) AttrDict(op *ir.Operation, elided ...string) {
	w.attrDict(op, " {", elided)
}

// AttrDictKeyword is AttrDict after the word attributes.
func (w *Printer) AttrDictKeyword(op *ir.Operation, elided ...string) {
	w.attrDict(op, " attributes {", elided)
}

func (w *Printer) attrDict(op *ir.Operation, opening string, elided []string) {
	open := false
next:
	for _, a := range op.Attrs() {
		for _, e := range elided {
			if e == a.Name {
				continue next
			}
		}
		if d := op.Def().AttrDef(a.Name); d != nil && isDefault(w.ctx, d, a.Attr) {
			continue
		}
		open = w.dictEntry(open, opening, a)
	}
	if open {
		w.Str("}")
	}
}

// dictEntry writes an entry, after a comma or what opens the dictionary.
func (w *Printer) dictEntry(open bool, opening string, a ir.NamedAttr) bool {
	if open {
		w.Str(", ")
	} else {
		w.Str(opening)
	}
	w.named(a)
	return true
}

func isDefault(ctx *ir.Context, d *ir.AttrDef, a ir.Attribute) bool {
	return d.Default != nil && d.Default(ctx) == a
}

// --- operations, regions and blocks

// Newline starts a line of the operation in hand.
func (w *Printer) Newline() { w.newline() }

func (w *Printer) newline() {
	if w.visiting {
		return
	}
	w.buf = append(w.buf, '\n')
	for range w.indent {
		w.buf = append(w.buf, ' ', ' ')
	}
}

// operation writes results, operation and location.
func (w *Printer) operation(op *ir.Operation) {
	w.ctx.Meter().Visit()
	if w.visiting {
		if w.opt.Locations {
			w.visitLoc(op.Loc(), true)
		}
	} else if n := op.NumResults(); n > 0 {
		for i := 0; i < n; {
			if i > 0 {
				w.Str(", ")
			}
			_, size := w.group(op, i)
			w.name(op.Result(i))
			if size > 1 {
				w.Str(":")
				w.Int(int64(size))
			}
			i += size
		}
		w.Str(" = ")
	}
	w.body(op)
	if w.opt.Locations && !w.visiting {
		w.Str(" ")
		w.loc(op.Loc(), true)
	}
}

func (w *Printer) body(op *ir.Operation) {
	d := op.Def()
	if w.opt.Generic || d.Unregistered {
		w.generic(op)
		return
	}
	f := formOf(w.ctx, d)
	if f.custom == nil && f.elems == nil {
		w.generic(op)
		return
	}
	name := d.Name
	if name == "builtin.module" {
		name = "module"
	}
	w.Str(name)
	if f.custom != nil {
		f.custom.Print(w, op)
		return
	}
	w.runForm(f, f.elems, op)
}

// generic writes op in generic form.
func (w *Printer) generic(op *ir.Operation) {
	d := op.Def()
	w.Quoted(d.Name)
	w.Str("(")
	w.operands(op, 0, op.NumOperands())
	w.Str(")")
	for i, b := range op.Successors() {
		if i == 0 {
			w.Str("[")
		} else {
			w.Str(", ")
		}
		w.Successor(b)
		if i == op.NumSuccessors()-1 {
			w.Str("]")
		}
	}
	if w.visiting {
		w.genericRegions(op)
		w.ValueTypes(op.OperandValues())
		w.ValueTypes(op.Results())
		for _, a := range op.Attrs() {
			w.Attr(a.Attr)
		}
		return
	}
	w.genericProperties(op)
	w.genericRegions(op)
	open := false
	for _, a := range op.Attrs() {
		if a.Name != propertiesName && d.AttrDef(a.Name) == nil {
			open = w.dictEntry(open, " {", a)
		}
	}
	if open {
		w.Str("}")
	}
	w.Str(" : (")
	w.ValueTypes(op.OperandValues())
	w.Str(")")
	w.arrowTypes(typesOf(op.Results()))
}

func (w *Printer) genericProperties(op *ir.Operation) {
	if a, ok := op.Attr(propertiesName).(*ir.DictAttr); ok && op.Def().Unregistered {
		w.Str(" <")
		w.Dict(a.Entries)
		w.Str(">")
		return
	}
	open, segments := false, op.Def().Has(ir.SegmentedOperands)
	next := func(a ir.NamedAttr) { open = w.dictEntry(open, " <{", a) }
	sizes := func() {
		vs := make([]int64, len(op.Segments()))
		for i, s := range op.Segments() {
			vs[i] = int64(s)
		}
		next(ir.NamedAttr{Name: segmentsName, Attr: w.ctx.I32Array(vs...)})
		segments = false
	}
	for _, a := range op.Attrs() {
		if op.Def().AttrDef(a.Name) == nil {
			continue
		}
		if segments && a.Name > segmentsName {
			sizes()
		}
		next(a)
	}
	if segments {
		sizes()
	}
	if open {
		w.Str("}>")
	}
}

func (w *Printer) genericRegions(op *ir.Operation) {
	if op.NumRegions() == 0 {
		return
	}
	w.Str(" (")
	for i, r := range op.Regions() {
		if i > 0 {
			w.Str(", ")
		}
		w.region(r, true, true, true)
	}
	w.Str(")")
}

func typesOf(vs []*ir.Value) []ir.Type {
	ts := make([]ir.Type, len(vs))
	for i, v := range vs {
		ts[i] = v.Type()
	}
	return ts
}

// Region writes {…}: with a label for the entry block if entryArgs is true and
// it has arguments, and with the terminators if terminators is true.
func (w *Printer) Region(r *ir.Region, entryArgs, terminators bool) {
	w.region(r, entryArgs, terminators, false)
}

// region is Region that, if emptyBlock is true, tells a block without operations
// from no block by a label.
func (w *Printer) region(r *ir.Region, entryArgs, terminators, emptyBlock bool) {
	w.Str("{")
	preds := w.predecessors(r)
	for b := r.First(); b != nil; b = b.Next() {
		entry := b == r.First()
		if !entry || entryArgs && b.NumArgs() > 0 || emptyBlock && b.Empty() {
			w.label(b, preds[b])
		}
		w.indent++
		for op := b.First(); op != nil; op = op.Next() {
			if !terminators && op.Next() == nil && op.IsTerminator() && entry {
				break
			}
			w.newline()
			w.operation(op)
		}
		w.indent--
	}
	w.newline()
	w.Str("}")
}

// predecessors are the numbers of the blocks that lead to each block of r, in
// order, once for each way.
func (w *Printer) predecessors(r *ir.Region) map[*ir.Block][]int {
	if w.visiting || r.First() == r.Last() && (r.Empty() || r.First().Last() == nil || r.First().Last().NumSuccessors() == 0) {
		return nil
	}
	preds := make(map[*ir.Block][]int)
	for b := r.First(); b != nil; b = b.Next() {
		if last := b.Last(); last != nil {
			for _, s := range last.Successors() {
				preds[s] = append(preds[s], w.blocks[b])
			}
		}
	}
	return preds
}

// label writes ^name(args): and which blocks lead here.
func (w *Printer) label(b *ir.Block, preds []int) {
	w.newline()
	w.Successor(b)
	if b.NumArgs() > 0 {
		w.Str("(")
		for i, a := range b.Args() {
			if i > 0 {
				w.Str(", ")
			}
			w.Arg(a, nil)
		}
		w.Str(")")
	}
	w.Str(":")
	if w.visiting {
		return
	}
	switch {
	case len(preds) == 0 && b.IsEntry():
	case len(preds) == 0:
		w.Str("  // no predecessors")
	case len(preds) == 1:
		w.Str("  // pred: ^bb")
		w.Int(int64(preds[0]))
	default:
		w.Str("  // ")
		w.Int(int64(len(preds)))
		w.Str(" preds: ")
		for i, id := range preds { // in the order of the blocks already
			if i > 0 {
				w.Str(", ")
			}
			w.Str("^bb")
			w.Int(int64(id))
		}
	}
}

// Arg writes %name: type {attrs} loc(…) of a block argument.
func (w *Printer) Arg(a *ir.Value, attrs []ir.NamedAttr) {
	w.Value(a)
	w.Str(": ")
	w.Type(a.Type())
	if w.visiting {
		if w.opt.Locations {
			w.visitLoc(a.Loc(), false)
		}
		return
	}
	w.OptDict(attrs)
	if w.opt.Locations {
		w.Str(" ")
		w.loc(a.Loc(), false)
	}
}
