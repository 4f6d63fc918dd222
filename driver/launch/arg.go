package launch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Arg is one argument of a kernel. Its Value is an *array.Array, a *View or a
// kernel.Memory for a pointer, a *Descriptor or *kernel.Descriptor, nil for None, an
// int64, uint64, float64 or bool for a number, a Tuple of such, or an Expr.
type Arg = kernel.Arg

// ArgError is a wrong argument.
type ArgError = kernel.ArgError

// Tuple is a Python tuple: its elements are specialized and passed one by one.
type Tuple = kernel.Tuple

// View is a pointer into an array's memory.
type View struct {
	// Array has the shape of what is seen, as decorators are told of it.
	Array *array.Array
	// Offset is where it begins, in bytes from the beginning of the buffer.
	Offset int
}

// Expr is a value that the kernel's file evaluates, such as tl.float16 or
// 'tf32'. Only constants can be given so.
type Expr string

// specialized is an argument as it is compiled and passed.
type specialized struct {
	entry  string // in the signature, without the name
	passed []passed
}

// passed is one parameter of the compiled kernel.
type passed struct {
	name  string
	value any    // as in Arg
	typ   string // of a number
}

// compiledIn is an argument that the kernel has as a constant.
func compiledIn(entry string) specialized { return specialized{entry: entry} }

func wrongArg(name, help, format string, args ...any) *ArgError {
	return &ArgError{Name: name, Text: fmt.Sprintf(format, args...), Help: help}
}

// specialize decides how one argument is compiled.
func specialize(rules *sdk.Specialization, p *frontend.ParamInfo, a *Arg) (specialized, error) {
	if x, ok := a.Value.(Expr); ok {
		return compiledIn(string(x)), nil
	}
	if p.Constexpr {
		text, err := constant(p, a.Value)
		return compiledIn(text), err
	}
	annotated := annotatedType(p.Annotation)
	switch v := a.Value.(type) {
	case nil:
		return compiledIn("None"), nil
	case Tuple:
		return elements(rules, p, v)
	case *Descriptor:
		return descriptor(a, v)
	case *array.Array:
		return pointer(rules, p, a, v.Type, 0, len(v.Data))
	case *View:
		return pointer(rules, p, a, v.Array.Type, uint64(v.Offset), v.Offset+len(v.Array.Data))
	case kernel.Memory:
		return pointer(rules, p, a, v.Type(), v.Addr(), v.Room())
	case *kernel.Descriptor:
		if err := v.Check(a.Name); err != nil {
			return specialized{}, err
		}
		return specialized{descriptorType(v.Base.Type(), v.Block), []passed{{a.Name, v, ""}}}, nil
	case bool:
		return scalar("u1", annotated, a), nil
	case float64:
		if t := a.Type; t != "" && array.Named(t) != nil && !array.Named(t).Float() {
			return specialized{}, wrongArg(a.Name, "", "%v is not a value of type %s", v, t)
		}
		return scalar("fp32", annotated, a), nil
	case int64:
		return integer(rules, p, a, annotated, v, v == 1)
	case uint64:
		return integer(rules, p, a, annotated, int64(v), v == 1)
	}
	return specialized{}, wrongArg(a.Name, "", "a %T is nothing that a kernel takes", a.Value)
}

// pointer is memory at an address, or at an offset of what a device allocates, which
// every device aligns to more than any rule asks for. Room is how many bytes were
// allocated.
func pointer(rules *sdk.Specialization, p *frontend.ParamInfo, a *Arg, t *array.DType, addr uint64, room int) (specialized, error) {
	entry := annotatedType(p.Annotation)
	if entry == "" {
		entry = "*" + t.Name
	}
	if !strings.HasPrefix(entry, "*") {
		return specialized{}, wrongArg(a.Name, "", "it is an array, and the kernel says %s: %s", p.Name, p.Annotation)
	}
	if !holds(entry, t) {
		return specialized{}, wrongArg(a.Name, "", "it is a buffer of %s, and the kernel says %s: %s", t, p.Name, p.Annotation)
	}
	entry += alignment(rules.PointerDivisor, int64(addr%16), p)
	if !p.NoSpecialize && isSmall(rules, room) {
		entry += ":" + signature.SmallHint
	}
	return specialized{entry, []passed{{a.Name, a.Value, ""}}}, nil
}

// isSmall reports whether the rules have a word for memory of so many bytes: offsets in
// it, signed, fit in the bits that the attribute says.
func isSmall(rules *sdk.Specialization, bytes int) bool {
	for _, attr := range rules.Attributes {
		if attr.Key == signature.SmallHint {
			return bytes < 1<<(attr.Value-1)
		}
	}
	return false
}

