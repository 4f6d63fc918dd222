// Package page writes what the simulator counted as one HTML file: the kernel's source
// with heat per line and the counters beside it, and a summary of the launch. The file
// needs nothing else, no network and no server.
//
// Sources are other people's text: html/template escapes them, and characters that
// would not show, or reorder what does, are written out by their numbers.
//
// It imports simt for the report.
package page
