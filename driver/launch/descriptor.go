package launch

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// Descriptor is a tensor descriptor made on the host: a dense array that a kernel
// reads and writes in blocks.
type Descriptor struct {
	Array *array.Array
	// Block is the size of a block in each dimension of the array.
	Block []int
	// NaN makes what lies outside of the array NaN, not 0, when it is loaded.
	NaN bool
}

// alignment of a descriptor's rows, as the hardware asks for it.
const rowAlignment = 16

// maxDescriptorRank is the greatest number of dimensions.
const maxDescriptorRank = 5

// descriptor is a descriptor as it is compiled and passed where the kernel has
// it decomposed: pointer, sizes and strides in 64 bits, whether the padding is
// NaN, then sizes in 32 bits and strides once more.
func descriptor(a *Arg, d *Descriptor) (specialized, error) {
	x := d.Array
	shape, rank := x.Shape, len(x.Shape)
	switch {
	case rank == 0 || rank > maxDescriptorRank:
		return specialized{}, wrongArg(a.Name, "", "a descriptor has 1 to %d dimensions, not %d", maxDescriptorRank, rank)
	case len(d.Block) != rank:
		return specialized{}, wrongArg(a.Name, "", "the block has %s, and the array %d", diag.Count(len(d.Block), "dimension"), rank)
	}
	strides := make([]int, rank)
	n := 1
	for i := rank - 1; i >= 0; i-- {
		if b := d.Block[i]; b < 1 || b&(b-1) != 0 {
			return specialized{}, wrongArg(a.Name, "", "%d is not a size of a block: it is not a power of two", b)
		}
		strides[i] = n
		n *= shape[i]
		if i < rank-1 && strides[i]*x.Type.Size%rowAlignment != 0 {
			return specialized{}, wrongArg(a.Name, fmt.Sprintf("with rows of a multiple of %s they do", diag.Count(max(1, rowAlignment/x.Type.Size), "element")),
				"dimension %d advances by %s; rows of a descriptor begin at multiples of %d", i, diag.Count(strides[i]*x.Type.Size, "byte"), rowAlignment)
		}
	}
	p := []passed{{a.Name, x, ""}}
	add := func(typ string, list []int) {
		for _, n := range list {
			p = append(p, passed{a.Name, int64(n), typ})
		}
	}
	add("i64", shape)
	add("i64", strides)
	p = append(p, passed{a.Name, d.NaN, "u1"})
	add("i32", shape)
	add("i64", strides)
	block := strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Block), " ", ", "), "[]")
	return specialized{fmt.Sprintf("tensordesc<%s[%s]>", x.Type.Name, block), p}, nil
}

// checkDecomposed refuses a kernel that takes descriptors otherwise: its metadata
// say of each how.
func checkDecomposed(args []Arg, meta *driver.Metadata) error {
	for i := range args {
		if _, ok := args[i].Value.(*Descriptor); ok && len(meta.Descriptors) > 0 {
			return wrongArg(args[i].Name, "", "the kernel takes its descriptors as tensor maps, which cannot be passed here")
		}
	}
	return nil
}
