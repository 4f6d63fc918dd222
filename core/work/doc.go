// Package work meters a compile. Whatever walks a kernel in any of its forms
// tells the compile's Meter what it visits: statements, operations, uses,
// registers, lines. From that come three things:
//
//   - The compile ends soon after its context does. The Meter looks at the context
//     every few thousand visits and stops the compile by a panic that Catch turns
//     into the context's error at the border of a package.
//   - The compile ends when its process holds more memory than it may, with an
//     *OverMemory that names the step.
//   - Visits are the same for the same input on every machine, so that tests can
//     hold the growth of a pass against the size of its input without a clock.
//
// A Meter belongs to one goroutine. The zero Meter counts and never stops.
// The package is a leaf: it imports Go's library alone.
package work
