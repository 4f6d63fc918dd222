//go:build linux

package native

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Link says which functions of which file are wanted.
type Link struct {
	Name   string // "HIP's library"
	Places []string
	// Functions are pointers to variables of function types, by the functions' names.
	Functions map[string]any
	// Needed is what has all of them: "ROCm 6 or later".
	Needed string
	// Help is the next step where the file is at none of the places.
	Help string
}

// Open opens the file at the first of the places where the system's loader takes it, and
// sets the functions.
func (k *Link) Open() error {
	var said []string
	for _, path := range k.Places {
		lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			said = append(said, err.Error())
			continue
		}
		for name, f := range k.Functions {
			address, err := purego.Dlsym(lib, name)
			if err != nil {
				return fmt.Errorf("%s has no function %s: %s is needed", path, name, k.Needed)
			}
			purego.RegisterFunc(f, address)
		}
		return nil
	}
	return (&sdk.Diagnostic{
		Kind: sdk.Environment, Message: k.Name + " cannot be opened:\n    " + strings.Join(said, "\n    "),
	}).WithHelp("%s", k.Help)
}

// Files are the names in each of the folders; in the folder "" they are for the system's
// loader to find.
func Files(folders []string, names ...string) []string {
	var list []string
	for _, folder := range folders {
		for _, name := range names {
			list = append(list, filepath.Join(folder, name))
		}
	}
	return list
}
