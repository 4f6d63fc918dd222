package pass

import (
	"fmt"
	"slices"
)

// All in a list of names stands for every pass.
const All = "all"

// Selects reports whether names has the pass of a row, or All.
func Selects(names []string, row Row) bool {
	return slices.Contains(names, row.Pass.Name) || slices.Contains(names, All)
}

// CheckNames reports the first of names that is no pass of rows, nor All.
func CheckNames(names []string, rows []Row) error {
	for _, name := range names {
		if name != All && !slices.ContainsFunc(rows, func(r Row) bool { return r.Pass.Name == name }) {
			return fmt.Errorf("no pass %q among those to run: %s", name, Format(rows))
		}
	}
	return nil
}
