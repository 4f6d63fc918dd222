// Package wire has what both ends of the contract between tritonc and its plugins
// know: how a process begins, what gRPC is set to, and how messages become bytes.
// What is sent the host's end (package host) and the author's (package sdk) each
// translate to structs of sdk by themselves, the one requests and the other
// responses, so that neither sees the other's half.
package wire
