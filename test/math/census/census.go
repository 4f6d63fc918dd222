package census

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Libraries that functions belong to.
const (
	Math      = "math"      // triton.language.math, or the same name in triton.language
	Libdevice = "libdevice" // triton.language.extra.cuda.libdevice and its other names
)

// Row says how many kernels call a function, in how many repositories.
type Row struct {
	Library, Function     string
	Kernels, Repositories int
}

// Census is what was counted.
type Census struct {
	// Kernels are all functions with Triton's jit decorator, those that only
	// other kernels call included.
	Kernels int
	Rows    []Row // most used first
}

// functions are those of triton.language.math.
var functions = strings.Fields("abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi")

// Read counts over repositories, "owner/name" each, that are checked out below
// root. A kernel counts once for each function that it calls itself.
func Read(root string, repositories []string) (*Census, error) {
	c := &Census{}
	rows := map[[2]string]*Row{}
	for _, name := range repositories {
		here := map[[2]string]int{}
		r := &repository{filepath.Join(root, filepath.FromSlash(name)), map[string]*module{}}
		err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
				return err
			}
			rel, err := filepath.Rel(r.root, path)
			if err != nil {
				return err
			}
			if m := r.open(filepath.ToSlash(rel)); m != nil {
				c.Kernels += m.count(here)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("repository %s: %w", name, err)
		}
		for key, n := range here {
			if rows[key] == nil {
				rows[key] = &Row{Library: key[0], Function: key[1]}
			}
			rows[key].Kernels += n
			rows[key].Repositories++
		}
	}
	for _, r := range slices.Collect(maps.Values(rows)) {
		c.Rows = append(c.Rows, *r)
	}
	slices.SortFunc(c.Rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.Kernels, x.Kernels), cmp.Compare(x.Library, y.Library), cmp.Compare(x.Function, y.Function))
	})
	return c, nil
}

// count adds the calls of the module's kernels to here and returns their number.
func (m *module) count(here map[[2]string]int) (kernels int) {
	syntax.Inspect(m.tree, func(n syntax.Node) bool {
		f, ok := n.(*syntax.FunctionDef)
		if !ok || !slices.ContainsFunc(f.Decorators, isJit) {
			return true
		}
		kernels++
		called := map[[2]string]bool{}
		syntax.Inspect(f, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.Call); ok {
				for _, name := range m.resolve(dotted(call.Func), maxHops) {
					if lib, fn := classify(name); lib != "" {
						called[[2]string{lib, fn}] = true
					}
				}
			}
			return true
		})
		for key := range called {
			here[key]++
		}
		return false
	})
	return kernels
}

// isJit recognizes triton.jit, bare, called, or under another name of the module.
func isJit(e syntax.Expr) bool {
	if c, ok := e.(*syntax.Call); ok {
		e = c.Func
	}
	name := dotted(e)
	return name == "jit" || strings.HasSuffix(name, ".jit") && !strings.HasPrefix(name, "gluon.") || name == "triton_jit"
}

// classify says which library's function an absolute name is; "" for others. Triton
// 2's triton.language.math had the functions of libdevice too; tl_extra_shim is what portable collections call whichever libdevice there is.
func classify(name string) (lib, function string) {
	parts := strings.Split(name, ".")
	if len(parts) < 2 {
		return "", ""
	}
	at, fn := parts[len(parts)-2], parts[len(parts)-1]
	module := strings.Join(parts[:len(parts)-1], ".")
	switch {
	case strings.HasSuffix(at, "libdevice") || at == "tl_extra_shim":
		return Libdevice, fn
	case module == "triton.language.math" || strings.HasSuffix(module, "triton_helpers.math"):
		if !slices.Contains(functions, fn) {
			return Libdevice, fn
		}
		return Math, fn
	case module == "triton.language" && slices.Contains(functions, fn):
		return Math, fn
	}
	return "", ""
}
