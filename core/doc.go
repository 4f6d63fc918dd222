// Package core is the trip of one kernel: from a Python file, or from IR that
// somebody already has, through the stages of a backend to a binary.
//
//	Source   what to compile: a kernel of a Python file, or a stage's artifact
//	Target   for which device
//	Options  how, and which artifacts to return
//	Kernel   what came out: artifacts, metadata, timings, warnings
//	Compile  the trip
//
// A user's mistake comes back as a diag.Diagnostic or diag.List; trouble of the
// machine as an error with the path or the tool's own words.
//
// Invariants: Compile may be called from several goroutines at once, for one
// backend or several; it touches no environment, and no file but those of its
// cache and, for that, the times of those that went into it. Equal input gives
// equal bytes, from the cache too. The package knows no vendor: which stages
// there are, their names, and which of them are text, is the backend's answer.
//
// It imports the rest of core and the plugin SDK's plain structs. It must not
// import a backend, a driver or cmd.
package core
