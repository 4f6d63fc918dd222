// Package numeric is the numeric suite: for every family of operations,
// element type, kind of layout and rank there are generated kernels, which are
// compiled, run on the simulated GPU, and compared with references in Go that
// share nothing with the compiler.
//
// A group (group_test.go) is a family with an element type: "arith/fp16". A
// config is a group at one point of the other axes: layout kind, rank, size and
// number of warps; the target follows from the seed. One kernel holds all
// operations of a config, each with an output of its own. When it fails, each
// operation is compiled alone, and the test shows the least kernel that fails.
//
// Integers and what IEEE 754 rounds correctly must be exact. Elsewhere the
// bound is derived: from the number of roundings, or from what the PTX manual
// promises of an instruction. Whatever the simulator reports is a failure.
//
// make test runs a sample in which every value of every axis meets every value
// of every other one; TRITONC_ALL=1 (make test-all) runs the whole product, and
// TRITONC_SHARD=2/10 beside it and a TRITONC_SEED the second of ten parts.
// Inputs are fresh; the log has the seed, which TRITONC_SEED repeats.
package numeric
