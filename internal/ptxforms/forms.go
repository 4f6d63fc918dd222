package ptxforms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/ptx"
)

// Use is an instruction of a text: its line, its opcode as written, and its form.
type Use struct {
	Line         int
	Opcode, Form string
}

// Read lists the instructions of a PTX text and the target that it names, such as
// cuda:90. name appears in errors.
func Read(name string, text []byte) (target string, uses []Use, err error) {
	m, err := ptx.Parse(name, text)
	if err != nil {
		return "", nil, err
	}
	arch, ok := strings.CutPrefix(m.Target, "sm_")
	if !ok {
		return "", nil, fmt.Errorf("%s: the target %s is not of the form sm_90", name, m.Target)
	}
	d := declared{symbols: map[string]bool{}, extern: map[string]bool{}}
	d.add(m.Vars)
	for _, f := range m.Funcs {
		d.extern[f.Name] = f.Extern
		d.add(f.Params)
		d.add(f.Rets)
		for i := range f.Body {
			if v := f.Body[i].Var; v != nil && v.Space != "reg" {
				d.symbols[v.Name] = true
			}
		}
	}
	for _, f := range m.Funcs {
		for i := range f.Body {
			if st := &f.Body[i]; st.Kind == ptx.StmtInst {
				uses = append(uses, Use{st.Pos.Line, st.Name, d.form(st)})
			}
		}
	}
	return "cuda:" + strings.TrimRight(arch, "af"), uses, nil
}

// Arithmetic reports whether a form is of an instruction that only computes in
// registers.
func Arithmetic(form string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(form, "@ "), ".")
	return !slices.Contains(byOperands, root) && root != "mma" && root != "bra"
}

// declared are a module's names: of variables and parameters, which stand for
// addresses, and of functions that it does not define.
type declared struct{ symbols, extern map[string]bool }

func (d declared) add(vars []*ptx.Var) {
	for _, v := range vars {
		d.symbols[v.Name] = true
	}
}

// byOperands are the instructions whose operands are a part of the form: of other
// instructions the opcode says all.
var byOperands = []string{
	"applypriority", "atom", "bar", "barrier", "call", "cp", "createpolicy", "cvta", "discard", "elect",
	"fence", "griddepcontrol", "isspacep", "ld", "ldmatrix", "ldu", "mapa", "match", "mbarrier", "membar",
	"movmatrix", "multimem", "nanosleep", "prefetch", "prefetchu", "red", "redux", "setmaxnreg", "shfl", "st",
	"stmatrix", "tensormap", "vote", "wgmma",
}

// form is that of one instruction: "@ st.global.v2.b32 [r+i], {r, r}".
func (d declared) form(st *ptx.Stmt) string {
	root, _, _ := strings.Cut(st.Name, ".")
	switch {
	case root == "mov" && len(st.Args) == 2 && special(st.Args[1].Name): // mov alone reads them
		return st.Name + " r, " + st.Args[1].Name
	case root == "call":
		for i := range st.Args {
			if callee := st.Args[i].Name; d.extern[callee] {
				return st.Name + " " + callee
			}
		}
		return st.Name
	case !slices.Contains(byOperands, root):
		return st.Name
	}
	form := st.Name
	if st.Guard != "" {
		form = "@ " + form
	}
	if len(st.Args) == 0 {
		return form
	}
	kinds := make([]string, len(st.Args))
	for i := range st.Args {
		kinds[i] = d.kind(&st.Args[i])
		if data := root == "st" || root == "atom" || root == "red"; data && (kinds[i] == "i" || kinds[i] == "f") {
			kinds[i] = "r" // a constant to store makes no form of its own, either
		}
	}
	return form + " " + strings.Join(kinds, ", ")
}

func (d declared) kinds(list []ptx.Operand) string {
	s := make([]string, len(list))
	for i := range list {
		s[i] = d.kind(&list[i])
	}
	return strings.Join(s, ", ")
}

// kind is what an operand is, but not which one: r is a register, s a symbol, i and
// f are constants.
func (d declared) kind(o *ptx.Operand) string {
	switch o.Kind {
	case ptx.OpdInt:
		return "i"
	case ptx.OpdF32, ptx.OpdF64:
		return "f"
	case ptx.OpdVector:
		return fmt.Sprintf("{%d}", len(o.List)) // which of them are constants makes no form of its own
	case ptx.OpdList:
		return "(" + d.kinds(o.List) + ")"
	case ptx.OpdPair:
		return d.kind(&o.List[0]) + "|" + d.kind(&o.List[1])
	case ptx.OpdAddr:
		s := "i"
		if o.Name != "" {
			if s = d.name(o.Name); o.Off != 0 {
				s += "+i"
			}
		}
		if len(o.List) > 0 {
			s += ", " + d.kinds(o.List)
		}
		return "[" + s + "]"
	}
	if o.Not {
		return "!" + d.name(o.Name)
	}
	return d.name(o.Name)
}

func (d declared) name(n string) string {
	switch {
	case n == "_", special(n):
		return n
	case d.symbols[n]:
		return "s"
	}
	return "r"
}

// special reports whether a name is that of a special register: %tid.x and
// %laneid, but not %r1 and %rd12.
func special(name string) bool {
	return strings.HasPrefix(name, "%") && (strings.Contains(name, ".") || strings.TrimRight(name, "0123456789") == name)
}
