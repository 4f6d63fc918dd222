package pass

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// All in a list of names stands for every pass.
const All = "all"

// Selects reports whether names has the pass of a row, or All.
func Selects(names []string, row Row) bool {
	return slices.Contains(names, row.Pass.Name) || slices.Contains(names, All)
}

// CheckNames reports the first of names that is not a pass of rows, nor All.
func CheckNames(names []string, rows []Row) error {
	for _, name := range names {
		if name != All && !slices.ContainsFunc(rows, func(r Row) bool { return r.Pass.Name == name }) {
			return fmt.Errorf("no pass %q among those to run; %s", name, Hint(name, passNames(rows)))
		}
	}
	return nil
}

// passNames are the names of the passes of rows.
func passNames(rows []Row) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Pass.Name
	}
	return names
}

// Hint is the next step for who gave a name that is none of names: the one that
// was probably meant, or all there are.
func Hint(name string, names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	near := diag.Closest(name, names)
	if near == "" {
		near = sameTail(name, names)
	}
	if near != "" {
		return "did you mean " + near + "?"
	}
	return "there are: " + strings.Join(names, ", ")
}

// sameTail is the only one of names that differs from name in what comes before
// a hyphen, such as tritongpu-coalesce for coalesce; or "".
func sameTail(name string, names []string) string {
	found := ""
	for _, n := range names {
		_, tail, _ := strings.Cut(n, "-")
		if !strings.HasSuffix(n, "-"+name) && (tail == "" || !strings.HasSuffix(name, "-"+tail)) {
			continue
		}
		if found != "" {
			return ""
		}
		found = n
	}
	return found
}
