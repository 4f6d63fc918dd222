// Package tensors answers what passes ask of tensors: their types and encodings,
// what a thread and a CTA hold of them, which conversions a module has. packed.go
// has the layouts of tensors whose elements are packed in pairs.
package tensors
