// Package signature reads what a user says of a kernel's arguments: Triton's
// ahead-of-time signatures, extended by names.
//
//	*fp32:16, *fp32:16, i32:16, 1024         one entry a parameter, in order
//	x=*fp32:16, n=i32, BLOCK=1024            or by name, or both
//	# tritonc: add(*fp32, i32, 64) num_warps=4    in the source, a variant a line
//
// An entry is a type with hints (":16": a multiple of 16; ":1": the constant 1;
// ":S": a pointer to a buffer of less than 2 GiB), a literal, a dtype, a tuple, or
// the name of something in the kernel's file. Literals and names are kept as Python
// expressions: what they mean only the file can tell.
//
// Mistakes are diagnostics with the place in the text. The package imports
// core/diag and core/frontend/syntax.
package signature
