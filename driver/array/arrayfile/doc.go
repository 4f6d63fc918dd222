// Package arrayfile reads arrays from the files that NumPy and PyTorch users have, and
// writes NumPy's:
//
//	FILE.npy[:TYPE]               one array, of numpy.save
//	FILE.npz:NAME[:TYPE]          one of several, of numpy.savez
//	FILE.safetensors:NAME[:TYPE]  one of several, of safetensors
//
// A TYPE converts the elements. No more memory is taken than the array's elements
// need, whatever a file says of itself; what is wrong with its contents is a
// *diag.Diagnostic with its path, and a file that cannot be read is package input's
// error.
//
// It imports packages input, array and the Python parser, for the header of a NumPy
// file is a Python dict.
package arrayfile
