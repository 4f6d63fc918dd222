// Package project reads and edits tritonc.toml, what a project says of itself: which
// backend compiles for which targets, and which servers a team shares its work by.
//
// Main types: File (a tritonc.toml), Pin (one line of its table [backends]), Farm (its
// table [farm]).
//
// Invariants: an unknown key is an error with its place; an edit changes one value
// and keeps the rest of the file, comments included, byte for byte.
//
// The package imports core/diag, core/input, core/plugin/manifest and go-toml.
package project
