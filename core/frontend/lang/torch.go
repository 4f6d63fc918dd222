package lang

import (
	"math"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// torch is what module-level code of kernel files asks of torch without a
// tensor in hand: its dtypes and their limits, and what it was made for.
// Everything else of it is missing.
type torch struct {
	lib     *Lib
	missing *eval.Missing
}

// torchVersion is torch.version: None for the platforms that the target is not
// of, and something for its own.
type torchVersion struct{ torch *torch }

func (v *torchVersion) Attr(name string) (any, bool) {
	m := &eval.Missing{Name: "torch.version." + name}
	switch {
	case name == v.torch.lib.Facts().Backend:
		return &someVersion{m}, true
	case strings.Contains(name, "_"):
		return m, true
	}
	return nil, true
}

// torchDevice is torch.cuda, which torch names all its GPUs by.
type torchDevice struct{ torch *torch }

// Attr finds the properties of the device, and get_device_capability for a target
// whose architecture is a number; the rest is missing.
func (d *torchDevice) Attr(name string) (any, bool) {
	if name == "get_device_properties" {
		return &eval.Native{Name: name, Fn: func(s *eval.Session, _ []any, _ []eval.Keyword) any {
			return &torchProperties{d.torch.lib, s}
		}}, true
	}
	arch, ok := archValue(d.torch.lib.Facts().Arch).(int64)
	if name != "get_device_capability" || !ok {
		return (&eval.Missing{Name: "torch.cuda"}).Attr(name)
	}
	return &eval.Native{Name: name, Fn: func(*eval.Session, []any, []eval.Keyword) any {
		return &eval.Tuple{Elems: []any{arch / 10, arch % 10}}
	}}, true
}
func (d *torchDevice) TypeName() string { return "module" }

// hasTriton is torch.utils._triton, which files ask before they define kernels.
var hasTriton = &eval.Package{Name: "torch.utils._triton", Parts: map[string]any{
	"has_triton":         &eval.Native{Name: "has_triton", Fn: func(*eval.Session, []any, []eval.Keyword) any { return true }},
	"has_triton_package": &eval.Native{Name: "has_triton_package", Fn: func(*eval.Session, []any, []eval.Keyword) any { return true }},
}}

// torchRelease is the release of torch that came with this Triton.
const torchRelease = "2.10.0"

// someVersion is a version that nobody knows here; only that it is there.
type someVersion struct{ *eval.Missing }

func (v *someVersion) TypeName() string { return "str" }

func (v *torchVersion) TypeName() string { return "module" }

// TorchDType is torch.float32 and the like.
type TorchDType struct {
	name string
	d    *DType
}

func (t *TorchDType) Repr() string     { return "torch." + t.name }
func (t *TorchDType) TypeName() string { return "torch.dtype" }

// Type is the type of the same elements in a kernel.
func (t *TorchDType) Type() *DType { return t.d }

// TorchDTypeOf is torch's dtype of the elements of a kernel's type, or nil.
func TorchDTypeOf(d *DType) *TorchDType {
	for _, t := range torchDTypes {
		if t.d == d {
			return t
		}
	}
	return nil
}

// Attr gives the few attributes that code at module level looks at.
func (t *TorchDType) Attr(name string) (any, bool) {
	switch name {
	case "itemsize":
		return int64(max(t.d.bits/8, 1)), true
	case "is_floating_point":
		return t.d.IsFloat(), true
	}
	return nil, false
}

var torchDTypes = func() map[string]*TorchDType {
	m := map[string]*TorchDType{}
	for names, d := range map[[2]string]*DType{
		{"float16", "half"}: Float16, {"bfloat16", ""}: BF16, {"float32", "float"}: Float32, {"float64", "double"}: Float64,
		{"int8", ""}: Int8, {"int16", "short"}: Int16, {"int32", "int"}: Int32, {"int64", "long"}: Int64, {"uint8", ""}: UInt8,
		{"bool", ""}: Int1, {"float8_e4m3fn", ""}: FP8E4NV, {"float8_e5m2", ""}: FP8E5,
		{"float8_e4m3fnuz", ""}: FP8E4B8, {"float8_e5m2fnuz", ""}: FP8E5B16,
		{"uint16", ""}: UInt16, {"uint32", ""}: UInt32, {"uint64", ""}: UInt64,
	} {
		t := &TorchDType{names[0], d}
		m[names[0]] = t
		if names[1] != "" {
			m[names[1]] = t
		}
	}
	return m
}()

// Attr finds a dtype, finfo, iinfo or version; the rest is missing.
func (t *torch) Attr(name string) (any, bool) {
	if d, ok := torchDTypes[name]; ok {
		return d, true
	}
	if name == "finfo" || name == "iinfo" {
		return &eval.Native{Name: name, Fn: func(_ *eval.Session, a []any, _ []eval.Keyword) any {
			d := torchDTypes["float32"]
			if len(a) > 0 {
				var ok bool
				if d, ok = a[0].(*TorchDType); !ok {
					eval.Fail("torch.%s() needs a torch dtype, not %s", name, eval.TypeName(a[0]))
				}
			}
			return limits(d.d)
		}}, true
	}
	if name == "cuda" {
		return &torchDevice{t}, true
	}
	if name == "__version__" {
		return torchRelease, true
	}
	if name == "version" {
		return &torchVersion{t}, true
	}
	if name == "_inductor" {
		return t.lib.inductor(inductorPackage), true
	}
	return t.missing.Attr(name)
}
func (t *torch) TypeName() string   { return "module" }
func (t *torch) ModuleName() string { return "torch" }

// limits is finfo or iinfo of a type.
func limits(d *DType) *eval.Package {
	p := &eval.Package{Name: "info", Parts: map[string]any{"bits": int64(d.bits)}}
	if d.IsInt() {
		for name, method := range map[string]string{"min": "get_int_min_value", "max": "get_int_max_value"} {
			p.Parts[name] = d.predicate(method)()
		}
		return p
	}
	exp := map[*DType]int{Float16: 15, BF16: 127, Float32: 127, Float64: 1023, FP8E4NV: 8, FP8E5: 15, FP8E4B8: 7, FP8E5B16: 15}[d]
	largest := math.Ldexp(2-math.Ldexp(1, -d.mant), exp)
	if d == FP8E4NV {
		largest = 448 // the pattern above it is NaN
	}
	p.Parts["max"], p.Parts["min"] = largest, -largest
	p.Parts["eps"] = math.Ldexp(1, -d.mant)
	tiny := math.Ldexp(1, 1-d.bias)
	p.Parts["tiny"], p.Parts["smallest_normal"] = tiny, tiny
	return p
}
