package kernel

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// Descriptor is a tensor descriptor made on the host: an array in memory that a
// kernel reads and writes in blocks.
type Descriptor struct {
	// Base is a *Buffer, with the array's first element first.
	Base Memory
	// Shape in elements.
	Shape []int
	// Strides in elements; nil of a dense array. The last one is 1.
	Strides []int
	// Block is the size of a block in each dimension.
	Block []int
	// NaN makes what lies outside of the array NaN, not 0, when it is loaded.
	NaN bool
}

// rowAlignment is how the hardware wants a descriptor's rows aligned, in bytes.
const rowAlignment = 16

// maxDescriptorRank is the greatest number of dimensions.
const maxDescriptorRank = 5

// Dense are the strides of a dense array, in elements.
func Dense(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i := len(strides) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

// strides of the array.
func (d *Descriptor) strides() []int {
	if d.Strides != nil {
		return d.Strides
	}
	return Dense(d.Shape)
}

// Check says what is wrong with a descriptor for the parameter of a name.
func (d *Descriptor) Check(name string) error {
	if d == nil || d.Base == nil || IsNull(d.Base) {
		return wrongArg(name, "the descriptor has no memory")
	}
	strides := d.strides()
	if err := CheckDescriptor(name, d.Base.Type(), d.Shape, strides, d.Block, d.NaN); err != nil {
		return err
	}
	last := 0
	for i, n := range d.Shape {
		last += (n - 1) * strides[i]
	}
	if last >= d.Base.Len() {
		return wrongArg(name, "the descriptor's last element is number %d of a buffer that has %d", last, d.Base.Len())
	}
	if d.Base.Addr()%rowAlignment != 0 {
		return wrongArg(name, "the memory of a descriptor begins at a multiple of %d bytes, not at 0x%x", rowAlignment, d.Base.Addr())
	}
	return nil
}

// CheckDescriptor says what keeps an array from being a descriptor's: its strides and
// its block, in elements of a type.
func CheckDescriptor(name string, t *array.DType, shape, strides, block []int, nan bool) error {
	rank := len(shape)
	fail := func(help, format string, args ...any) error {
		return &ArgError{Name: name, Help: help, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case rank == 0 || rank > maxDescriptorRank:
		return fail("", "a descriptor has 1 to %d dimensions, not %d", maxDescriptorRank, rank)
	case len(block) != rank:
		return fail("", "the block has %s, and the array %d", diag.Count(len(block), "dimension"), rank)
	case len(strides) != rank:
		return fail("", "the array has %s, and its shape %d", diag.Count(len(strides), "stride"), rank)
	case strides[rank-1] != 1:
		return fail("", "the last dimension of a descriptor is contiguous; here it advances by %s", diag.Count(strides[rank-1], "element"))
	case nan && !t.Float():
		return fail("leave nan out", "elements of type %s cannot be padded with NaN", t.Name)
	}
	for i, s := range strides {
		if b := block[i]; b < 1 || b&(b-1) != 0 {
			return fail("", "%d is not a size of a block: it is not a power of two", b)
		}
		if shape[i] < 1 {
			return fail("", "the array has no elements: dimension %d has size %d", i, shape[i])
		}
		if i < rank-1 && (s < 0 || s*t.Size%rowAlignment != 0) {
			return fail(fmt.Sprintf("with rows of a multiple of %s they do", diag.Count(max(1, rowAlignment/t.Size), "element")),
				"dimension %d advances by %s; rows of a descriptor begin at multiples of %d", i, diag.Count(s*t.Size, "byte"), rowAlignment)
		}
	}
	if n := block[rank-1] * t.Size; n < rowAlignment {
		return fail(fmt.Sprintf("make its last dimension %d or more", rowAlignment/t.Size),
			"rows of its blocks have %s; a descriptor needs at least %d", diag.Count(n, "byte"), rowAlignment)
	}
	return nil
}

// expand appends a descriptor as a compiled kernel takes it: a tensor map, sizes in
// 32 bits and strides; or, without metadata of it, pointer, sizes and strides in 64
// bits, and whether the padding is NaN in the place of the map.
func (d *Descriptor) expand(args []any, p *parameter, dev driver.Device) ([]any, error) {
	name, meta := p.Name, p.meta
	if err := d.Check(name); err != nil {
		return args, err
	}
	if err := p.fits(d); err != nil {
		return args, err
	}
	m := d.Base.of()
	if err := m.usable(name, dev); err != nil {
		return args, err
	}
	strides := d.strides()
	if meta == nil {
		base, err := passMemory(name, dev, m)
		if err != nil {
			return args, err
		}
		args = append(args, base)
		args = appendAs[int64](args, d.Shape)
		args = appendAs[int64](args, strides)
		args = append(args, d.NaN)
	} else {
		t := &driver.TensorMap{Buffer: m.buffer, Offset: int64(m.from), DescriptorMeta: *meta, NaN: d.NaN}
		for i, s := range strides {
			t.Shape, t.Strides = append(t.Shape, int64(d.Shape[i])), append(t.Strides, int64(s*m.dtype.Size))
		}
		if err := t.Check(); err != nil {
			return args, &ArgError{Name: name, Text: err.Error(), Err: err}
		}
		args = append(args, t)
	}
	args = appendAs[int32](args, d.Shape)
	return appendAs[int64](args, strides), nil
}

func appendAs[T int32 | int64](args []any, list []int) []any {
	for _, n := range list {
		args = append(args, T(n))
	}
	return args
}
