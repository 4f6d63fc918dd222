package ir

import (
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
)

// VerifyError is one broken rule, at one operation.
type VerifyError struct {
	Op  *Operation
	Msg string
}

func (e *VerifyError) Error() string { return fmt.Sprintf("'%s' op %s", e.Op.Name(), e.Msg) }

// Verify checks op and everything inside it: the table's rules (operands,
// results, attributes, regions, traits, the row's own Verify), SSA dominance, and
// the dialects' checks of the whole. It returns the first broken rule found, in
// order of the text.
func Verify(op *Operation) *VerifyError {
	v := &verifier{}
	v.operation(op)
	if v.err == nil {
		v.dominance(op)
	}
	for _, check := range op.ctx.checks {
		if v.err == nil {
			v.err = check(op)
		}
	}
	return v.err
}

type verifier struct {
	err *VerifyError
	// scopes are the regions that dominance is in, from the innermost isolated one.
	scopes map[*Region]*scope
}

// scope is where dominance is in a region.
type scope struct {
	dom *DomTree
	at  *Operation // holds, or is, the operation that it is at
}

func (v *verifier) failf(op *Operation, format string, args ...any) bool {
	if v.err == nil {
		v.err = &VerifyError{op, fmt.Sprintf(format, args...)}
	}
	return false
}

func (v *verifier) operation(op *Operation) bool {
	op.ctx.meter.Visit()
	if op.def.Unregistered {
		return v.regions(op)
	}
	return v.operands(op) && v.results(op) && v.attrs(op) && v.shape(op) && v.traits(op) && v.regions(op) && v.own(op)
}

func (v *verifier) own(op *Operation) bool {
	if op.def.Verify == nil {
		return true
	}
	if err := op.def.Verify(op); err != nil {
		return v.failf(op, "%s", err.Error())
	}
	return true
}

func (v *verifier) operands(op *Operation) bool {
	for i, u := range op.operands {
		if u.value == nil {
			return v.failf(op, "operand #%d is null", i)
		}
	}
	groups := op.def.Operands
	if op.def.Has(SegmentedOperands) {
		if len(op.segments) != len(groups) {
			return v.failf(op, "needs operand segment sizes for %s, has %d", diag.Count(len(groups), "group"), len(op.segments))
		}
		sum := 0
		for i, s := range op.segments {
			if s < 0 || groups[i].Arity == One && s != 1 || groups[i].Arity == Optional && s > 1 {
				return v.failf(op, "operand group '%s' has size %d", groups[i].Name, s)
			}
			sum += int(s)
		}
		if sum != len(op.operands) {
			return v.failf(op, "operand segment sizes add up to %d, but it has %s", sum, diag.Count(len(op.operands), "operand"))
		}
	} else if !v.count(op, "operand", len(op.operands), arities(groups)) {
		return false
	}
	n := 0
	for i, g := range groups {
		_, size := op.groupRange(i)
		for range size {
			if t := op.operands[n].value.typ; g.Type.Test != nil && !g.Type.Test(t) {
				return v.failf(op, "operand #%d must be %s, but got %s%s", n, g.Type.Name, describe(t), wrongKind(g.Type))
			}
			n++
		}
	}
	return true
}

func (v *verifier) results(op *Operation) bool {
	groups := op.def.Results
	ars := make([]Arity, len(groups))
	for i, g := range groups {
		ars[i] = g.Arity
	}
	if !v.count(op, "result", len(op.results), ars) {
		return false
	}
	extra := len(op.results) - len(groups) + 1
	n := 0
	for _, g := range groups {
		size := 1
		if g.Arity != One {
			size = extra
		}
		for range size {
			if t := op.results[n].typ; g.Type.Test != nil && !g.Type.Test(t) {
				return v.failf(op, "result #%d must be %s, but got %s%s", n, g.Type.Name, describe(t), wrongKind(g.Type))
			}
			n++
		}
	}
	return true
}

