package instrument

import "github.com/tritonc/tritonc/core/pass"

// Passes are the passes of this package.
func Passes() []*pass.Pass {
	return []*pass.Pass{ConcurrencySanitizer}
}
