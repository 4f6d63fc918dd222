package driver

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
)

// TensorMap is an argument for a parameter that is a tensor descriptor: memory as an
// array of up to five dimensions, which a kernel's copies read and write in boxes. The
// slowest dimension comes first.
type TensorMap struct {
	Buffer Buffer
	// Offset of the array's first element in Buffer, in bytes.
	Offset int64
	// Shape in elements, and Strides in bytes; the last stride is ElemSize.
	Shape, Strides []int64
	// NaN makes elements outside of the array NaN, not 0, when they are loaded.
	NaN bool
	DescriptorMeta
}

// DescriptorMeta is what a compile says of a parameter that is a tensor descriptor, as
// Triton's tensordesc_meta has it.
type DescriptorMeta struct {
	// Swizzle permutes 16-byte pieces of rows in shared memory: 0 not at all, 1, 2 and
	// 3 in rows of 32, 64 and 128 bytes.
	Swizzle int `json:"swizzle"`
	// ElemSize is the size of an element in bytes.
	ElemSize int `json:"elem_size"`
	// ElemType is the element's type as PTX's tensormap.replace numbers it.
	ElemType int `json:"elem_type"`
	// Box is the size of what one copy moves, in elements.
	Box []int64 `json:"block_size"`
	// FP4Padded: 16 bytes in shared memory hold 16 elements of 4 bits.
	FP4Padded bool `json:"fp4_padded"`
}

// Limits of tensor maps.
const (
	maxMapRank     = 5
	mapAlignment   = 16      // bytes: of the base, of strides, of a box's rows
	maxMapBox      = 256     // elements in each dimension
	maxMapSize     = 1 << 32 // elements in each dimension
	maxMapStride   = 1 << 40 // bytes
	firstFloatType = 6       // of ElemType
	lastElemType   = 12
)

// Check says what keeps the hardware from making the map, as an error for whoever made
// the array, or returns nil.
func (m *TensorMap) Check() error {
	rank := len(m.Shape)
	switch {
	case rank < 1 || rank > maxMapRank:
		return fmt.Errorf("a tensor map has 1 to %d dimensions, not %d", maxMapRank, rank)
	case len(m.Strides) != rank || len(m.Box) != rank:
		return fmt.Errorf("a tensor map of %s has %s and a box of %d", diag.Count(rank, "dimension"), diag.Count(len(m.Strides), "stride"), len(m.Box))
	case m.FP4Padded:
		return fmt.Errorf("tensor maps of padded 4-bit elements cannot be made")
	case m.ElemSize < 1 || m.ElemType < 0 || m.ElemType > lastElemType || m.Swizzle < 0 || m.Swizzle > 3:
		return fmt.Errorf("a tensor map cannot have elements of type %d with %s and swizzle %d", m.ElemType, diag.Count(m.ElemSize, "byte"), m.Swizzle)
	case m.NaN && m.ElemType < firstFloatType:
		return fmt.Errorf("integers cannot be padded with NaN")
	case m.Buffer == nil:
		return fmt.Errorf("a tensor map needs memory")
	case (m.Buffer.Addr()+uint64(m.Offset))%mapAlignment != 0:
		return fmt.Errorf("the memory of a descriptor begins at a multiple of %d bytes, not at 0x%x", mapAlignment, m.Buffer.Addr()+uint64(m.Offset))
	case m.Strides[rank-1] != int64(m.ElemSize):
		return fmt.Errorf("the last dimension of a descriptor is contiguous; here it advances by %s", diag.Count(m.Strides[rank-1], "byte"))
	}
	for i, n := range m.Shape {
		s, b := m.Strides[i], m.Box[i]
		switch {
		case n < 1 || n > maxMapSize:
			return fmt.Errorf("dimension %d of a descriptor has %s; it can have 1 to 2^32", i, diag.Count(n, "element"))
		case b < 1 || b > maxMapBox:
			return fmt.Errorf("a box has %s in dimension %d; it can have 1 to %d", diag.Count(b, "element"), i, maxMapBox)
		case i < rank-1 && (s%mapAlignment != 0 || s < 0 || s >= maxMapStride):
			return fmt.Errorf("dimension %d of a descriptor advances by %s; it must be a multiple of %d below 2^40", i, diag.Count(s, "byte"), mapAlignment)
		}
	}
	row := m.Box[rank-1] * int64(m.ElemSize)
	if width := int64(16) << m.Swizzle; row%mapAlignment != 0 || m.Swizzle > 0 && row > width {
		return fmt.Errorf("rows of a box have %s; they must be a multiple of %d, at most %d with swizzle %d", diag.Count(row, "byte"), mapAlignment, width, m.Swizzle)
	}
	return nil
}
