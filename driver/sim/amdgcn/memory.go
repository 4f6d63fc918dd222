package amdgcn

import (
	"encoding/binary"
	"math/bits"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// address is how an instruction finds the memory that its lanes access.
type address struct {
	space simt.Space
	// vector is the register with a lane's part of the address, or -1; wide says that
	// it is two.
	vector int
	wide   bool
	// scalar is the part that all share, of fromNull where there is none.
	scalar source
	offset int64
	// descriptor is the first of the four registers of a buffer, or -1. Then index says
	// that the vector has an index, or first an index, and then with offset an offset.
	descriptor     int
	index, hasBoth bool
}

// use tells the wait counters what the address reads.
func (a *address) use(v *simt.Wavefront) {
	if !v.Waiting() {
		return
	}
	if a.vector >= 0 {
		n := 1
		if a.wide || a.hasBoth {
			n = 2
		}
		v.UseV(a.vector, n)
	}
	a.scalar.use(v)
	if a.descriptor >= 0 {
		v.UseS(a.descriptor, 4)
	}
}

// defined reports an address that is not.
func (a *address) defined(v *simt.Wavefront, m uint64) {
	if v.Lost == nil {
		return
	}
	bad := uint64(0)
	if a.vector >= 0 {
		bad = v.Lost[a.vector]
		if a.wide || a.hasBoth {
			bad |= v.Lost[a.vector+1]
		}
	}
	if bad &= m; bad != 0 {
		v.Undefined(bits.TrailingZeros64(bad), "the address depends on v%d, which is not defined in lanes 0x%x", a.vector, bad)
	}
	if a.scalar.where == fromS && a.scalar.undef(v, 0) != 0 {
		v.Undefined(0, "the address depends on s%d, which is not defined", a.scalar.reg)
	}
	for i := range 4 {
		if a.descriptor >= 0 && v.UndefinedS(a.descriptor+i) != 0 {
			v.Undefined(0, "the buffer descriptor depends on s%d, which is not defined", a.descriptor+i)
		}
	}
}

// find fills in the addresses of the lanes of m.
func (a *address) find(v *simt.Wavefront, m uint64, out *[simt.MaxLanes]uint64) {
	a.use(v)
	a.defined(v, m)
	base := uint64(a.offset)
	if a.scalar.where != fromNull {
		base += a.scalar.raw(v, 0)
	}
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		x := base
		if a.vector >= 0 {
			x += uint64(v.V[a.vector*v.Lanes+l])
			if a.wide {
				x += uint64(v.V[(a.vector+1)*v.Lanes+l]) << 32
			}
		}
		if a.space == simt.SpaceShared || a.space == simt.SpaceLocal {
			x = uint64(uint32(x))
		}
		out[l] = x
	}
}

// memop is a load or store of the lanes.
type memop struct {
	typ     memoryType
	addr    address
	reg     int // of the data
	write   bool
	align   int
	counter []simt.WaitCounter
	// poll says that the access sees what others write.
	poll bool
	// toShared has a load write to shared memory, see share.
	toShared bool
	// inOrder has a load write its registers after all that older loads write.
	inOrder bool
}

func (p *memop) do(v *simt.Wavefront) {
	active := v.Mask() // accesses change it
	var to *copied
	switch {
	case p.toShared:
		to = new(copied)
	case p.inOrder:
		v.OverwriteV(simt.WaitLoad, p.reg, p.typ.regs())
	default:
		v.UseV(p.reg, p.typ.regs())
	}
	if p.poll {
		v.Poll()
	}
	if p.addr.descriptor >= 0 {
		p.buffer(v, to)
	} else {
		acc := p.access()
		var addr [simt.MaxLanes]uint64
		acc.Mask, acc.Addr = active, &addr
		p.addr.find(v, active, &addr)
		p.move(v, &acc, 0, to)
	}
	if to != nil && !v.Stopped() {
		p.share(v, active, to)
	}
	p.issue(v)
}

