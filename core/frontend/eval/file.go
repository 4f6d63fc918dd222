package eval

import (
	"path"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// File is a parsed Python file with an index of its top level. It is immutable
// and may be used by many compiles at once.
type File struct {
	// Path is the file as diagnostics show it.
	Path string
	// Name stands for the file in locations: relative to the source root.
	Name string
	// ModuleName is Python's dotted name, which callee symbols begin with.
	ModuleName string
	// Library marks files that come with the compiler or a backend: a mistake
	// that shows there was made by the caller.
	Library bool
	// Installed marks files of packages that were installed, most of which is of
	// no concern to kernels.
	Installed bool
	Tree      *syntax.Module

	binds map[string][]int // top-level statements that bind or change a name
	stars []int            // from … import *
}

// NewFile indexes a parsed tree. An empty module name is made from name.
func NewFile(tree *syntax.Module, name, moduleName string) *File {
	if moduleName == "" {
		moduleName = strings.TrimSuffix(path.Base(name), ".py")
	}
	f := &File{Path: tree.Filename, Name: name, ModuleName: moduleName, Tree: tree, binds: make(map[string][]int, len(tree.Body))}
	for i, st := range tree.Body {
		f.index(i, st)
	}
	return f
}

// Source is the text that positions refer to.
func (f *File) Source() string { return f.Tree.Source }

// Pos converts a span to a position for a diagnostic, with the column after its
// end when the span lies in one line.
func (f *File) Pos(s syntax.Span) (pos diag.Pos, endCol int) {
	pos = diag.Pos{File: f.Path, Line: int(s.Line), Col: int(s.Col) + 1}
	if s.EndLine == s.Line {
		endCol = int(s.EndCol) + 1
	}
	return pos, endCol
}

// Binds reports whether the file's top level binds name.
func (f *File) Binds(name string) bool { return len(f.binds[name]) > 0 }

func (f *File) bind(name string, i int) {
	if list := f.binds[name]; len(list) == 0 || list[len(list)-1] != i {
		f.binds[name] = append(list, i)
	}
}

// index enters the names that statement i binds, looking into compound
// statements but not into functions and classes.
func (f *File) index(i int, st syntax.Stmt) {
	block := func(body []syntax.Stmt) {
		for _, s := range body {
			f.index(i, s)
		}
	}
	switch st := st.(type) {
	case *syntax.FunctionDef:
		f.bind(st.Name, i)
	case *syntax.AsyncFunctionDef:
		f.bind(st.Name, i)
	case *syntax.ClassDef:
		f.bind(st.Name, i)
	case *syntax.Assign:
		for _, t := range st.Targets {
			f.indexTarget(i, t)
		}
	case *syntax.AugAssign:
		f.indexTarget(i, st.Target)
	case *syntax.AnnAssign:
		if st.Value != nil {
			f.indexTarget(i, st.Target)
		}
	case *syntax.Import:
		for _, a := range st.Names {
			f.bind(importedName(a), i)
		}
	case *syntax.ImportFrom:
		for _, a := range st.Names {
			if a.Name == "*" {
				f.stars = append(f.stars, i)
			} else {
				f.bind(importedName(a), i)
			}
		}
	case *syntax.ExprStmt:
		f.indexMutation(i, st.Value)
	case *syntax.Delete:
		for _, t := range st.Targets {
			f.indexTarget(i, t)
		}
	case *syntax.For:
		f.indexTarget(i, st.Target)
		block(st.Body)
		block(st.Orelse)
	case *syntax.While:
		block(st.Body)
		block(st.Orelse)
	case *syntax.If:
		block(st.Body)
		block(st.Orelse)
	case *syntax.With:
		for _, item := range st.Items {
			if item.OptionalVars != nil {
				f.indexTarget(i, item.OptionalVars)
			}
		}
		block(st.Body)
	case *syntax.Try:
		f.indexTry(i, st)
	case *syntax.TryStar:
		f.indexTry(i, &st.Try)
	}
}

func (f *File) indexTry(i int, st *syntax.Try) {
	blocks := [][]syntax.Stmt{st.Body, st.Orelse, st.Finalbody}
	for _, h := range st.Handlers {
		blocks = append(blocks, h.Body)
	}
	for _, b := range blocks {
		for _, s := range b {
			f.index(i, s)
		}
	}
}

func (f *File) indexTarget(i int, t syntax.Expr) {
	switch t := t.(type) {
	case *syntax.Name:
		f.bind(t.ID, i)
	case *syntax.Tuple:
		for _, e := range t.Elts {
			f.indexTarget(i, e)
		}
	case *syntax.List:
		for _, e := range t.Elts {
			f.indexTarget(i, e)
		}
	case *syntax.Starred:
		f.indexTarget(i, t.Value)
	case *syntax.Subscript:
		f.indexTarget(i, t.Value)
	case *syntax.Attribute:
		f.indexTarget(i, t.Value)
	}
}

// mutators are the methods that change a list, dict or set.
var mutators = []string{"append", "extend", "insert", "update", "add", "setdefault", "pop", "remove", "clear", "sort", "reverse", "discard"}

// indexMutation enters xs for the statement xs.append(…).
func (f *File) indexMutation(i int, e syntax.Expr) {
	call, ok := e.(*syntax.Call)
	if !ok {
		return
	}
	if attr, ok := call.Func.(*syntax.Attribute); ok && slices.Contains(mutators, attr.Attr) {
		f.indexTarget(i, attr.Value)
	}
}

func importedName(a *syntax.Alias) string {
	if a.Asname != "" {
		return a.Asname
	}
	name, _, _ := strings.Cut(a.Name, ".")
	return name
}

// Text is the source under s as far as it is on one line.
func (f *File) Text(s syntax.Span) string {
	line := diag.LineAt(f.Tree.Source, int(s.Line))
	end := len(line)
	if s.EndLine == s.Line {
		end = int(s.EndCol)
	}
	return line[min(int(s.Col), end):end]
}

// Names lists what the file's top level binds, sorted.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.binds))
	for n := range f.binds {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
