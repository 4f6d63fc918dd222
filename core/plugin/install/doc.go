// Package install keeps backends in the user's folder: NAME/VERSION holds the files
// that a manifest lists, and the manifest.
//
// Main types: Options (how to install), Installed (one version of a backend there).
//
// Invariants: nothing is in a folder NAME/VERSION that its manifest does not list with
// that SHA-256; what is installed appears there whole or not at all; paths, links and
// sizes are checked before a byte is written, sums while the bytes go to a folder that
// nobody looks into.
//
// The package imports core/plugin/manifest, core/trust and the SDK.
package install
