package main

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestExamples: every pass is explained. That the examples are right is tested
// where the passes are.
func TestExamples(t *testing.T) {
	for _, p := range neutralPasses() {
		a := txtar.Parse([]byte(p.Example))
		var files []string
		for _, f := range a.Files {
			files = append(files, f.Name)
		}
		slices.Sort(files)
		if len(a.Comment) == 0 || !slices.Equal(files, []string{"in.mlir", "out.mlir"}) && !slices.Equal(files, []string{"in.mlir", "out.mlir", "remarks.txt"}) {
			t.Errorf("%s has no example", p.Name)
		}
	}
}
