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
	if e.space && !(e.kind == elToken && len(resultGroup(op, e.ref2.index)) == 0) && e.kind != elPairs {
		w.Str(" ")
	}
	switch e.kind {
	case elLiteral:
		w.Str(e.text)
	case elAttr:
		w.bareAttr(&op.Def().Attrs[e.index], op)
	case elOperand:
		if !w.visiting {
			w.Values(op.Group(e.index))
		}
	case elOperands:
		if !w.visiting {
			w.Values(op.OperandValues())
		}
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
		for i, v := range values(e.ref, op) {
			if i > 0 {
				w.Str(", ")
			}
			if e.prefix != "" {
				w.shortType(v.Type(), e.prefix)
			} else {
				w.Type(v.Type())
			}
		}
	case elToken:
		if len(resultGroup(op, e.ref2.index)) > 0 {
			w.Str("[")
			w.Values(op.Group(e.ref.index))
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
	case elFunction:
		w.Str("(")
		w.ValueTypes(values(e.ref, op))
		w.Str(")")
		w.arrowTypes(typesOf(values(e.ref2, op)))
	}
}

// values are those whose types a directive holds.
func values(r typeRef, op *ir.Operation) []*ir.Value {
	switch r.kind {
	case refOperand:
		return op.Group(r.index)
	case refOperands:
		return op.OperandValues()
	case refResults:
		return op.Results()
	}
	return resultGroup(op, r.index)
}

// resultGroup is the results of the table's i-th group.
func resultGroup(op *ir.Operation, i int) []*ir.Value {
	groups := op.Def().Results
	if len(groups) == 1 {
		return op.Results()
	}
	extra := op.NumResults() - len(groups) + 1
	lo := 0
	for k, g := range groups {
		n := 1
		if g.Arity != ir.One {
			n = extra
		}
		if k == i {
			return op.Results()[lo : lo+n]
		}
		lo += n
	}
	return nil
}

// isPresent reports whether a group with this anchor is written.
func (w *Printer) isPresent(e *element, op *ir.Operation) bool {
	switch e.kind {
	case elOperand:
		return len(op.Group(e.index)) > 0
	case elAttr:
		d := &op.Def().Attrs[e.index]
		return op.HasAttr(d.Name) && !isDefault(w.ctx, d, op.Attr(d.Name))
	case elRegion:
		return e.index < op.NumRegions() && !op.Region(e.index).Empty()
	case elType:
		return len(values(e.ref, op)) > 0
	case elFunction:
		return len(values(e.ref, op))+len(values(e.ref2, op)) > 0
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

// formDict writes the attributes that stand nowhere else in the text and do not
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

// bareAttr writes an attribute as it stands in a format.
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
