package counts

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	// publicPageEnv, when "1", has TestDirectPage write publicPage.
	publicPageEnv = "TRITONC_PUBLIC_PAGE"
	publicPage    = "../../docs/results/direct.md"
	// publicWorst is how many kernels each table of the worst has.
	publicWorst = 20
	// publicLong is more than what kernels execute whose guessed arguments have them end at once.
	publicLong = 5000
)

// TestDirectPage makes the tables of docs/results/direct.md of the rows of TestDirectPublic.
func TestDirectPage(t *testing.T) {
	out := os.Getenv(publicOutEnv)
	if os.Getenv(publicPageEnv) != "1" || out == "" {
		t.Skipf("%s=1 writes %s of the rows in %s", publicPageEnv, publicPage, publicOutEnv)
	}
	rows, err := readPublicRows(out)
	if err != nil {
		t.Fatal(err)
	}
	sectionOf(t, publicPage, "outcomes", outcomeTable(rows))
	sectionOf(t, publicPage, "means", meanTable(rows))
	sectionOf(t, publicPage, "executed", worstTable(rows, func(r *publicRow) [2]int {
		if r.executed[0] <= publicLong {
			return [2]int{}
		}
		return r.executed
	}))
	sectionOf(t, publicPage, "sass", worstTable(rows, func(r *publicRow) [2]int { return r.sass }))
	sectionOf(t, publicPage, "spills", spillTable(rows))
}

// outcomeTable counts kernels by how far they came.
func outcomeTable(rows []*publicRow) string {
	var refused, slow, compiled, unassembled, ran, equal, order, unguessed, arguments int
	var wrong []string
	for _, r := range rows {
		switch {
		case strings.HasPrefix(r.outcome, "refused: "):
			refused++
			continue
		case r.refused():
			slow++
			continue
		}
		compiled++
		if !r.assembled() {
			unassembled++
		}
		switch {
		case r.wrong():
			wrong = append(wrong, r.name()+": "+r.outcome)
		case r.outcome == "equal":
			ran++
			equal++
		case r.ran():
			ran++
			order++
		case strings.HasPrefix(r.launch, "none of the guesses"):
			unguessed++
		default:
			arguments++
		}
	}
	var b strings.Builder
	b.WriteString("| | kernels |\n|---|---|\n")
	for _, line := range []struct {
		what string
		n    int
	}{
		{"tried", len(rows)},
		{"do not compile by llc either", refused},
		{"llc's PTX is refused by ptxas, or takes it over a minute", slow},
		{"compile by llc and ptxas", compiled},
		{"and by direct and ptxas", compiled - unassembled},
		{"ran on the simulated device in both ways", ran},
		{"left the same bytes in all of their memory, without fusion", equal},
		{"left bytes that depend on the order of warps, by llc too", order},
		{"did not run: no guess of the arguments ended by llc's code", unguessed},
		{"did not run: they take descriptors or tuples", arguments},
		{"differ", len(wrong)},
	} {
		fmt.Fprintf(&b, "| %s | %d |\n", line.what, line.n)
	}
	for _, w := range wrong {
		b.WriteString("\n- " + w)
	}
	if len(wrong) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// name is the kernel with its file, for a page.
func (r *publicRow) name() string {
	f := strings.Split(r.key, "\t")
	return fmt.Sprintf("`%s` of %s", f[1], f[0])
}

func meanTable(rows []*publicRow) string {
	var b strings.Builder
	b.WriteString("| direct beside llc | kernels | geometric mean | fewer | equal | more |\n|---|---|---|---|---|---|\n")
	for _, of := range []struct {
		what    string
		numbers func(r *publicRow) [2]int
	}{
		{"instructions that warps execute, of PTX", func(r *publicRow) [2]int { return r.executed }},
		{fmt.Sprintf("the same, where llc's code executes over %d", publicLong), func(r *publicRow) [2]int {
			if r.executed[0] <= publicLong {
				return [2]int{}
			}
			return r.executed
		}},
		{"instructions of PTX", func(r *publicRow) [2]int { return r.ptx }},
		{"instructions of machine code", func(r *publicRow) [2]int { return r.sass }},
		{"registers of a thread", func(r *publicRow) [2]int { return r.regs }},
	} {
		var q quotients
		var fewer, equal, more int
		for _, r := range rows {
			n := of.numbers(r)
			if n[0] <= 0 || n[1] <= 0 {
				continue
			}
			q.add(n[1], n[0])
			switch cmp.Compare(n[1], n[0]) {
			case -1:
				fewer++
			case 0:
				equal++
			default:
				more++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %.4f | %d | %d | %d |\n", of.what, q.n, q.value(), fewer, equal, more)
	}
	var spilling, bytes [2]int
	for _, r := range rows {
		for i := range 2 {
			if r.assembled() && r.spills[i] > 0 {
				spilling[i]++
				bytes[i] += r.spills[i]
			}
		}
	}
	fmt.Fprintf(&b, "\n%d kernels spill by llc, %d bytes in all, and %d by direct, %d bytes.\n", spilling[0], bytes[0], spilling[1], bytes[1])
	return b.String()
}

// worstTable has the kernels of the greatest quotients of two numbers.
func worstTable(rows []*publicRow, numbers func(r *publicRow) [2]int) string {
	quotient := func(r *publicRow) float64 { n := numbers(r); return float64(n[1]) / float64(n[0]) }
	list := slices.DeleteFunc(slices.Clone(rows), func(r *publicRow) bool { n := numbers(r); return n[0] <= 0 || n[1] <= 0 })
	slices.SortStableFunc(list, func(x, y *publicRow) int { return cmp.Compare(quotient(y), quotient(x)) })
	return rowsTable(list)
}

// spillTable has the kernels whose code spills more than llc's.
func spillTable(rows []*publicRow) string {
	more := func(r *publicRow) int { return r.spills[1] - r.spills[0] }
	list := slices.DeleteFunc(slices.Clone(rows), func(r *publicRow) bool { return more(r) <= 0 })
	slices.SortStableFunc(list, func(x, y *publicRow) int { return cmp.Compare(more(y), more(x)) })
	return rowsTable(list)
}

func rowsTable(list []*publicRow) string {
	var b strings.Builder
	b.WriteString("| kernel | executed | machine code | registers | spilled bytes |\n|---|---|---|---|---|\n")
	for _, r := range list[:min(len(list), publicWorst)] {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.name(), twice(r.executed), twice(r.sass), twice(r.regs), twice(r.spills))
	}
	return b.String()
}

// twice shows a number by llc and by direct, and their quotient.
func twice(n [2]int) string {
	if n[1] < 0 {
		return "–"
	}
	if n[0] == 0 || n[0] == n[1] {
		return fmt.Sprintf("%d, %d", n[0], n[1])
	}
	return fmt.Sprintf("%d, %d (%.2f)", n[0], n[1], float64(n[1])/float64(n[0]))
}
