package inspect

import (
	_ "embed" // the examples are archives of the tests, too

	"github.com/tritonc/tritonc/core/pass"
)

// Passes lists the passes for no target in particular.
func Passes() []*pass.Pass {
	return []*pass.Pass{Alignment, Alias, Allocation, NewMembar(nil)}
}

// What each pass does, for people; TestPasses holds them.
var (
	//go:embed testdata/test-print-alignment/example.txtar
	alignmentExample string
	//go:embed testdata/test-print-alias/example.txtar
	aliasExample string
	//go:embed testdata/test-print-allocation/example.txtar
	allocationExample string
	//go:embed testdata/test-print-membar/example.txtar
	membarExample string
)
