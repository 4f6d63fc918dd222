package npuir

import (
	"encoding/json"
	"sync"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// pipesEnum is the enumeration Pipes in the declaration.
const pipesEnum = "pipe"

// attrKinds are the kinds of attributes that instructions have, as declarations name them.
var attrKinds = map[ir.AttrKind]string{
	ir.AttrUnit: "unit", ir.AttrI64: "i64", ir.AttrEnum: "enum", ir.AttrString: "string", ir.AttrDenseI64: "i64s",
}

var arities = map[ir.Arity]string{ir.Variadic: "variadic", ir.Optional: "optional"}

// Declaration is the table of instructions as core/ir/decl reads it, for hosts. What the
// verifiers check it does not say.
var Declaration = sync.OnceValue(func() string {
	pipes := decl.Enum{Name: pipesEnum, Width: 64}
	for _, c := range Pipes {
		pipes.Cases = append(pipes.Cases, decl.Case{Keyword: c.Keyword, Value: c.Value})
	}
	d := decl.Dialect{Name: Name, Doc: Dialect.Doc, Enums: []decl.Enum{pipes}}
	for _, def := range Dialect.Ops {
		d.Ops = append(d.Ops, declared(def))
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
})

// declared is the declaration of an instruction.
func declared(def *ir.OpDef) decl.Op {
	op := decl.Op{Name: def.Name, Doc: def.Doc, Asm: def.Asm}
	for _, o := range def.Operands {
		op.Operands = append(op.Operands, decl.Group{Name: o.Name, Type: "any", Arity: arities[o.Arity]})
	}
	for _, r := range def.Results {
		op.Results = append(op.Results, decl.Group{Name: r.Name, Type: "any", Arity: arities[r.Arity]})
	}
	for _, a := range def.Attrs {
		kind, ok := attrKinds[a.Kind]
		if !ok {
			panic("BUG: no declaration has the kind of the attribute " + a.Name + " of " + def.Name)
		}
		out := decl.OpAttr{Name: a.Name, Kind: kind, Optional: a.Optional}
		if a.Kind == ir.AttrEnum {
			out.Enum = pipesEnum
		}
		op.Attrs = append(op.Attrs, out)
	}
	for _, e := range []struct {
		name string
		is   bool
	}{{"read", def.Effects.Read}, {"write", def.Effects.Write}, {"alloc", def.Effects.Alloc}, {"unknown", def.Effects.Unknown}} {
		if e.is {
			op.Effects = append(op.Effects, e.name)
		}
	}
	return op
}
