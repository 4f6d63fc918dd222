// Package scaffold writes the module that a vendor's backend begins as: a program that
// serves it, a test, a kernel to try and a README. There are two: one that gets ttir as
// text, with the driver of its device, over plugin-sdk alone, and one over the kit for
// GPUs, core/backend.
//
// The files are templates in the program, with [[ ]] around what is filled in. The module
// names tritonc either by a folder with its source (a replace line) or by a version. In
// the first case versions and sums of other modules are those of that source, so that
// it builds at once, without a network; in the second the go command finds them.
//
// examples/backends/acme and examples/backends/gcn are what this package writes, byte for
// byte; a test holds that.
package scaffold
