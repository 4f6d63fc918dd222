package main

import (
	"testing"

	"golang.org/x/tools/txtar"
)

// TestExamples: every pass is explained. That the examples are right is tested
// where the passes are.
func TestExamples(t *testing.T) {
	for _, p := range neutralPasses() {
		a := txtar.Parse([]byte(p.Example))
		if len(a.Comment) == 0 || len(a.Files) != 2 || a.Files[0].Name != "in.mlir" || a.Files[1].Name != "out.mlir" {
			t.Errorf("%s has no example", p.Name)
		}
	}
}
