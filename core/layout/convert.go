package layout

import (
	"fmt"
	"math/bits"
	"slices"
)

// Means is how far values travel when a tensor changes its distributed layout.
type Means uint8

const (
	Nothing      Means = iota // every value is where it must be
	Registers                 // threads rename their own registers
	Shuffles                  // values cross lanes of one warp
	SharedMemory              // values cross warps of one CTA
	Cluster                   // values cross CTAs
)

func (m Means) String() string {
	return [...]string{"nothing", "registers", "shuffles", "shared memory", "cluster"}[m]
}

// Conversion is a plan to bring a tensor from one distributed layout to
// another with the nearest means.
type Conversion struct {
	Means Means
	// Source maps (register, lane, warp, block) of the result to the place of
	// the operand that holds the same element. Of replicas it takes the
	// nearest: the same block, warp and lane whenever Means allows.
	Source Layout
}

// hardware lists the inputs of a distributed layout from near to far.
var hardware = [...]Dim{Register, Lane, Warp, Block}

// onHardware is l with all hardware inputs, from near to far.
func (l Layout) onHardware() Layout {
	for _, h := range hardware {
		if !hasAxis(l.ins, h) {
			l.ins = append(slices.Clip(l.ins), Axis{h, 0})
		}
	}
	return l.TransposeIns(hardware[:]...)
}

// Convert plans the conversion of a tensor from src to dst, which have the
// same outputs. src holds every element.
func Convert(src, dst Layout) Conversion {
	if !slices.Equal(src.outs, dst.outs) {
		panic(fmt.Sprintf("BUG: converting %v to %v", src.outs, dst.outs))
	}
	from := sourceOf(src.onHardware())
	d := dst.onHardware()
	c := Conversion{Source: Layout{ins: d.ins, outs: from.ins}}
	for k, h := range hardware {
		for i, want := range d.Columns(h) {
			x, far := from.nearest(k, i, want)
			c.Means = max(c.Means, far)
			c.Source.cols = append(c.Source.cols, x)
		}
	}
	if c.Means == Nothing && !c.Source.isIdentity() {
		c.Means = Registers // the result has fewer registers
	}
	return c
}

// A source is the operand of a conversion with, for each k, the span of what
// moving along the hardware inputs 0..k reaches.
type source struct {
	Layout
	reach [len(hardware)]span
}

func sourceOf(l Layout) *source {
	s := &source{Layout: l}
	for k, h := range hardware {
		lo, n := axisRange(l.ins, h)
		for _, c := range l.cols[:lo+n] {
			s.reach[k].add(c)
		}
	}
	return s
}

// nearest finds the place that bit i of the result's k-th hardware input adds,
// and how far it is. First it stays at the same index of that input and moves
// along nearer ones only; then it gives up that index.
func (s *source) nearest(k, i int, want uint64) (x uint64, far Means) {
	if lo, n := axisRange(s.ins, hardware[k]); i < n {
		if s.cols[lo+i] == want {
			return 1 << (lo + i), Nothing
		}
		for near := range k {
			if rest, made := s.reach[near].reduce(want ^ s.cols[lo+i]); rest == 0 {
				return made | 1<<(lo+i), Registers + Means(near)
			}
		}
	}
	for near := range hardware {
		if rest, made := s.reach[near].reduce(want); rest == 0 {
			return made, Registers + Means(max(near, k))
		}
	}
	panic("BUG: converting from a layout that does not hold every element: " + s.String())
}

func (l Layout) isIdentity() bool {
	if !slices.Equal(l.ins, l.outs) {
		return false
	}
	for i, c := range l.cols {
		if c != 1<<i {
			return false
		}
	}
	return true
}

// Banks describes shared memory: Words words of WordBytes each are served at
// once, each from a bank of its own; one lane moves at most VecBytes at once.
type Banks struct {
	WordBytes int
	Words     int
	VecBytes  int
}

// Staging is a shared-memory arrangement through which a tensor passes from
// one layout to another.
type Staging struct {
	// Offset maps the element offset to the tensor; it is injective.
	Offset Layout
	// Vec is the number of elements that a thread can move at once, at Vec-aligned
	// offsets, on both sides; on one of them it may be more, up to a word.
	Vec int
}

