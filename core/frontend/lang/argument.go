package lang

import (
	"math/big"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Functions of @triton.heuristics and prune_configs_by look at a launch's
// arguments: tensors, descriptors and numbers. A compile knows their types, a
// launch their shapes, too.

// launchOnly is a value that each launch has and the compiler does not know.
func launchOnly(name string) *eval.Missing {
	return &eval.Missing{Name: name, Reason: "its value is known at launch only", Launch: true}
}

// LaunchNumber is an argument of which the compiler knows the type alone.
func LaunchNumber(name string) any { return launchOnly(name) }

// LaunchTensor is the tensor that a launch passes for a pointer.
type LaunchTensor struct {
	Name   string // of the parameter
	DType  *DType
	Shape  []int64 // nil: known at launch only; the elements lie in order
	Memory Memory  // nil where nobody may look at it
	// Address of the first element, if it is known; nil where it is not.
	Address func() (addr uint64, ok bool)
}

// Memory holds the elements of a tensor, for hooks.
type Memory interface {
	// Fill gives every element a value.
	Fill(value float64)
	// Copy takes the elements of another one of the same type and size.
	Copy(from Memory) error
	// Clone is a copy.
	Clone() Memory
}

func (t *LaunchTensor) TypeName() string { return "Tensor" }

// Attr finds what torch's tensors answer and the types and shapes tell.
func (t *LaunchTensor) Attr(name string) (any, bool) {
	switch name {
	case "dtype":
		for _, d := range torchDTypes {
			if d.d == t.DType {
				return d, true
			}
		}
		return launchOnly(t.Name + ".dtype"), true // torch has no such type
	case "data_ptr":
		return method(name, func([]any) any { return t.address() }), true
	case "itemsize":
		return t.itemSize(), true
	case "element_size":
		return method(name, func([]any) any { return t.itemSize() }), true
	case "is_floating_point":
		return method(name, func([]any) any { return t.DType.IsFloat() }), true
	case "is_contiguous":
		return method(name, func([]any) any { return t.ofShape(name, func() any { return true }) }), true
	case "shape":
		return t.ofShape(name, func() any { return ints(t.Shape) }), true
	case "ndim":
		return t.ofShape(name, func() any { return int64(len(t.Shape)) }), true
	case "nbytes":
		return t.ofShape(name, func() any { return t.numel() * t.itemSize() }), true
	case "dim":
		return method(name, func([]any) any { return t.ofShape(name, func() any { return int64(len(t.Shape)) }) }), true
	case "numel":
		return method(name, func([]any) any { return t.ofShape(name, func() any { return t.numel() }) }), true
	case "size":
		return method(name, func(args []any) any { return t.ofShape(name, func() any { return at(t.Shape, args) }) }), true
	case "stride":
		return method(name, func(args []any) any { return t.ofShape(name, func() any { return at(strides(t.Shape), args) }) }), true
	}
	if t.Memory != nil {
		if f := t.change(name); f != nil {
			return method(name, f), true
		}
		m := launchOnly(t.Name + "." + name)
		m.Reason = "a hook can call zero_, fill_, copy_ and clone of a tensor, and ask for its type, shape and address"
		return m, true
	}
	m := launchOnly(t.Name + "." + name)
	if t.Shape != nil {
		m.Reason = "it is not known before the launch"
	}
	return m, true
}

// change is a method of tensors that looks at their elements, or nil.
func (t *LaunchTensor) change(name string) func(args []any) any {
	switch name {
	case "zero_":
		return func([]any) any {
			t.Memory.Fill(0)
			return t
		}
	case "fill_":
		return func(args []any) any {
			v, ok := 0.0, false
			if len(args) == 1 {
				v, ok = eval.AsFloat(args[0])
			}
			if !ok {
				eval.Fail("fill_() takes a number")
			}
			t.Memory.Fill(v)
			return t
		}
	case "copy_":
		return func(args []any) any {
			from, ok := (*LaunchTensor)(nil), false
			if len(args) > 0 {
				from, ok = args[0].(*LaunchTensor)
			}
			if !ok || from.Memory == nil {
				eval.Fail("copy_() takes a tensor")
			}
			if err := t.Memory.Copy(from.Memory); err != nil {
				eval.Fail("copy_() of '%s': %v", t.Name, err)
			}
			return t
		}
	case "clone":
		return func([]any) any {
			c := *t
			c.Memory, c.Address = t.Memory.Clone(), nil
			return &c
		}
	}
	return nil
}

// address is where the elements lie.
func (t *LaunchTensor) address() any {
	if t.Address != nil {
		if addr, ok := t.Address(); ok {
			return eval.Int(new(big.Int).SetUint64(addr))
		}
	}
	m := launchOnly(t.Name + ".data_ptr()")
	if t.Shape != nil {
		m.Reason = "it is not known before the launch"
	}
	return m
}

func (t *LaunchTensor) itemSize() int64 { return int64(max(t.DType.bits/8, 1)) }

func (t *LaunchTensor) ofShape(name string, f func() any) any {
	if t.Shape == nil {
		return launchOnly(t.Name + "." + name)
	}
	return f()
}

func (t *LaunchTensor) numel() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// LaunchDescriptor is the tensor descriptor that a launch passes.
type LaunchDescriptor struct {
	Base  *LaunchTensor
	Block []int64
}

func (d *LaunchDescriptor) TypeName() string { return "TensorDescriptor" }

// SetAttr gives the blocks another shape, as hooks of configurations do.
func (d *LaunchDescriptor) SetAttr(name string, v any) bool {
	if name != "block_shape" {
		return false
	}
	var block []int64
	for _, e := range eval.Iterate(v) {
		n, ok := eval.AsInt(e)
		if !ok {
			eval.Fail("block_shape has integers, not %s", eval.TypeName(e))
		}
		block = append(block, n)
	}
	d.Block = block
	return true
}

// Attr finds the fields of Triton's descriptors.
func (d *LaunchDescriptor) Attr(name string) (any, bool) {
	switch name {
	case "base":
		return d.Base, true
	case "block_shape":
		return &eval.List{Elems: ints(d.Block).Elems}, true
	case "shape":
		return d.Base.ofShape(name, func() any { return &eval.List{Elems: ints(d.Base.Shape).Elems} }), true
	case "strides":
		return d.Base.ofShape(name, func() any { return &eval.List{Elems: ints(strides(d.Base.Shape)).Elems} }), true
	}
	return launchOnly(d.Base.Name + "." + name), true
}

func method(name string, f func(args []any) any) *eval.Native {
	return &eval.Native{Name: name, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
		for _, k := range kw {
			args = append(args, k.Value)
		}
		return f(args)
	}}
}

func ints(list []int64) *eval.Tuple {
	t := &eval.Tuple{Elems: make([]any, len(list))}
	for i, n := range list {
		t.Elems[i] = n
	}
	return t
}

// at is the whole list, or the entry of the one dimension in args.
func at(list []int64, args []any) any {
	if len(args) == 0 || args[0] == nil {
		return ints(list)
	}
	return eval.Index(ints(list), args[0])
}

func strides(shape []int64) []int64 {
	out := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = n
		n *= shape[i]
	}
	return out
}
