package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
)

// Bundle is kernels that were compiled ahead of time.
type Bundle struct {
	// Tritonc and Triton are the versions of the compiler, and of the language that it
	// compiles.
	Tritonc, Triton string
	// Targets are those that there is code for, with the backends that made it.
	Targets []Target
	Kernels []*Kernel
}

// Target is a target with the backend that compiled for it.
type Target struct {
	Name string `json:"name"` // "cuda:90"
	// Backend's name and version, and the hash of its program.
	Backend string `json:"backend"`
	Version string `json:"version"`
	Hash    string `json:"hash"`
}

// Kernel is a kernel with one list of types; Params are the arguments of a launch.
type Kernel struct {
	// Name is the kernel's, with the types where the bundle has it for several.
	Name string
	// Source is the file that it was compiled from.
	Source string
	// Grid is a formula for the number of programs in one to three dimensions, over
	// the arguments that are numbers and the constants: "cdiv(n, BLOCK), heads". "":
	// whoever launches says it.
	Grid   string
	Params []kernel.Param
	// Order has the names of all parameters, constants too, as the source has them.
	Order    []string
	Variants []Variant
}

// Variant is a kernel compiled once.
type Variant struct {
	kernel.Variant
	// Options are what the variant was compiled with beside its constants, as far as
	// the file or the command line gave them, for people: "num_warps=8".
	Options string
}

// Kernel returns the kernel of a name; "" names the only one.
func (b *Bundle) Kernel(name string) (*Kernel, error) {
	var names []string
	for _, k := range b.Kernels {
		if k.Name == name || name == "" && len(b.Kernels) == 1 {
			return k, nil
		}
		names = append(names, k.Name)
	}
	if name == "" {
		return nil, fmt.Errorf("the bundle has %s, and none is named: %s", diag.Count(len(names), "kernel"), strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("the bundle has no kernel %q; it has %s", name, strings.Join(names, ", "))
}

// Load returns a kernel on a device, of whose code it takes what the device can run.
func (b *Bundle) Load(name string, dev driver.Device) (*Function, error) {
	k, err := b.Kernel(name)
	if err != nil {
		return nil, err
	}
	return k.Load(dev)
}

// Set is the kernel as package kernel has it.
func (k *Kernel) Set() *kernel.Set {
	s := &kernel.Set{Name: k.Name, Params: k.Params}
	for i := range k.Variants {
		s.Variants = append(s.Variants, k.Variants[i].Variant)
	}
	return s
}

// Check says what keeps the variants of a kernel from being told apart or launched.
func (k *Kernel) Check() error {
	for i := range k.Variants {
		v := &k.Variants[i]
		if len(v.Hints) != 0 && len(v.Hints) != len(k.Params) {
			return fmt.Errorf("a variant of %s has %s for %s", k.Name, diag.Count(len(v.Hints), "hint"), diag.Count(len(k.Params), "parameter"))
		}
		for _, h := range v.Hints {
			if h != 0 && h != 1 && h != 16 {
				return fmt.Errorf("a variant of %s has the hint %d", k.Name, h)
			}
		}
		for j := range i {
			if o := &k.Variants[j]; o.Target == v.Target && o.Stage == v.Stage && slices.Equal(o.Hints, v.Hints) && slices.Equal(o.Constants, v.Constants) {
				return fmt.Errorf("two variants of %s for %s have the same hints and constants%s: no launch could tell them apart",
					k.Name, v.Target, differing(o.Options, v.Options))
			}
		}
	}
	if k.Grid == "" {
		return nil
	}
	_, err := k.GridDims()
	return err
}

func differing(a, b string) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf(" and differ in their options (%s; %s)", orNone(a), orNone(b))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// maxFile bounds a bundle, and what its files hold together.
const maxFile = 1 << 30

// Open reads a file.
func Open(path string) (*Bundle, error) {
	data, err := input.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	b, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// ErrNotBundle is in the error of Read for what is not a bundle at all.
var ErrNotBundle = errors.New("this is not a bundle of kernels")
