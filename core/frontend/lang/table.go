package lang

import (
	"slices"
	"sync"
)

// families are the parts of the table of builtins, one per file.
var families = [][]*Builtin{creation, memory, mathematics, shapes, reductions, misc, atomics, matrices, descriptors, foreign}

// table finds a builtin by name.
var table = sync.OnceValue(func() map[string]*Builtin {
	t := make(map[string]*Builtin, 128)
	for _, f := range families {
		for _, b := range f {
			if t[b.Name] != nil {
				panic("BUG: lang: two builtins named " + b.Name)
			}
			t[b.Name] = b
		}
	}
	return t
})

// Method finds the builtin that is a method of tensors.
func Method(name string) *Builtin {
	if b := table()[name]; b != nil && b.Member {
		return b
	}
	return nil
}

// Methods lists the builtins that are methods of tensors, sorted.
func Methods() []string {
	var names []string
	for n, b := range table() {
		if b.Member {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// BuiltinNamed finds a builtin, or nil.
func BuiltinNamed(name string) *Builtin { return table()[name] }
