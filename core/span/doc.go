// Package span records what a compile does as spans of OpenTelemetry: who waited for whom,
// in this process and in others. Code begins spans by a context; whether and where they
// are sent is decided once, by who makes the context (cmd/tritonc/tracing).
//
// Main types: Span, and the functions on contexts (With, Start, Inject, Extract).
//
// Invariants: without With nothing is recorded, and a Span costs a look into the context.
// Spans decide nothing: a compile with them makes the same bytes as one without.
//
// The package imports OpenTelemetry's API, not its SDK nor an exporter, and nothing of
// tritonc's.
package span
