package adapter

import _ "embed" // the example is an archive of the tests, too

// What the pass does, for people; TestPass holds it.
//
//go:embed testdata/triton-to-linalg/example.txtar
var toLinalgExample string

//go:embed testdata/npu-to-hivm/example.txtar
var toHIVMExample string
