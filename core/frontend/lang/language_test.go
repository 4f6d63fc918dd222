package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/golden"
)

const languageDoc = "../../../docs/language.md"

// TestLanguageDoc keeps docs/language.md true: it lists each function of the
// language with a test that uses it, and a function that no test uses fails.
func TestLanguageDoc(t *testing.T) {
	tests := map[string]string{} // name → source
	var order []string
	for _, pattern := range []string{"../testdata/*.py", "../testdata/golden/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			src, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(src), "-- ttir --")
			name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(p), ".txtar"), ".py")
			tests[name] = text
			order = append(order, name)
		}
	}
	var b strings.Builder
	b.WriteString(`# The language

What kernels may use, and the test that shows it: the kernels of
core/frontend/testdata, by file. This page is made by core/frontend/lang's tests
(TRITONC_UPDATE=1 go test ./core/frontend/lang -run TestLanguageDoc); a function
without a test fails them. What a kernel may not do is in
core/frontend/testdata/errors, with what the user is told.

## Python

| subject | test |
|---|---|
`)
	for _, name := range order {
		if why, ok := strings.CutPrefix(tests[name], "# "); ok && !strings.HasPrefix(tests[name], "# Kernels") && !strings.HasPrefix(tests[name], "# One") {
			line, _, _ := strings.Cut(why, "\n")
			fmt.Fprintf(&b, "| %s | %s |\n", strings.TrimSuffix(line, "."), name)
		}
	}
	family := ""
	for _, e := range Describe() {
		if e.Family != family {
			family = e.Family
			fmt.Fprintf(&b, "\n## triton.language: %s\n\n| function | method | tests |\n|---|---|---|\n", family)
		}
		call := regexp.MustCompile(`[.\s(]` + e.Name + `\(|, ` + e.Name + `,|import ` + e.Name + `\b`)
		var used []string
		for _, name := range order {
			if call.MatchString(tests[name]) {
				used = append(used, name)
			}
		}
		if len(used) == 0 {
			t.Errorf("no test uses %s", e.Name)
		}
		method := ""
		if e.Method {
			method = "yes"
		}
		fmt.Fprintf(&b, "| `%s(%s)` | %s | %s |\n", e.Name, strings.ReplaceAll(e.Params, "|", "\\|"), method, strings.Join(used, ", "))
	}
	got := b.String()
	if os.Getenv(golden.UpdateEnv) == "1" {
		if err := os.WriteFile(languageDoc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(languageDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is stale; %s=1 go test rewrites it", languageDoc, golden.UpdateEnv)
	}
}
