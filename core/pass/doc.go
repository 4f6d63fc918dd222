// Package pass makes a compile stage out of rows. A Pass is a value: its name
// (which is also its file and its testdata folder), a line of doc, its options,
// and what it does to a module. A pipeline is a slice of rows: pass, options, a
// named condition, and why the row is there. The Runner alone verifies,
// times, dumps and writes reproducers; passes hold no such code.
package pass
