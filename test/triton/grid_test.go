package triton

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/golden"
)

// grid expands testdata/small/grid.tsv: for each of its lines the kernels with
// every type and literal.
func grid(t *testing.T) [][]small {
	t.Helper()
	f, err := os.Open(filepath.Join(smallDir, "grid.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lists := map[string][]string{}
	var out [][]small
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		switch {
		case strings.HasPrefix(s.Text(), "#"):
			continue
		case fields[0] == "types" || fields[0] == "names" || fields[0] == "literals":
			lists[fields[0]] = fields[1:]
			continue
		}
		kernels := [][2]string{{fields[0], fields[1]}}
		for _, m := range [][2]string{{"{A}", "types"}, {"{B}", "types"}, {"{D}", "names"}, {"{L}", "literals"}} {
			if !strings.Contains(s.Text(), m[0]) {
				continue
			}
			var more [][2]string
			for _, k := range kernels {
				for _, v := range lists[m[1]] {
					more = append(more, [2]string{strings.ReplaceAll(k[0], m[0], v), strings.ReplaceAll(k[1], m[0], v)})
				}
			}
			kernels = more
		}
		row := make([]small, len(kernels))
		for j, k := range kernels {
			var names []string
			for entry := range strings.SplitSeq(k[0], ", ") {
				name, _, _ := strings.Cut(entry, "=")
				names = append(names, name)
			}
			src := smallHead + "@triton.jit\ndef k(" + strings.Join(names, ", ") + "):\n"
			for line := range strings.SplitSeq(k[1], "; ") {
				src += "    " + line + "\n"
			}
			row[j] = small{key: fmt.Sprintf("%d.%d", len(out), j), signature: k[0], source: src}
		}
		out = append(out, row)
	}
	return out
}

// refusedMark stands for a kernel that is refused, among the digests.
const refusedMark = "-"

// digest is that of a module's normal form.
func digest(normal string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(normal)))[:8] }

// TestGrid holds the operations of the language against Triton 3.6.0 for every type,
// every pair of types and many literals: 14,752 kernels. testdata/small/grid.digests
// has a line an operation: the digest of Triton's ttir for each kernel, or - where
// it refuses. TRITONC_TRITON_GRID names what bench/triton_small.py --grid wrote; with
// TRITONC_UPDATE=1 the digests are made from it.
func TestGrid(t *testing.T) {
	rows := grid(t)
	if os.Getenv("TRITONC_TRITON_GRID") != "" && os.Getenv(golden.UpdateEnv) == "1" {
		updateGrid(t, rows)
	}
	list, err := os.ReadFile(filepath.Join(smallDir, "grid.digests"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("grid.digests has %d lines for %d operations", len(lines), len(rows))
	}
	facts := facts90(t)
	same, refused, other, excused := 0, 0, 0, 0
	for i, row := range rows {
		digests := strings.Fields(lines[i])
		if len(digests) != len(row) {
			t.Fatalf("line %d of grid.digests has %d entries for %d kernels", i+1, len(digests), len(row))
		}
		for j := range row {
			k := &row[j]
			got := refusedMark
			m, err := k.build(facts)
			if err == nil {
				got = digest(diff.Normal(m))
			} else {
				checkDiagnostics(t, k, err)
			}
			switch {
			case got == digests[j] && got == refusedMark:
				refused++
			case got == digests[j]:
				same++
			case excusedByE4B15(k):
				excused++
			default:
				other++
				t.Errorf("kernel %s: Triton %s, here %s\n%s\n%s", k.key, verdictWord(digests[j]), verdictWord(got), k.signature, k.source)
				if err != nil {
					t.Log(explain(err))
				}
			}
		}
	}
	t.Logf("%d kernels: %d with the same ttir, %d refused by both, %d with fp8e4b15, %d otherwise",
		same+refused+excused+other, same, refused, excused, other)
}

// excusedByE4B15 reports whether a kernel has the type that Triton converts by
// assembly of one vendor, and tritonc by arithmetic.
func excusedByE4B15(k *small) bool { return strings.Contains(k.signature+k.source, "e4b15") }

func verdictWord(d string) string {
	if d == refusedMark {
		return "refuses"
	}
	return "accepts (" + d + ")"
}

// updateGrid rewrites the digests from what Triton made of the kernels.
func updateGrid(t *testing.T, rows [][]small) {
	t.Helper()
	archive, err := txtar.ParseFile(os.Getenv("TRITONC_TRITON_GRID"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]string{}
	for _, f := range archive.Files {
		theirs[f.Name] = string(f.Data)
	}
	var b strings.Builder
	for _, row := range rows {
		digests := make([]string, len(row))
		for j, k := range row {
			src, ok := theirs[k.key]
			if !ok {
				t.Fatalf("no kernel %s", k.key)
			}
			digests[j] = refusedMark
			if strings.HasPrefix(src, "error: ") {
				continue
			}
			m, err := text.Parse(dialect.NewContext(), k.key, []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			digests[j] = digest(diff.Normal(m))
		}
		fmt.Fprintln(&b, strings.Join(slices.Clip(digests), " "))
	}
	if err := os.WriteFile(filepath.Join(smallDir, "grid.digests"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
