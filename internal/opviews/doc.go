// Command opviews generates the typed views of a dialect's operations, the file
// views_gen.go of its package:
//
//	//go:generate go run github.com/tritonc/tritonc/internal/opviews tt
//
// A view names what a row of the dialect's table names: tt.AsLoad(op).Mask() is
// the operand group "mask" of a tt.load, nil where it is absent, and
// tt.AsLoad(op).IsVolatile() its attribute "isVolatile" with the default applied.
// A wrong name does not compile, and a view of another operation panics. A family of
// the dialect (ir.Family) becomes a view that serves every operation with the same
// names, and a function that asks whether one has them.
//
// This program is compiled with the dialects. Where a function of a row is to use a
// view that is not there yet, generate first.
//
// The tables are those of the packages in core/dialect, of which linalg has several
// dialects, and of backends/npu/npuir; for a dialect that a backend declares, the declaration. A test holds every
// views_gen.go of the module to its table. Of a dialect that a program needs whenever it
// starts it makes the declaration a variable, too (declaration_gen.go).
//
// It imports the dialects and core/ir.
package main
