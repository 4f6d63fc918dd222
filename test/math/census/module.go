package census

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// repository finds the modules of one checkout.
type repository struct {
	root    string
	modules map[string]*module // by path below root, nil: no such file
}

// module is a file with what its global names stand for.
type module struct {
	repo *repository
	path string
	tree *syntax.Module
	// names has the dotted names that a global name was bound to, all of them:
	// alternatives are in an if or a try.
	names map[string][]binding
	stars []string // modules that were imported with "*"
}

// binding is a dotted name: absolute if it was imported, else of the module's own.
type binding struct {
	dotted   string
	imported bool
}

// open parses a file, once; nil where it is absent or not Python 3.
func (r *repository) open(path string) *module {
	if m, ok := r.modules[path]; ok {
		return m
	}
	r.modules[path] = nil
	full := filepath.Join(r.root, filepath.FromSlash(path))
	src, err := os.ReadFile(full)
	if err != nil {
		return nil
	}
	tree, err := syntax.Parse(full, src)
	if err != nil {
		return nil
	}
	m := &module{repo: r, path: path, tree: tree, names: map[string][]binding{}}
	syntax.Inspect(tree, m.bind)
	r.modules[path] = m
	return m
}

// bind notes what a statement at the top level binds.
func (m *module) bind(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.FunctionDef, *syntax.AsyncFunctionDef, *syntax.ClassDef:
		return false
	case *syntax.Import:
		for _, a := range n.Names {
			if a.Asname != "" {
				m.add(a.Asname, a.Name, true)
			} else {
				head, _, _ := strings.Cut(a.Name, ".")
				m.add(head, head, true)
			}
		}
	case *syntax.ImportFrom:
		from := m.absolute(n.Module, n.Level)
		for _, a := range n.Names {
			switch {
			case a.Name == "*":
				m.stars = append(m.stars, from)
			case a.Asname != "":
				m.add(a.Asname, from+"."+a.Name, true)
			default:
				m.add(a.Name, from+"."+a.Name, true)
			}
		}
	case *syntax.Assign:
		to, ok := n.Targets[0].(*syntax.Name)
		if from := dotted(n.Value); ok && from != "" && len(n.Targets) == 1 {
			m.add(to.ID, from, false)
		}
	}
	return true
}

func (m *module) add(name, dotted string, imported bool) {
	m.names[name] = append(m.names[name], binding{dotted, imported})
}

// absolute is a module's name with leading dots resolved.
func (m *module) absolute(name string, level int) string {
	if level == 0 {
		return name
	}
	parts := strings.Split(strings.TrimSuffix(m.path, ".py"), "/")
	base := strings.Join(parts[:max(len(parts)-level, 0)], ".")
	if name == "" {
		return base
	}
	return strings.TrimPrefix(base+"."+name, ".")
}

// dotted is an expression a.b.c as text, "" for any other.
func dotted(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Name:
		return e.ID
	case *syntax.Attribute:
		if base := dotted(e.Value); base != "" {
			return base + "." + e.Attr
		}
	}
	return ""
}

// maxHops bounds chains of names that stand for names.
const maxHops = 8

// resolve gives what a dotted name in the module's own scope stands for: names
// that begin outside the repository.
func (m *module) resolve(name string, hops int) []string {
	if hops == 0 {
		return nil
	}
	head, rest, more := strings.Cut(name, ".")
	var out []string
	for _, b := range m.names[head] {
		full := b.dotted
		if more {
			full += "." + rest
		}
		if b.imported {
			out = append(out, m.repo.resolve(full, hops-1)...)
		} else if full != name {
			out = append(out, m.resolve(full, hops-1)...)
		}
	}
	if len(m.names[head]) == 0 {
		for _, s := range m.stars {
			if in := m.repo.find(s); in != nil {
				out = append(out, in.resolve(name, hops-1)...)
			}
		}
	}
	return out
}

// resolve follows an absolute name into the repository's own modules.
func (r *repository) resolve(name string, hops int) []string {
	parts := strings.Split(name, ".")
	for i := len(parts) - 1; i > 0; i-- {
		if m := r.find(strings.Join(parts[:i], ".")); m != nil {
			return m.resolve(strings.Join(parts[i:], "."), hops)
		}
	}
	return []string{name}
}

// find is the repository's module of an absolute name, or nil.
func (r *repository) find(name string) *module {
	file := strings.ReplaceAll(name, ".", "/")
	for _, base := range []string{"", "src/", "python/"} {
		for _, end := range []string{".py", "/__init__.py"} {
			if m := r.open(base + file + end); m != nil {
				return m
			}
		}
	}
	return nil
}
