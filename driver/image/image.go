// Package image reads from compiled code what a launch must agree with: which
// kernels there are, which parameters they take, and how large a block is.
//
// Main types: File, Kernel, Param. Code is PTX text, a cubin or a code object of AMD's
// (ELF files). It needs neither a GPU nor its libraries, and imports Go's own library
// only.
package image

import "fmt"

// File is compiled code.
type File struct {
	Kernels []Kernel // in the order of the code
	// Arch is what a code object of AMD's was compiled for, "gfx942" say; "" of other code.
	Arch string
}

// Kernel is a function that can be launched.
type Kernel struct {
	Name string
	// Params in order; nil where the code does not tell.
	Params []Param
	// Block is the number of threads in each dimension that a block must have,
	// zeros where the code leaves it open.
	Block [3]int
	// MaxThreads of a block, and Shared, the static shared memory of one in bytes, of a
	// code object; 0 of other code.
	MaxThreads, Shared int
	// Registers of a thread; 0 where the code does not tell, as PTX.
	Registers int
}

// Param is a parameter of a kernel.
type Param struct {
	Size int // bytes
}

// Parse reads code of any kind.
func Parse(code []byte) (*File, error) {
	switch {
	case len(code) < 4 || string(code[:4]) != "\x7fELF":
		return parsePTX(string(code))
	case isCodeObject(code):
		return parseCodeObject(code)
	}
	return parseCubin(code)
}

// Kernel returns the kernel of that name; "" names the only one.
func (f *File) Kernel(name string) (*Kernel, error) {
	var names []string
	for i := range f.Kernels {
		k := &f.Kernels[i]
		if k.Name == name || name == "" && len(f.Kernels) == 1 {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("it has no kernel %q; it has %q", name, names)
}
