// Package diff compares two modules by structure: what they compute and in
// which order, apart from names, locations, where constants stand and in which
// order, and the order of the operands of commutative operations. The modules
// may belong to different contexts.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Modules returns a unified diff of the normal forms of a and b, labelled with
// the given names; empty when they are equal.
func Modules(aName string, a *ir.Operation, bName string, b *ir.Operation) string {
	return Texts(aName, Normal(a), bName, Normal(b))
}

// Texts returns a unified diff of two normal forms; empty when they are equal.
func Texts(aName, a, bName, b string) string {
	if a == b {
		return ""
	}
	return string(diff.Diff(aName, []byte(a), bName, []byte(b)))
}

// Normal is the normal form of a module as text, a line an operation: values
// are numbered in order of definition, constants stand where they are used, and
// functions other than public ones are numbered.
func Normal(module *ir.Operation) string {
	n := &normal{ctx: module.Context(), values: make(map[*ir.Value]string), symbols: make(map[string]string), blocks: make(map[*ir.Block]string)}
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.StringAttr("sym_visibility") == "private" {
			n.symbols[op.StringAttr("sym_name")] = fmt.Sprintf("@f%d", len(n.symbols))
		}
		return ir.Advance
	})
	n.operation(module, 0)
	return n.out.String()
}

type normal struct {
	ctx     *ir.Context
	out     strings.Builder
	values  map[*ir.Value]string
	blocks  map[*ir.Block]string
	symbols map[string]string
	next    int
}

func (n *normal) value(v *ir.Value) string {
	if d := v.Def(); d != nil && d.Def().Has(ir.ConstantLike) {
		return text.AttrString(n.ctx, d.Attr("value"))
	}
	return n.values[v]
}

func (n *normal) define(v *ir.Value) string {
	name := fmt.Sprintf("%%%d", n.next)
	n.next++
	n.values[v] = name
	return name
}

// blockName numbers blocks as they are first mentioned.
func (n *normal) blockName(b *ir.Block) string {
	name, ok := n.blocks[b]
	if !ok {
		name = fmt.Sprintf("^%d", len(n.blocks))
		n.blocks[b] = name
	}
	return name
}

func (n *normal) operation(op *ir.Operation, depth int) {
	if op.Def().Has(ir.ConstantLike) {
		return
	}
	indent := strings.Repeat("  ", depth)
	n.out.WriteString(indent)
	for i, r := range op.Results() {
		if i > 0 {
			n.out.WriteString(", ")
		}
		n.out.WriteString(n.define(r))
	}
	if op.NumResults() > 0 {
		n.out.WriteString(" = ")
	}
	n.out.WriteString(op.Name())
	operands := make([]string, op.NumOperands())
	for i, v := range op.Operands() {
		operands[i] = n.value(v)
	}
	if op.Def().Has(ir.Commutative) {
		slices.Sort(operands)
	}
	n.out.WriteString(" (" + strings.Join(operands, ", ") + ")")
	if s := op.Segments(); s != nil {
		fmt.Fprintf(&n.out, " groups %v", s)
	}
	for _, b := range op.Successors() {
		n.out.WriteString(" " + n.blockName(b))
	}
	n.attrs(op)
	for i, r := range op.Results() {
		n.out.WriteString([]string{" : ", ", "}[min(i, 1)])
		n.out.WriteString(text.TypeString(n.ctx, r.Type()))
	}
	n.out.WriteByte('\n')
	for _, r := range op.Regions() {
		n.region(r, depth+1)
	}
}

func (n *normal) attrs(op *ir.Operation) {
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
		fmt.Fprintf(&n.out, " %s=%s", a.Name, s)
	}
}

func (n *normal) region(r *ir.Region, depth int) {
	indent := strings.Repeat("  ", depth)
	for b := range r.Blocks() {
		names := make([]string, b.NumArgs())
		for i, a := range b.Args() {
			names[i] = n.define(a) + ": " + text.TypeString(n.ctx, a.Type())
		}
		fmt.Fprintf(&n.out, "%s%s(%s)\n", indent, n.blockName(b), strings.Join(names, ", "))
		for op := range b.Ops() {
			n.operation(op, depth+1)
		}
	}
}
