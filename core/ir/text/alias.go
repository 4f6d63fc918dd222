package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
)

// aliasEntry is a type, attribute or location seen while visiting.
type aliasEntry struct {
	attr       ir.Attribute // the thing itself, if it is one that gets an alias
	loc        ir.Location
	name       string // empty: no alias
	depth      int    // 0 without an alias in it; else 1 more than the deepest inside
	deferrable bool
	children   []int
}

// aliaser collects what gets an alias, in order of appearance. The printer does
// the walk, in its visiting mode.
type aliaser struct {
	entries []aliasEntry
	index   map[any]int
	parent  *aliasFrame
}

// aliasFrame is the entry whose inside is being visited.
type aliasFrame struct {
	depth    int
	children []int
}

// visit enters key, which is new, and its inside.
func (w *Printer) visit(key any, e aliasEntry, inside func()) int {
	a := &w.aliaser
	i := len(a.entries)
	a.index[key] = i
	if e.name != "" {
		e.depth = 1
	}
	a.entries = append(a.entries, e)
	frame := aliasFrame{}
	saved, savedDefer := a.parent, w.deferrable
	a.parent, w.deferrable = &frame, e.deferrable
	inside()
	a.parent, w.deferrable = saved, savedDefer
	en := &a.entries[i]
	en.children = frame.children
	if frame.depth > 0 {
		en.depth = frame.depth + 1
	}
	return i
}

// inParent tells the entry being visited about entry i inside it.
func (a *aliaser) inParent(i int) {
	if a.parent != nil {
		a.parent.children = append(a.parent.children, i)
		a.parent.depth = max(a.parent.depth, a.entries[i].depth)
	}
}

func (w *Printer) visitType(t ir.Type) {
	switch t.(type) {
	case *ir.IntegerType, *ir.FloatType, *ir.IndexType, *ir.NoneType:
		return
	}
	i, ok := w.aliaser.index[t]
	if !ok {
		i = w.visit(t, aliasEntry{}, func() { w.typeBody(t) })
	}
	w.aliaser.inParent(i)
}

func (w *Printer) visitAttr(at ir.Attribute) {
	switch at := at.(type) {
	case *ir.UnitAttr, *ir.IntegerAttr, *ir.FloatAttr, *ir.StringAttr, *ir.DenseArrayAttr, *ir.SymbolRefAttr, *ir.OpaqueAttr:
		return
	case *ir.TypeAttr:
		w.visitType(at.Type)
		return
	case *ir.DenseElementsAttr:
		w.visitType(at.Type)
		return
	case *ir.DenseResourceAttr:
		w.visitType(at.Type)
		return
	}
	i, ok := w.aliaser.index[at]
	if !ok {
		e := aliasEntry{attr: at}
		if h := hooksOf(w.ctx.Dialect(at.AttrDialect())); h != nil && h.Alias != nil {
			e.name = h.Alias(at)
		}
		i = w.visit(at, e, func() { w.attrBody(at, false) })
	}
	w.aliaser.inParent(i)
}

// visitLoc enters a location. Those of operations may be defined at the end of
// the text; those of block arguments, and all that they contain, at the top.
func (w *Printer) visitLoc(l ir.Location, deferrable bool) {
	if l == nil {
		l = w.ctx.UnknownLoc()
	}
	i, ok := w.aliaser.index[l]
	if !ok {
		i = w.visit(l, aliasEntry{loc: l, name: "loc", deferrable: deferrable}, func() { w.locBody(l) })
	} else if !deferrable {
		w.aliaser.toTop(i)
	}
	w.aliaser.inParent(i)
}

func (a *aliaser) toTop(i int) {
	e := &a.entries[i]
	if !e.deferrable {
		return
	}
	e.deferrable = false
	for _, c := range e.children {
		a.toTop(c)
	}
}

// assign gives the aliases their numbers: by depth, then by name, then in order
// of appearance. It returns the entries in that order.
func (w *Printer) assign() []*aliasEntry {
	entries := make([]*aliasEntry, 0, len(w.aliaser.entries))
	for i := range w.aliaser.entries {
		if e := &w.aliaser.entries[i]; e.name != "" {
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b *aliasEntry) int {
		if a.depth != b.depth {
			return a.depth - b.depth
		}
		return strings.Compare(a.name, b.name)
	})
	count := make(map[string]int, 8)
	w.attrAlias = make(map[ir.Attribute]string)
	w.locAlias = make(map[ir.Location]int, len(entries))
	for _, e := range entries {
		n := count[e.name]
		count[e.name]++
		if e.loc != nil {
			w.locAlias[e.loc] = n
			continue
		}
		name := "#" + identifier(e.name)
		if n > 0 {
			if c := name[len(name)-1]; classes[c]&clDigit != 0 {
				name += "_"
			}
			name += strconv.Itoa(n)
		}
		w.attrAlias[e.attr] = name
	}
	return entries
}

// aliasLines writes the lines of the entries that are at the end of the text,
// or of those that are at the top.
func (w *Printer) aliasLines(entries []*aliasEntry, atEnd bool) {
	for _, e := range entries {
		if e.deferrable != atEnd {
			continue
		}
		if e.loc != nil {
			w.locRef(e.loc)
			w.Str(" = ")
			w.loc(e.loc, false)
		} else {
			w.Str(w.attrAlias[e.attr])
			w.Str(" = ")
			w.attrBody(e.attr, false)
		}
		w.Str("\n")
	}
}
