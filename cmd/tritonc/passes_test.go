package main

import (
	"testing"

	"golang.org/x/tools/txtar"
)

// TestExamples: the passes that every kernel goes through before it has layouts
// are explained. That the examples are right is tested where the passes are.
func TestExamples(t *testing.T) {
	explained := map[string]bool{}
	for _, p := range neutralPasses() {
		a := txtar.Parse([]byte(p.Example))
		explained[p.Name] = len(a.Comment) > 0 && len(a.Files) == 2 && a.Files[0].Name == "in.mlir" && a.Files[1].Name == "out.mlir"
	}
	for _, name := range []string{
		"inline", "triton-rewrite-tensor-pointer", "triton-rewrite-tensor-descriptor-to-pointer", "canonicalize", "triton-combine",
		"triton-reorder-broadcast", "cse", "symbol-dce", "triton-loop-unroll", "triton-licm",
	} {
		if !explained[name] {
			t.Errorf("%s has no example", name)
		}
	}
}
