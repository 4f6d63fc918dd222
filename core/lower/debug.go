package lower

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// fileOf is the source file of a function, for the compile unit.
func fileOf(fn *ir.Operation) string {
	if f := ir.FileLocOf(fn.Loc()); f != nil {
		return f.File
	}
	return "<unknown>"
}

func (e *emitter) startDebug() {
	if !e.m.opts.LineInfo {
		return
	}
	line := 1
	if f := ir.FileLocOf(e.fn.op.Loc()); f != nil {
		line = f.Line
	}
	e.home = fileOf(e.fn.op)
	e.scope = e.m.llvm.Scope(e.home, e.fn.name, line)
	e.f.SetScope(e.scope)
	e.b.SetLocation(e.m.llvm.Location(e.scope, line, 0, nil))
}

// setLocation makes l the location of the instructions to come. One that names
// no file leaves the last in place: it is better than none, and calls need one.
func (e *emitter) setLocation(l ir.Location) {
	if e.scope == nil {
		return
	}
	loc, ok := e.locs[l]
	if !ok {
		loc = e.debugLocation(l)
		e.locs[l] = loc
	}
	if loc != nil {
		e.b.SetLocation(loc)
	}
}

// debugLocation converts nested call sites to a chain of inlined locations,
// outermost first. Nil when no file is named.
func (e *emitter) debugLocation(l ir.Location) llir.Location {
	var at llir.Location
	for _, f := range callChain(l, nil) {
		scope := e.scope
		if at != nil {
			// The source names no function for an inlined place; its file
			// serves as one.
			scope = e.m.llvm.Scope(f.File, f.File, 1)
		} else if f.File != e.home {
			scope = e.m.llvm.Scope(f.File, f.File, 1)
			at = e.m.llvm.Location(e.scope, int(e.scope.Line), 0, nil)
		}
		at = e.m.llvm.Location(scope, f.Line, f.Col, at)
	}
	return at
}

// callChain lists the file positions from the outermost caller to the place
// itself.
func callChain(l ir.Location, chain []*ir.FileLoc) []*ir.FileLoc {
	switch l := l.(type) {
	case *ir.FileLoc:
		return append(chain, l)
	case *ir.NameLoc:
		return callChain(l.Child, chain)
	case *ir.CallSiteLoc:
		return callChain(l.Callee, callChain(l.Caller, chain))
	case *ir.FusedLoc:
		for _, x := range l.Locs {
			if more := callChain(x, chain); len(more) > len(chain) {
				return more
			}
		}
	}
	return chain
}
