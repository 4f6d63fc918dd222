// Package sdk is what the author of a tritonc backend sees: the Backend
// interface, the plain structs that travel through it, Serve, and a runner for
// child tools.
//
// A backend is a program of a few lines:
//
//	func main() { sdk.Serve(mybackend.New()) }
//
// Serve must be the first statement of main: the host reads the handshake from
// the plugin's standard output, so nothing may be printed before it. From then
// on the process speaks gRPC (proto/tritonc/backend/v1) with one host, answers
// calls concurrently, logs structured lines to stderr, and dies, with the tools
// it started, when its host does.
//
// Main types: Backend (implement it), Facts (what Describe answers), Target,
// Diagnostic (what a user's mistake looks like), Command (a child tool), Client
// (a Backend on the far side of a connection; the host and the tests use it).
//
// Invariants: authors never see protobuf; methods may be called at the same
// time from several goroutines; a panic in a method becomes a diagnostic that
// says BUG and the process lives on; text and JSON are all that crosses.
//
// The package imports nothing of tritonc's core.
package sdk
