// Command release writes the archives of a release, and their checksums: for each
// platform one with tritonc and its plugins, the licences of all that is linked,
// manual pages, completions, documents, and an SBOM for each program, and one for each
// backend that "tritonc backend install" takes.
//
//	go run ./internal/release [-o dist] [-version v1.2.3] [-platforms linux/amd64,…]
//	go run ./internal/release -check
//	go run ./internal/release -programs FOLDER [-platforms linux/amd64]
//
// The same commit, Go and version give the same bytes, in whichever folder: paths,
// times, users and the order of files do not enter. -check makes an archive twice and
// compares, tries what is in it, installs the module with "go install" from a zip
// of it, as the module proxy would serve it, and has that tritonc write a backend.
// -programs leaves what the Python package holds (integrations/triton).
//
// Main types: release (what is common to all archives), platform, entry (a file of an
// archive).
package main
