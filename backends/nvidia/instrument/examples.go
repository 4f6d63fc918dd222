package instrument

import _ "embed" // the example is an archive of the tests, too

// What the pass does, for people; its test holds it.
//
//go:embed testdata/tritoninstrument-concurrency-sanitizer/example.txtar
var concurrencySanitizerExample string
