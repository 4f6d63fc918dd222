package importrules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// byNumber are the rooms that may name operands, results and regions by number and
// attributes by a string. Generated files may, too: they are the views.
var byNumber = []struct{ path, why string }{
	{"core/ir/", "the IR, its text and its comparison know operations as rows of a table"},
}

// access are the methods of ir.Operation and ir.State whose first argument is a
// number or a name from the operation's row, or that return a list which such a
// number indexes.
var access = map[string]string{
	"Attr": "attribute", "IntAttr": "attribute", "StringAttr": "attribute", "HasAttr": "attribute", "SetAttr": "attribute",
	"Operand": "position", "SetOperand": "position", "OperandUse": "position", "EraseOperand": "position",
	"Group": "position", "GroupOne": "position", "GroupRange": "position", "SetGroup": "position", "SetGroupOne": "position",
	"Result": "position", "Region": "position",
	"OperandValues": "list", "Results": "list", "Regions": "list",
}

// A reach is one place where code reads an operation without its view.
type reach struct{ file, kind, text string }

// load type-checks packages of the module; overlay has files that are not there.
func load(t *testing.T, root string, overlay map[string][]byte, patterns ...string) []*packages.Package {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile,
		Dir: root, Overlay: overlay,
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
	}
	return pkgs
}

// reaches returns what p reads by number or by string.
func reaches(p *packages.Package, root string) []reach {
	var found []reach
	for _, file := range p.Syntax {
		if ast.IsGenerated(file) {
			continue
		}
		name, err := filepath.Rel(root, p.Fset.Position(file.Pos()).Filename)
		if err != nil {
			name = p.Fset.Position(file.Pos()).Filename
		}
		name = filepath.ToSlash(name)
		add := func(e ast.Expr, kind string) {
			found = append(found, reach{name, kind, fmt.Sprintf("%s:%d: %s", name, p.Fset.Position(e.Pos()).Line, types.ExprString(e))})
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				kind, ofState := accessKind(p.TypesInfo, n)
				if ofState && strings.HasPrefix(name, "core/dialect/") {
					break // the Infer of a row runs before there is an operation
				}
				if kind == "attribute" && isLiteral(n.Args[0]) || kind == "position" && isNumber(p.TypesInfo, n.Args[0]) {
					add(n, kind)
				}
			case *ast.IndexExpr:
				if isList(p.TypesInfo, n.X) && isNumber(p.TypesInfo, n.Index) {
					add(n, "position")
				}
			case *ast.SliceExpr:
				if isList(p.TypesInfo, n.X) && n.Low != nil && isNumber(p.TypesInfo, n.Low) {
					add(n, "position")
				}
			}
			return true
		})
	}
	return found
}

// accessKind is what access says of the method that call calls, "" for any other
// function, and whether it is one of ir.State.
func accessKind(info *types.Info, call *ast.CallExpr) (kind string, ofState bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	f, ok := info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != module+"/core/ir" || f.Signature().Recv() == nil {
		return "", false
	}
	recv := f.Signature().Recv().Type()
	if ptr, ok := recv.(*types.Pointer); ok {
		recv = ptr.Elem()
	}
	switch recv.(*types.Named).Obj().Name() {
	case "Operation":
		return access[f.Name()], false
	case "State":
		return access[f.Name()], true
	}
	return "", false
}

func isList(info *types.Info, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	kind, _ := accessKind(info, call)
	return kind == "list"
}

// isLiteral reports whether e is a string literal. A constant with a name is not:
// discardable attributes, which no row has, are named once.
func isLiteral(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.BasicLit)
	return ok
}

// isNumber reports whether e is a constant, or something plus or minus one. What is
// counted back from the number of operands or results was just appended.
func isNumber(info *types.Info, e ast.Expr) bool {
	if v := info.Types[e].Value; v != nil {
		return v.Kind() == constant.Int
	}
	sum, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if call, ok := ast.Unparen(sum.X).(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Num") {
			return false
		}
	}
	return info.Types[sum.X].Value != nil || info.Types[sum.Y].Value != nil
}

// TestViews: operations are read through their typed views outside of the rooms of
// byNumber. With -v it prints how often each room does otherwise.
func TestViews(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]map[string]int{}
	for _, p := range load(t, root, nil, "./core/...", "./backends/...", "./cmd/...") {
		room := strings.TrimPrefix(p.PkgPath, module+"/")
		counts[room] = map[string]int{}
		for _, r := range reaches(p, root) {
			counts[room][r.kind]++
			if !slices.ContainsFunc(byNumber, func(a struct{ path, why string }) bool { return strings.HasPrefix(r.file, a.path) }) {
				t.Errorf("%s: read it through the view of the operation, such as tt.AsLoad(op).Mask() (docs/add-an-op.md)", r.text)
			}
		}
	}
	for _, room := range slices.SortedFunc(maps.Keys(counts), cmp.Compare[string]) {
		if c := counts[room]; len(c) > 0 {
			t.Logf("%s: %d attributes by string, %d positions by number", room, c["attribute"], c["position"])
		}
	}
}

// TestReaches: TestViews would see each way to read an operation by number.
func TestReaches(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	const source = `package rewrite

import "github.com/tritonc/tritonc/core/ir"

const named = "x.named"

func reachesForTest(op *ir.Operation, s *ir.State, i int) {
	const two = 2
	use := func(...any) {}
	use(op.Attr("a"), op.HasAttr("a"), op.StringAttr("a"), s.Attr("a"))
	op.SetAttr("a", nil)
	use(op.Operand(0), op.Operand(two), op.Operand(1-i), op.GroupOne(1), op.Region(0))
	use(op.OperandValues()[1], op.OperandValues()[1:], op.Results()[0])
	// What follows is allowed.
	use(op.Attr(named), op.Operand(i), op.Result(op.NumResults()-1), op.OperandValues()[i:], op.OneResult(), op.Results())
}
`
	file := filepath.Join(root, "core", "rewrite", "reaches.go")
	var lines []string
	for _, p := range load(t, root, map[string][]byte{file: []byte(source)}, "./core/rewrite") {
		for _, r := range reaches(p, root) {
			if r.file == "core/rewrite/reaches.go" {
				lines = append(lines, r.kind+" "+r.text[strings.LastIndex(r.text, ": ")+2:])
			}
		}
	}
	want := []string{
		`attribute op.Attr("a")`, `attribute op.HasAttr("a")`, `attribute op.StringAttr("a")`, `attribute s.Attr("a")`,
		`attribute op.SetAttr("a", nil)`,
		"position op.Operand(0)", "position op.Operand(two)", "position op.Operand(1 - i)", "position op.GroupOne(1)", "position op.Region(0)",
		"position op.OperandValues()[1]", "position op.OperandValues()[1:]", "position op.Results()[0]",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
