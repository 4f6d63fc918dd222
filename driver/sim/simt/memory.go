package simt

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tritonc/tritonc/core/diag"
)

// Generic addresses are cut into windows of 64 GiB: the window's number tells
// the space, and for global memory the buffer, so that finding a buffer costs a
// shift and an index, and an index that runs wild lands in no buffer at all.
const (
	windowShift  = 36
	windowMask   = 1<<windowShift - 1
	windowShared = 1
	windowLocal  = 2
	windowParam  = 3
	windowConst  = 4
	windowFirst  = 16 // the first window of global memory
)

// Memory is a device's global memory.
type Memory struct {
	mu      sync.Mutex
	buffers []*Buffer // by window
	freed   []int     // windows whose buffers were freed, the oldest first
	used    int64
	limit   int64
}

// maxFreed is how many freed buffers are remembered, so that accesses to them are
// reported. The window of the oldest is then taken again.
const maxFreed = 1024

// NewMemory makes an empty global memory of limit bytes.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Buffer is one allocation of global memory.
type Buffer struct {
	// Data is the contents; the host may read and write it between launches.
	Data []byte
	// Name shows in reports.
	Name string
	addr uint64
	// known marks the bytes that were ever written, 32 to an element, which blocks
	// on several cores may do at once; nil where nothing is left to look for, or
	// reads of unwritten memory are not checked.
	known []uint32
	owner []uint32 // see conflict.go
	freed bool
}

// Addr is the buffer's generic address.
func (b *Buffer) Addr() uint64 { return b.addr }

// MarkWritten records that the host wrote n bytes at off, while no kernel runs.
func (b *Buffer) MarkWritten(off, n int) {
	if n == len(b.Data) {
		b.known = nil
	}
	b.wrote(off, n)
}

// wrote records a write of n bytes at off by a kernel.
func (b *Buffer) wrote(off, n int) {
	if b.known == nil {
		return
	}
	for end := off + n; off < end; {
		mask, next := knownMask(off, end)
		if p := &b.known[off>>5]; atomic.LoadUint32(p)&mask != mask {
			atomic.OrUint32(p, mask)
		}
		off = next
	}
}

// knownMask is the bits of Buffer.known for [off, end), as far as one element goes,
// and where the next begins.
func knownMask(off, end int) (mask uint32, next int) {
	next = min(off&^31+32, end)
	return uint32(1<<(next-off)-1) << (off & 31), next
}

// markAll records a write of size bytes by every lane of v.
func (b *Buffer) markAll(w *warp, v *view, size int) {
	if v.dense {
		b.wrote(w.offs[0], size*w.n)
		return
	}
	for m := v.mask; m != 0; m &= m - 1 {
		b.wrote(w.offs[bits.TrailingZeros64(m)], size)
	}
}

// allWritten reports whether the bytes [off, off+n) were all written.
func (b *Buffer) allWritten(off, n int) bool { return b.unwritten(off, n) < 0 }

// unwritten returns the first byte of [off, off+n) never written, or -1.
func (b *Buffer) unwritten(off, n int) int {
	for end := off + n; off < end; {
		mask, next := knownMask(off, end)
		if missing := mask &^ atomic.LoadUint32(&b.known[off>>5]); missing != 0 {
			return off&^31 + bits.TrailingZeros32(missing)
		}
		off = next
	}
	return -1
}

// Alloc makes a buffer of n bytes. With track, reads of bytes that nobody wrote
// are reported.
func (m *Memory) Alloc(name string, n int, track bool) (*Buffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < 0 || int64(n) > windowMask {
		return nil, fmt.Errorf("allocation of %s is out of range", diag.Count(n, "byte"))
	}
	if m.used+int64(n) > m.limit {
		return nil, fmt.Errorf("allocation of %s: %d of %s of device memory are in use", diag.Count(n, "byte"), m.used, diag.Count(m.limit, "byte"))
	}
	m.used += int64(n)
	b := &Buffer{
		Data: make([]byte, n),
		Name: name,
	}
	if track {
		b.known = make([]uint32, (n+31)/32)
	}
	window := len(m.buffers)
	if len(m.freed) > maxFreed {
		window, m.freed = m.freed[0], m.freed[1:]
		m.buffers[window] = b
	} else {
		m.buffers = append(m.buffers, b)
	}
	b.addr = uint64(windowFirst+window) << windowShift
	return b, nil
}

// Free gives a buffer back; its addresses are not used again for a long time, so that
// later accesses are reported.
func (m *Memory) Free(b *Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.freed {
		return
	}
	b.freed = true
	m.used -= int64(len(b.Data))
	b.Data, b.known, b.owner = nil, nil, nil
	m.freed = append(m.freed, int(b.addr>>windowShift)-windowFirst)
}

// at returns the buffer whose window holds addr, or nil.
func (m *Memory) at(addr uint64) *Buffer {
	w := addr>>windowShift - windowFirst
	if w >= uint64(len(m.buffers)) {
		return nil
	}
	return m.buffers[w]
}

// describe says what lies around addr, for reports.
func (m *Memory) describe(addr uint64) string {
	// A negative offset from a buffer falls into the end of the window before.
	if next := m.at(addr + 1<<(windowShift-1)); next != nil && next != m.at(addr) && !next.freed {
		return fmt.Sprintf("%s before buffer %s", diag.Count(next.addr-addr, "byte"), next.Name)
	}
	if b := m.at(addr); b != nil {
		if b.freed {
			return fmt.Sprintf("in buffer %s, which was freed", b.Name)
		}
		return fmt.Sprintf("byte %d of buffer %s, which has %s", addr-b.addr, b.Name, diag.Count(len(b.Data), "byte"))
	}
	return "in no buffer"
}

// At returns the buffer whose addresses addr is among, or nil. Those of a buffer go on
// beyond its end, and belong to no other.
func (m *Memory) At(addr uint64) *Buffer {
	if b := m.at(addr); b != nil && !b.freed {
		return b
	}
	return nil
}

// Describe says what lies around addr, for reports.
func (m *Memory) Describe(addr uint64) string { return m.describe(addr) }

// Unwritten returns the first byte of [off, off+n) that nobody has written, or -1. Where
// the device does not track them, all are.
func (b *Buffer) Unwritten(off, n int) int {
	if b.known == nil {
		return -1
	}
	return b.unwritten(off, n)
}

// Wrote records that a kernel wrote n bytes at off.
func (b *Buffer) Wrote(off, n int) { b.wrote(off, n) }