func (p *memop) access() simt.WavefrontAccess {
	return simt.WavefrontAccess{Space: p.addr.space, Size: p.typ.size, Align: p.align}
}

// issue counts the access at the wait counters.
func (p *memop) issue(v *simt.Wavefront) {
	n := p.typ.regs()
	if p.write || p.toShared {
		n = 0
	}
	for _, c := range p.counter {
		v.Issue(c, false, p.reg, n, len(p.counter) > 1, p.write && p.addr.space == simt.SpaceShared)
	}
}

// copied is what a copy to shared memory has for each lane.
type copied [simt.MaxLanes][16]byte

// move does an access to part of what the lanes access, from byte at on; a copy's goes to to.
func (p *memop) move(v *simt.Wavefront, acc *simt.WavefrontAccess, at int, to *copied) {
	t := p.typ
	if at != 0 || acc.Size != t.size {
		t = memoryType{size: acc.Size}
	}
	reg := p.reg + at/4
	switch {
	case p.write:
		v.Store(acc, func(l int, b []byte) uint64 { return t.store(v, reg, l, b) })
	case to != nil:
		v.Load(acc, func(l int, b []byte, _ uint64) { copy(to[l][at:], b) })
	default:
		v.Load(acc, func(l int, b []byte, undef uint64) { t.load(v, reg, l, b, undef) })
	}
}

// share writes what a copy has to shared memory: whole words, those of the active lanes,
// at M0 + the offset + the lane's number times the size. Lanes beyond the records of a
// buffer write zeros.
func (p *memop) share(v *simt.Wavefront, active uint64, from *copied) {
	v.UseS(regM0, 1)
	if v.UndefinedS(regM0) != 0 {
		v.Undefined(0, "the address in shared memory depends on m0, which is not defined")
	}
	size := max(4, p.typ.size)
	base := int64(v.S[regM0]&m0Shared) + p.addr.offset
	var addr [simt.MaxLanes]uint64
	for l := range addr {
		addr[l] = uint64(base + int64(l*size))
	}
	acc := simt.WavefrontAccess{Space: simt.SpaceShared, Size: size, Align: 4, Mask: active, Addr: &addr}
	v.CopyToShared(&acc, func(l int, b []byte) {
		if p.typ.size >= 4 {
			copy(b, from[l][:])
			return
		}
		x := word(from[l][:], p.typ.size)
		if p.typ.sign {
			cut := 64 - 8*p.typ.size
			x = uint64(int64(x<<cut) >> cut)
		}
		putWord(b, 4, x)
	})
}

// m0Shared are the bits of M0 that are an address in shared memory.
const m0Shared = 0x3fffc

// buffer accesses memory through a descriptor. What lies beyond its records reads as
// zero and is not written, each dword by itself.
func (p *memop) buffer(v *simt.Wavefront, to *copied) {
	m := v.Mask()
	var addr [simt.MaxLanes]uint64
	if v.S[p.addr.descriptor+3]&addThread != 0 {
		acc := p.access()
		acc.Space, acc.Mask, acc.Addr = simt.SpaceLocal, m, &addr
		p.addr.private(v, m, &addr)
		p.move(v, &acc, 0, to)
		return
	}
	whole, part := p.addr.records(v, m, p.typ.size, &addr)
	if v.Stopped() {
		return
	}
	if zero := m &^ whole; zero != 0 && !p.write && !p.toShared {
		var none [16]byte
		for k := zero; k != 0; k &= k - 1 {
			p.typ.load(v, p.reg, bits.TrailingZeros64(k), none[:p.typ.size], 0)
		}
	}
	if whole != 0 {
		acc := p.access()
		acc.Mask, acc.Addr = whole, &addr
		p.move(v, &acc, 0, to)
	}
	for i := 0; 4*i < p.typ.size && !v.Stopped(); i++ {
		if part[i] == 0 {
			continue
		}
		acc := simt.WavefrontAccess{Space: p.addr.space, Size: min(4, p.typ.size), Align: p.align, Mask: part[i], Addr: new([simt.MaxLanes]uint64)}
		for l := range acc.Addr {
			acc.Addr[l] = addr[l] + uint64(4*i)
		}
		p.move(v, &acc, 4*i, to)
	}
}

