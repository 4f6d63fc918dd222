package syntax

import (
	"os"
	"strings"
	"testing"
)

// testCase is a "### name" line of a testdata file and what comes below it.
type testCase struct{ name, text string }

func readCases(tb testing.TB, path string) []testCase {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var list []testCase
	for _, part := range strings.Split("\n"+string(data), "\n### ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		list = append(list, testCase{name, text})
	}
	return list
}

// TestConstructs parses every construct of the language and compares all fields
// and positions with what CPython made of them (testdata/dump_ast.py).
func TestConstructs(t *testing.T) {
	cases, golden := readCases(t, "testdata/constructs.txt"), readCases(t, "testdata/constructs.golden")
	if len(cases) != len(golden) {
		t.Fatalf("%d cases, %d in the golden file", len(cases), len(golden))
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(c.name, []byte(c.text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSuffix(golden[i].text, "\n"), "\n")
			if len(want) != len(m.Body) {
				t.Fatalf("%d statements, CPython has %d", len(m.Body), len(want))
			}
			for j, s := range m.Body {
				if got := Dump(s); got != want[j] {
					t.Errorf("line %d: %s", s.Loc().Line, firstDifference(got, want[j]))
				}
			}
		})
	}
}
