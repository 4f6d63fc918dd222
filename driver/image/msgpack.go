package image

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDepth bounds how deep values nest: the metadata of a code object need six levels.
const maxDepth = 16

// unpack reads a value in MessagePack (https://msgpack.org), of the kinds that metadata
// have: nil, bool, int64, string, []any and map[string]any.
func unpack(data []byte) (any, error) {
	d := unpacker{data}
	return d.value(0)
}

// unpacker holds what is not read yet.
type unpacker struct{ data []byte }

var errCutOff = errors.New("it is cut off")

func (d *unpacker) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)) {
		return nil, errCutOff
	}
	taken := d.data[:n]
	d.data = d.data[n:]
	return taken, nil
}

// number reads a big-endian number of 1, 2, 4 or 8 bytes.
func (d *unpacker) number(size uint64) (uint64, error) {
	b, err := d.take(size)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return binary.BigEndian.Uint64(wide[:]), nil
}

func (d *unpacker) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("values nest too deep")
	}
	head, err := d.take(1)
	if err != nil {
		return nil, err
	}
	switch c := head[0]; {
	case c < 0x80: // positive fixint
		return int64(c), nil
	case c < 0x90: // fixmap
		return d.mapping(uint64(c&0xf), depth)
	case c < 0xa0: // fixarray
		return d.array(uint64(c&0xf), depth)
	case c < 0xc0: // fixstr
		return d.text(uint64(c & 0x1f))
	case c == 0xc0:
		return nil, nil
	case c == 0xc2, c == 0xc3:
		return c == 0xc3, nil
	case c >= 0xcc && c <= 0xcf: // uint 8 to 64
		n, err := d.number(1 << (c - 0xcc))
		return int64(n), err
	case c >= 0xd0 && c <= 0xd3: // int 8 to 64
		size := uint64(1) << (c - 0xd0)
		n, err := d.number(size)
		unused := 64 - 8*size
		return int64(n<<unused) >> unused, err
	case c >= 0xd9 && c <= 0xdb: // str 8 to 32
		n, err := d.number(1 << (c - 0xd9))
		if err != nil {
			return nil, err
		}
		return d.text(n)
	case c == 0xdc, c == 0xdd: // array 16 and 32
		n, err := d.number(2 << (c - 0xdc))
		if err != nil {
			return nil, err
		}
		return d.array(n, depth)
	case c == 0xde, c == 0xdf: // map 16 and 32
		n, err := d.number(2 << (c - 0xde))
		if err != nil {
			return nil, err
		}
		return d.mapping(n, depth)
	case c >= 0xe0: // negative fixint
		return int64(int8(c)), nil
	default:
		return nil, fmt.Errorf("a value of the unknown kind %#x", c)
	}
}

func (d *unpacker) text(n uint64) (any, error) {
	b, err := d.take(n)
	return string(b), err
}

func (d *unpacker) array(n uint64, depth int) (any, error) {
	list := []any{} // not made as long as n: that may be a lie
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (d *unpacker) mapping(n uint64, depth int) (any, error) {
	m := map[string]any{}
	for range n {
		key, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a key is %v, not a string", key)
		}
		if m[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return m, nil
}
