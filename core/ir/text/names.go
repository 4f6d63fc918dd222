package text

import (
	"strconv"

	"github.com/tritonc/tritonc/core/ir"
)

// namer gives every value of an operation its printed name. It goes region by
// region: first all blocks of a region get their names, in order, and only then
// the regions inside it, each beginning with the counters at which its parent
// ended. Names in use in a region are in use in all that it contains.
type namer struct {
	nextValue, nextArg, nextConflict int

	used  map[string]bool
	undo  []string // names in used, in order of entry
	named func(v *ir.Value, own string) string
	set   func(v *ir.Value, name string, id int) // name is empty for a number
	block func(b *ir.Block, id int)
	buf   []byte
	// generic: operations have no names of their own.
	generic bool
}

// run names all values of op and what is inside it.
func (n *namer) run(op *ir.Operation) {
	n.used = make(map[string]bool, 64)
	n.results(op)
	n.regionsOf(op)
}

func (n *namer) regionsOf(op *ir.Operation) {
	if op.NumRegions() == 0 {
		return
	}
	value, arg, conflict, mark := n.nextValue, n.nextArg, n.nextConflict, len(n.undo)
	for _, r := range op.Regions() {
		n.nextValue, n.nextArg, n.nextConflict = value, arg, conflict
		n.region(r)
		for _, s := range n.undo[mark:] {
			delete(n.used, s)
		}
		n.undo = n.undo[:mark]
	}
	n.nextValue, n.nextArg, n.nextConflict = value, arg, conflict
}

func (n *namer) region(r *ir.Region) {
	id := 0
	for b := r.First(); b != nil; b = b.Next() {
		if n.block != nil {
			n.block(b, id)
		}
		id++
		n.args(b)
		for op := b.First(); op != nil; op = op.Next() {
			n.results(op)
		}
	}
	for b := r.First(); b != nil; b = b.Next() {
		for op := b.First(); op != nil; op = op.Next() {
			n.regionsOf(op)
		}
	}
}

func (n *namer) args(b *ir.Block) {
	entry := b.IsEntry()
	for _, a := range b.Args() {
		own := ""
		if entry {
			own = "arg" + strconv.Itoa(n.nextArg)
			n.nextArg++
		}
		n.value(a, own)
	}
}

func (n *namer) results(op *ir.Operation) {
	if op.NumResults() == 0 {
		return
	}
	own := op.Def().ResultName
	if own == nil || n.generic {
		n.value(op.Result(0), "")
		return
	}
	for i, r := range op.Results() {
		if name := own(op, i); name != "" || i == 0 {
			n.value(r, name)
		}
	}
}

func (n *namer) value(v *ir.Value, own string) {
	name := n.named(v, own)
	if name == "" {
		n.set(v, "", n.nextValue)
		n.nextValue++
		return
	}
	n.set(v, n.unique(name), 0)
}

// unique makes name an identifier and adds a suffix if it is in use.
func (n *namer) unique(name string) string {
	name = identifier(name)
	if n.used[name] {
		b := append(append(n.buf[:0], name...), '_')
		for at := len(b); ; n.nextConflict++ {
			b = strconv.AppendInt(b[:at], int64(n.nextConflict), 10)
			if !n.used[string(b)] {
				break
			}
		}
		n.nextConflict++
		n.buf, name = b, string(b)
	}
	n.used[name] = true
	n.undo = append(n.undo, name)
	return name
}

// identifier replaces what cannot appear in a name: blanks by _, other bytes by
// their hexadecimal code; what begins with a digit then gets a _ before it.
func identifier(name string) string {
	ok := classes[name[0]]&clDigit == 0
	for i := 0; ok && i < len(name); i++ {
		ok = classes[name[i]]&clSuffix != 0
	}
	if ok {
		return name
	}
	b := []byte{'_'}
	for i := range len(name) {
		switch c := name[i]; {
		case classes[c]&clSuffix != 0:
			b = append(b, c)
		case c == ' ':
			b = append(b, '_')
		default:
			const hex = "0123456789ABCDEF"
			if c >= 16 {
				b = append(b, hex[c>>4])
			}
			b = append(b, hex[c&15])
		}
	}
	if classes[b[1]]&clDigit == 0 {
		b = b[1:]
	}
	return string(b)
}

// locName is the name that a location gives a value, else the value's own.
func locName(v *ir.Value, own string) string {
	if name := ir.NameOf(v.Loc()); name != "" {
		return name
	}
	return own
}

// recoverNames gives a NameLoc to each value that has a name in the text but no
// location in the text to hold it. The numbering is replayed, so that the suffix
// which made a name unique can be told from the name.
func recoverNames(ctx *ir.Context, top *ir.Operation, pending map[*ir.Value]string) {
	n := &namer{set: func(*ir.Value, string, int) {}}
	n.named = func(v *ir.Value, own string) string {
		text, ok := pending[v]
		if !ok {
			return locName(v, own)
		}
		name := n.stem(text, own)
		if name != own {
			nameLocation(ctx, v, name)
		}
		return name
	}
	n.run(top)
}

// stem is the name that becomes text when it is made unique, the value's own
// name if that is one.
func (n *namer) stem(text, own string) string {
	if classes[text[0]]&clDigit != 0 {
		return "" // a number
	}
	if own != "" && n.wouldBe(own, text) {
		return own
	}
	end := len(text)
	for end > 0 && classes[text[end-1]]&clDigit != 0 {
		end--
	}
	if end > 1 && end < len(text) && text[end-1] == '_' && n.wouldBe(text[:end-1], text) {
		return text[:end-1]
	}
	return text
}

// wouldBe reports whether unique(name) would give text.
func (n *namer) wouldBe(name, text string) bool {
	name = identifier(name)
	if !n.used[name] {
		return name == text
	}
	if len(text) <= len(name)+1 || text[:len(name)] != name || text[len(name)] != '_' {
		return false
	}
	for c := n.nextConflict; ; c++ {
		s := name + "_" + strconv.Itoa(c)
		if !n.used[s] {
			return s == text
		}
	}
}

func nameLocation(ctx *ir.Context, v *ir.Value, name string) {
	if name == "" {
		return
	}
	l := ctx.NameLoc(name, v.Loc())
	if op := v.Def(); op != nil {
		op.SetLoc(l)
	} else {
		v.SetLoc(l)
	}
}
