package frontend

import (
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// pointers are the parameters through which functions reach memory, as far as
// the text shows: those that begin a sum of addresses, directly, by way of a
// variable, or in a function called.
type pointers map[*eval.Function]map[string]bool

func (p pointers) of(fn *eval.Function) map[string]bool {
	if found, ok := p[fn]; ok {
		return found
	}
	found := map[string]bool{}
	p[fn] = found // also ends a recursion
	for _, param := range fn.ParamList() {
		lower := strings.ToLower(param.Name)
		if strings.HasSuffix(lower, "ptr") || strings.HasSuffix(lower, "ptrs") {
			found[param.Name] = true
		}
	}
	if fn.Def == nil {
		return found
	}
	for range 8 { // addresses seldom pass through more variables
		before := len(found)
		for _, st := range fn.Def.Body {
			syntax.Inspect(st, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.Call:
					p.call(fn, n, found)
				case *syntax.Assign:
					if t, ok := n.Targets[0].(*syntax.Name); ok && found[t.ID] {
						markLeft(n.Value, found)
					}
				case *syntax.AugAssign:
					if t, ok := n.Target.(*syntax.Name); ok && found[t.ID] {
						markLeft(t, found)
					}
				}
				return true
			})
		}
		if len(found) == before {
			break
		}
	}
	return found
}

// call marks the arguments of a call that are addresses.
func (p pointers) call(fn *eval.Function, call *syntax.Call, found map[string]bool) {
	switch f := call.Func.(type) {
	case *syntax.Attribute:
		if !reachesMemory(f.Attr) {
			return
		}
		if len(call.Args) > 0 {
			markLeft(call.Args[0], found)
		}
		for _, k := range call.Keywords {
			if k.Arg == "pointer" || k.Arg == "base" {
				markLeft(k.Value, found)
			}
		}
	case *syntax.Name:
		var callee *eval.Function
		eval.Try(func() {
			v, _ := fn.Module.Lookup(f.ID)
			callee, _ = v.(*eval.Function)
		})
		if callee == nil {
			return
		}
		inner := p.of(callee)
		params := callee.ParamList()
		for i, a := range call.Args {
			if i < len(params) && inner[params[i].Name] {
				markLeft(a, found)
			}
		}
		for _, k := range call.Keywords {
			if inner[k.Arg] {
				markLeft(k.Value, found)
			}
		}
	}
}

func reachesMemory(name string) bool {
	return name == "load" || name == "store" || name == "make_block_ptr" || name == "make_tensor_descriptor" || strings.HasPrefix(name, "atomic_")
}

// markLeft marks the name at the left end of a sum.
func markLeft(e syntax.Expr, found map[string]bool) {
	for {
		switch x := e.(type) {
		case *syntax.BinOp:
			e = x.Left
			continue
		case *syntax.Name:
			found[x.ID] = true
		}
		return
	}
}
