// Package promtext writes figures in the text form of Prometheus.
//
// Main type: Text.
//
// Reference: https://prometheus.io/docs/instrumenting/exposition_formats
// The package is a leaf: it imports nothing of tritonc's.
package promtext
