package ttng

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tritonc/tritonc/core/ir/decl"
)

// TestDeclared: what is compiled in is what the JSON declares, which core reads.
func TestDeclared(t *testing.T) {
	want, err := decl.Parse([]byte(Declaration))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*want, declared, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("declared is another (-JSON +declared):\n%s", d)
	}
}

// TestNames: Is and Def are asked about operations that there are.
func TestNames(t *testing.T) {
	asked := regexp.MustCompile(`\b(?:ttng\.Def\(|Is\(\w[\w.()]*, )"(\w+)"\)|RootName: ttng\.Name \+ "\.(\w+)"`)
	files, err := filepath.Glob(filepath.Join("..", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(text), -1) {
			found++
			if name := m[1] + m[2]; Dialect().Op(Name+"."+name) == nil {
				t.Errorf("%s: there is no operation ttng.%s", file, name)
			}
		}
	}
	if found < 50 {
		t.Errorf("found %d names, and there are more", found)
	}
}