func arities(groups []Operand) []Arity {
	ars := make([]Arity, len(groups))
	for i, g := range groups {
		ars[i] = g.Arity
	}
	return ars
}

// count checks a number of operands or results against groups of which at most
// one is not One.
func (v *verifier) count(op *Operation, what string, have int, groups []Arity) bool {
	least, most := 0, 0
	for _, a := range groups {
		switch a {
		case One:
			least++
			most++
		case Optional:
			most++
		case Variadic:
			most = 1 << 30
		}
	}
	if have < least || have > most {
		want := diag.Count(least, what)
		if most > least {
			want = fmt.Sprintf("%d or more %ss", least, what)
		}
		return v.failf(op, "expected %s, but found %d", want, have)
	}
	return true
}

func (v *verifier) attrs(op *Operation) bool {
	for i := range op.def.Attrs {
		d := &op.def.Attrs[i]
		a := op.Attr(d.Name)
		if a == nil {
			if !d.Optional && d.Kind != AttrUnit {
				return v.failf(op, "requires attribute '%s'", d.Name)
			}
			continue
		}
		if !d.accepts(a) {
			return v.failf(op, "attribute '%s' failed to satisfy constraint: %s", d.Name, d.Kind)
		}
	}
	return true
}

var kindNames = [...]string{
	AttrAny: "any attribute", AttrUnit: "unit attribute", AttrBool: "bool attribute",
	AttrInt: "integer attribute", AttrI32: "32-bit signless integer attribute",
	AttrI64: "64-bit signless integer attribute", AttrEnum: "one of the enumeration's cases",
	AttrString: "string attribute", AttrType: "type attribute", AttrSymbol: "symbol reference attribute",
	AttrDenseI32: "i32 dense array attribute", AttrDenseI64: "i64 dense array attribute",
	AttrArray: "array attribute", AttrDict: "dictionary attribute", AttrTyped: "typed attribute",
}

func (k AttrKind) String() string { return kindNames[k] }

func (d *AttrDef) accepts(a Attribute) bool {
	switch d.Kind {
	case AttrUnit:
		_, ok := a.(*UnitAttr)
		return ok
	case AttrBool:
		i, ok := a.(*IntegerAttr)
		return ok && IsInt(i.Type, 1)
	case AttrInt:
		_, ok := a.(*IntegerAttr)
		return ok
	case AttrI32:
		i, ok := a.(*IntegerAttr)
		return ok && IsInt(i.Type, 32)
	case AttrI64:
		i, ok := a.(*IntegerAttr)
		return ok && IsInt(i.Type, 64)
	case AttrEnum:
		i, ok := a.(*IntegerAttr)
		if !ok {
			return false
		}
		for _, c := range d.Enum {
			if c.Value == i.Value {
				return true
			}
		}
		return false
	case AttrString:
		_, ok := a.(*StringAttr)
		return ok
	case AttrType:
		_, ok := a.(*TypeAttr)
		return ok
	case AttrSymbol:
		_, ok := a.(*SymbolRefAttr)
		return ok
	case AttrDenseI32, AttrDenseI64:
		w := 32
		if d.Kind == AttrDenseI64 {
			w = 64
		}
		x, ok := a.(*DenseArrayAttr)
		return ok && IsInt(x.Elem, w)
	case AttrArray:
		_, ok := a.(*ArrayAttr)
		return ok
	case AttrDict:
		_, ok := a.(*DictAttr)
		return ok
	case AttrTyped:
		switch a.(type) {
		case *IntegerAttr, *FloatAttr, *DenseElementsAttr, *DenseResourceAttr:
			return true
		}
		return false
	}
	return true
}

