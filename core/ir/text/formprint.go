package text

import "github.com/tritonc/tritonc/core/ir"

// runForm writes op by its directives.
func (w *Printer) runForm(f *form, els []element, op *ir.Operation) {
	for i := range els {
		w.element(f, &els[i], op)
	}
}

func (w *Printer) element(f *form, e *element, op *ir.Operation) {
	switch e.kind {
	case elDict:
		w.formDict(f, op)
		return
	case elOptional:
		if w.isPresent(&e.then[e.anchor], op) {
			w.runForm(f, e.then, op)
		} else {
			w.runForm(f, e.els, op)
		}
		return
	case elOIList:
		for _, c := range e.clauses {
			if w.clausePresent(c, op) {
				w.runForm(f, c, op)
			}
		}
		return
	}
	if e.space && e.kind != elPairs && !(e.kind == elToken && !hasResult(op, e.ref2.index)) {
		w.Str(" ")
	}
	switch e.kind {
	case elLiteral:
		w.Str(e.text)
	case elAttr:
		w.bareAttr(&op.Def().Attrs[e.index], op)
	case elOperand:
		lo, n := op.GroupRange(e.index)
		w.operands(op, lo, n)
	case elOperands:
		w.operands(op, 0, op.NumOperands())
	case elRegion:
		w.Region(op.Region(e.index), true, true)
	case elSuccessor:
		w.Successor(op.Successor(e.index))
	case elSuccessors:
		for i, b := range op.Successors() {
			if i > 0 {
				w.Str(", ")
			}
			w.Successor(b)
		}
	case elType:
		lo, n, results := span(e.ref, op)
		for i := range n {
			if i > 0 {
				w.Str(", ")
			}
			t := typeAt(op, lo+i, results)
			if e.prefix != "" {
				w.shortType(t, e.prefix)
			} else {
				w.Type(t)
			}
		}
	case elToken:
		if hasResult(op, e.ref2.index) {
			lo, k := op.GroupRange(e.ref.index)
			w.Str("[")
			w.operands(op, lo, k)
			w.Str("]")
		}
	case elPairs:
		seconds := op.Group(e.ref2.index)
		for i, v := range op.Group(e.ref.index) {
			w.Str(", ")
			w.Value(v)
			w.Str("[")
			w.Value(seconds[i])
			w.Str("]")
		}
	case elPartitions:
		warps, _ := op.Attr(op.Def().Attrs[e.index].Name).(*ir.DenseArrayAttr)
		for i, r := range op.Regions() {
			w.Newline()
			w.Str("partition")
			w.Int(int64(i))
			w.Str(" num_warps(")
			if warps != nil && i < len(warps.Values) {
				w.Int(warps.Values[i])
			}
			w.Str(") ")
			w.Region(r, false, true)
		}
	case elFunction:
		w.Str("(")
		lo, n, results := span(e.ref, op)
		for i := range n {
			if i > 0 {
				w.Str(", ")
			}
			w.Type(typeAt(op, lo+i, results))
		}
		w.Str(")")
		lo, n, results = span(e.ref2, op)
		out := make([]ir.Type, n)
		for i := range out {
			out[i] = typeAt(op, lo+i, results)
		}
		w.arrowTypes(out)
	}
}

// operands writes n operands from lo on.
func (w *Printer) operands(op *ir.Operation, lo, n int) {
	if w.visiting {
		return
	}
	for i := range n {
		if i > 0 {
			w.Str(", ")
		}
		w.Value(op.Operand(lo + i))
	}
}

// span is which operands, or results, a directive holds the types of.
func span(r typeRef, op *ir.Operation) (lo, n int, results bool) {
	switch r.kind {
	case refOperand:
		lo, n = op.GroupRange(r.index)
		return lo, n, false
	case refOperands:
		return 0, op.NumOperands(), false
	case refResults:
		return 0, op.NumResults(), true
	}
	lo, n = resultRange(op, r.index)
	return lo, n, true
}

func typeAt(op *ir.Operation, i int, results bool) ir.Type {
	if results {
		return op.Result(i).Type()
	}
	return op.Operand(i).Type()
}

// resultRange is which results the table's i-th group is.
func resultRange(op *ir.Operation, i int) (lo, n int) {
	groups := op.Def().Results
	extra := op.NumResults() - len(groups) + 1
	for k, g := range groups {
		n = 1
		if g.Arity != ir.One {
			n = extra
		}
		if k == i {
			return lo, n
		}
		lo += n
	}
	panic("BUG: text: " + op.Name() + " has no such result group")
}

func hasResult(op *ir.Operation, group int) bool {
	_, n := resultRange(op, group)
	return n > 0
}

// isPresent reports whether a group with this anchor is written.
func (w *Printer) isPresent(e *element, op *ir.Operation) bool {
	switch e.kind {
	case elOperand:
		_, n := op.GroupRange(e.index)
		return n > 0
	case elAttr:
		d := &op.Def().Attrs[e.index]
		return op.HasAttr(d.Name) && !isDefault(w.ctx, d, op.Attr(d.Name))
	case elRegion:
		return e.index < op.NumRegions() && !op.Region(e.index).Empty()
	case elType:
		_, n, _ := span(e.ref, op)
		return n > 0
	case elFunction:
		_, n, _ := span(e.ref, op)
		_, m, _ := span(e.ref2, op)
		return n+m > 0
	}
	return false
}

func (w *Printer) clausePresent(c []element, op *ir.Operation) bool {
	for i := range c {
		if (c[i].kind == elAttr || c[i].kind == elOperand) && w.isPresent(&c[i], op) {
			return true
		}
	}
	return false
}

// formDict writes the attributes that are nowhere else in the text and do not
// have their default.
func (w *Printer) formDict(f *form, op *ir.Operation) {
	opening := " {"
	if f.keyword {
		opening = " attributes {"
	}
	open := false
	defs := op.Def().Attrs
next:
	for _, a := range op.Attrs() {
		for i := range defs {
			if defs[i].Name == a.Name {
				if !f.inDict[i] || isDefault(w.ctx, &defs[i], a.Attr) {
					continue next
				}
				break
			}
		}
		open = w.dictEntry(open, opening, a)
	}
	if open {
		w.Str("}")
	}
}

// bareAttr writes an attribute as written in a format.
func (w *Printer) bareAttr(d *ir.AttrDef, op *ir.Operation) {
	a := op.Attr(d.Name)
	switch d.Kind {
	case ir.AttrUnit:
		return
	case ir.AttrEnum:
		if i, ok := a.(*ir.IntegerAttr); ok {
			for k := range d.Enum {
				if d.Enum[k].Value == i.Value {
					w.Str(d.Enum[k].Keyword)
					return
				}
			}
			w.Int(i.Value)
			return
		}
	case ir.AttrI32, ir.AttrI64:
		if i, ok := a.(*ir.IntegerAttr); ok {
			w.intValue(i)
			return
		}
	case ir.AttrDenseI32, ir.AttrDenseI64:
		if l, ok := a.(*ir.DenseArrayAttr); ok {
			w.Str("[")
			w.elements(l)
			w.Str("]")
			return
		}
	}
	if a == nil {
		return
	}
	w.Attr(a)
}
