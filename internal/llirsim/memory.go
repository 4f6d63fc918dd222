package llirsim

import (
	"bytes"
	"sort"
)

// The address spaces of package lower, and the stack's of LLVM's GPU targets.
const (
	globalSpace   = 1
	sharedSpace   = 3
	constantSpace = 4
	privateSpace  = 5
)

// Memory is global memory: buffers far apart.
type Memory struct{ buffers []*Buffer }

// Buffer is one allocation.
type Buffer struct {
	Address uint64
	Bytes   []byte
}

// distance is how far buffers begin from one another.
const distance = 1 << 32

// First is the address of the first buffer of a Memory.
const First = distance

// Alloc adds a buffer that holds the given bytes, not a copy of them.
func (m *Memory) Alloc(b []byte) *Buffer {
	buf := &Buffer{Address: uint64(len(m.buffers)+1) * distance, Bytes: b}
	m.buffers = append(m.buffers, buf)
	return buf
}

// at is n bytes of global memory.
func (m *Memory) at(address uint64, n int) []byte {
	i := sort.Search(len(m.buffers), func(i int) bool { return m.buffers[i].Address > address }) - 1
	if i >= 0 {
		b := m.buffers[i]
		if off := address - b.Address; off+uint64(n) <= uint64(len(b.Bytes)) {
			return b.Bytes[off : off+uint64(n)]
		}
	}
	fail("%d bytes at address %#x are in no buffer", n, address)
	return nil
}

// sharedMemory is that of one program. Between two barriers no thread may touch
// what another one writes, but by atomic operations.
type sharedMemory struct {
	bytes []byte
	// reader and writer are, by byte, 1 + the thread that read or wrote it since
	// the last barrier; several is many readers.
	reader, writer []int32
	touched        bool
}

const several = -1

func newShared(n int) sharedMemory {
	return sharedMemory{
		bytes:  bytes.Repeat([]byte{0xFF}, n), // NaNs
		reader: make([]int32, n), writer: make([]int32, n),
	}
}

func (s *sharedMemory) barrier() {
	if s.touched {
		clear(s.reader)
		clear(s.writer)
		s.touched = false
	}
}

func (s *sharedMemory) at(address uint64, n int) []byte {
	if address+uint64(n) > uint64(len(s.bytes)) {
		fail("%d bytes at %#x of shared memory, which has %d", n, address, len(s.bytes))
	}
	return s.bytes[address : address+uint64(n)]
}

func (s *sharedMemory) read(t *Thread, address uint64, n int) []byte {
	b, me := s.at(address, n), int32(t.Index+1)
	s.touched = true
	for i := address; i < address+uint64(n); i++ {
		if w := s.writer[i]; w != 0 && w != me {
			fail("thread %d reads byte %d of shared memory, which thread %d wrote, without a barrier between", t.Index, i, w-1)
		}
		if s.reader[i] == 0 {
			s.reader[i] = me
		} else if s.reader[i] != me {
			s.reader[i] = several
		}
	}
	return b
}

func (s *sharedMemory) write(t *Thread, address uint64, n int) []byte {
	b, me := s.at(address, n), int32(t.Index+1)
	s.touched = true
	for i := address; i < address+uint64(n); i++ {
		if w := s.writer[i]; w != 0 && w != me {
			fail("threads %d and %d write byte %d of shared memory without a barrier between", w-1, t.Index, i)
		}
		if r := s.reader[i]; r != 0 && r != me {
			fail("thread %d writes byte %d of shared memory, which another one read, without a barrier between", t.Index, i)
		}
		s.writer[i] = me
	}
	return b
}

// bytesAt is the memory of an access in an address space.
func (t *Thread) bytesAt(space int, address uint64, n int, write, atomic bool) []byte {
	switch {
	case space == globalSpace || space == constantSpace || space == 0:
		return t.p.mem.at(address, n)
	case space == sharedSpace && atomic:
		return t.p.shared.at(address, n)
	case space == sharedSpace && write:
		return t.p.shared.write(t, address, n)
	case space == sharedSpace:
		return t.p.shared.read(t, address, n)
	case space == privateSpace && address+uint64(n) <= uint64(len(t.locals)):
		return t.locals[address : address+uint64(n)]
	}
	fail("%d bytes at %#x of address space %d", n, address, space)
	return nil
}
