package memory

import _ "embed" // the examples are archives of the tests, too

// What each pass does, for people; TestPasses holds them.
var (
	//go:embed testdata/allocate-shared-memory/example.txtar
	sharedExample string
	//go:embed testdata/tritongpu-global-scratch-memory-allocation/example.txtar
	globalExample string
)
