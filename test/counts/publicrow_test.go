package counts

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A publicRow is what is known of a public kernel in both ways: element 0 is llc's, 1 that of
// the PTX without it. Numbers that could not be had are -1.
type publicRow struct {
	key                     string // the kernel, as publicKernel.String has it
	ptx, sass, regs, spills [2]int
	executed                [2]int // instructions of warps, over the launch
	// launch says which arguments were guessed, or why none ran to its end.
	launch string
	// outcome is "equal", "compiled" for what was not run, or what went wrong.
	outcome string
}

func newPublicRow(key string) *publicRow {
	r := &publicRow{key: key, launch: "-"}
	for _, n := range r.numbers() {
		*n = [2]int{-1, -1}
	}
	return r
}

func (r *publicRow) numbers() []*[2]int {
	return []*[2]int{&r.ptx, &r.sass, &r.regs, &r.spills, &r.executed}
}

// assembled reports whether ptxas took both.
func (r *publicRow) assembled() bool { return r.regs[1] >= 0 }

// ran reports whether both ran to their end.
func (r *publicRow) ran() bool { return r.executed[1] >= 0 }

// refused reports whether the kernel does not compile by llc either.
func (r *publicRow) refused() bool {
	return strings.HasPrefix(r.outcome, "refused: ") || strings.HasPrefix(r.outcome, "ptxas of llc's: ")
}

// wrong reports whether the two ways differ where they must not.
func (r *publicRow) wrong() bool {
	return !r.refused() && r.outcome != "equal" && r.outcome != "compiled"
}

func (r *publicRow) String() string {
	cells := []string{r.key}
	for _, n := range r.numbers() {
		cells = append(cells, strconv.Itoa(n[0]), strconv.Itoa(n[1]))
	}
	return strings.Join(append(cells, r.launch, r.outcome), "\t")
}

// readPublicRows reads what TestDirectPublic wrote.
func readPublicRows(path string) (rows []*publicRow, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 15 {
			return nil, fmt.Errorf("%s: %q has %d columns, not 15", path, line, len(f))
		}
		r := newPublicRow(strings.Join(f[:3], "\t"))
		for i, n := range r.numbers() {
			for j := range n {
				if n[j], err = strconv.Atoi(f[3+2*i+j]); err != nil {
					return nil, fmt.Errorf("%s: %q: %w", path, line, err)
				}
			}
		}
		r.launch, r.outcome = f[13], f[14]
		rows = append(rows, r)
	}
	return rows, nil
}
