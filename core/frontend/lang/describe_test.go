package lang

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Entry describes one function of the language, for its documentation.
type Entry struct {
	Name   string
	Params string // "x, axis=None, keep_dims=False"
	// Family is the part of the language: "memory", "descriptor methods", …;
	// "library" for what is written in Triton.
	Family string
	Method bool // of tensors too
}

// Describe lists the functions that triton.language exports, and the methods of
// descriptors, by family and name.
func Describe() []Entry {
	names := [...]string{
		"creation", "memory", "mathematics", "shapes", "functions of functions", "hints and checks", "atomics",
		"matrices", "descriptors", "foreign code",
	}
	var out []Entry
	add := func(family string, list []*Builtin, method bool) {
		first := len(out)
		for _, b := range list {
			if !strings.HasPrefix(b.Name, "_") {
				out = append(out, Entry{b.Name, strings.Join(strings.Fields(b.Params), ", "), family, b.Member || method})
			}
		}
		slices.SortFunc(out[first:], func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	for i, f := range families {
		add(names[i], f, false)
	}
	add("methods of descriptors", descMethods, true)
	for _, f := range libraryFiles {
		m := (&eval.Session{Import: NewLib(&eval.Session{}, func() *Facts { return &Facts{} }).Import}).Module(f.file())
		for _, fn := range m.Functions() {
			if strings.HasPrefix(fn.Name(), "_") {
				continue
			}
			var params []string
			a := fn.Args()
			file := f.file()
			for i, p := range fn.ParamList() {
				s := p.Name
				if k := i - (len(a.Args) - len(a.Defaults)); k >= 0 {
					s += "=" + file.Text(a.Defaults[k].Loc())
				}
				params = append(params, s)
			}
			out = append(out, Entry{fn.Name(), strings.Join(params, ", "), "library", libraryMethods[fn.Name()]})
		}
	}
	return out
}
