package tmem

import "github.com/tritonc/tritonc/core/ir"

// Modifies reports whether what loop reads of the accumulator of dot is changed and stored
// to it again, or the accumulator is made inside.
func Modifies(dot, loop *ir.Operation) bool { return modifies(dot, loop) }

// BeginsAnew reports whether loop begins a sum of dot anew, so that another buffer can take
// it.
func BeginsAnew(dot, loop *ir.Operation) bool { return isOverwritten(dot, loop) }
