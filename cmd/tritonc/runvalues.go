package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// values are the arguments of --arg. They are evaluated on demand, since each
// may speak of others.
type values struct {
	args []*valueArg
	info *frontend.KernelInfo // nil where the file is not a Python file
	seed uint64
	memo *arrayMemo // or nil
	// config gives the constants of the configuration, where it is known before
	// anything else is; known is what the file says of the kernel once the
	// arguments are known. Both may be nil.
	config *frontend.ConfigInfo
	known  *frontend.Variant
}

// identifiers are the names in a text.
var identifiers = lazily(`[\pL_][\pL\pN_]*`)

// valueArg is one --arg.
type valueArg struct {
	name, text string
	state      evalState
	used       bool   // by another value, or the grid
	described  bool   // by a descriptor: the memory is of no use for IR but as that
	value      any    // as in launch.Arg
	typ        string // of a number, where the text says so
}

type evalState uint8

const (
	notYet evalState = iota
	underWay
	evaluated
)

// maxBytes bounds an array of the command line.
const maxBytes = 1 << 32

func (v *values) find(name string) *valueArg {
	i := slices.IndexFunc(v.args, func(a *valueArg) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return v.args[i]
}

// evaluate gives every argument its value.
func (v *values) evaluate() error {
	for _, a := range v.args {
		if err := v.force(a); err != nil {
			return err
		}
	}
	return nil
}

// list is the arguments as package launch takes them. What the kernel has no
// parameter for is left out when it serves to compute others, or what texts say.
func (v *values) list(texts ...string) []launch.Arg {
	used := map[string]bool{}
	for _, text := range texts {
		for _, name := range identifiers().FindAllString(text, -1) {
			used[name] = true
		}
	}
	var out []launch.Arg
	for _, a := range v.args {
		if v.info == nil && a.described || v.info != nil && (a.used || used[a.name]) && v.param(a.name) == nil {
			continue
		}
		out = append(out, launch.Arg{Name: a.name, Value: a.value, Type: a.typ})
	}
	return out
}

// param is the parameter of a name, or nil.
func (v *values) param(name string) *frontend.ParamInfo {
	if v.info == nil {
		return nil
	}
	i := slices.IndexFunc(v.info.Params, func(p frontend.ParamInfo) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &v.info.Params[i]
}

// scope finds names for arithmetic: other arguments, and the defaults of those
// parameters that are not given.
func (v *values) scope(name string) (any, bool, error) {
	if a := v.find(name); a != nil {
		a.used = true
		err := v.force(a)
		switch a.value.(type) {
		case nil, launch.Expr, *launch.Descriptor:
			return nil, false, err
		}
		return a.value, true, err
	}
	if value, ok := v.constant(name); ok {
		return value, true, nil
	}
	if value, ok := v.setting(name); ok {
		return nil, false, fmt.Errorf("%s is %s, not a number", name, describeSetting(value))
	}
	if p := v.param(name); p != nil && p.Default != "" && v.known == nil {
		value, err := calc.Eval(p.Default, noNames) // the file's own names are not known here
		return value, err == nil, nil
	}
	return nil, false, nil
}

// constant is what configurations, heuristics and defaults give, as far as it is a
// number, and the compile's options.
func (v *values) constant(name string) (any, bool) {
	value, _ := v.setting(name)
	switch value.(type) {
	case int64, float64, bool:
		return value, true
	}
	return nil, false
}

// setting is constant, whatever it is.
func (v *values) setting(name string) (value any, ok bool) {
	switch {
	case v.known != nil:
		value, ok = v.known.Constants[name]
		for _, o := range v.known.Options {
			if o.Name == name && v.param(name) == nil {
				value, ok = o.Value, true
			}
		}
	case v.config != nil:
		value, ok = v.config.Constants[name]
	}
	return value, ok
}

// describeSetting is a value that is not a number, for a message.
func describeSetting(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		return "'" + v + "'"
	}
	return "of the file's own"
}

func noNames(string) (any, bool, error) { return nil, false, nil }

// force evaluates an argument, once.
func (v *values) force(a *valueArg) error {
	switch a.state {
	case evaluated:
		return nil
	case underWay:
		return usagef("--arg %s=%s: it depends on itself", a.name, a.text)
	}
	a.state = underWay
	if err := v.read(a); err != nil {
		var usage *usageError
		if errors.As(err, &usage) {
			return err
		}
		usage = usagef("--arg %s=%s: %v", a.name, a.text, err)
		var file *diag.Diagnostic
		if errors.As(err, &file) && file.Pos.Line == 0 { // which the argument names
			usage = usagef("--arg %s=%s: %s", a.name, a.text, file.Message)
		}
		var unknown *calc.UnknownName
		if errors.As(err, &unknown) {
			usage.help = v.names()
		}
		return usage
	}
	a.state = evaluated
	return nil
}

func (v *values) names() string {
	var names []string
	for _, a := range v.args {
		names = append(names, a.name)
	}
	help := "the arguments are " + strings.Join(names, ", ")
	if v.known == nil && v.config == nil && v.info != nil && len(v.info.Configs) > 1 {
		help += "; --config N, from 0, chooses one of the kernel's configurations, whose constants then are known"
	}
	return help
}

// read evaluates the text of an argument.
func (v *values) read(a *valueArg) error {
	if path, ok := strings.CutPrefix(a.text, "@"); ok {
		x, err := readArray(path)
		if err == nil { // else there is no memory: not a nil *array.Array
			a.value = x
		}
		return err
	}
	if g := generatorOf(a.text); g != nil {
		x, err := v.generate(g, a.name, a.text[len(g.name):])
		a.value = x
		return err
	}
	if strings.HasPrefix(a.text, "desc(") {
		d, err := v.descriptor(a.text)
		if err != nil {
			return err
		}
		a.value = d
		return nil
	}
	return v.readScalar(a)
}

// descriptor reads desc(ARG, [BLOCK, ...]) or desc(ARG, [BLOCK, ...], nan): a
// descriptor of another argument's memory.
func (v *values) descriptor(text string) (*launch.Descriptor, error) {
	wrong := errors.New("it should be desc(ARG, [BLOCK, ...]) or desc(ARG, [BLOCK, ...], nan)")
	e, err := calc.Parse(text)
	if err != nil {
		return nil, err
	}
	call, ok := e.(*syntax.Call)
	if !ok || len(call.Args) < 2 || len(call.Args) > 3 || len(call.Keywords) > 0 {
		return nil, wrong
	}
	name, ok := call.Args[0].(*syntax.Name)
	block, ok2 := call.Args[1].(*syntax.List)
	if !ok || !ok2 {
		return nil, wrong
	}
	d := &launch.Descriptor{}
	if len(call.Args) == 3 {
		if pad, ok := call.Args[2].(*syntax.Name); !ok || pad.ID != "nan" {
			return nil, wrong
		}
		d.NaN = true
	}
	x, known, err := v.scope(name.ID)
	if err != nil {
		return nil, err
	}
	if d.Array, ok = x.(*array.Array); !known || !ok {
		return nil, fmt.Errorf("%s is not an argument with memory", name.ID)
	}
	v.find(name.ID).described = true
	for _, e := range block.Elts {
		n, err := calc.EvalExpr(e, v.scope)
		if err != nil {
			return nil, err
		}
		size, ok := n.(int64)
		if !ok || size < 1 || size > math.MaxInt32 {
			return nil, fmt.Errorf("%v is not a size of a block", n)
		}
		d.Block = append(d.Block, int(size))
	}
	return d, nil
}

// readScalar reads a number, or a constant for the kernel's file to evaluate.
func (v *values) readScalar(a *valueArg) error {
	text := a.text
	if i := strings.LastIndexByte(text, ':'); i > 0 && (array.Named(text[i+1:]) != nil || text[i+1:] == "u1") {
		text, a.typ = strings.TrimSpace(text[:i]), text[i+1:]
		if a.typ == "bool" || a.typ == "i1" {
			a.typ = "u1"
		} else if d := array.Named(a.typ); d != nil {
			a.typ = d.Name
		}
	}
	if signature.IsType(text) {
		return usagef("--arg %s=%s: it is a type, and a run needs a value", a.name, a.text).
			withHelp("for example --arg %s=zeros:fp32[n], or --arg %s=1024", a.name, a.name)
	}
	e, err := calc.Parse(text)
	if err != nil {
		return err
	}
	if c, ok := e.(*syntax.Constant); ok {
		switch x := c.Value.(type) {
		case syntax.None:
			return nil
		case *big.Int: // beyond int64
			if !x.IsUint64() {
				return errors.New("it does not fit into 64 bits")
			}
			a.value = x.Uint64()
			return nil
		}
	}
	if t, ok := e.(*syntax.Tuple); ok {
		a.value, err = v.tupleOf(t, a)
		return err
	}
	a.value, err = calc.EvalExpr(e, v.scope)
	if err == nil {
		return nil // memory, too: of another argument, by its name
	}
	// Of a constant the file may know more; of a number that is passed, what is
	// more than a name.
	var unknown *calc.UnknownName
	var python *calc.NotArithmetic
	switch {
	case a.typ != "", !errors.As(err, &unknown) && !errors.As(err, &python):
		return err
	case unknown != nil && !v.constexpr(a.name):
		return err
	}
	a.value = launch.Expr(text)
	return nil
}

// tupleOf evaluates a tuple, whose elements may be memory; one that says more
// than arithmetic is for the file to evaluate.
func (v *values) tupleOf(t *syntax.Tuple, a *valueArg) (any, error) {
	elems := make(launch.Tuple, len(t.Elts))
	for i, e := range t.Elts {
		x, err := calc.EvalExpr(e, v.scope)
		var unknown *calc.UnknownName
		var python *calc.NotArithmetic
		switch {
		case errors.As(err, &python), v.constexpr(a.name) && errors.As(err, &unknown):
			return launch.Expr(a.text), nil
		case err != nil:
			return nil, err
		}
		elems[i].Value = x
	}
	return elems, nil
}

func (v *values) constexpr(name string) bool {
	p := v.param(name)
	return p != nil && p.Constexpr
}

// generator is a way to fill memory.
type generator struct {
	name string
	args int // in parentheses after the name
	fill func(x *array.Array, r *rand.Rand, args []any) error
}

var generators = [...]generator{
	{"zeros", 0, func(*array.Array, *rand.Rand, []any) error { return nil }},
	{"ones", 0, func(x *array.Array, _ *rand.Rand, _ []any) error { x.Fill(1); return nil }},
	{"empty", 0, func(x *array.Array, _ *rand.Rand, _ []any) error { x.Unset = true; return nil }},
	{"full", 1, func(x *array.Array, _ *rand.Rand, args []any) error {
		if n, ok := args[0].(int64); ok {
			for i := range x.Len() {
				x.SetInt(i, n)
			}
			return nil
		}
		f, ok := args[0].(float64)
		if !ok {
			return errors.New("full(V) takes a number")
		}
		x.Fill(f)
		return nil
	}},
	{"arange", 0, func(x *array.Array, _ *rand.Rand, _ []any) error { x.Arange(); return nil }},
	{"randn", 0, func(x *array.Array, r *rand.Rand, _ []any) error {
		if !x.Type.Float() {
			return errors.New("randn makes floats; randint(A,B) makes integers")
		}
		x.Randn(r)
		return nil
	}},
	{"randint", 2, func(x *array.Array, r *rand.Rand, args []any) error {
		lo, ok1 := args[0].(int64)
		hi, ok2 := args[1].(int64)
		if !ok1 || !ok2 || lo >= hi {
			return errors.New("randint(A,B) takes two integers, A less than B: it draws from A to B-1")
		}
		x.Randint(r, lo, hi)
		return nil
	}},
	{"rand", 0, func(x *array.Array, r *rand.Rand, _ []any) error {
		if !x.Type.Float() {
			return errors.New("rand makes floats; randint(A,B) makes integers")
		}
		x.Rand(r)
		return nil
	}},
}

// generatorOf finds the generator that a text begins with.
func generatorOf(text string) *generator {
	for i := range generators {
		g := &generators[i]
		if rest, ok := strings.CutPrefix(text, g.name); ok && (rest == "" || strings.IndexByte(":([", rest[0]) >= 0) {
			return g
		}
	}
	return nil
}

// memory reports whether what follows the generator's name has its form, with a type,
// rather than a function's of the same name.
func (g *generator) memory(rest string) bool {
	if strings.HasPrefix(rest, "(") {
		close := closing(rest)
		if close < 0 {
			return false
		}
		rest = rest[close+1:]
	}
	return strings.HasPrefix(rest, ":")
}

// generate makes memory of what follows a generator's name: (ARGS):TYPE[SHAPE].
func (v *values) generate(g *generator, name, rest string) (*array.Array, error) {
	form := g.name + [...]string{"", "(V)", "(A,B)"}[g.args] + ":TYPE[SHAPE]"
	var args []any
	if strings.HasPrefix(rest, "(") {
		close := closing(rest)
		if close < 0 {
			return nil, fmt.Errorf("a parenthesis is never closed; it should be %s", form)
		}
		var err error
		if args, err = v.tuple(rest[1:close]); err != nil {
			return nil, err
		}
		rest = rest[close+1:]
	}
	if len(args) != g.args {
		return nil, fmt.Errorf("it should be %s", form)
	}
	typ, shape, ok := strings.Cut(rest, "[")
	typ, colon := strings.CutPrefix(typ, ":")
	if !ok || !colon || !strings.HasSuffix(shape, "]") {
		return nil, fmt.Errorf("it should be %s, such as %s:fp32[n,32]", form, g.name)
	}
	d := array.Named(strings.TrimSpace(typ))
	if d == nil {
		return nil, usagef("--arg %s: there is no type '%s'", name, typ).withHelp("types are %s", array.Names())
	}
	dims, err := v.tuple(strings.TrimSuffix(shape, "]"))
	if err != nil {
		return nil, err
	}
	sizes, err := shapeOf(dims, d.Size)
	if err != nil {
		return nil, err
	}
	return v.memo.array(fmt.Sprint(name, " ", g.name, args, d, sizes), func() (*array.Array, error) {
		x := array.New(d, sizes...)
		h := fnv.New64a()
		h.Write([]byte(name)) // so that the order of --arg does not matter
		return x, g.fill(x, rand.New(rand.NewPCG(v.seed, h.Sum64())), args)
	})
}

func shapeOf(dims []any, elemSize int) ([]int, error) {
	sizes, total := make([]int, len(dims)), float64(elemSize)
	for i, dim := range dims {
		n, ok := dim.(int64)
		if !ok || n < 0 {
			return nil, fmt.Errorf("%v is not a size", dim)
		}
		sizes[i] = int(n)
		total *= float64(n)
	}
	if total > maxBytes {
		return nil, fmt.Errorf("%.4g bytes are too many; %d are allowed", total, int64(maxBytes))
	}
	return sizes, nil
}

// closing is the index of the parenthesis that closes the first byte, or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// tuple evaluates expressions between commas.
func (v *values) tuple(text string) ([]any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	e, err := calc.Parse(text)
	if err != nil {
		return nil, err
	}
	elems := []syntax.Expr{e}
	if t, ok := e.(*syntax.Tuple); ok {
		elems = t.Elts
	}
	out := make([]any, len(elems))
	for i, e := range elems {
		if out[i], err = calc.EvalExpr(e, v.scope); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// grid evaluates --grid.
func (v *values) grid(text string) ([3]int, error) {
	grid := [3]int{1, 1, 1}
	sizes, err := v.tuple(text)
	if err != nil {
		usage := usagef("--grid %s: %v", text, err)
		var unknown *calc.UnknownName
		if errors.As(err, &unknown) {
			usage.help = v.names()
		}
		return grid, usage
	}
	if len(sizes) < 1 || len(sizes) > 3 {
		return grid, usagef("--grid %s: a grid has one to three dimensions", text)
	}
	for i, size := range sizes {
		n, ok := size.(int64)
		if !ok {
			return grid, usagef("--grid %s: %v is not a number of blocks", text, size)
		}
		// The device may allow less; this is what CUDA has room for.
		most := [...]int64{math.MaxInt32, math.MaxUint16, math.MaxUint16}[i]
		if n < 1 || n > most {
			return grid, usagef("--grid %s: dimension %c has %s; it must have from 1 to %d", text, "xyz"[i], diag.Count(n, "block"), most)
		}
		grid[i] = int(n)
	}
	return grid, nil
}
