package arrayfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tritonc/tritonc/driver/array"
)

// tensorTypes are our names of the types of safetensors.
var tensorTypes = map[string]string{
	"BOOL": "i1", "U8": "u8", "I8": "i8", "U16": "u16", "I16": "i16", "U32": "u32", "I32": "i32", "U64": "u64", "I64": "i64",
	"F8_E4M3": "fp8e4nv", "F8_E5M2": "fp8e5", "F8_E4M3FNUZ": "fp8e4b8", "F8_E5M2FNUZ": "fp8e5b16",
	"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F64": "fp64",
}

// maxTensors is the format's bound on its header, in bytes.
const maxTensors = 100_000_000

// tensorEntry is what the header says of a tensor.
type tensorEntry struct {
	Type    string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // from the end of the header: begin and end
}

// readTensor reads one tensor: 8 bytes with the length of a header in JSON, the header,
// and the elements of all tensors.
func readTensor(f file, size int64, name string, _ *array.DType) (*array.Array, error) {
	head := make([]byte, 8)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, errors.New("it is too short")
	}
	length := binary.LittleEndian.Uint64(head)
	if length > maxTensors || int64(length) > size-8 {
		return nil, errors.New("its header is longer than the file, or than the format allows")
	}
	e, err := findTensor(io.NewSectionReader(f, 8, int64(length)), name)
	if err != nil {
		return nil, err
	}
	typ := array.Named(tensorTypes[e.Type])
	if typ == nil {
		return nil, fmt.Errorf("its elements are of the type %s", strconv.Quote(e.Type))
	}
	n, ok := bytesOf(e.Shape, typ.Size)
	rest := size - 8 - int64(length)
	if !ok || len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > rest || e.Offsets[1]-e.Offsets[0] != n {
		return nil, fmt.Errorf("%s%v cannot lie at bytes %v of %d", typ, e.Shape, e.Offsets, rest)
	}
	a := &array.Array{Type: typ, Shape: e.Shape}
	a.Data, err = readElements(io.NewSectionReader(f, 8+int64(length)+e.Offsets[0], n), n)
	return a, err
}

// findTensor reads the header up to its end, entry by entry.
func findTensor(r io.Reader, name string) (*tensorEntry, error) {
	wrong := func(err error) error { return fmt.Errorf("its header is not what safetensors writes: %w", err) }
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, wrong(errors.New("it is not an object"))
	}
	var found *tensorEntry
	m := &missing{name: name}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, wrong(err)
		}
		key := t.(string) // of an object
		if key == "__metadata__" {
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				return nil, wrong(err)
			}
			continue
		}
		var e tensorEntry
		if err := dec.Decode(&e); err != nil {
			return nil, wrong(err)
		}
		m.has(key)
		if name == "" || name == key {
			if found != nil && name != "" {
				return nil, wrong(fmt.Errorf("it has two tensors %q", name))
			}
			found = &e
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, wrong(err)
	}
	if found == nil || name == "" && m.count > 1 {
		return nil, m
	}
	return found, nil
}
