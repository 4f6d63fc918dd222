package main

import (
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core"
)

// standardInput is what diagnostics call the file -.
const standardInput = "<stdin>"

// mainModule is Python's name for a program on standard input.
const mainModule = "__main__"

// readSource reads what is to be compiled: a file, or standard input for -. kind
// is that of --as, or empty; then a file's ending says it, and of standard input
// the text.
func readSource(env *environment, file, root, kind string) (*core.Source, error) {
	path, text, err := readFileOrInput(env, file)
	if err != nil {
		return nil, err
	}
	src := &core.Source{Path: path, Name: path, Text: text, Ending: strings.TrimPrefix(kind, ".")}
	if file == "-" {
		if src.Ending == "" {
			src.Ending = kindOf(text)
		}
		if src.IsPython() {
			src.Module = mainModule
		}
		return src, nil
	}
	if src.Name, err = env.dir.sourceName(file, root); err != nil {
		return nil, usagef("%v", err)
	}
	return src, nil
}

// beside is the folder that a file's imports and metadata are looked for in.
func beside(src *core.Source) string {
	if src.Path == standardInput {
		return "."
	}
	return filepath.Dir(src.Path)
}

// What the first line of a text that is not a comment begins with.
var (
	mlirLine  = lazily(`^(module(\s+@\S+)?(\s+attributes\b.*)?\s*\{|"builtin\.module"\(|tt\.func\b)`)
	mlirAlias = lazily(`^#[A-Za-z_][\w.$-]*\s*=\s*(#|loc\()`)
	llvmLine  = lazily(`^(source_filename\s*=|target\s+(datalayout|triple)\s*=|(define|declare)\s[^=]*@|module\s+asm\b|attributes\s+#|[@%][-\w$."]+\s*=|![-\w$.]+\s*=|\$[-\w$."]+\s*=)`)
	ptxLine   = lazily(`^\.(version|target|address_size)\b`)
	laidOut   = lazily(`(?m)^module\b.*\bttg\.num-warps\b`)
)

// kindOf tells by its text what standard input is, as the ending that a file of it
// would have: Python, unless the first line is one of MLIR, LLVM IR or PTX. Of
// MLIR it is ttgir where the module says how many warps its layouts are for.
func kindOf(text []byte) string {
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "//"), strings.HasPrefix(line, ";"):
			continue // comments of all but Python
		case strings.HasPrefix(line, "#"):
			continue // one of Python's, or an alias, before the module
		case mlirLine().MatchString(line):
			if laidOut().Match(text) {
				return "ttgir"
			}
			return "ttir"
		case llvmLine().MatchString(line):
			return "llir"
		case ptxLine().MatchString(line):
			return "ptx"
		}
		return "py"
	}
	if mlirAlias().Match(text) {
		return "ttir" // nothing but aliases: the parser says what is missing
	}
	return "py"
}
