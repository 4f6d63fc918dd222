package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// line is an operation, or the head of a block, of a normal form. Values are
// ids, so that one line can be written under several numberings.
type line struct {
	depth int
	head  string // the operation's or block's name
	tail  string // what follows the operands
	defs  []int  // results, or a block's arguments
	types []string
	uses  []operand
	block bool
	// anyOrder: the operation is commutative.
	anyOrder bool
}

// operand is the text of a constant, or else a value.
type operand struct {
	constant string
	id       int
}

func (l *line) write(b *strings.Builder, name func(id int) string) {
	for range l.depth {
		b.WriteString("  ")
	}
	if l.block {
		b.WriteString(l.head)
		for i, id := range l.defs {
			b.WriteString([]string{"(", ", "}[min(i, 1)] + name(id) + ": " + l.types[i])
		}
		b.WriteString([]string{"()\n", ")\n"}[min(len(l.defs), 1)])
		return
	}
	for i, id := range l.defs {
		b.WriteString([]string{"", ", "}[min(i, 1)] + name(id))
	}
	if len(l.defs) > 0 {
		b.WriteString(" = ")
	}
	uses := make([]string, len(l.uses))
	for i, u := range l.uses {
		if uses[i] = u.constant; uses[i] == "" {
			uses[i] = name(u.id)
		}
	}
	if l.anyOrder {
		slices.Sort(uses)
	}
	b.WriteString(l.head + " (" + strings.Join(uses, ", ") + ")" + l.tail)
	for i, t := range l.types {
		b.WriteString([]string{" : ", ", "}[min(i, 1)] + t)
	}
	b.WriteByte('\n')
}

// normalizer makes the lines of one module.
type normalizer struct {
	ctx     *ir.Context
	lines   []line
	ids     map[*ir.Value]int
	blocks  map[*ir.Block]string
	symbols map[string]string // private functions by name
}

func normalLines(module *ir.Operation) []line {
	n := &normalizer{
		ctx: module.Context(), ids: make(map[*ir.Value]int),
		blocks: make(map[*ir.Block]string), symbols: make(map[string]string),
	}
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.IsPrivate() {
			n.symbols[op.SymbolName()] = fmt.Sprintf("@f%d", len(n.symbols))
		}
		return ir.Advance
	})
	// Ahead of the lines: a use may appear before its definition, in a block that
	// is listed earlier.
	n.define(module)
	n.operation(module, 0)
	return n.lines
}

// define numbers the values inside op in order of definition.
func (n *normalizer) define(op *ir.Operation) {
	if isConstant(op) {
		return
	}
	for _, r := range op.Results() {
		n.ids[r] = len(n.ids)
	}
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			for _, a := range b.Args() {
				n.ids[a] = len(n.ids)
			}
			for o := range b.Ops() {
				n.define(o)
			}
		}
	}
}

func isConstant(op *ir.Operation) bool {
	return op.ConstantValue() != nil
}

func (n *normalizer) operand(v *ir.Value) operand {
	if d := v.Def(); d != nil && isConstant(d) {
		return operand{constant: text.AttrString(n.ctx, d.ConstantValue())}
	}
	return operand{id: n.ids[v]}
}

// blockName numbers blocks as they are first mentioned.
func (n *normalizer) blockName(b *ir.Block) string {
	name, ok := n.blocks[b]
	if !ok {
		name = fmt.Sprintf("^%d", len(n.blocks))
		n.blocks[b] = name
	}
	return name
}

func (n *normalizer) operation(op *ir.Operation, depth int) {
	if isConstant(op) {
		return
	}
	l := line{depth: depth, head: op.Name(), anyOrder: op.Def().Has(ir.Commutative)}
	for _, r := range op.Results() {
		l.defs = append(l.defs, n.ids[r])
		l.types = append(l.types, text.TypeString(n.ctx, r.Type()))
	}
	for _, v := range op.Operands() {
		l.uses = append(l.uses, n.operand(v))
	}
	var tail strings.Builder
	if s := op.Segments(); s != nil {
		fmt.Fprintf(&tail, " groups %v", s)
	}
	for _, b := range op.Successors() {
		tail.WriteString(" " + n.blockName(b))
	}
	n.attrs(&tail, op)
	l.tail = tail.String()
	n.lines = append(n.lines, l)
	for _, r := range op.Regions() {
		n.region(r, depth+1)
	}
}

func (n *normalizer) attrs(out *strings.Builder, op *ir.Operation) {
	for _, a := range op.Attrs() {
		if d := op.Def().AttrDef(a.Name); d != nil && d.Default != nil && d.Default(n.ctx) == a.Attr {
			continue
		}
		s := text.AttrString(n.ctx, a.Attr)
		if sym, ok := a.Attr.(*ir.SymbolRefAttr); ok && n.symbols[sym.Root] != "" {
			s = n.symbols[sym.Root]
		}
		if str, ok := a.Attr.(*ir.StringAttr); ok && a.Name == "sym_name" && n.symbols[str.Value] != "" {
			s = n.symbols[str.Value]
		}
		fmt.Fprintf(out, " %s=%s", a.Name, s)
	}
}

func (n *normalizer) region(r *ir.Region, depth int) {
	for b := range r.Blocks() {
		l := line{depth: depth, head: n.blockName(b), block: true}
		for _, a := range b.Args() {
			l.defs = append(l.defs, n.ids[a])
			l.types = append(l.types, text.TypeString(n.ctx, a.Type()))
		}
		n.lines = append(n.lines, l)
		for op := range b.Ops() {
			n.operation(op, depth+1)
		}
	}
}