func (v *verifier) shape(op *Operation) bool {
	d := op.def
	if d.Successors >= 0 && len(op.succs) != d.Successors {
		return v.failf(op, "requires %s, but found %d", diag.Count(d.Successors, "successor"), len(op.succs))
	}
	variadic := len(d.Regions) > 0 && d.Regions[len(d.Regions)-1].Variadic
	if len(op.regions) != len(d.Regions) && !(variadic && len(op.regions) >= len(d.Regions)-1) {
		return v.failf(op, "requires %s, but found %d", diag.Count(len(d.Regions), "region"), len(op.regions))
	}
	if d.Has(Terminator) && op.block != nil && op.next != nil {
		return v.failf(op, "must be the last operation in the parent block")
	}
	return true
}

func (v *verifier) traits(op *Operation) bool {
	d := op.def
	if d.Has(SameOperandsAndResultType | SameOperandsType) {
		var first Type
		same := func(t Type) bool {
			if first == nil {
				first = t
			}
			return first == t
		}
		for _, u := range op.operands {
			if !same(u.value.typ) {
				return v.failf(op, "requires the same type for all operands")
			}
		}
		if d.Has(SameOperandsAndResultType) {
			for _, r := range op.results {
				if !same(r.typ) {
					return v.failf(op, "requires the same type for all operands and results")
				}
			}
		}
	}
	if d.Has(PassesOperands) && !v.passesOperands(op) {
		return false
	}
	if d.Has(SameShape|SameEncoding) && !v.sameTensors(op) {
		return false
	}
	if d.Has(TensorSize) {
		for _, t := range op.allTypes() {
			if !v.tensorSize(op, t) {
				return false
			}
		}
	}
	return true
}

func (v *verifier) passesOperands(op *Operation) bool {
	if len(op.operands) != len(op.results) {
		return v.failf(op, "has %s, but %s", diag.Count(len(op.operands), "input"), diag.Count(len(op.results), "output"))
	}
	for i, u := range op.operands {
		if u.value.typ != op.results[i].typ {
			return v.failf(op, "types of input #%d and output #%d differ", i, i)
		}
	}
	return true
}

func (op *Operation) allTypes() []Type {
	ts := make([]Type, 0, len(op.operands)+len(op.results))
	for _, u := range op.operands {
		ts = append(ts, u.value.typ)
	}
	for _, r := range op.results {
		ts = append(ts, r.typ)
	}
	return ts
}

func (v *verifier) sameTensors(op *Operation) bool {
	var first *TensorType
	seenScalar := false
	for _, t := range op.allTypes() {
		tt, ok := t.(*TensorType)
		if !ok {
			seenScalar = true
			continue
		}
		if first == nil {
			first = tt
			continue
		}
		if op.def.Has(SameShape) && KeyOf(tt.Shape) != KeyOf(first.Shape) {
			return v.failf(op, "requires the same shape for all operands and results")
		}
		switch {
		case !op.def.Has(SameEncoding) || tt.Encoding == nil: // as Triton has it, one without fits each
		case first.Encoding == nil:
			first = tt
		case tt.Encoding != first.Encoding:
			return v.failf(op, "requires the same encoding for all operands and results")
		}
	}
	if op.def.Has(SameShape) && first != nil && seenScalar {
		return v.failf(op, "requires the same shape for all operands and results")
	}
	return true
}

// MaxTensorElements is the largest number of elements of a tensor.
const MaxTensorElements = 1 << 20

func (v *verifier) tensorSize(op *Operation, t Type) bool {
	if tt, ok := t.(*TensorType); ok {
		if why := op.wrongSize(tt); why != "" {
			return v.failf(op, "%s", why)
		}
	}
	return true
}

// CheckSize is the trait TensorSize for one tensor of op, for operations that check
// something else first.
func (op *Operation) CheckSize(t *TensorType) error {
	if why := op.wrongSize(t); why != "" {
		return errors.New(why)
	}
	return nil
}

// AnyBlockSizes is the attribute of a module for a target that takes tensors of all sizes.
const AnyBlockSizes = "tt.any_block_sizes"

