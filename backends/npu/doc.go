// Package npu is the backend for Ascend NPUs: ttir → ttadapter → npuir → npusim, and
// ttadapter → npubin by the vendor's compiler, for the chips of package chip. It runs as a process of its own (cmd/tritonc-backend-npu) that implements the
// contract of plugin-sdk.
//
// It is a backend.Definition: job is one compile on its way through the stages, options
// are triton-ascend's NPUOptions. An NPU has neither threads nor layouts, so that the
// stages share ttir with the GPUs and nothing after it.
//
// npubin.go runs the vendor's compiler, on the form of vendorform.go, with the flags of
// vendorflags.go; callbacks.go reads what it says beside the binary. npusim.go writes the
// program for the simulated NPU.
//
// Package chip says what is known of the chips, package linalg has the dialects of the
// stage ttadapter, and package adapter the pass that makes it.
//
// It imports core's libraries and the SDK, and no other backend.
package npu
