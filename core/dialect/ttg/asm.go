package ttg

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
)

var asm = &text.Dialect{
	ParseType:   parseType,
	PrintType:   printType,
	ParseAttr:   parseAttr,
	PrintAttr:   printAttr,
	Alias:       alias,
	Constraints: map[string]ir.Constraint{"ttg.memdesc": MemDescLike, "ttg.async.token": TokenLike},
	Ops: map[*ir.OpDef]text.OpAsm{
		WarpSpecialize: {Parse: parseWarpSpecialize, Print: printWarpSpecialize},
	},
}

func parseType(p *text.Parser, name string) ir.Type {
	switch name {
	case "async.token":
		return AsyncToken(p.Context())
	case "memdesc":
		return parseMemDesc(p)
	}
	return nil
}

// parseMemDesc reads <128x64xf16, #encoding, #space [, mutable] [, 3x128x64]>.
func parseMemDesc(p *text.Parser) ir.Type {
	pos := p.Pos()
	p.Expect("<")
	t := MemDescType{Shape: p.Dims(), Elem: p.Type()}
	p.Expect(",")
	t.Encoding = p.Attr()
	p.Expect(",")
	t.Space = p.Attr()
	if p.Opt(",") {
		if p.Opt("mutable") {
			t.Mutable = true
			if p.Opt(",") {
				t.AllocShape = p.LastDims()
			}
		} else {
			t.AllocShape = p.LastDims()
		}
	}
	p.Expect(">")
	if why := checkMemDesc(&t); why != "" {
		p.FailAt(pos, "%s", why)
	}
	return MemDesc(p.Context(), t)
}

// checkMemDesc says why the shape of a buffer does not fit its encoding, or "".
func checkMemDesc(t *MemDescType) string {
	rank := len(t.Shape)
	if rank == 0 {
		return msgRank0
	}
	a, ok := t.Encoding.(*encoding.Attr)
	if !ok {
		return ""
	}
	l, ok := a.Layout.(layout.Shared)
	if !ok {
		return ""
	}
	if n := l.Rank(); n != rank && n != rank-1 {
		return fmt.Sprintf(msgMemDescRank, n, rank)
	}
	padded, ok := l.(*layout.PaddedShared)
	if !ok {
		return ""
	}
	shape := t.AllocShape
	if shape == nil {
		shape = t.Shape
	}
	if len(shape) < padded.Rank() {
		return fmt.Sprintf(msgMemDescRank, padded.Rank(), len(shape))
	}
	shape = shape[len(shape)-padded.Rank():]
	for d, want := range shape {
		if have := paddedSize(padded, d); have != want {
			return fmt.Sprintf(msgPaddedShape, d, want, have)
		}
	}
	return ""
}

// paddedSize is how many elements a padded encoding has along dimension d.
func paddedSize(e *layout.PaddedShared, d int) int64 {
	if len(e.Order) > 0 {
		n := e.Shape[d]
		for _, v := range e.CGA {
			if v[d] != 0 {
				n *= 2
			}
		}
		return n
	}
	most := int32(0)
	for _, v := range slices.Concat(e.Offset, e.Block) {
		most |= v[d]
	}
	return int64(most) + 1
}

func printType(w *text.Printer, t ir.Type) {
	m, ok := t.(*MemDescType)
	if !ok {
		w.Str("async.token")
		return
	}
	w.Str("memdesc<")
	w.Dims(m.Shape)
	w.Type(m.Elem)
	w.Str(", ")
	w.Attr(m.Encoding)
	w.Str(", ")
	w.Attr(m.Space)
	if m.Mutable {
		w.Str(", mutable")
	}
	if ir.KeyOf(m.AllocShape) != ir.KeyOf(m.Shape) {
		w.Str(", ")
		w.LastDims(m.AllocShape)
	}
	w.Str(">")
}

// parseWarpSpecialize reads (%captures) [attributes {…}] default {…}
// partition0(%a: T, …) num_warps(4) {…} … : (T, …) -> (U, …).
func parseWarpSpecialize(p *text.Parser, s *text.OpState) {
	c := p.Context()
	var captures []text.Operand
	p.List('(', ')', func() { captures = append(captures, p.Operand()) })
	if p.Opt("attributes") {
		p.DictInto(s)
	}
	p.Expect("default")
	def := p.Region(nil, false)
	// The partitions are regions of one operation that does not appear in the
	// text; its location is unknown.
	holder := ir.NewOperation(WarpSpecializePartitions, &ir.State{Ctx: c, Types: []ir.Type{}})
	at := p.Pos()
	var warps []int64
	for p.AtKeyword() && p.At(partitionName(len(warps))) {
		p.Keyword("a partition")
		var args []text.RegionArg
		p.List('(', ')', func() {
			a := text.RegionArg{Operand: p.Operand()}
			p.Expect(":")
			a.Type = p.Type()
			a.Loc = p.OptLoc()
			args = append(args, a)
		})
		p.Expect("num_warps")
		p.Expect("(")
		warps = append(warps, p.IntBelow(1<<10, "the number of warps"))
		p.Expect(")")
		holder.AddRegion().TakeBody(p.Region(args, true))
	}
	s.Add("partitionNumWarps", c.I32Array(warps...))
	p.Expect(":")
	pos := p.Pos()
	in := p.TypeListInParens()
	s.Types = p.ArrowTypes()
	s.Operands = p.Values(pos, captures, in)
	inner := &ir.Region{}
	inner.AddBlock().Append(holder)
	p.NoteAt(at, holder)
	s.Bodies = []*ir.Region{def, inner}
}

func partitionName(i int) string { return "partition" + strconv.Itoa(i) }

func printWarpSpecialize(w *text.Printer, op *ir.Operation) {
	w.Str("(")
	w.Values(op.OperandValues())
	w.Str(")")
	w.AttrDictKeyword(op, "partitionNumWarps")
	w.Newline()
	w.Str("default ")
	w.Region(AsWarpSpecialize(op).DefaultRegion(), false, true)
	warps := AsWarpSpecialize(op).PartitionNumWarps()
	for i, r := range Partitions(op) {
		w.Newline()
		w.Str(partitionName(i))
		w.Str("(")
		for k, a := range r.First().Args() {
			if k > 0 {
				w.Str(", ")
			}
			w.Arg(a, nil)
		}
		w.Str(") num_warps(")
		w.Int(warps[i])
		w.Str(") ")
		w.Region(r, false, true)
	}
	w.Str(" : (")
	w.ValueTypes(op.OperandValues())
	w.Str(")")
	w.ArrowTypes(op.Results())
}

// Partitions are the regions of a WarpSpecialize apart from the default one.
func Partitions(op *ir.Operation) []*ir.Region {
	if b := AsWarpSpecialize(op).PartitionOpHolder().First(); b != nil && b.First() != nil {
		return b.First().Regions()
	}
	return nil
}