// private finds the offsets in the lanes' local memory. The scalar part is for all lanes
// together.
func (a *address) private(v *simt.Wavefront, m uint64, out *[simt.MaxLanes]uint64) {
	a.use(v)
	a.defined(v, m)
	base := uint64(a.offset)
	if a.scalar.where != fromNull {
		base += a.scalar.raw(v, 0) / uint64(v.Lanes)
	}
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		out[l] = base
		if a.vector >= 0 {
			out[l] += uint64(v.V[a.vector*v.Lanes+l])
		}
	}
}

// allRecords is a number of records that leaves bounds to the allocation: such descriptors
// are of what the program knows no size of, and 2 GiB is as far as an offset may lead.
// Lanes that a mask leaves out have an offset that is beyond it, but not by 1 GiB:
// farOffset and more is what a negative offset comes to.
const (
	allRecords = 1<<31 - 2
	farOffset  = 3 << 30
)

// records finds the addresses of a buffer's lanes: those of whole access records alone,
// those of part[i] have dword i inside but not all.
func (a *address) records(v *simt.Wavefront, m uint64, size int, addr *[simt.MaxLanes]uint64) (whole uint64, part [4]uint64) {
	a.use(v)
	a.defined(v, m)
	d := v.S[a.descriptor : a.descriptor+4]
	base := uint64(d[0]) | uint64(d[1]&0xffff)<<32
	stride := uint64(d[1] >> 16 & 0x3fff)
	limit := int64(d[2])
	so := int64(0)
	if a.scalar.where != fromNull {
		so = int64(uint32(a.scalar.raw(v, 0)))
	}
	structured := a.index && stride != 0
	unbounded := limit >= allRecords && !structured
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		index, off := uint64(0), uint64(a.offset)
		if a.vector >= 0 {
			x := uint64(v.V[a.vector*v.Lanes+l])
			switch {
			case a.hasBoth:
				index, off = x, off+uint64(v.V[(a.vector+1)*v.Lanes+l])
			case a.index:
				index = x
			default:
				off = uint64(uint32(off + x)) // the sum has 32 bits
				if unbounded && off >= farOffset {
					v.Fault(simt.FindBounds, l, "the offset 0x%x from a buffer's base is negative, or beyond 3 GiB", off)
				}
			}
		}
		addr[l] = base + index*stride + off + uint64(so)
		if structured {
			if int64(index) < limit {
				whole |= 1 << l
			}
			continue
		}
		if int64(off)+int64(size)+so <= limit {
			whole |= 1 << l
			continue
		}
		for i := 0; 4*i < size; i++ {
			if int64(off)+int64(4*i+min(4, size))+so <= limit {
				part[i] |= 1 << l
			}
		}
	}
	return whole, part
}

// twoAddr is ds_read2 and ds_write2: two places at one address.
type twoAddr struct{ ops [2]memop }

func (p *twoAddr) do(v *simt.Wavefront) {
	for i := range p.ops {
		op := &p.ops[i]
		v.UseV(op.reg, op.typ.regs())
	}
	// Both addresses are found before either load writes: they may write the register
	// that has it.
	var addr [2][simt.MaxLanes]uint64
	for i := range p.ops {
		p.ops[i].addr.find(v, v.Mask(), &addr[i])
	}
	for i := range p.ops {
		acc := p.ops[i].access()
		acc.Mask, acc.Addr = v.Mask(), &addr[i]
		p.ops[i].move(v, &acc, 0, nil)
		if v.Stopped() {
			return
		}
	}
	n, op := 2*p.ops[0].typ.regs(), &p.ops[0]
	if op.write {
		n = 0
	}
	v.Issue(op.counter[0], false, op.reg, n, false, op.write)
}

// atomic is an atomic of the lanes.
type atomic struct {
	row     atomicRow
	addr    address
	x, cmp  int // registers
	dst     int // or -1
	counter []simt.WaitCounter
}

