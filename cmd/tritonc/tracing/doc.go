// Package tracing sends the spans of core/span where OpenTelemetry's variables say: to a
// collector by OTLP, or as lines of JSON to standard error. Without such a variable nothing
// is made.
//
// Main types: Config, Tracing.
//
// Invariants: a collector that is slow or away costs a command what its last words may take
// (flushTime) and nothing else; spans that it does not take are dropped, which is said once.
//
// Reference: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables
package tracing
