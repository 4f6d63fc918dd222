package text

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// maxDense is the largest number of elements that a dense literal may list.
const maxDense = 1 << 24

// dense reads dense<…> : type.
func (p *Parser) dense() ir.Attribute {
	start := p.tok.pos
	p.advance()
	p.punct('<')
	d := denseReader{p: p}
	pos := p.Pos()
	hex, isHex := "", false
	switch {
	case p.atPunct('>'):
		d.empty = true
	case p.AtString():
		hex, isHex = p.Quoted(), true
	default:
		d.read(0)
	}
	p.punct('>')
	p.punct(':')
	typ := p.Type()
	t, ok := typ.(*ir.TensorType)
	if o, vector := typ.(*ir.OpaqueType); vector && strings.HasPrefix(o.Text, "vector<") {
		return p.ctx.OpaqueAttr("builtin", inOneLine(p.src[start:p.prev]))
	}
	if !ok {
		p.FailAt(pos, "dense elements need a tensor type")
	}
	n := int64(1)
	for _, s := range t.Shape {
		if s < 0 {
			p.FailAt(pos, "dense elements need a static shape")
		}
		n *= s // cannot overflow: the parser has checked the shape
	}
	switch {
	case isHex:
		return p.denseHex(pos, hex, t, n)
	case d.empty:
		if n != 0 {
			p.FailAt(pos, "no elements for a shape of %d", n)
		}
		return p.ctx.DenseElements(t, nil)
	}
	if len(d.lits) == 0 {
		d.rank = len(d.shape) // lists without an element
	}
	if d.rank == 0 {
		return p.ctx.DenseSplat(t, d.bits(0, t.Elem))
	}
	if d.rank != len(t.Shape) {
		p.FailAt(pos, "the literal has %s, but the type has %d", diag.Count(d.rank, "dimension"), len(t.Shape))
	}
	for i, s := range d.shape {
		if s != t.Shape[i] {
			p.FailAt(pos, "dimension %d has %s, but the type says %d", i, diag.Count(s, "element"), t.Shape[i])
		}
	}
	values := make([]uint64, n)
	for i := range values {
		values[i] = d.bits(i, t.Elem)
	}
	return p.ctx.DenseElements(t, values)
}

// denseLit is one literal of a dense list; its type is not known yet.
type denseLit struct {
	pos int32
	end int32
	neg bool
	k   kind
}

// denseReader reads nested lists of literals.
type denseReader struct {
	p     *Parser
	lits  []denseLit
	shape []int64
	rank  int
	empty bool
}

// read reads a literal or list inside depth lists.
func (d *denseReader) read(depth int) {
	p := d.p
	if !p.atPunct('[') {
		if d.rank == 0 && len(d.lits) == 0 {
			d.rank = depth
		}
		if depth != d.rank {
			p.Fail("lists of a dense literal must be of equal depth")
		}
		d.literal()
		return
	}
	p.enter()
	var n int64
	p.List('[', ']', func() {
		d.read(depth + 1)
		n++
	})
	p.leave()
	for len(d.shape) <= depth {
		d.shape = append(d.shape, -1)
	}
	if d.shape[depth] < 0 {
		d.shape[depth] = n
	}
	if d.shape[depth] != n {
		p.Fail("lists of a dense literal must be of equal length")
	}
}

func (d *denseReader) literal() {
	p := d.p
	if len(d.lits) == maxDense {
		p.Fail("more than %d elements in a dense literal", maxDense)
	}
	l := denseLit{pos: int32(p.tok.pos)}
	l.neg = p.optPunct('-')
	l.k = p.tok.kind
	switch {
	case l.k == tokInt || l.k == tokFloat:
	case !l.neg && (p.At("true") || p.At("false")):
	default:
		p.expected("a number, 'true' or 'false'")
	}
	l.pos, l.end = int32(p.tok.pos), int32(p.tok.end)
	p.advance()
	d.lits = append(d.lits, l)
}

func (d *denseReader) bits(i int, elem ir.Type) uint64 {
	p, l := d.p, d.lits[i]
	lit, pos := p.src[l.pos:l.end], Pos(l.pos)
	switch t := elem.(type) {
	case *ir.FloatType:
		if l.k != tokIdent {
			return p.floatBits(pos, lit, l.k, l.neg, t)
		}
	case *ir.IntegerType, *ir.IndexType:
		switch {
		case l.k == tokInt:
			return p.intBits(pos, lit, l.neg, elem)
		case l.k == tokIdent && ir.IsInt(elem, 1):
			if lit == "true" {
				return 1
			}
			return 0
		}
	default:
		p.FailAt(pos, "dense elements must be integers or floats")
	}
	p.FailAt(pos, "'%s' does not fit the element type", lit)
	return 0
}

