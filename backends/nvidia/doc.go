// Package nvidia is the backend for NVIDIA's GPUs: ttir → ttgir → llir → ptx →
// cubin for the targets cuda:80, 86, 89 and 90. It runs as a process of its own
// (cmd/tritonc-backend-nvidia) that implements the contract of plugin-sdk.
//
// It is a backend.Definition: job is one compile on its way through the table of
// stages, options are Triton's CUDAOptions, arch is a row of the table of targets.
// What is not NVIDIA's, such as running stages and finding tools, is core/backend's,
// with its invariants.
//
// Package gpu has the target's half of the lowering, package mma tells the passes
// what tensor cores compute, package tma has the passes that copy through
// descriptors, package ttng the dialect of what gpu and tma add.
//
// It imports core's libraries and the SDK, and no other backend.
package nvidia
