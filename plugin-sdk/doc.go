// Package sdk is what the author of a tritonc backend, or of a driver of devices,
// sees: small interfaces, the plain structs that travel through them, and a runner
// for child tools.
//
// A backend is a program of a few lines, named tritonc-backend-<name>:
//
//	func main() { sdk.ServeBackend(mine{}) }
//
//	type mine struct{}
//
//	func (mine) Describe(context.Context) (sdk.Facts, error) { ... }
//
//	func (mine) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
//		return []sdk.Stage{{Name: "asm", Run: assemble}}, nil
//	}
//
// ServeBackend must be the first statement of main: the host reads the handshake from
// the plugin's standard output, so nothing may be printed before it. From then
// on the process speaks gRPC (proto/tritonc/backend/v1) with one host, answers
// calls concurrently, logs structured lines to stderr, and dies, with the tools
// it started, when its host does.
//
// For backends: Backend and its optional powers (TargetChecker, OptionParser,
// StageRunner, DialectLoader, ModuleMapper, PassRunner), Facts, Stage and StageInput,
// Diagnostic (what a user's mistake looks like), Command (a child tool); Warn, Logger
// and ReportProgress take the ctx of a call. For drivers: DeviceDriver and Device.
// Serve serves both in one program. Package sdktest
// runs either inside a test. What a host needs is in package host.
//
// Invariants: authors never see protobuf; methods may be called at the same
// time from several goroutines; a panic in a method becomes a diagnostic that
// says BUG and the process lives on; text and JSON are all that crosses.
//
// The package imports nothing of tritonc's core.
package sdk