// Stage computes an arrangement for which neither the writes from src nor the
// reads to dst conflict in banks, elemBytes being the size of an element.
// Both layouts must agree in what each block holds. Where threads do not begin at
// multiples of the vector that both sides have in common, the vector is shorter
// and some accesses may conflict.
//
// Offsets are split, from low to high, into a vector, a bank and a row. The
// vector is what registers of both sides have in common. Lanes of one access
// conflict when they differ in the row alone; so the rows are chosen as a
// subspace that meets neither the lanes of src nor those of dst. Sums a+b of
// lanes a of src alone and b of dst alone make such a subspace, together with
// what no lane reaches.
func Stage(src, dst Layout, elemBytes int, b Banks) Staging {
	vec := intersect(src.Columns(Register), dst.Columns(Register))
	vec = vec[:min(len(vec), log2(max(1, b.VecBytes/elemBytes)))]
	s := arrange(src, dst, vec, elemBytes, b)
	s.Vec = min(s.alignment(src), s.alignment(dst))
	return s
}

// StageRows computes an arrangement in which the first registers of rows, as many as
// make n elements, lie side by side. Vec is the number of elements that a thread of
// other moves at once. It reports false where the threads of other that share a row
// are not neighbours: those of other rows would conflict with them.
func StageRows(rows, other Layout, n, elemBytes int, b Banks) (Staging, bool) {
	row := rows.Columns(Register)[:log2(n)]
	within := spanOf(row...)
	if within.rank < len(row) {
		return Staging{}, false
	}
	s := arrange(rows, other, row, elemBytes, b)
	held := 0
	for held < len(row) && containsCol(other.Columns(Register), row[held]) {
		held++
	}
	s.Vec = 1 << held
	s.Vec = s.alignment(other)
	lanes := other.Columns(Lane)
	shared := log2(n / s.Vec)
	return s, len(lanes) >= shared && !slices.ContainsFunc(lanes[:shared], func(c uint64) bool {
		return c == 0 || !within.contains(c)
	})
}

// StageWide computes an arrangement as Stage does, in which a thread of wide moves n
// elements at once, more than the Vec that both sides have in common: neighbouring lanes
// of narrow have the others. It reports false where there is none without conflicts.
func StageWide(wide, narrow Layout, elemBytes int, b Banks) (s Staging, n int, ok bool) {
	regs, lanes := wide.Columns(Register), narrow.Columns(Lane)
	vec := intersect(regs, narrow.Columns(Register))
	most := log2(max(1, b.VecBytes/elemBytes))
	common := min(len(vec), most)
	vec = vec[:common]
	// The banks serve so many lanes of narrow at once; those of others would conflict.
	at := log2(max(1, b.WordBytes*b.Words/(elemBytes<<common)))
	within := spanOf(vec...)
	for _, c := range lanes[:min(at, len(lanes))] {
		if len(vec) < most && containsCol(regs, c) && within.add(c) {
			vec = append(vec, c)
		}
	}
	if len(vec) == common {
		return Staging{}, 0, false
	}
	s = arrange(wide, narrow, vec, elemBytes, b)
	n = s.Vec
	if s.alignment(wide) < n {
		return Staging{}, 0, false
	}
	s.Vec = 1 << common
	return s, n, s.alignment(narrow) == s.Vec
}

