// Package targets compiles one file for several targets, of NVIDIA and of AMD, runs all on
// the simulated devices with the same arguments, and holds the results against one
// another: the reference kernels of core/frontend/testdata, with the constants and options
// that jobs.txt has, and kernels of examples. What the results must be is for test/kernels.
package targets
