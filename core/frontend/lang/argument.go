package lang

import "github.com/tritonc/tritonc/core/frontend/eval"

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
	Name  string // of the parameter
	DType *DType
	Shape []int64 // nil: known at launch only; the elements lie in order
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
	m := launchOnly(t.Name + "." + name)
	if t.Shape != nil {
		m.Reason = "it is not known before the launch"
	}
	return m, true
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
