package launch

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
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

// descriptor is a descriptor as it is compiled. How it is passed the compile decides.
func descriptor(a *Arg, d *Descriptor) (specialized, error) {
	if err := kernel.CheckDescriptor(a.Name, d.Array.Type, d.Array.Shape, d.strides(), d.Block, d.NaN); err != nil {
		return specialized{}, err
	}
	return specialized{descriptorType(d.Array.Type, d.Block), []passed{{a.Name, d, ""}}}, nil
}

// descriptorType is a descriptor's type as signatures have it.
func descriptorType(t *array.DType, block []int) string {
	sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(block), " ", ", "), "[]")
	return fmt.Sprintf("tensordesc<%s[%s]>", t.Name, sizes)
}

// strides of the array, in elements.
func (d *Descriptor) strides() []int { return kernel.Dense(d.Array.Shape) }

// parameters are a descriptor as the compiled kernel takes it: a tensor map, sizes in 32
// bits and strides; or, without metadata of it, pointer, sizes and strides in 64 bits,
// and whether the padding is NaN in the place of the map.
func (d *Descriptor) parameters(name string, meta *driver.DescriptorMeta) []passed {
	x, strides := d.Array, d.strides()
	var p []passed
	add := func(typ string, list []int) {
		for _, n := range list {
			p = append(p, passed{name, int64(n), typ})
		}
	}
	if meta == nil {
		p = append(p, passed{name, x, ""})
		add("i64", x.Shape)
		add("i64", strides)
		p = append(p, passed{name, d.NaN, "u1"})
	} else {
		m := &driver.TensorMap{DescriptorMeta: *meta, NaN: d.NaN}
		for i, s := range strides {
			m.Shape, m.Strides = append(m.Shape, int64(x.Shape[i])), append(m.Strides, int64(s*x.Type.Size))
		}
		p = append(p, passed{name, mapped{x, m}, ""})
	}
	add("i32", x.Shape)
	add("i64", strides)
	return p
}

// mapped is an array that the kernel takes as a tensor map.
type mapped struct {
	array *array.Array
	m     *driver.TensorMap
}

// arrayOf is the array of a parameter, or nil.
func (p *passed) arrayOf() *array.Array {
	switch v := p.value.(type) {
	case *array.Array:
		return v
	case *View:
		return v.Array
	case mapped:
		return v.array
	}
	return nil
}

// expand puts the parameters of each descriptor in its place, as the compiled kernel's
// metadata have them.
func expand(args []passed, meta *driver.Metadata) ([]passed, error) {
	n := 0
	for i := range args {
		if _, ok := args[i].value.(*Descriptor); ok {
			n++
		}
	}
	if len(meta.Descriptors) > 0 && len(meta.Descriptors) != n {
		return nil, wrongArg("", "", "the kernel takes %s, and %d are given", diag.Count(len(meta.Descriptors), "descriptor"), n)
	}
	out := make([]passed, 0, len(args))
	n = 0
	for _, a := range args {
		d, ok := a.value.(*Descriptor)
		if !ok {
			out = append(out, a)
			continue
		}
		var m *driver.DescriptorMeta
		if len(meta.Descriptors) > 0 {
			m = meta.Descriptors[n]
		}
		n++
		out = append(out, d.parameters(a.name, m)...)
	}
	return out, nil
}