// anySizes reports whether what op is in takes tensors of all sizes.
func (op *Operation) anySizes() bool {
	for ; op != nil; op = op.Parent() {
		if op.Attr(AnyBlockSizes) != nil {
			return true
		}
	}
	return false
}

// wrongSize says why op can have no tensor of this shape, or "".
func (op *Operation) wrongSize(t *TensorType) string {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 1 || d&(d-1) != 0 && !op.anySizes() {
			return fmt.Sprintf("number of elements must be power-of-two, but a dimension is %d", d)
		}
		if d > MaxTensorElements/n {
			return fmt.Sprintf("maximum allowed number of elements is %d, but there are more", MaxTensorElements)
		}
		n *= d
	}
	return ""
}

func (v *verifier) regions(op *Operation) bool {
	for i, r := range op.regions {
		if !op.def.Unregistered && len(op.def.Regions) > 0 {
			d := op.def.Regions[min(i, len(op.def.Regions)-1)]
			if d.MaxBlocks == 1 && r.first != r.last {
				return v.failf(op, "region #%d ('%s') must have at most one block", i, d.Name)
			}
		}
		for b := r.first; b != nil; b = b.next {
			for o := b.first; o != nil; o = o.next {
				if o.block != b {
					return v.failf(o, "is linked into a block that it does not name as its own")
				}
				for _, s := range o.succs {
					if s.region != r {
						return v.failf(o, "branches to a block of another region")
					}
					if s == r.first {
						return v.failf(o, "branches to the entry block of its region, which must have no predecessors")
					}
				}
				if !v.operation(o) {
					return false
				}
			}
			if !op.def.Unregistered && !op.def.Has(NoTerminator) && (b.last == nil || !b.last.IsTerminator() && !b.last.def.Unregistered) {
				at := op
				if b.first != nil {
					at = b.first
				}
				return v.failf(at, "begins a block with no terminator, in region #%d of '%s'", i, op.Name())
			}
		}
	}
	return true
}

func (v *verifier) dominance(op *Operation) {
	if op.def.Has(IsolatedFromAbove) || v.scopes == nil {
		outer := v.scopes
		v.scopes = make(map[*Region]*scope)
		defer func() { v.scopes = outer }()
	}
	for _, r := range op.regions {
		s := &scope{dom: Dominators(r)}
		v.scopes[r] = s
		for b := r.first; b != nil; b = b.next {
			for o := b.first; o != nil; o = o.next {
				s.at = o
				for i, u := range o.operands {
					o.ctx.meter.Visit()
					if !v.visible(u.value) {
						v.failf(o, "operand #%d does not dominate this use", i)
						return
					}
				}
				v.dominance(o)
				if v.err != nil {
					return
				}
			}
		}
		delete(v.scopes, r)
	}
}

// visible reports whether val may be used by the operation that dominance is at.
func (v *verifier) visible(val *Value) bool {
	def := val.Block()
	if def == nil {
		return false
	}
	s := v.scopes[def.region]
	if s == nil {
		return false
	}
	if s.at.block == def {
		return val.op == nil || val.op.IsBeforeInBlock(s.at)
	}
	return s.dom.Dominates(def, s.at.block)
}

// wrongKind adds what MLIR's parser says of a type that is not a tensor.
func wrongKind(want Constraint) string {
	if want.Name == AnyTensor.Name {
		return ": invalid kind of type"
	}
	return ""
}

func describe(t Type) string {
	switch t := t.(type) {
	case *IntegerType:
		return fmt.Sprintf("%si%d", [...]string{"", "s", "u"}[t.Sign], t.Width)
	case *FloatType:
		return t.Kind.String()
	case *IndexType:
		return "index"
	case *TensorType:
		s := "a tensor of "
		for _, d := range t.Shape {
			s += fmt.Sprintf("%dx", d)
		}
		return s + describe(t.Elem)
	case *FunctionType:
		return "a function type"
	case fmt.Stringer:
		return t.String()
	}
	return fmt.Sprintf("a type of dialect '%s'", t.TypeDialect())
}
