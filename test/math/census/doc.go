// Package census counts which functions of triton.language.math and of CUDA's
// libdevice public kernels call, so that it is known which of them a compiler must
// have and which are worth making fast.
//
// Read counts over checkouts of repositories; testdata/functions.tsv is what it
// gave for those that core/frontend/testdata/manifest.tsv names, at the commits
// given there. The tests hold every function of that list to be one of ours.
//
//	census.go  counting
//	module.go      what a name of a Python module stands for
//
// The package parses Python with core/frontend/syntax and builds nothing.
package census
