// Package manifest reads and writes the files that say which programs a backend
// is made of and which of several backends to take.
//
// Main types: Manifest (tritonc-backend.json, beside the program of a backend that
// is shipped: its name, version and targets, and the SHA-256 of each file), Lock
// (tritonc.lock, the programs that a project allows), Ref (NAME[@VERSION], as
// --backend takes it).
//
// Invariant: what Parse and ParseLock return is whole and consistent, and every
// path in it is local: it names a file below the folder it is joined to.
//
// The package imports core/diag and the standard library.
package manifest
