package decl

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// constraints are the names of the constraints over builtin types.
var constraints = map[string]ir.Constraint{
	"any":         ir.AnyType,
	"int":         ir.IntLike,
	"float":       ir.FloatLike,
	"number":      ir.NumberLike,
	"bool":        ir.BoolLike,
	"i1":          ir.Bool,
	"i32":         ir.I32Scalar,
	"i64":         ir.I64Scalar,
	"index":       ir.Index,
	"tensor":      ir.AnyTensor,
	"tensor<i32>": {Name: "tensor of 32-bit signless integers", Test: func(t ir.Type) bool { return ir.AnyTensor.Test(t) && ir.IsInt(ir.ElemOf(t), 32) }},
}

var attrKinds = map[string]ir.AttrKind{
	"any": ir.AttrAny, "unit": ir.AttrUnit, "bool": ir.AttrBool, "int": ir.AttrInt, "i32": ir.AttrI32, "i64": ir.AttrI64,
	"enum": ir.AttrEnum, "string": ir.AttrString, "type": ir.AttrType, "symbol": ir.AttrSymbol,
	"i32s": ir.AttrDenseI32, "i64s": ir.AttrDenseI64, "array": ir.AttrArray, "dict": ir.AttrDict, "typed": ir.AttrTyped,
}

var traits = map[string]ir.Trait{
	"terminator": ir.Terminator, "isolated": ir.IsolatedFromAbove, "commutative": ir.Commutative,
	"sameOperandsAndResultType": ir.SameOperandsAndResultType, "sameOperandsType": ir.SameOperandsType,
	"sameShape": ir.SameShape, "sameEncoding": ir.SameEncoding, "elementwise": ir.Elementwise,
	"noTerminator": ir.NoTerminator, "segments": ir.SegmentedOperands, "tensorSize": ir.TensorSize,
	"passesOperands": ir.PassesOperands, "anyWarps": ir.AnyWarps,
}

func (l *loader) effects(names []string) (e ir.Effects) {
	for _, n := range names {
		switch n {
		case "read":
			e.Read = true
		case "write":
			e.Write = true
		case "alloc":
			e.Alloc = true
		case "unknown":
			e.Unknown = true
		case "recursive":
			e.Recursive = true
		case "notSpeculatable":
			e.NotSpeculatable = true
		default:
			l.fail("unknown effect %q", n)
		}
	}
	return e
}

// constraint resolves names separated by |.
func (l *loader) constraint(names string) ir.Constraint {
	parts := strings.Split(names, "|")
	cs := make([]ir.Constraint, len(parts))
	for i, n := range parts {
		cs[i] = l.oneConstraint(strings.TrimSpace(n))
	}
	if len(cs) == 1 {
		return cs[0]
	}
	said := make([]string, len(cs))
	for i, c := range cs {
		said[i] = c.Name
	}
	return ir.Constraint{Name: strings.Join(said, " or "), Test: func(t ir.Type) bool {
		for _, c := range cs {
			if c.Test == nil || c.Test(t) {
				return true
			}
		}
		return false
	}}
}

func (l *loader) oneConstraint(name string) ir.Constraint {
	if c, ok := constraints[name]; ok {
		return c
	}
	for _, d := range l.known {
		if h, ok := d.Asm.(*text.Dialect); ok {
			if c, ok := h.Constraints[name]; ok {
				return c
			}
		}
	}
	for i := range l.types {
		if def := l.types[i]; name == l.d.Name+"."+def.name {
			return ir.Constraint{Name: name, Prefix: "!" + name, Test: func(t ir.Type) bool {
				v, ok := t.(*TypeValue)
				return ok && v.def == def
			}}
		}
	}
	l.fail("unknown constraint %q", name)
	return ir.Constraint{}
}

// infer makes the rule of the result types: "like NAME" (the type of that
// operand), "operands" (the types of all operands) or "type T".
func (l *loader) infer(rule string, d *ir.OpDef) func(*ir.State) ([]ir.Type, error) {
	word, rest, _ := strings.Cut(rule, " ")
	switch word {
	case "":
		return nil
	case "operands":
		return func(s *ir.State) ([]ir.Type, error) {
			types := make([]ir.Type, len(s.Operands))
			for i, v := range s.Operands {
				types[i] = v.Type()
			}
			return types, nil
		}
	case "like":
		for i := range d.Operands {
			if d.Operands[i].Name == rest {
				return func(s *ir.State) ([]ir.Type, error) { return likeOperand(d, i, s) }
			}
		}
		l.fail("resultTypes: there is no operand %q", rest)
	case "type":
		return func(s *ir.State) ([]ir.Type, error) {
			t, err := text.ParseType(s.Ctx, rest)
			return []ir.Type{t}, err
		}
	}
	l.fail("resultTypes: unknown rule %q; there are \"like NAME\", \"operands\" and \"type T\"", rule)
	return nil
}

// likeOperand gives the type of the first operand of group i.
func likeOperand(d *ir.OpDef, i int, s *ir.State) ([]ir.Type, error) {
	at := 0
	if s.Segments != nil {
		for _, n := range s.Segments[:i] {
			at += int(n)
		}
	} else {
		extra := len(s.Operands) - len(d.Operands) + 1
		for _, g := range d.Operands[:i] {
			if g.Arity == ir.One {
				at++
			} else {
				at += extra
			}
		}
	}
	if at >= len(s.Operands) {
		return nil, fmt.Errorf("the type of the result is that of operand '%s', which is absent", d.Operands[i].Name)
	}
	return []ir.Type{s.Operands[at].Type()}, nil
}
