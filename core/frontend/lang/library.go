package lang

import (
	"embed"
	"sync"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// The part of triton.language that is written in Triton: our own text.
//
//go:embed lib/*.py lib/inductor/*.py
var sources embed.FS

// libraryFile is one embedded file, parsed on first use.
type libraryFile struct {
	module string
	file   func() *eval.File
}

func library(base string) *libraryFile {
	module := "triton.language." + base
	return &libraryFile{module, libraryText(base+".py", base+".py", module)}
}

// libraryText parses an embedded file on first use, which stands for a module and
// has that name in locations.
func libraryText(path, name, module string) func() *eval.File {
	return sync.OnceValue(func() *eval.File {
		src, err := sources.ReadFile("lib/" + path)
		if err != nil {
			panic("BUG: lang: " + err.Error())
		}
		tree, err := syntax.Parse(name, src)
		if err != nil {
			panic("BUG: lang: " + err.Error())
		}
		f := eval.NewFile(tree, name, module)
		f.Library = true
		return f
	})
}

// libraryFiles are the embedded files. A name of triton.language is looked for
// in each of them in turn.
var libraryFiles = []*libraryFile{library("standard"), library("random")}

// methods of tensors that are library functions.
var libraryMethods = map[string]bool{
	"cdiv": true, "sigmoid": true, "softmax": true, "max": true, "argmax": true, "min": true, "argmin": true,
	"sum": true, "xor_sum": true, "reduce_or": true, "cumsum": true, "cumprod": true, "flip": true, "ravel": true,
}

// hidden are names that library files define for themselves.
func hidden(name string) bool {
	return name == "tl" || name == "core" || name == "math" || name == "jit"
}
