package tma

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttir"
)

// A HostMap is what a launch must know, beside memory, shape, strides and padding, to
// make the tensor map that a kernel takes for a descriptor. The JSON is Triton's.
type HostMap struct {
	Swizzle   int64   `json:"swizzle"`    // 0: none; 1, 2, 3: of rows of 32, 64, 128 bytes
	ElemSize  int64   `json:"elem_size"`  // bytes
	ElemType  int64   `json:"elem_type"`  // as PTX's tensormap.replace numbers them
	BlockSize []int64 `json:"block_size"` // of the box that one copy has, the slowest dimension first
	FP4Padded bool    `json:"fp4_padded"` // rows of 16 bytes hold 16 elements of 4 bits
}

// HostMaps are the maps that the kernel of a module takes, in the order of the
// descriptors among its arguments; nil stands for a descriptor that it takes in parts.
// They are none where it takes all of them so.
func HostMaps(module *ir.Operation) []any {
	maps := []any{}
	some := false
	for f := range module.Body().Ops() {
		if !f.Is(tt.Func) || f.Body() == nil || tt.AsFunc(f).SymVisibility() == "private" {
			continue
		}
		attrs, _ := tt.AsFunc(f).ArgAttrs().(*ir.ArrayAttr)
		for i, arg := range f.Body().Args() {
			switch desc, ok := arg.Type().(*tt.TensorDescType); {
			case ok:
				maps, some = append(maps, hostMap(desc.Block)), true
			case attrs != nil && i < len(attrs.Elems) && isFirstPart(attrs.Elems[i]):
				maps = append(maps, nil)
			}
		}
	}
	if !some {
		return []any{}
	}
	return maps
}

func isFirstPart(attr ir.Attribute) bool {
	d, ok := attr.(*ir.DictAttr)
	return ok && d.Get(ttir.DescriptorPartsAttr) != nil
}

func hostMap(block *ir.TensorType) *HostMap {
	m := &HostMap{ElemType: elemType(block.Elem)}
	m.ElemSize, _ = elemBytes(block.Elem)
	enc := sharedLayout(block)
	if own, ok := block.Encoding.(*encoding.Attr); ok {
		if e, ok := own.Layout.(*layout.NVMMAShared); ok {
			enc = e
		}
	}
	m.Swizzle, m.BlockSize, m.FP4Padded = swizzleModes[enc.SwizzlingByteWidth], boxOf(enc, block.Shape), enc.FP4Padded
	return m
}
