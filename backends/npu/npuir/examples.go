package npuir

import _ "embed" // the example is an archive of the tests, too

// What the pass does, for people; TestPass holds it.
//
//go:embed testdata/linalg-to-npuir/example.txtar
var toNPUIRExample string

//go:embed testdata/npuir-plan-buffers/example.txtar
var planBuffersExample string

//go:embed testdata/npuir-insert-flags/example.txtar
var insertFlagsExample string

//go:embed testdata/npuir-map-blocks/example.txtar
var mapBlocksExample string

//go:embed testdata/npuir-forward-copies/example.txtar
var forwardCopiesExample string

//go:embed testdata/npuir-multibuffer/example.txtar
var multibufferExample string

//go:embed testdata/npuir-align-operands/example.txtar
var alignOperandsExample string
