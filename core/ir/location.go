package ir

import "slices"

// Location says where an operation or block argument comes from. Locations are
// interned like types. Names of values live in them: the first NameLoc found
// is the value's printed name.
type Location interface{ isLocation() }

// UnknownLoc is loc(unknown).
type UnknownLoc struct{}

// FileLoc is loc("file":line:col). Line counts from 1 and Col from 0, as
// Triton's front end gives them. A range ends at EndLine:EndCol when EndLine
// is not 0.
type FileLoc struct {
	File            string
	Line, Col       int
	EndLine, EndCol int
}

// NameLoc is loc("name"(child)).
type NameLoc struct {
	Name  string
	Child Location
}

// CallSiteLoc is loc(callsite(callee at caller)).
type CallSiteLoc struct{ Callee, Caller Location }

// FusedLoc is loc(fused<metadata>[…]); Metadata may be nil.
type FusedLoc struct {
	Locs     []Location
	Metadata Attribute
}

func (*UnknownLoc) isLocation()  {}
func (*FileLoc) isLocation()     {}
func (*NameLoc) isLocation()     {}
func (*CallSiteLoc) isLocation() {}
func (*FusedLoc) isLocation()    {}

type (
	nameLocKey struct {
		name  string
		child Location
	}
	callLocKey  struct{ callee, caller Location }
	fusedLocKey struct {
		locs *listCell
		meta Attribute
	}
)

// UnknownLoc returns loc(unknown).
func (c *Context) UnknownLoc() *UnknownLoc { return c.unknLoc }

// FileLoc returns loc("file":line:col).
func (c *Context) FileLoc(file string, line, col int) *FileLoc {
	return c.FileRangeLoc(FileLoc{File: file, Line: line, Col: col})
}

// FileRangeLoc interns l.
func (c *Context) FileRangeLoc(l FileLoc) *FileLoc {
	return internLoc(c, l, func() *FileLoc { return &l })
}

// NameLoc returns loc("name"(child)).
func (c *Context) NameLoc(name string, child Location) *NameLoc {
	return internLoc(c, nameLocKey{name, child}, func() *NameLoc { return &NameLoc{name, child} })
}

// CallSiteLoc returns loc(callsite(callee at caller)).
func (c *Context) CallSiteLoc(callee, caller Location) *CallSiteLoc {
	return internLoc(c, callLocKey{callee, caller}, func() *CallSiteLoc { return &CallSiteLoc{callee, caller} })
}

// FusedLoc returns loc(fused[locs…]); meta may be nil.
func (c *Context) FusedLoc(locs []Location, meta Attribute) *FusedLoc {
	return internLoc(c, fusedLocKey{listKey(c, locs), meta}, func() *FusedLoc {
		return &FusedLoc{slices.Clone(locs), meta}
	})
}

// NameOf is the name that a location gives its value: the first NameLoc, depth
// first, through call sites callee before caller. It is empty where there is none.
func NameOf(l Location) string {
	switch l := l.(type) {
	case *NameLoc:
		return l.Name
	case *CallSiteLoc:
		if n := NameOf(l.Callee); n != "" {
			return n
		}
		return NameOf(l.Caller)
	case *FusedLoc:
		for _, x := range l.Locs {
			if n := NameOf(x); n != "" {
				return n
			}
		}
	}
	return ""
}

// FileLocOf is the innermost file position of l, or nil: of a call site the
// callee's, of a fused location the first that has one.
func FileLocOf(l Location) *FileLoc {
	switch l := l.(type) {
	case *FileLoc:
		return l
	case *NameLoc:
		return FileLocOf(l.Child)
	case *CallSiteLoc:
		if f := FileLocOf(l.Callee); f != nil {
			return f
		}
		return FileLocOf(l.Caller)
	case *FusedLoc:
		for _, x := range l.Locs {
			if f := FileLocOf(x); f != nil {
				return f
			}
		}
	}
	return nil
}

// OwnFileLocOf is the innermost file position of an operation in the file of the function
// that it is in: where op was inlined from a function of another file, that of the call.
// Without one it is FileLocOf.
func OwnFileLocOf(op *Operation) *FileLoc {
	inner := FileLocOf(op.Loc())
	f := op
	for f != nil && !f.IsFunction() {
		f = f.Parent()
	}
	if f == nil || inner == nil {
		return inner
	}
	kernel := FileLocOf(f.Loc())
	if kernel == nil || inner.File == kernel.File {
		return inner
	}
	for _, l := range callChain(op.Loc()) {
		if l.File == kernel.File {
			return l
		}
	}
	return inner
}

// callChain has the file positions of a location and of the calls that it was inlined at,
// innermost first.
func callChain(l Location) []*FileLoc {
	switch l := l.(type) {
	case *NameLoc:
		return callChain(l.Child)
	case *CallSiteLoc:
		return append(callChain(l.Callee), callChain(l.Caller)...)
	case *FusedLoc:
		for _, x := range l.Locs {
			if list := callChain(x); len(list) > 0 {
				return list
			}
		}
	case *FileLoc:
		return []*FileLoc{l}
	}
	return nil
}
