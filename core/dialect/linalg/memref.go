package linalg

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Dynamic stands for a size, stride or offset that is known when the kernel runs, as
// MLIR's attributes have it.
const Dynamic = -1 << 63

// MemRef is the type memref<SHAPExELEM, strided<STRIDES, offset: OFFSET>, SPACE>. The
// builtin types of core/ir lack it; there it is an opaque one.
type MemRef struct {
	Shape   []int64 // Dynamic where not known
	Elem    ir.Type
	Strides []int64 // nil: row by row, without gaps
	Offset  int64
	Space   string // the attribute of a memory space, such as #npuir.space<ub>; "" without one
}

// Type is the type in a context.
func (m *MemRef) Type(c *ir.Context) ir.Type {
	var b strings.Builder
	b.WriteString("memref<")
	for _, n := range m.Shape {
		b.WriteString(number(n))
		b.WriteString("x")
	}
	b.WriteString(text.TypeString(c, m.Elem))
	if m.Strides != nil {
		b.WriteString(", strided<[")
		for i, s := range m.Strides {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(number(s))
		}
		b.WriteString("]")
		if m.Offset != 0 {
			b.WriteString(", offset: " + number(m.Offset))
		}
		b.WriteString(">")
	}
	if m.Space != "" {
		b.WriteString(", " + m.Space)
	}
	b.WriteString(">")
	return c.OpaqueType("builtin", b.String())
}

func number(n int64) string {
	if n == Dynamic {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

// MemRefOf returns what a type says that Type made, or nil for another type.
func MemRefOf(c *ir.Context, t ir.Type) *MemRef {
	o, ok := t.(*ir.OpaqueType)
	if !ok {
		return nil
	}
	body, ok := strings.CutPrefix(o.Text, "memref<")
	if !ok || o.Dialect != "builtin" {
		return nil
	}
	body = strings.TrimSuffix(body, ">")
	m := &MemRef{}
	if before, space, ok := strings.Cut(body, ", #"); ok {
		body, m.Space = before, "#"+space
	}
	body, layout, strided := strings.Cut(body, ", strided<[")
	for {
		dim, rest, found := strings.Cut(body, "x")
		n, ok := value(dim)
		if !found || !ok {
			break
		}
		m.Shape = append(m.Shape, n)
		body = rest
	}
	var err error
	if m.Elem, err = text.ParseType(c, body); err != nil {
		return nil
	}
	if !strided {
		return m
	}
	strides, offset, _ := strings.Cut(strings.TrimSuffix(layout, ">"), "]")
	m.Strides = []int64{}
	for _, s := range strings.Split(strides, ", ") {
		if n, ok := value(s); ok {
			m.Strides = append(m.Strides, n)
		}
	}
	m.Offset, _ = value(strings.TrimPrefix(offset, ", offset: "))
	return m
}

func value(s string) (int64, bool) {
	if s == "?" {
		return Dynamic, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// elemOf is the element type of a memref or tensor.
func elemOf(c *ir.Context, t ir.Type) ir.Type {
	if m := MemRefOf(c, t); m != nil {
		return m.Elem
	}
	return ir.ElemOf(t)
}

// parseToTensor reads %m [restrict] [writable] : T [to R]. Before MLIR 20 the result's type
// was not there.
func parseToTensor(p *text.Parser, s *text.OpState) {
	c := p.Context()
	name := p.Operand()
	for _, word := range toTensorFlags {
		if p.Opt(word) {
			s.Add(word, c.Unit())
		}
	}
	p.DictInto(s)
	p.Expect(":")
	pos := p.Pos()
	t := p.Type()
	s.Operands = []*ir.Value{p.Value(name, t)}
	if p.Opt("to") {
		s.Types = []ir.Type{p.Type()}
		return
	}
	m := MemRefOf(c, t)
	if m == nil {
		p.FailAt(pos, "expected memory")
	}
	shape := slices.Clone(m.Shape)
	for i, n := range shape {
		if n == Dynamic {
			shape[i] = -1 // as core/ir has it
		}
	}
	s.Types = []ir.Type{c.Tensor(shape, m.Elem, nil)}
}

func printToTensor(w *text.Printer, op *ir.Operation) {
	w.Str(" ")
	w.Value(op.OneOperand())
	for _, word := range toTensorFlags {
		if op.HasAttr(word) {
			w.Str(" " + word)
		}
	}
	w.AttrDict(op, toTensorFlags...)
	w.Str(" : ")
	w.Type(op.OneOperand().Type())
	if v := w.MLIR(); v == 0 || v >= 20 {
		w.Str(" to ")
		w.Type(op.OneResult().Type())
	}
}

var toTensorFlags = []string{"restrict", "writable"}
