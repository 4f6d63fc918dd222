// Command once is a stand-in for llc and opt that runs the program once for the
// same input: the numeric suites give LLVM the same kernels at each run of make
// test, and most of their time is LLVM's. It is built under the names that it stands
// in for, and its folder comes first in PATH for these suites alone:
//
//	go build -o build/once/llc-22 ./internal/once
//
// What is kept, in ${XDG_CACHE_HOME:-$HOME/.cache}/tritonc/once, is the standard
// output of a run that read standard input, succeeded and said nothing else, under
// the hash of program (path, size, time of change), arguments and input. The Makefile
// removes what nobody asked for in two weeks. TRITONC_ONCE=no runs the program each
// time.
package main
