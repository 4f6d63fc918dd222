// Package counts measures what tritonc makes of every reference kernel beside
// what Triton 3.6 made of the same: instructions, registers, memory traffic on the
// simulated GPU, and the time of the assembler.
//
// The facts of Triton's side are committed (testdata/triton.tsv), so that the
// comparison is part of the suite and needs neither Triton nor its output; with
// TRITONC_TRITON_PTX naming a folder of Triton's PTX (sm80/NAME.ptx,
// sm90/NAME.ptx) they are measured afresh. "make performance" writes the tables
// of docs/results/performance.md. For gfx942 it is testdata/triton_gfx942.tsv and
// TRITONC_TRITON_AMDGCN, a folder with NAME.amdgcn; encodings of gfx942 and gfx1100
// are in testdata/triton_encodings.tsv, from TRITONC_TRITON_TTGIR, a folder with
// gfx942/NAME.ttgir.
//
//	jobs_test.go       the reference kernels and how each is launched
//	measure_test.go    counting instructions, asking ptxas, running the simulator
//	table_test.go      the comparison with Triton, and its bounds
//	budget_test.go     what the simulator must count of the kernels that matter most
//	amd_test.go        gfx942's assembly: registers, loads, what the simulator executes
//	encodings_test.go  encodings of loads, stores and dots on gfx942 and gfx1100
//	choice_test.go     what LLVM's optimizer is worth: the table that the backend chooses by
package counts
