package lang

import (
	"math/big"
	"slices"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Attr is what kernels ask of a dtype.
func (d *DType) Attr(name string) (any, bool) {
	switch name {
	case "name":
		return d.name, true
	case "scalar":
		return d, true
	case "primitive_bitwidth":
		return int64(d.bits), true
	case "int_bitwidth":
		if d.IsInt() {
			return int64(d.bits), true
		}
	case "itemsize":
		return int64(max(d.bits/8, 1)), true
	case "fp_mantissa_width":
		if d.IsFloat() {
			return int64(d.mant), true
		}
	case "exponent_bias":
		if d.IsFloat() {
			return int64(d.bias), true
		}
	case "shape":
		return eval.NewTuple(), true
	}
	if f := d.predicate(name); f != nil {
		return &eval.Native{Name: name, Fn: func(*eval.Session, []any, []eval.Keyword) any { return f() }}, true
	}
	return nil, false
}

// typeAttrs are the attributes that types have, each some of them.
var typeAttrs = []string{
	"address_space", "element_ty", "exponent_bias", "fp_mantissa_width", "get_block_shapes", "get_int_max_value", "get_int_min_value", "int_bitwidth",
	"is_bf16", "is_block", "is_bool", "is_const", "is_floating", "is_fp16", "is_fp32", "is_fp64", "is_fp8", "is_fp8e4b15", "is_fp8e4b8",
	"is_fp8e4nv", "is_fp8e5", "is_fp8e5b16", "is_int", "is_int1", "is_int16", "is_int32", "is_int64", "is_int8", "is_int_signed",
	"is_int_unsigned", "is_ptr", "is_standard_floating", "is_uint16", "is_uint32", "is_uint64", "is_uint8", "is_void", "itemsize", "name",
	"nbytes", "numel", "primitive_bitwidth", "scalar", "shape",
}

// attrNames lists those of typeAttrs that a type has.
func attrNames(t eval.Attributer) []string {
	return slices.DeleteFunc(slices.Clone(typeAttrs), func(n string) bool { _, ok := t.Attr(n); return !ok })
}

// Names lists the attributes of a dtype.
func (d *DType) Names() []string { return attrNames(d) }

// Names lists the attributes of a pointer type.
func (p *Pointer) Names() []string { return attrNames(p) }

// Names lists the attributes of a tensor's type.
func (b *Block) Names() []string { return attrNames(b) }

func (d *DType) predicate(name string) func() any {
	is := func(v bool) func() any { return func() any { return v } }
	switch name {
	case "is_int":
		return is(d.IsInt())
	case "is_bool", "is_int1":
		return is(d == Int1)
	case "is_floating":
		return is(d.IsFloat())
	case "is_standard_floating":
		return is(d.standard())
	case "is_int_signed":
		return is(d.IsSigned())
	case "is_int_unsigned":
		return is(d.IsUnsigned())
	case "is_fp8":
		return is(d.IsFP8())
	case "is_ptr", "is_block", "is_const":
		return is(false)
	case "is_void":
		return is(d == Void)
	case "is_fp16", "is_bf16", "is_fp32", "is_fp64", "is_fp8e4nv", "is_fp8e5", "is_fp8e4b8", "is_fp8e5b16", "is_fp8e4b15",
		"is_int8", "is_int16", "is_int32", "is_int64", "is_uint8", "is_uint16", "is_uint32", "is_uint64":
		return is(name[3:] == d.name)
	case "get_int_max_value", "get_int_min_value":
		if !d.IsInt() {
			return nil
		}
		return func() any {
			one := big.NewInt(1)
			bits := uint(d.bits)
			if d.signed && d.bits > 1 {
				bits--
			}
			top := new(big.Int).Lsh(one, bits)
			if name == "get_int_max_value" {
				return eval.Int(top.Sub(top, one))
			}
			if !d.signed || d.bits == 1 {
				return int64(0)
			}
			return eval.Int(top.Neg(top))
		}
	}
	return nil
}

// Attr is what kernels ask of a pointer type.
func (p *Pointer) Attr(name string) (any, bool) {
	switch name {
	case "element_ty":
		return p.Elem, true
	case "scalar":
		return p, true
	case "address_space":
		return int64(p.space()), true
	case "primitive_bitwidth":
		return int64(64), true
	case "name":
		return p.String(), true
	case "is_ptr":
		return constant(name, true), true
	case "is_const":
		return constant(name, p.Const), true
	case "is_block", "is_int", "is_floating", "is_int_signed", "is_int_unsigned", "is_bool", "is_fp8":
		return constant(name, false), true
	}
	return nil, false
}

// Attr is what kernels ask of a tensor's type.
func (b *Block) Attr(name string) (any, bool) {
	switch name {
	case "element_ty", "scalar":
		return b.Elem, true
	case "shape":
		return shapeTuple(b.Shape), true
	case "numel":
		return numElements(b.Shape), true
	case "nbytes":
		if d, ok := b.Elem.(*DType); ok {
			return numElements(b.Shape) * int64(d.bits) / 8, true
		}
		return numElements(b.Shape) * 8, true
	case "is_block":
		return constant(name, true), true
	case "get_block_shapes":
		return constant(name, shapeTuple(b.Shape)), true
	}
	if a, ok := b.Elem.(eval.Attributer); ok {
		return a.Attr(name)
	}
	return nil, false
}

func constant(name string, v any) *eval.Native {
	return &eval.Native{Name: name, Fn: func(*eval.Session, []any, []eval.Keyword) any { return v }}
}

func shapeTuple(shape []int64) *eval.Tuple {
	t := &eval.Tuple{Elems: make([]any, len(shape))}
	for i, d := range shape {
		t.Elems[i] = d
	}
	return t
}

func numElements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// getIntDtype is core.get_int_dtype(bitwidth, signed).
var getIntDtype = &eval.Native{Name: "get_int_dtype", Global: true, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
	for _, k := range kw {
		args = append(args, k.Value)
	}
	if len(args) == 2 {
		bits, ok := eval.AsInt(args[0])
		prefix := "uint"
		if eval.Truth(args[1]) {
			prefix = "int"
		}
		if d := DTypeNamed(prefix + eval.Repr(bits)); ok && d != nil {
			return d
		}
	}
	eval.Fail("get_int_dtype() takes a width and a signedness")
	return nil
}}
