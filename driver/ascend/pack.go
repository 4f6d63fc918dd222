//go:build linux

package ascend

import "encoding/binary"

// arguments is the struct that a kernel gets, as far as it is written.
type arguments []byte

// align adds bytes up to a multiple of n.
func (a *arguments) align(n int) {
	for len(*a)%n != 0 {
		*a = append(*a, 0)
	}
}

// put adds a member and returns where it is. Members have the alignment of their size, but
// at least that of four bytes.
func (a *arguments) put(value []byte) int {
	a.align(max(len(value), 4))
	at := len(*a)
	*a = append(*a, value...)
	return at
}

// address adds a pointer and returns where it is.
func (a *arguments) address(at uint64) int { return a.put(binary.LittleEndian.AppendUint64(nil, at)) }

// number adds an i32.
func (a *arguments) number(n uint32) { a.put(binary.LittleEndian.AppendUint32(nil, n)) }

// set gives a pointer another value.
func (a arguments) set(member int, at uint64) { binary.LittleEndian.PutUint64(a[member:], at) }

// end has the struct's size be a multiple of its alignment, which pointers are in each.
func (a *arguments) end() { a.align(8) }