// elements specializes a tuple. Annotations do not reach into it.
func elements(rules *sdk.Specialization, p *frontend.ParamInfo, t Tuple) (specialized, error) {
	elem := *p
	elem.Annotation = ""
	s := specialized{entry: "("}
	for i := range t {
		a := t[i]
		a.Name = fmt.Sprintf("%s[%d]", p.Name, i)
		e, err := specialize(rules, &elem, &a)
		if err != nil {
			return s, err
		}
		s.entry += e.entry + ", "
		s.passed = append(s.passed, e.passed...)
	}
	s.entry = strings.TrimSuffix(s.entry, " ") + ")"
	return s, nil
}

// scalar is a number of which nothing but the type is compiled in.
func scalar(natural, annotated string, a *Arg) specialized {
	t := natural
	if annotated != "" {
		t = annotated
	}
	if a.Type != "" {
		t = a.Type
	}
	return specialized{t, []passed{{a.Name, a.Value, t}}}
}

func integer(rules *sdk.Specialization, p *frontend.ParamInfo, a *Arg, annotated string, v int64, one bool) (specialized, error) {
	natural := "i32"
	switch _, big := a.Value.(uint64); {
	case big && v < 0:
		natural = "u64"
	case v != int64(int32(v)):
		natural = "i64"
	}
	s := scalar(natural, annotated, a)
	t := array.Named(s.entry)
	switch {
	case strings.HasPrefix(s.entry, "*"):
		return s, wrongArg(a.Name, "", "%v (%T) is not a buffer, and the kernel takes %s", a.Value, a.Value, s.entry)
	case t == nil:
		return s, wrongArg(a.Name, "types are "+array.Names(), "it is a number, and its type %s is none of a number", s.entry)
	case t.Float() || t.Name == "i1":
		return s, nil // such types are never specialized
	}
	if !fits(t, a.Value) {
		return s, wrongArg(a.Name, "", "%v does not fit into %s", a.Value, s.entry)
	}
	if one && rules.IntOneIsConstexpr && !p.NoSpecialize {
		return compiledIn(s.entry + ":1"), nil
	}
	s.entry += alignment(rules.IntDivisor, v, p)
	return s, nil
}

// fits reports whether an integer is a value of t.
func fits(t *array.DType, v any) bool {
	one := array.New(t, 1)
	if u, ok := v.(uint64); ok {
		one.SetInt(0, int64(u))
		return uint64(one.Int(0)) == u && (one.Int(0) >= 0 || t.Name == "u64")
	}
	one.SetInt(0, v.(int64))
	return one.Int(0) == v.(int64) && (v.(int64) >= 0 || t.Name[0] == 'i')
}

// alignment is the hint for a value that the rules call aligned. Signatures can
// say so of 16 alone.
func alignment(divisor int, v int64, p *frontend.ParamInfo) string {
	if divisor == 16 && v%16 == 0 && !p.NoAlign {
		return ":16"
	}
	return ""
}

// constant writes the value of a tl.constexpr parameter as Python does.
func constant(p *frontend.ParamInfo, value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "None", nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float64:
		if math.IsInf(v, 0) || v != v {
			return fmt.Sprintf("float('%v')", v), nil
		}
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text, nil
	case Expr:
		return string(v), nil
	case Tuple:
		text := "("
		for i := range v {
			elem, err := constant(p, v[i].Value)
			if err != nil {
				return "", err
			}
			text += elem + ","
		}
		return text + ")", nil
	}
	return "", wrongArg(p.Name, "give a value, such as "+p.Name+"=1024", "it is a constant of the kernel (tl.constexpr), not memory")
}

// annotatedType is the type that a parameter's annotation gives it, in the form
// of signatures, or "".
func annotatedType(annotation string) string {
	t := strings.Trim(strings.TrimSpace(annotation), `'"`)
	t = strings.TrimPrefix(strings.TrimPrefix(t, "triton.language."), "tl.")
	stars := ""
	if rest, ok := strings.CutPrefix(t, "*"); ok {
		stars, t = "*", rest
		if k, ok := strings.CutPrefix(t, "k"); ok && array.Named(k) != nil {
			stars, t = "*k", k
		}
	}
	switch t {
	case "int":
		t = "i32"
	case "float":
		t = "fp32"
	}
	d := array.Named(t)
	switch {
	case d == nil:
		return ""
	case d.Name == "i1" && stars == "":
		return "u1"
	}
	return stars + d.Name
}