func (p *atomic) do(v *simt.Wavefront) {
	n := p.row.size / 4
	m := v.Mask()
	for _, r := range [...]int{p.x, p.cmp, p.dst} {
		if r < 0 {
			continue
		}
		v.UseV(r, n)
	}
	var addr [simt.MaxLanes]uint64
	inside := m
	if p.addr.descriptor >= 0 {
		if inside, _ = p.addr.records(v, m, p.row.size, &addr); v.Stopped() {
			return
		}
	} else {
		p.addr.find(v, m, &addr)
	}
	get := func(r, l int) uint64 {
		if r < 0 {
			return 0
		}
		x := uint64(v.V[r*v.Lanes+l])
		if n == 2 {
			x |= uint64(v.V[(r+1)*v.Lanes+l]) << 32
		}
		return x
	}
	put := func(l int, x uint64) {
		for i := range n {
			if p.dst >= 0 {
				v.SetV(p.dst+i, l, uint32(x>>(32*i)), 0)
			}
		}
	}
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		for i := range n {
			if v.UndefinedV(p.x+i, l) != 0 || p.cmp >= 0 && v.UndefinedV(p.cmp+i, l) != 0 {
				v.Undefined(l, "the operand of an atomic is not defined in lane %d", l)
			}
		}
		if inside>>l&1 == 0 {
			put(l, 0)
		}
	}
	acc := simt.WavefrontAccess{Space: p.addr.space, Size: p.row.size, Align: p.row.size, Mask: inside, Addr: &addr}
	if inside != 0 {
		v.Atomic(&acc, func(l int, b []byte) {
			old := word(b, p.row.size)
			putWord(b, p.row.size, p.row.fn(old, get(p.x, l), get(p.cmp, l)))
			put(l, old)
		})
	}
	regs := n
	if p.dst < 0 {
		regs = 0
	}
	for _, c := range p.counter {
		v.Issue(c, false, max(p.dst, 0), regs, len(p.counter) > 1, p.addr.space == simt.SpaceShared)
	}
}

// smem is a scalar load.
type smem struct {
	size    int
	sign    bool   // of less than a word: it is extended by the sign
	base    source // of 64 bits
	off     source
	offset  int64
	records bool // the base is a buffer's
	dst     int
	counter simt.WaitCounter
}

func (p *smem) do(v *simt.Wavefront) {
	n := (p.size + 3) / 4
	p.base.use(v)
	p.off.use(v)
	v.UseS(p.dst, n)
	if p.base.undef(v, 0) != 0 || p.off.undef(v, 0) != 0 {
		v.Undefined(0, "the address of a scalar load is not defined")
	}
	off := uint64(p.offset)
	if p.off.where != fromNull {
		off += p.off.raw(v, 0)
	}
	at := p.base.raw(v, 0)
	var addr [simt.MaxLanes]uint64
	acc := simt.WavefrontAccess{Space: simt.SpaceGeneric, Size: p.size, Align: min(p.size, 4), Mask: 1, Addr: &addr}
	if p.records {
		at &= 1<<48 - 1
		if int64(off)+int64(p.size) > int64(v.S[p.base.reg+2]) {
			for i := range n {
				v.SetS(p.dst+i, 0, 0)
			}
			return
		}
	}
	addr[0] = (at + off) &^ uint64(acc.Align-1)
	v.Load(&acc, func(_ int, b []byte, undef uint64) {
		if p.size < 4 {
			x, u := word(b, p.size), byteMask(undef)
			if p.sign {
				cut := 64 - 8*p.size
				x, u = uint64(int64(x<<cut)>>cut), uint64(int64(u<<cut)>>cut)
			}
			v.SetS(p.dst, uint32(x), uint32(u))
			return
		}
		for i := range n {
			v.SetS(p.dst+i, binary.LittleEndian.Uint32(b[4*i:]), uint32(byteMask(undef>>(4*i)&15)))
		}
	})
	v.Issue(p.counter, true, p.dst, n, true, false)
}