// denseHex reads the elements as the bytes of a hexadecimal string, each
// element little-endian; those of i1 are packed eight to a byte.
func (p *Parser) denseHex(pos Pos, hex string, t *ir.TensorType, n int64) ir.Attribute {
	if len(hex) < 2 || hex[:2] != "0x" || len(hex)%2 != 0 {
		p.FailAt(pos, "expected a string of \"0x\" and hexadecimal digits")
	}
	data := make([]byte, 0, len(hex)/2)
	for i := 2; i < len(hex); i += 2 {
		if classes[hex[i]]&classes[hex[i+1]]&clHex == 0 {
			p.FailAt(pos, "expected hexadecimal digits")
		}
		data = append(data, hexDigit(hex[i])<<4|hexDigit(hex[i+1]))
	}
	width := elemWidth(t.Elem)
	if width == 0 {
		p.FailAt(pos, "dense elements must be integers or floats of at most 64 bits")
	}
	if width == 1 {
		if len(data) == 1 && (data[0] == 0 || data[0] == 0xff) {
			return p.ctx.DenseSplat(t, uint64(data[0]&1))
		}
		if n > int64(len(data))*8 || int64(len(data)) != (n+7)/8 {
			p.FailAt(pos, "%s for %s", diag.Count(len(data), "byte"), diag.Count(n, "element"))
		}
		values := make([]uint64, n)
		for i := range values {
			values[i] = uint64(data[i/8] >> (i % 8) & 1)
		}
		return p.ctx.DenseElements(t, values)
	}
	size := (width + 7) / 8
	at := func(i int) (v uint64) {
		for k := range size {
			v |= uint64(data[i*size+k]) << (8 * k)
		}
		if f, ok := t.Elem.(*ir.FloatType); ok && width < 64 && v>>width != 0 {
			p.FailAt(pos, "bits do not fit %s", f.Kind)
		}
		return v
	}
	switch {
	case len(data) == size:
		return p.ctx.DenseSplat(t, at(0))
	case len(data)%size != 0 || int64(len(data)/size) != n:
		p.FailAt(pos, "%s for %s of %d", diag.Count(len(data), "byte"), diag.Count(n, "element"), size)
	}
	values := make([]uint64, n)
	for i := range values {
		values[i] = at(i)
	}
	return p.ctx.DenseElements(t, values)
}

// elemWidth is the width in bits of a number of at most 64 bits, else 0.
func elemWidth(t ir.Type) int {
	if _, ok := t.(*ir.IndexType); ok {
		return 64
	}
	if w := ir.BitWidth(t); w <= 64 {
		return w
	}
	return 0
}

// hexThreshold is the number of elements above which a list is printed as a
// hexadecimal string.
const hexThreshold = 100

// denseResource reads dense_resource<name> : type. What the resource holds stays in
// the file's metadata.
func (p *Parser) denseResource() ir.Attribute {
	p.advance()
	p.punct('<')
	var name string
	if p.AtString() {
		name = p.Quoted()
	} else {
		name = p.Keyword("the name of a resource")
	}
	p.punct('>')
	p.punct(':')
	pos := p.Pos()
	t := p.Type()
	if o, ok := t.(*ir.OpaqueType); ok && (strings.HasPrefix(o.Text, "vector<") || strings.HasPrefix(o.Text, "memref<")) {
		return p.ctx.DenseResource(name, t)
	}
	if _, ok := t.(*ir.TensorType); !ok {
		p.FailAt(pos, "`dense_resource` expected a shaped type")
	}
	return p.ctx.DenseResource(name, t)
}

func (w *Printer) dense(a *ir.DenseElementsAttr) {
	if w.visiting {
		return
	}
	elem, shape := ir.ElemOf(a.Type), ir.ShapeOf(a.Type)
	w.Str("dense<")
	switch {
	case a.IsSplat():
		w.elem(elem, a.Values[0])
	case len(a.Values) > hexThreshold && elemWidth(elem) > 0:
		w.denseHex(a, elemWidth(elem))
	case len(a.Values) > 0:
		w.denseList(a, elem, shape, 0, len(a.Values))
	}
	w.Str(">")
}

// denseList writes the elements first … first+n of a as nested lists.
func (w *Printer) denseList(a *ir.DenseElementsAttr, elem ir.Type, shape []int64, first, n int) {
	if len(shape) == 0 {
		w.elem(elem, a.Values[first])
		return
	}
	w.Str("[")
	step := n / int(shape[0])
	for i := range int(shape[0]) {
		if i > 0 {
			w.Str(", ")
		}
		w.denseList(a, elem, shape[1:], first+i*step, step)
	}
	w.Str("]")
}

func (w *Printer) denseHex(a *ir.DenseElementsAttr, width int) {
	const digits = "0123456789ABCDEF"
	put := func(b byte) { w.buf = append(w.buf, digits[b>>4], digits[b&15]) }
	w.Str(`"0x`)
	if width == 1 {
		for i := 0; i < len(a.Values); i += 8 {
			var b byte
			for k := 0; k < 8 && i+k < len(a.Values); k++ {
				b |= byte(a.Values[i+k]&1) << k
			}
			put(b)
		}
	} else {
		for _, v := range a.Values {
			for k := range (width + 7) / 8 {
				put(byte(v >> (8 * k)))
			}
		}
	}
	w.Str(`"`)
}
