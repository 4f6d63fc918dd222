package sim

import (
	"encoding/binary"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// TensorMap is a tensor map that the host makes, an argument of 128 bytes. The fastest
// dimension comes first.
type TensorMap struct {
	Address uint64  // of the first element
	Type    int     // of the elements, as PTX's tensormap.replace numbers it
	Dims    []int64 // elements
	Strides []int64 // bytes; that of the fastest dimension counts for nothing
	Box     []int64 // elements
	Swizzle int     // as PTX's tensormap.replace numbers it
	NaN     bool    // fills what lies outside
}

// Encode lays the map out as a kernel's copies read it.
func (t *TensorMap) Encode() []byte {
	b := make([]byte, simt.MapBytes)
	word := func(at int, v int64) { binary.LittleEndian.PutUint32(b[at:], uint32(v)) }
	binary.LittleEndian.PutUint64(b[simt.MapAddress:], t.Address)
	word(simt.MapRank, int64(len(t.Dims)-1))
	word(simt.MapType, int64(t.Type))
	word(simt.MapSwizzle, int64(t.Swizzle))
	if t.NaN {
		word(simt.MapFill, 1)
	}
	for i := range t.Dims {
		word(simt.MapBox+4*i, t.Box[i])
		word(simt.MapDims+4*i, t.Dims[i])
		word(simt.MapElementStride+4*i, 1)
		if i > 0 {
			binary.LittleEndian.PutUint64(b[simt.MapStrides+8*(i-1):], uint64(t.Strides[i]))
		}
	}
	return b
}
