// Package arith is the table of the arith dialect: integer and floating point
// arithmetic on scalars and, element by element, on tensors.
package arith

//go:generate go run github.com/tritonc/tritonc/internal/opviews arith
