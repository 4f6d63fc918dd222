package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sbinet/npyio/npy"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/driver/array"
)

const npyEnding = ".npy"

// npyTypes are NumPy's names of our types, without the byte order.
var npyTypes = [...]struct{ numpy, ours string }{
	{"b1", "i1"},
	{"i1", "i8"},
	{"i2", "i16"},
	{"i4", "i32"},
	{"i8", "i64"},
	{"u1", "u8"},
	{"u2", "u16"},
	{"u4", "u32"},
	{"u8", "u64"},
	{"f2", "fp16"},
	{"f4", "fp32"},
	{"f8", "fp64"},
}

// readNPY reads an array of a NumPy file.
func readNPY(path string) (*array.Array, error) {
	wrong := func(err error) error {
		return diag.Errorf(diag.Pos{File: path}, "this is not an array that can be read: %v", err).
			WithHelp("numpy.save writes such files")
	}
	f, _, err := input.Open(path, input.Array)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	// What is another file altogether need not be read whole.
	magic := make([]byte, len(npyMagic))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != npyMagic {
		return nil, wrong(fmt.Errorf("it does not begin as such files do, with %q", npyMagic))
	}
	data, err := input.ReadFile(path, input.Array)
	if err != nil {
		return nil, unreadable(path, err)
	}
	a, err := decodeNPY(data)
	if err != nil {
		return nil, wrong(err)
	}
	return a, nil
}

// npyMagic begins every NumPy file.
const npyMagic = "\x93NUMPY"

// decodeNPY reads the header with package npy. The elements are copied here: it
// has no halves and no arrays of several dimensions.
func decodeNPY(data []byte) (a *array.Array, err error) {
	r := bytes.NewReader(data)
	header, err := npyHeader(r)
	if err != nil {
		return nil, err
	}
	descr := header.Descr.Type
	name, order := strings.TrimLeft(descr, "<>|="), strings.TrimRight(descr, name09)
	i := slices.IndexFunc(npyTypes[:], func(t struct{ numpy, ours string }) bool { return t.numpy == name })
	if i < 0 {
		return nil, fmt.Errorf("its elements are of NumPy's type %s", strconv.Quote(descr))
	}
	elems := 1.0
	for _, n := range header.Descr.Shape {
		if n < 0 {
			return nil, fmt.Errorf("its shape is %v", header.Descr.Shape)
		}
		elems *= float64(n)
	}
	typ := array.Named(npyTypes[i].ours)
	if want := elems * float64(typ.Size); want != float64(r.Len()) {
		return nil, fmt.Errorf("it has %s of elements, and its shape %v says %.0f", diag.Count(r.Len(), "byte"), header.Descr.Shape, want)
	}
	a = array.New(typ, header.Descr.Shape...)
	if _, err := io.ReadFull(r, a.Data); err != nil {
		return nil, err
	}
	if order == ">" {
		for e := range slices.Chunk(a.Data, typ.Size) {
			slices.Reverse(e)
		}
	}
	if header.Descr.Fortran {
		a = rowMajor(a)
	}
	return a, nil
}

// name09 are the characters of NumPy's short type names.
const name09 = "biufcOSUVmM0123456789"

// npyHeader reads the header; the package panics on some that are cut off.
func npyHeader(r io.Reader) (h *npy.Header, err error) {
	defer func() {
		if recover() != nil {
			err = npy.ErrInvalidNumPyFormat
		}
	}()
	reader, err := npy.NewReader(r)
	if err != nil {
		return nil, err
	}
	return &reader.Header, nil
}

// rowMajor reorders an array that is stored column by column.
func rowMajor(a *array.Array) *array.Array {
	out := array.New(a.Type, a.Shape...)
	size := a.Type.Size
	index := make([]int, len(a.Shape))
	for i := range a.Len() {
		from, stride := 0, 1
		for d, n := range a.Shape {
			from += index[d] * stride
			stride *= n
		}
		copy(out.Data[i*size:(i+1)*size], a.Data[from*size:])
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < a.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}

// encodeNPY makes a NumPy file of an array. Types that NumPy lacks are written
// as float32, which holds all their values.
func encodeNPY(a *array.Array) ([]byte, error) {
	i := slices.IndexFunc(npyTypes[:], func(t struct{ numpy, ours string }) bool { return t.ours == a.Type.Name })
	if i < 0 {
		return encodeNPY(a.Convert(array.Named("fp32")))
	}
	descr := "<" + npyTypes[i].numpy
	if a.Type.Size == 1 {
		descr = "|" + npyTypes[i].numpy
	}
	shape := make([]string, len(a.Shape))
	for d, n := range a.Shape {
		shape[d] = strconv.Itoa(n) + ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, strings.Join(shape, " "))
	const before, align = 10, 64 // magic, version and length; where the elements begin
	header += strings.Repeat(" ", (align-(before+len(header)+1)%align)%align) + "\n"
	out := append(npy.Magic[:], 1, 0, byte(len(header)), byte(len(header)>>8))
	return append(append(out, header...), a.Data...), nil
}
