package text

import (
	"strconv"

	"github.com/tritonc/tritonc/core/ir"
)

// maxLine bounds line and column numbers.
const maxLine = 1<<31 - 1

// location reads loc(…).
func (p *Parser) location() ir.Location {
	p.Expect("loc")
	p.punct('(')
	l := p.locBody()
	p.punct(')')
	return l
}

// OptLoc reads loc(…) if it comes next, else returns nil.
func (p *Parser) OptLoc() ir.Location {
	if !p.At("loc") {
		return nil
	}
	return p.location()
}

func (p *Parser) locBody() ir.Location {
	p.enterLoc()
	defer p.leaveLoc()
	switch {
	case p.tok.kind == tokHash:
		pos := p.Pos()
		a := p.resolve()
		if a.loc == nil {
			p.FailAt(pos, "expected a location, but the alias is an attribute")
		}
		return a.loc
	case p.At("loc"):
		return p.location()
	case p.Opt("unknown"):
		return p.ctx.UnknownLoc()
	case p.Opt("callsite"):
		p.punct('(')
		callee := p.locBody()
		p.Expect("at")
		caller := p.locBody()
		p.punct(')')
		return p.ctx.CallSiteLoc(callee, caller)
	case p.Opt("fused"):
		var meta ir.Attribute
		if p.optPunct('<') {
			meta = p.Attr()
			p.punct('>')
		}
		var locs []ir.Location
		p.List('[', ']', func() { locs = append(locs, p.locBody()) })
		return p.ctx.FusedLoc(locs, meta)
	case !p.AtString():
		p.expected("a location")
	}
	s := p.Quoted()
	switch {
	case p.optPunct(':'):
		return p.fileLoc(s)
	case p.optPunct('('):
		child := p.locBody()
		p.punct(')')
		return p.ctx.NameLoc(s, child)
	}
	return p.ctx.NameLoc(s, p.ctx.UnknownLoc())
}

// fileLoc reads line:col and, for a range, to :col or to line:col.
func (p *Parser) fileLoc(file string) ir.Location {
	l := ir.FileLoc{File: file, Line: int(p.IntBelow(maxLine, "line"))}
	p.punct(':')
	l.Col = int(p.IntBelow(maxLine, "column"))
	if p.Opt("to") {
		l.EndLine = l.Line
		if !p.atPunct(':') {
			l.EndLine = int(p.IntBelow(maxLine, "line"))
		}
		p.punct(':')
		l.EndCol = int(p.IntBelow(maxLine, "column"))
	}
	return p.ctx.FileRangeLoc(l)
}

// loc writes loc(…), by its alias where it has one and alias is true.
func (w *Printer) loc(l ir.Location, alias bool) {
	if l == nil {
		l = w.ctx.UnknownLoc()
	}
	w.Str("loc(")
	if alias {
		w.locRef(l)
	} else {
		w.locBody(l)
	}
	w.Str(")")
}

// locRef writes l's alias, or l itself where it has none.
func (w *Printer) locRef(l ir.Location) {
	if w.visiting {
		w.visitLoc(l, w.deferrable)
		return
	}
	if n, ok := w.locAlias[l]; ok {
		w.buf = append(w.buf, "#loc"...)
		if n > 0 {
			w.buf = strconv.AppendInt(w.buf, int64(n), 10)
		}
		return
	}
	w.locBody(l)
}

func (w *Printer) locBody(l ir.Location) {
	switch l := l.(type) {
	case *ir.FileLoc:
		w.Quoted(l.File)
		w.Str(":")
		w.Int(int64(l.Line))
		w.Str(":")
		w.Int(int64(l.Col))
		if l.EndLine != 0 {
			w.Str(" to ")
			if l.EndLine != l.Line {
				w.Int(int64(l.EndLine))
			}
			w.Str(":")
			w.Int(int64(l.EndCol))
		}
	case *ir.NameLoc:
		w.Quoted(l.Name)
		if _, unknown := l.Child.(*ir.UnknownLoc); !unknown {
			w.Str("(")
			w.locRef(l.Child)
			w.Str(")")
		}
	case *ir.CallSiteLoc:
		w.Str("callsite(")
		w.locRef(l.Callee)
		w.Str(" at ")
		w.locRef(l.Caller)
		w.Str(")")
	case *ir.FusedLoc:
		w.Str("fused")
		if l.Metadata != nil {
			w.Str("<")
			w.Attr(l.Metadata)
			w.Str(">")
		}
		w.Str("[")
		for i, x := range l.Locs {
			if i > 0 {
				w.Str(", ")
			}
			w.locRef(x)
		}
		w.Str("]")
	default:
		w.Str("unknown")
	}
}
