package std

import "github.com/tritonc/tritonc/core/pass"

// InlineAll replaces the calls of functions that are marked noinline, too: for machines
// that have no calls.
var InlineAll = &pass.Pass{
	Name:    "inline-all",
	Doc:     "inline the calls of functions, also of those marked noinline",
	Example: inlineAllExample,
	Run:     func(r *pass.Run) error { return inlineCalls(r, true) },
}
