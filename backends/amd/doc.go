// Package amd is the backend for AMD's GPUs: ttir → ttgir → llir → amdgcn → hsaco for
// the targets hip:gfx90a, gfx942, gfx950, gfx1100 and gfx1200. It runs as a process of
// its own (cmd/tritonc-backend-amd) that implements the contract of plugin-sdk.
//
// It is a backend.Definition: job is one compile on its way through the table of
// stages, options are Triton's HIPOptions, arch is a row of the table of targets.
// What is not AMD's, such as running stages and finding tools, is core/backend's,
// with its invariants.
//
// Package chip says what is known of the architectures, package gpu has the target's half
// of the lowering, package matrixcore tells the passes what matrix cores compute, package
// transform has passes of AMD's own, package buffers those that make buffer accesses,
// package amdg the dialects of what AMD adds to ttg.
//
// It imports core's libraries and the SDK, and no other backend.
package amd
