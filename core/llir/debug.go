package llir

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
)

// Debug information is what a line table needs and no more: a compile unit that
// asks for line directives only (with the kinds that ask for sections, ptxas
// gives up optimising), its files, a subprogram for each function and for each
// inlined callee, and locations.

// debugInfo collects the metadata nodes of a module in the order of their ids.
type debugInfo struct {
	unit     *metadata.DICompileUnit
	files    map[string]*metadata.DIFile
	subType  *metadata.DISubroutineType
	empty    *metadata.Tuple
	nodes    []metadata.Definition // all but locations
	byKey    map[locKey]*metadata.DILocation
	attached map[*metadata.DILocation]ir.Metadata
	scopes   map[scopeKey]*metadata.DISubprogram
}

type locKey struct {
	scope     *metadata.DISubprogram
	inlinedAt *metadata.DILocation
	line, col int
}

type scopeKey struct {
	file, name string
	line       int
}

// Scope is the place that locations belong to: a function of the source.
type Scope = *metadata.DISubprogram

// Location is a place in the source, with the call sites through which it was
// inlined.
type Location = *metadata.DILocation

func (m *Module) addNode(n metadata.Definition) {
	n.SetID(int64(len(m.debug.nodes)))
	m.debug.nodes = append(m.debug.nodes, n)
}

// EnableDebug starts debug information for the module: file is the main source
// file, producer the compiler's name.
func (m *Module) EnableDebug(file, producer string) {
	d := &m.debug
	d.files = make(map[string]*metadata.DIFile)
	d.byKey = make(map[locKey]*metadata.DILocation)
	d.attached = make(map[*metadata.DILocation]ir.Metadata)
	d.scopes = make(map[scopeKey]*metadata.DISubprogram)
	d.unit = &metadata.DICompileUnit{
		Distinct: true, Language: enum.DwarfLangC, Producer: producer,
		IsOptimized: true, EmissionKind: enum.EmissionKindDebugDirectivesOnly,
	}
	m.addNode(d.unit)
	d.unit.File = m.file(file)
	d.empty = &metadata.Tuple{}
	m.addNode(d.empty)
	d.subType = &metadata.DISubroutineType{MetadataID: -1, Types: d.empty}
	m.addNode(d.subType)
	m.AddFlag(FlagWarning, "Debug Info Version", 3)
}

func (m *Module) file(name string) *metadata.DIFile {
	if f, ok := m.debug.files[name]; ok {
		return f
	}
	f := &metadata.DIFile{Filename: printable(name)}
	m.addNode(f)
	m.debug.files[name] = f
	return f
}

// printable has "?" in the place of what would end or break the line, the comment
// or the string that a name is in where LLVM writes it into assembly as it is:
// quotes, and all that is not printable or not UTF-8.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// Scope returns the debug scope of a source function, one for each file, name
// and line. Debug information must be enabled.
func (m *Module) Scope(file, name string, line int) Scope {
	k := scopeKey{file, name, line}
	if s, ok := m.debug.scopes[k]; ok {
		return s
	}
	f := m.file(file)
	s := &metadata.DISubprogram{
		Distinct: true, Name: printable(name), LinkageName: printable(name), Scope: f, File: f,
		Line: int64(line), Type: m.debug.subType, ScopeLine: int64(line),
		SPFlags: enum.DISPFlagDefinition | enum.DISPFlagOptimized, Unit: m.debug.unit,
	}
	m.addNode(s)
	m.debug.scopes[k] = s
	return s
}

// Location returns a source location: line from 1, column from 1, 0 for none.
// A location in an inlined callee names the location of the call, else nil.
func (m *Module) Location(scope Scope, line, col int, inlinedAt Location) Location {
	k := locKey{scope, inlinedAt, line, col}
	if l, ok := m.debug.byKey[k]; ok {
		return l
	}
	l := &metadata.DILocation{
		MetadataID: -1, // given when it is printed
		Line:       int64(line), Column: int64(col), Scope: scope, InlinedAt: inlinedAt,
		// The verifier wants the site of an inlined call to be distinct, so
		// that two calls on one line stay two.
	}
	if inlinedAt != nil {
		inlinedAt.Distinct = true
	}
	m.debug.byKey[k] = l
	return l
}

// attachment returns the list that instructions at l carry, one for each l.
func (m *Module) attachment(l Location) ir.Metadata {
	if l == nil {
		return nil
	}
	if a, ok := m.debug.attached[l]; ok {
		return a
	}
	a := ir.Metadata{{Name: "dbg", Node: l}}
	m.debug.attached[l] = a
	return a
}

// SetScope attaches the function to a source function, which its own locations
// must name.
func (f *Func) SetScope(s Scope) {
	f.scope = s
	f.IR.Metadata = ir.Metadata{{Name: "dbg", Node: s}}
}
