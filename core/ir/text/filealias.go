package text

import (
	"cmp"
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// Alias is a line "#name = attribute" of a text.
type Alias struct {
	Name string // without the #
	Attr ir.Attribute
}

// Aliases lists the attributes that the text gives names, in the order of their
// lines; names of locations are not among them.
func (f *File) Aliases() []Alias {
	names := make([]string, 0, len(f.aliases))
	for name, a := range f.aliases {
		if a.attr != nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(f.aliases[a].pos, f.aliases[b].pos) })
	list := make([]Alias, len(names))
	for i, name := range names {
		list[i] = Alias{name, f.aliases[name].attr}
	}
	return list
}
