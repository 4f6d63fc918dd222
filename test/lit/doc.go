// Package lit executes functions of hand-written IR, such as Triton's own lit tests of
// its conversion to LLVM: each becomes a kernel, is compiled from ttgir on, and runs on
// the simulated GPU, which reports races, accesses out of bounds and undefined values.
//
// A function becomes a kernel by what it lacks (entry.go): tensors and buffers that it
// takes are loaded from memory, tensors that it returns or leaves unused are stored.
//
//	TRITONC_LIT=CHECKOUT/test/Conversion go test ./test/lit -run TestFolder -v
//
// counts what became of the functions of a folder. The modules of testdata are ours.
package lit
