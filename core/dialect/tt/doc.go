// Package tt is the table of Triton's own dialect: programs over tensors of
// values and tensors of pointers, with no layout yet (package ttg adds it).
//
//	enums.go   the enumerations and their numbers
//	types.go   !tt.ptr and !tt.tensordesc
//	ops.go     memory, shape, arithmetic; structure.go functions, calls, reductions
//	build.go   constructors
//
// It imports core/ir and core/layout; never a pass or a lowering.
package tt

//go:generate go run github.com/tritonc/tritonc/internal/opviews tt
