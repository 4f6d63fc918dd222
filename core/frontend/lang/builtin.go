package lang

import (
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Builtin is one function of triton.language that is written in Go.
type Builtin struct {
	Name string
	// Params are the parameters, separated by spaces, with defaults as Python
	// writes them: "x axis=None keep_dims=False". One may begin with *, and
	// then takes all further positional arguments.
	Params string
	// Member makes the builtin a method of tensors too.
	Member bool
	// MustUse: to drop the result is a mistake.
	MustUse bool
	Fn      func(e *Emitter, a *Args) any

	once   sync.Once
	params []param
}

type param struct {
	name   string
	def    any
	hasDef bool
	star   bool
}

func (b *Builtin) TypeName() string { return "function" }

// Repr names the builtin.
func (b *Builtin) Repr() string { return "<function " + b.Name + ">" }

// Call emits code where a kernel is being compiled, as in the Python code of an
// extern function; at module level there is none to emit.
func (b *Builtin) Call(s *eval.Session, args []any, kwargs []eval.Keyword) any {
	e, ok := s.Host.(*Emitter)
	if !ok {
		eval.Fail(errBuiltinOutside)
	}
	if f := e.Extended(b, args, kwargs); f != nil {
		return f.Call(s, args, kwargs)
	}
	return e.Invoke(b, args, kwargs)
}

func (b *Builtin) parse() []param {
	b.once.Do(func() {
		for _, f := range strings.Fields(b.Params) { // so no default holds a space
			p := param{}
			name, def, hasDef := strings.Cut(f, "=")
			if strings.HasPrefix(name, "*") {
				p.star = true
				name = name[1:]
			}
			p.name, p.hasDef = name, hasDef
			if hasDef {
				p.def = parseDefault(def)
			}
			b.params = append(b.params, p)
		}
	})
	return b.params
}

func parseDefault(s string) any {
	switch s {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	case "()":
		return eval.NewTuple()
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if d, ok := dtypes[s]; ok {
		return d
	}
	return strings.Trim(s, `'`)
}

// Args are the arguments of one call, in the order of the parameters.
type Args struct {
	e    *Emitter
	b    *Builtin
	vals []any
	buf  [12]any
	// absent holds a bit for each parameter that has its default.
	absent uint32
}

// given reports whether the call says what argument i is, be it None.
func (a *Args) given(i int) bool { return a.absent&(1<<i) == 0 }

// Invoke calls b with positional and keyword arguments.
func (e *Emitter) Invoke(b *Builtin, args []any, kwargs []eval.Keyword) any {
	params := b.parse()
	for _, k := range kwargs {
		known := ignored(k.Name)
		names := make([]string, len(params))
		for i, p := range params {
			names[i] = p.name
			known = known || p.name == k.Name
		}
		if !known {
			eval.FailKeyword(b.Name, k.Name, names, b.usage())
		}
	}
	a := &Args{e: e, b: b}
	a.vals = a.buf[:0]
	for i, p := range params {
		switch {
		case p.star:
			rest := &eval.Tuple{}
			if i < len(args) {
				rest.Elems = args[i:]
			}
			args = args[:min(i, len(args))]
			if k := findKeyword(kwargs, p.name); k >= 0 {
				rest = eval.NewTuple(kwargs[k].Value)
			}
			a.vals = append(a.vals, rest)
		case i < len(args):
			if findKeyword(kwargs, p.name) >= 0 {
				eval.Fail("%s() got multiple values for argument '%s'", b.Name, p.name)
			}
			a.vals = append(a.vals, args[i])
		default:
			if k := findKeyword(kwargs, p.name); k >= 0 {
				a.vals = append(a.vals, kwargs[k].Value)
			} else if p.hasDef {
				a.absent |= 1 << i
				a.vals = append(a.vals, p.def)
			} else {
				eval.Fail("%s() missing a required argument: '%s'", b.Name, p.name)
			}
		}
	}
	if len(args) > len(params) {
		eval.FailHelp(b.usage(), "%s() takes %s but %d were given", b.Name, diag.Count(len(params), "positional argument"), len(args))
	}
	return b.Fn(e, a)
}

func (b *Builtin) usage() string {
	return "the parameters are " + b.Name + "(" + strings.Join(strings.Fields(b.Params), ", ") + ")"
}

func findKeyword(kwargs []eval.Keyword, name string) int {
	for i, k := range kwargs {
		if k.Name == name {
			return i
		}
	}
	return -1
}

func (a *Args) name(i int) string { return a.b.params[i].name }

// val is argument i as it is.
func (a *Args) val(i int) any {
	if m, ok := a.vals[i].(*eval.Missing); ok {
		m.Fail()
	}
	return a.vals[i]
}

// tensor is argument i as a run-time value; a number is made one.
func (a *Args) tensor(i int) *Tensor {
	switch v := a.val(i).(type) {
	case *Tensor:
		return v
	case nil:
		eval.Fail("%s(): argument '%s' must be a tensor or number, not None", a.b.Name, a.name(i))
	}
	return a.e.ToTensor(a.vals[i])
}

// optTensor is tensor, or nil for None.
func (a *Args) optTensor(i int) *Tensor {
	if a.vals[i] == nil {
		return nil
	}
	return a.tensor(i)
}

// constant is argument i, which must be known at compile time.
func (a *Args) constant(i int) any {
	v := a.val(i)
	if _, ok := v.(Value); ok {
		eval.FailHelp("give a literal, or a parameter annotated as tl.constexpr", errSemConstexpr, a.b.Name+"(): '"+a.name(i)+"'")
	}
	return v
}

func (a *Args) int(i int) int64 {
	v := a.constant(i)
	eval.Fits64(v, "it is the argument '"+a.name(i)+"' of "+a.b.Name+"()")
	n, ok := eval.AsInt(v)
	if !ok {
		eval.Fail("%s(): argument '%s' must be an integer, not %s", a.b.Name, a.name(i), eval.TypeName(v))
	}
	return n
}

func (a *Args) bool(i int) bool { return eval.Truth(a.constant(i)) }

func (a *Args) str(i int) string {
	switch v := a.constant(i).(type) {
	case string:
		return v
	case nil:
		return ""
	default:
		eval.Fail("%s(): argument '%s' must be a string, not %s", a.b.Name, a.name(i), eval.TypeName(v))
	}
	return ""
}

// dtype is argument i as a scalar type; nil for None.
func (a *Args) dtype(i int) Type {
	switch v := a.constant(i).(type) {
	case nil:
		return nil
	case *DType:
		return v
	case *Pointer:
		return v
	case *Block:
		return v
	case *TorchDType:
		eval.FailHelp("write tl."+exportName(v.d), "%s(): argument '%s' must be a dtype of Triton, not %s", a.b.Name, a.name(i), v.Repr())
	default:
		eval.FailHelp("write a type such as tl.float32", "%s(): argument '%s' must be a dtype, not %s", a.b.Name, a.name(i), eval.Repr(v))
	}
	return nil
}

// list is argument i as a list of values; a single value is a list of one.
func (a *Args) list(i int) []any {
	switch v := a.val(i).(type) {
	case *eval.Tuple:
		return v.Elems
	case *eval.List:
		return v.Elems
	case *eval.Range:
		return eval.Iterate(v)
	case nil:
		return nil
	default:
		return []any{v}
	}
}

// ints is argument i as a list of compile-time integers. Where the parameter
// takes the rest of the arguments, one tuple among them stands for all.
func (a *Args) ints(i int) []int64 {
	vals := a.list(i)
	if len(vals) == 1 {
		switch v := vals[0].(type) {
		case *eval.Tuple:
			vals = v.Elems
		case *eval.List:
			vals = v.Elems
		}
	}
	out := make([]int64, len(vals))
	for k, v := range vals {
		eval.Fits64(v, sprintf("sizes are powers of two up to %d", maxNumel))
		n, ok := eval.AsInt(v)
		if !ok {
			eval.Fail(errShapeType, k, TypeString(v))
		}
		out[k] = n
	}
	return out
}

// shape is ints, checked as the shape of a block.
func (a *Args) shape(i int) []int64 {
	s := a.ints(i)
	a.e.Facts.CheckShape(s)
	return s
}

// CheckShape refuses dimensions that are not powers of two, unless the target takes
// blocks of all sizes, and shapes with too many elements.
func (f *Facts) CheckShape(shape []int64) {
	n := int64(1)
	for i, d := range shape {
		if d < 1 || !f.blockSize(d) {
			eval.FailHelp(powerHelp(d), errShapePow2, i)
		}
		if n > maxNumel/d {
			eval.FailHelp("work on a part at a time, in a loop or in more programs", errNumel, bigProduct(shape))
		}
		n *= d
	}
}

// bigProduct is the number of elements of a shape of any size.
func bigProduct(shape []int64) *big.Int {
	n := big.NewInt(1)
	for _, d := range shape {
		n.Mul(n, big.NewInt(d))
	}
	return n
}

// blockSize reports whether a dimension of a block may be d, which is positive.
func (f *Facts) blockSize(d int64) bool { return f.AnyBlockSizes || d&(d-1) == 0 }

// maxNumel is TRITON_MAX_TENSOR_NUMEL.
const maxNumel = 1 << 20

// powerHelp names the powers of two around d.
func powerHelp(d int64) string {
	if d < 1 {
		return "sizes are 1, 2, 4, 8, …"
	}
	if d > maxNumel {
		return sprintf("it is %d; sizes are powers of two up to %d", d, maxNumel)
	}
	p := int64(1) << (bits.Len64(uint64(d)) - 1)
	return sprintf("it is %d; the powers of two around it are %d and %d (mask what lies beyond the data)", d, p, p*2)
}
