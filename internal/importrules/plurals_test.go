package importrules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// counted is a number and what it counts, in a format: "%d operands",
// "%d packed elements".
var counted = regexp.MustCompile(`%d (?:(?:packed|more|carried|branch|named) )?(operand|result|type|value|element|dimension|block|argument|warp|thread|lane|byte|bit|register|name|` +
	`entry|entrie|coordinate|stride|size|step|offset|region|successor|kernel|variant|column|parameter|bound|hint|device|stage|operation|row|input|output|` +
	`configuration|arrival|place|interval|padding|level|part|target|iteration|bank|weight|group|instruction|buffer|file|line|pattern)s\b`)

// verb is a conversion of fmt.
var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?(\d+|\*)?(\.(\d+|\*)?)?[a-zA-Z%]`)

// plurals are counts that are fine as they are, by file and format, with the reason.
var plurals = map[string]string{
	"cmd/tritonc/runcheck.go: %s: all %d elements are as expected\n":                                                           "of 2 and more",
	"backends/nvidia/cubin.go: %d bytes stack frame, %d bytes spill stores, %d bytes spill loads":                              "what ptxas prints",
	"backends/nvidia/cubin.go: %d registers":                                                                                   "what ptxas prints",
	"core/layout/shared.go: encoding nvmma_shared: swizzlingByteWidth %d needs %d elements along dimension %d of the shape %v": "16 or more of 8 bits",
	"core/layout/draw/draw.go: Offset in elements of %d bits. Hue: bank of %d of %d bytes.":                                    "8 bits or more, and words of 4 bytes",
	"core/frontend/lang/dot.go: one scale serves %d elements of K: lhs_scale is [M, K/%[1]d], rhs_scale [N, K/%[1]d]":          "16 or 32",
}

// A message says "1 operand", not "1 operands": a number whose noun follows is
// written by diag.Count, unless it is a constant.
func TestPlurals(t *testing.T) {
	root := filepath.Join("..", "..")
	consts := map[string]bool{}
	files := map[string]*ast.File{}
	fset := token.NewFileSet()
	for _, dir := range []string{"core", "backends", "cmd", "driver"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "cuda" {
				return fs.SkipDir // a module of its own, without diag
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(fset, path, nil, 0)
			files[path] = f
			if err != nil {
				return err
			}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
					for _, s := range g.Specs {
						for _, name := range s.(*ast.ValueSpec).Names {
							consts[name.Name] = true
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]bool{}
	for path, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for i, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				format, err := strconv.Unquote(lit.Value)
				if err != nil || strings.HasPrefix(format, "BUG") {
					continue
				}
				for _, m := range counted.FindAllStringIndex(format, -1) {
					k := i + 1 + verbsBefore(format, m[0])
					if k < len(call.Args) && isConst(call.Args[k], consts) {
						continue
					}
					rel, _ := filepath.Rel(root, path)
					key := fmt.Sprintf("%s: %s", filepath.ToSlash(rel), format)
					if plurals[key] != "" {
						used[key] = true
						continue
					}
					t.Errorf("%s: %q says %q of 1, too: write it with diag.Count", fset.Position(lit.Pos()), format, "1"+format[m[0]+2:m[1]])
				}
			}
			return true
		})
	}
	for key := range plurals {
		if !used[key] {
			t.Errorf("plurals: nothing is as in %q", key)
		}
	}
}

// verbsBefore counts the conversions in format before offset at, which each take an
// argument.
func verbsBefore(format string, at int) int {
	n := 0
	for _, m := range verb.FindAllString(format[:at], -1) {
		if !strings.HasSuffix(m, "%") {
			n++
		}
	}
	return n
}

// isConst reports whether e is made of literals and constants alone.
func isConst(e ast.Expr, consts map[string]bool) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return consts[e.Name]
	case *ast.SelectorExpr:
		return consts[e.Sel.Name]
	case *ast.BinaryExpr:
		return isConst(e.X, consts) && isConst(e.Y, consts)
	case *ast.CallExpr:
		f, ok := e.Fun.(*ast.Ident)
		return ok && f.Name != "len" && len(e.Args) == 1 && isConst(e.Args[0], consts) // a conversion
	}
	return false
}
