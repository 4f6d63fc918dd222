package arrayfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
)

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

// magic begins every NumPy file.
const magic = "\x93NUMPY"

// maxHeader bounds the header of a NumPy file: with NumPy's own types it has some
// hundred bytes.
const maxHeader = 1 << 16

// npyHeader is what a NumPy file says of its array.
type npyHeader struct {
	descr   string
	fortran bool // column by column
	shape   []int
}

// readNPY reads a NumPy file of so many bytes. A type that NumPy lacks is one of bytes
// ("V2") in a file; typ says which it is.
func readNPY(r io.Reader, size int64, typ *array.DType) (*array.Array, error) {
	h, length, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	name, order := strings.TrimLeft(h.descr, "<>|="), strings.TrimRight(h.descr, name09)
	elem := typ
	if i := slices.IndexFunc(npyTypes[:], func(t struct{ numpy, ours string }) bool { return t.numpy == name }); i >= 0 {
		elem = array.Named(npyTypes[i].ours)
	} else if typ == nil || name != "V"+strconv.Itoa(typ.Size) {
		return nil, fmt.Errorf("its elements are of NumPy's type %s", strconv.Quote(h.descr))
	}
	want, ok := bytesOf(h.shape, elem.Size)
	if !ok || want != size-length {
		return nil, fmt.Errorf("it has %s of elements, and its shape %v says otherwise", diag.Count(int(size-length), "byte"), h.shape)
	}
	a := &array.Array{Type: elem, Shape: h.shape}
	if a.Data, err = readElements(r, want); err != nil {
		return nil, err
	}
	if order == ">" {
		for e := range slices.Chunk(a.Data, elem.Size) {
			slices.Reverse(e)
		}
	}
	if h.fortran {
		a = rowMajor(a)
	}
	return a, nil
}

// name09 are the characters of NumPy's short type names.
const name09 = "biufcOSUVmM0123456789"

// readHeader reads up to the elements, and says how many bytes that is: the magic, the
// version, the length of what follows, and a Python dict.
func readHeader(r io.Reader) (h npyHeader, length int64, err error) {
	cut := errors.New("its header is cut off")
	head := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(magic)]) != magic {
		return h, 0, fmt.Errorf("it does not begin as such files do, with %q", magic)
	}
	n := int64(binary.LittleEndian.Uint16(head[len(magic)+2:]))
	length = int64(len(head))
	switch major := head[len(magic)]; major {
	case 1:
	case 2, 3:
		more := make([]byte, 2)
		if _, err := io.ReadFull(r, more); err != nil {
			return h, 0, cut
		}
		n += int64(binary.LittleEndian.Uint16(more)) << 16
		length += 2
	default:
		return h, 0, fmt.Errorf("it is of version %d of NumPy's format", major)
	}
	if n > maxHeader {
		return h, 0, fmt.Errorf("its header is longer than %d KiB", maxHeader>>10)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, cut
	}
	h, err = parseHeader(text)
	return h, length + n, err
}

func parseHeader(text []byte) (h npyHeader, err error) {
	wrong := errors.New("its header is not a dict with descr, fortran_order and shape")
	e, err := syntax.ParseExpr("", text)
	dict, ok := e.(*syntax.Dict)
	if err != nil || !ok {
		return h, wrong
	}
	found := 0
	for i, key := range dict.Keys {
		k, _ := key.(*syntax.Constant)
		if k == nil {
			return h, wrong
		}
		value, _ := dict.Values[i].(*syntax.Constant)
		ok := true
		switch k.Value {
		case "descr":
			if value == nil {
				return h, errors.New("its elements are records")
			}
			h.descr, ok = value.Value.(string)
		case "fortran_order":
			if ok = value != nil; ok {
				h.fortran, ok = value.Value.(bool)
			}
		case "shape":
			h.shape, ok = dims(dict.Values[i])
		default:
			continue
		}
		if !ok {
			return h, wrong
		}
		found++
	}
	if found != 3 {
		return h, wrong
	}
	return h, nil
}

// dims are the integers of a tuple.
func dims(e syntax.Expr) ([]int, bool) {
	t, ok := e.(*syntax.Tuple)
	if !ok {
		return nil, false
	}
	out := make([]int, len(t.Elts))
	for i, e := range t.Elts {
		c, _ := e.(*syntax.Constant)
		if c == nil {
			return nil, false
		}
		n, ok := c.Value.(int64)
		if !ok || n < 0 {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
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

// EncodeNPY makes a NumPy file of an array. Types that NumPy lacks are written
// as float32, which holds all their values.
func EncodeNPY(a *array.Array) []byte {
	i := slices.IndexFunc(npyTypes[:], func(t struct{ numpy, ours string }) bool { return t.ours == a.Type.Name })
	if i < 0 {
		return EncodeNPY(a.Convert(array.Named("fp32")))
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
	out := append([]byte(magic), 1, 0, byte(len(header)), byte(len(header)>>8))
	return append(append(out, header...), a.Data...)
}
