// Package nvidia is the backend for NVIDIA's GPUs: ttir → ttgir → llir → ptx →
// cubin for the targets cuda:80, 86, 89 and 90. It runs as a process of its own
// (cmd/tritonc-backend-nvidia) behind the contract of plugin-sdk.
//
// Main types: Backend (the contract), stage (a row of the table of stages),
// compilation (one RunStages call on its way through the table), options
// (Triton's CUDAOptions), arch (a row of the table of targets), tool (llc or
// ptxas as found on the machine).
//
// Invariants: calls run concurrently and share only the memo of tools; equal
// input, options and tools give equal bytes; the environment is read for PATH
// and the user's folders alone, all else comes in Settings; metadata and kernel
// ABI are those of Triton 3.6.
//
// Package gpu has the target's half of the lowering, package tma the passes that
// copy through descriptors, package ttng the dialect of what both add.
//
// It imports core's libraries and the SDK, and no other backend.
package nvidia