// arrange computes the arrangement of Stage whose vectors are given.
func arrange(src, dst Layout, vec []uint64, elemBytes int, b Banks) Staging {
	all := spanOf()
	for _, h := range hardware[:3] {
		for _, c := range src.Columns(h) {
			all.add(c)
		}
	}
	// Narrow elements share a word: lanes that differ within it do not
	// conflict. The word is filled up with what the lanes of one side reach and
	// the other has in registers, which it then moves together, before what lanes
	// reach otherwise.
	word := slices.Clone(vec)
	filled := spanOf(word...)
	for _, c := range slices.Concat(
		inBoth(dst.Columns(Register), src.Columns(Lane)), inBoth(src.Columns(Register), dst.Columns(Lane)),
		src.Columns(Lane), dst.Columns(Lane),
	) {
		if elemBytes<<len(word) >= b.WordBytes {
			break
		}
		if filled.add(c) {
			word = append(word, c)
		}
	}
	groups := max(1, b.WordBytes*b.Words/(elemBytes<<len(word)))
	a, c := wave(src, word, groups), wave(dst, word, groups)
	common := spanOf(word...)
	for _, v := range intersect(slices.Concat(word, a), slices.Concat(word, c)) {
		common.add(v)
	}
	onlyA, onlyC := outside(common, a), outside(common, c)
	rows := make([]uint64, 0, 64)
	for i := range min(len(onlyA), len(onlyC)) {
		rows = append(rows, onlyA[i]^onlyC[i])
	}
	lanes := spanOf(slices.Concat(word, a, c)...)
	for i := range all.rows {
		if v := all.rows[i]; v != 0 && lanes.add(v) {
			rows = append(rows, v)
		}
	}
	rowCount := max(0, all.rank-len(word)-log2(groups))
	rows = rows[:min(rowCount, len(rows))]
	// Banks are whatever completes the space.
	cols := slices.Clone(word)
	done := spanOf(slices.Concat(word, rows)...)
	for _, v := range slices.Concat(a, c, all.rows[:]) {
		if v != 0 && done.add(v) {
			cols = append(cols, v)
		}
	}
	cols = append(cols, rows...)
	return Staging{
		Offset: Layout{ins: []Axis{{Offset, len(cols)}}, outs: src.outs, cols: cols},
		Vec:    1 << len(vec),
	}
}

// alignment is the greatest part of a vector at a multiple of whose size every
// thread begins. One that begins in the middle of a vector has its elements in
// another order than its registers.
func (s Staging) alignment(l Layout) int {
	vec := s.Vec
	offs := s.Offsets(l)
	for _, h := range []Dim{Lane, Warp} {
		for _, c := range offs.Columns(h) {
			for c&uint64(vec-1) != 0 {
				vec /= 2
			}
		}
	}
	return vec
}

// wave is what the lanes of one memory access reach beyond the word: groups of
// the lowest lane bits.
func wave(l Layout, word []uint64, groups int) []uint64 {
	s := spanOf(word...)
	var reached []uint64
	for _, c := range l.Columns(Lane) {
		if 1<<len(reached) >= groups {
			break
		}
		if s.add(c) {
			reached = append(reached, c)
		}
	}
	return reached
}

// outside keeps the vectors that are independent of s and of one another.
func outside(s *span, vs []uint64) []uint64 {
	grown := *s
	var out []uint64
	for _, v := range vs {
		if grown.add(v) {
			out = append(out, v)
		}
	}
	return out
}

// inBoth are the columns of a that b has, too.
func inBoth(a, b []uint64) []uint64 {
	var both []uint64
	for _, c := range a {
		if c != 0 && containsCol(b, c) {
			both = append(both, c)
		}
	}
	return both
}

// intersect is a basis of the intersection of the spans of a and b: vectors of
// both that are equal first, in a's order.
func intersect(a, b []uint64) []uint64 {
	var both []uint64
	found := new(span)
	for _, v := range a {
		if v != 0 && containsCol(b, v) && found.add(v) {
			both = append(both, v)
		}
	}
	s := new(span)
	for _, v := range a {
		s.add(v)
	}
	for _, v := range b {
		rest, made := s.reduce(v)
		s.add(v)
		if rest != 0 {
			continue
		}
		// v = XOR of some of a and some earlier ones of b.
		var inA uint64
		for m := made & mask(len(a)); m != 0; m &= m - 1 {
			inA ^= a[bits.TrailingZeros64(m)]
		}
		if found.add(inA) {
			both = append(both, inA)
		}
	}
	return both
}

// Offsets maps (register, lane, warp) of l to the element offset in the
// staging.
func (s Staging) Offsets(l Layout) Layout {
	c, ok := s.Offset.InvertAndCompose(l.Sub(hardware[:Block], dims(l.outs)))
	if !ok {
		panic("BUG: staging for another tensor than " + l.String())
	}
	return c
}
