package layout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

const lawRuns = 300

func seeded(t *testing.T) *rand.Rand {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// randomBlocked makes a blocked encoding of the rank for numWarps warps of
// lanes lanes.
func randomBlocked(r *rand.Rand, rank, numWarps, lanes int) *Blocked {
	e := &Blocked{
		SizePerThread: make([]int, rank), ThreadsPerWarp: onesIfNil(nil, rank), WarpsPerCTA: onesIfNil(nil, rank),
		Order: r.Perm(rank),
	}
	for i := range e.SizePerThread {
		e.SizePerThread[i] = 1 << r.IntN(4)
	}
	for ; lanes > 1; lanes /= 2 {
		e.ThreadsPerWarp[r.IntN(rank)] *= 2
	}
	for ; numWarps > 1; numWarps /= 2 {
		e.WarpsPerCTA[r.IntN(rank)] *= 2
	}
	return e
}

func randomShape(r *rand.Rand, rank int) []int64 {
	s := make([]int64, rank)
	for i := range s {
		s[i] = 1 << r.IntN(7)
	}
	return s
}

func mustLinear(t *testing.T, e Encoding, shape ...int64) Layout {
	t.Helper()
	l, err := e.Linear(shape)
	if err != nil {
		t.Fatalf("%s on %v: %v", e.Mnemonic(), shape, err)
	}
	return l
}

// randomLayout has inputs Register and Lane and outputs dim0 and dim1.
func randomLayout(r *rand.Rand) Layout {
	l := Layout{
		ins:  []Axis{{Register, r.IntN(4)}, {Lane, r.IntN(4)}},
		outs: []Axis{{TensorDim(0), r.IntN(4)}, {TensorDim(1), r.IntN(4)}},
	}
	for range totalBits(l.ins) {
		l.cols = append(l.cols, r.Uint64()&mask(l.outBits()))
	}
	return l
}

func randomBijection(r *rand.Rand) Layout {
	for {
		l := randomLayout(r)
		if l.IsInvertible() {
			return l
		}
	}
}

func TestLinearity(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		l := randomLayout(r)
		x, y := r.Uint64()&mask(len(l.cols)), r.Uint64()&mask(len(l.cols))
		if l.ApplyPacked(x^y) != l.ApplyPacked(x)^l.ApplyPacked(y) {
			t.Fatalf("%v is not linear at %d, %d", l, x, y)
		}
		if got := l.PackIn(l.UnpackIn(x)...); got != x {
			t.Fatalf("pack(unpack(%d)) = %d", x, got)
		}
		if m := New(l.outs, Input{Register, l.BasesOf(Register)}, Input{Lane, l.BasesOf(Lane)}); !m.Equal(l) {
			t.Fatalf("bases of %v give %v", l, m)
		}
	}
}

func TestProductLaws(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		a, b, c := randomLayout(r), randomLayout(r), randomLayout(r)
		if p, q := Product(Product(a, b), c), Product(a, Product(b, c)); !p.Equal(q) {
			t.Fatalf("product is not associative:\n%v\n%v", p, q)
		}
		p := Product(a, b)
		q, ok := p.Divide(a)
		if !ok || !q.Equal(b) {
			t.Fatalf("(a·b)/a = %v, %v, want b = %v", q, ok, b)
		}
		// The value of a product is the tile's plus the repetition's, shifted.
		x, y := r.Uint64()&mask(len(a.cols)), r.Uint64()&mask(len(b.cols))
		xi, yi := a.UnpackIn(x), b.UnpackIn(y)
		both := []int{xi[0] | yi[0]<<a.InBits(Register), xi[1] | yi[1]<<a.InBits(Lane)}
		av, bv, pv := a.Apply(xi...), b.Apply(yi...), p.Apply(both...)
		for i := range pv {
			if pv[i] != av[i]|bv[i]<<a.outs[i].Bits {
				t.Fatalf("a·b of %v is %v; a is %v, b is %v", both, pv, av, bv)
			}
		}
	}
}

func TestDivideRefuses(t *testing.T) {
	l := Product(Identity(Register, TensorDim(0), 4), Identity(Lane, TensorDim(0), 8))
	for _, tile := range []Layout{
		Identity(Lane, TensorDim(0), 2),                                       // the tile's lanes move where l's registers do
		Identity(Register, TensorDim(0), 8),                                   // more registers than l has
		Identity(Register, TensorDim(1), 2),                                   // an output that l lacks
		New([]Axis{{TensorDim(0), 2}}, Input{Register, Bases{{2}, {1}}}),      // another order
		New([]Axis{{TensorDim(0), 3}}, Input{Register, Bases{{1}, {2}}}),      // covers what the rest needs
		Product(Identity(Register, TensorDim(0), 4), Zeros(Warp, dim0, 1<<1)), // an input that l lacks
	} {
		if q, ok := l.Divide(tile); ok {
			t.Errorf("%v / %v = %v", l, tile, q)
		}
	}
}

func TestInverseLaws(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		l := randomBijection(r)
		id := Compose(l, l.Invert())
		if !id.isIdentity() || !Compose(l.Invert(), l).isIdentity() {
			t.Fatalf("inverse of %v is %v", l, l.Invert())
		}
		m := randomLayout(r)
		if m.IsSurjective() {
			inv := m.PseudoInvert()
			if !Compose(m, inv).isIdentity() {
				t.Fatalf("pseudo-inverse of %v is %v", m, inv)
			}
			free := m.FreeMask(Register) | m.FreeMask(Lane)<<m.InBits(Register)
			for _, c := range inv.cols {
				if c&free != 0 {
					t.Fatalf("pseudo-inverse of %v uses a free bit", m)
				}
			}
		}
		n := randomLayout(r)
		n.outs = m.outs
		for i := range n.cols {
			n.cols[i] = m.ApplyPacked(r.Uint64() & mask(len(m.cols)))
		}
		c, ok := m.InvertAndCompose(n)
		if !ok || !Compose(m, c).Equal(n) {
			t.Fatalf("%v after %v is not %v", m, c, n)
		}
	}
}

// Fixing the free bits to 0 keeps every output, and makes the map injective.
func TestFreeMask(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		l := randomLayout(r)
		free := l.FreeMask(Register) | l.FreeMask(Lane)<<l.InBits(Register)
		all, few := map[uint64]bool{}, map[uint64]bool{}
		n := 0
		for x := range uint64(1) << len(l.cols) {
			all[l.ApplyPacked(x)] = true
			if x&free == 0 {
				few[l.ApplyPacked(x)] = true
				n++
			}
		}
		if len(all) != len(few) || len(few) != n {
			t.Fatalf("%v: %d outputs, %d without free bits from %d inputs", l, len(all), len(few), n)
		}
	}
}

func TestQuotient(t *testing.T) {
	l := Product(Identity(Register, Register, 4), Identity(Block, Block, 2))
	q, ok := l.Quotient(Block)
	if !ok || !q.Equal(Identity(Register, Register, 4)) {
		t.Errorf("quotient = %v, %v", q, ok)
	}
	mixed := New([]Axis{{Register, 1}, {Block, 1}}, Input{Register, Bases{{1, 1}}}, Input{Block, Bases{{0, 1}}})
	if q, ok := mixed.Quotient(Block); ok {
		t.Errorf("a register that moves the block has the quotient %v", q)
	}
	moved := New([]Axis{{Register, 1}, {Block, 1}}, Input{Register, Bases{{1, 0}}}, Input{Block, Bases{{1, 1}}})
	if q, ok := moved.Quotient(Block); ok {
		t.Errorf("a block that moves the register has the quotient %v", q)
	}
}

// Whatever the means, a conversion finds the right element; and it uses the
// nearest means that can.
func TestConvert(t *testing.T) {
	r := seeded(t)
	seen := map[Means]int{}
	for range lawRuns {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank)
		a := randomBlocked(r, rank, 4, 8)
		b := randomBlocked(r, rank, 4, 8)
		switch r.IntN(4) {
		case 0:
			b.ThreadsPerWarp, b.WarpsPerCTA = a.ThreadsPerWarp, a.WarpsPerCTA
		case 1:
			*b = *a
			b.SizePerThread = slices.Repeat([]int{1}, rank)
		case 2:
			*b = *a
		}
		src, dst := mustLinear(t, a, shape...), mustLinear(t, b, shape...)
		c := Convert(src, dst)
		seen[c.Means]++
		if !Compose(src, c.Source).Equal(dst) {
			t.Fatalf("from %v\nto %v\nreads %v", src, dst, c.Source)
		}
		if want := nearestMeans(src, dst); c.Means != want {
			t.Fatalf("from %v\nto %v\nuses %v, not %v", src, dst, c.Means, want)
		}
	}
	for m := Nothing; m < Cluster; m++ {
		if seen[m] == 0 {
			t.Errorf("no case of %v among the samples", m)
		}
	}
}

// nearestMeans looks at every element instead of the basis vectors.
func nearestMeans(src, dst Layout) Means {
	where := map[uint64][]uint64{}
	for x := range uint64(1) << len(src.cols) {
		y := src.ApplyPacked(x)
		where[y] = append(where[y], x)
	}
	worst := Nothing
	for x := range uint64(1) << len(dst.cols) {
		d := dst.UnpackIn(x)
		best := Cluster
		for _, at := range where[dst.ApplyPacked(x)] {
			s := src.UnpackIn(at)
			m := Nothing
			for k := range d {
				if d[k] != s[k] {
					m = Means(k) + Registers
				}
			}
			best = min(best, m)
		}
		worst = max(worst, best)
	}
	if worst == Nothing && src.Registers() != dst.Registers() {
		return Registers
	}
	return worst
}

// Every staging is a bijection onto the tensor, serves vectors on both sides,
// and has no bank conflicts on either.
// mixed is l after a linear map of the tensor onto itself, by which threads begin
// at elements that are not unit vectors.
func mixed(r *rand.Rand, l Layout) Layout {
	m := Layout{ins: l.ins, outs: l.outs, cols: slices.Clone(l.cols)}
	bits := 0
	for _, o := range l.outs {
		bits += o.Bits
	}
	for range 4 {
		i, j := r.IntN(max(1, bits)), r.IntN(max(1, bits))
		if i == j {
			continue
		}
		for k, c := range m.cols { // row j of the matrix gains row i
			m.cols[k] = c ^ c>>i&1<<j
		}
	}
	return m
}

// In any layouts every thread begins at a multiple of the vector.
func TestStageAligned(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank)
		src := mustLinear(t, randomBlocked(r, rank, 4, 32), shape...)
		dst := mixed(r, mustLinear(t, randomBlocked(r, rank, 4, 32), shape...))
		s := Stage(src, dst, 1<<r.IntN(4), Banks{WordBytes: 4, Words: 32, VecBytes: 16})
		for _, l := range []Layout{src, dst} {
			offs := s.Offsets(l)
			for _, c := range slices.Concat(offs.Columns(Lane), offs.Columns(Warp)) {
				if c%uint64(s.Vec) != 0 {
					t.Fatalf("a thread of %v begins at offset %d, in the middle of a vector of %d", l, c, s.Vec)
				}
			}
		}
	}
}

func TestStage(t *testing.T) {
	r := seeded(t)
	b := Banks{WordBytes: 4, Words: 32, VecBytes: 16}
	for range lawRuns {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank)
		src := mustLinear(t, randomBlocked(r, rank, 4, 32), shape...)
		dst := mustLinear(t, randomBlocked(r, rank, 4, 32), shape...)
		bytes := 1 << r.IntN(4)
		s := Stage(src, dst, bytes, b)
		if !s.Offset.IsInvertible() {
			t.Fatalf("staging %v is not a bijection", s.Offset)
		}
		for _, l := range []Layout{src, dst} {
			if got := Compose(s.Offset, s.Offsets(l)); !got.Equal(l.Sub(hardware[:3], dims(l.outs))) {
				t.Fatalf("offsets of %v reach %v", l, got)
			}
			if n := conflicts(s, l, bytes, b); n != 0 {
				t.Fatalf("%d-byte elements of %v from\n%v\nto\n%v\nthrough %v (vec %d): %d conflicts", bytes, shape, src, dst, s.Offset, s.Vec, n)
			}
			regs := spanOf(l.Columns(Register)...)
			for _, v := range s.Offset.cols[:log2(s.Vec)] {
				if !regs.contains(v) {
					t.Fatalf("vector element %b of the staging is in another thread in %v", v, l)
				}
			}
		}
	}
}

// Rows of 16 bytes in registers of one side, of which a thread of the other holds a
// row, or a half or a quarter that its neighbours complete: they lie side by side, and
// neither side's accesses conflict. Half a row per thread is what loads of a tensor
// with 16 columns give.
func TestStageRows(t *testing.T) {
	r := seeded(t)
	b := Banks{WordBytes: 4, Words: 32, VecBytes: 16}
	partial := 0
	for range lawRuns {
		bytes := 1 << r.IntN(3)
		n := b.VecBytes / bytes
		shape := []int64{int64(8 << r.IntN(3)), int64(n << r.IntN(4))}
		warps := []int{1, 1}
		warps[r.IntN(2)] = 4
		rows := mustLinear(t, &Blocked{SizePerThread: []int{1, n}, ThreadsPerWarp: []int{8, 4}, WarpsPerCTA: warps, Order: []int{1, 0}}, shape...)
		held := n >> r.IntN(3)
		lanes := 1 << r.IntN(6)
		other := mustLinear(t, &Blocked{SizePerThread: []int{1, max(1, held)}, ThreadsPerWarp: []int{32 / lanes, lanes}, WarpsPerCTA: []int{4, 1}, Order: []int{1, 0}}, shape...)
		s, ok := StageRows(rows, other, n, bytes, b)
		if !ok {
			continue
		}
		if s.Vec < n {
			partial++
		}
		if !s.Offset.IsInvertible() {
			t.Fatalf("staging %v is not a bijection", s.Offset)
		}
		for i, c := range s.Offsets(rows).Columns(Register)[:log2(n)] {
			if c != 1<<i {
				t.Fatalf("element %d of a row is at offset %d", 1<<i, c)
			}
		}
		if k := conflicts(s, other, bytes, b); k != 0 {
			t.Fatalf("%d-byte elements of %v from\n%v\nto rows of\n%v\nthrough %v (vec %d): %d conflicts", bytes, shape, other, rows, s.Offset, s.Vec, k)
		}
		whole := Staging{Offset: s.Offset, Vec: n}
		if k := conflicts(whole, rows, bytes, b); k != 0 {
			t.Fatalf("reading rows of\n%v\nthrough %v: %d conflicts", rows, s.Offset, k)
		}
	}
	if partial < lawRuns/20 {
		t.Errorf("only %d arrangements had parts of rows in a thread", partial)
	}
}

// Vectors that one side alone holds lie side by side, and neither side's accesses
// conflict.
func TestStageWide(t *testing.T) {
	r := seeded(t)
	b := Banks{WordBytes: 4, Words: 32, VecBytes: 16}
	found := 0
	for range lawRuns {
		rank := 1 + r.IntN(2)
		shape := randomShape(r, rank)
		wide := mustLinear(t, randomBlocked(r, rank, 4, 32), shape...)
		narrow := mustLinear(t, randomBlocked(r, rank, 4, 32), shape...)
		if r.IntN(4) == 0 {
			narrow = mixed(r, narrow)
		}
		bytes := 1 << r.IntN(4)
		s, n, ok := StageWide(wide, narrow, bytes, b)
		if !ok {
			continue
		}
		found++
		if !s.Offset.IsInvertible() {
			t.Fatalf("staging %v is not a bijection", s.Offset)
		}
		if n <= s.Vec || n*bytes > b.VecBytes {
			t.Fatalf("vectors of %d elements of %d bytes, %d in common", n, bytes, s.Vec)
		}
		regs := spanOf(wide.Columns(Register)...)
		for _, v := range s.Offset.cols[:log2(n)] {
			if !regs.contains(v) {
				t.Fatalf("vector element %b of the staging is in another thread of %v", v, wide)
			}
		}
		for _, side := range []struct {
			l   Layout
			vec int
		}{{wide, n}, {narrow, s.Vec}} {
			offs := s.Offsets(side.l)
			for _, c := range slices.Concat(offs.Columns(Lane), offs.Columns(Warp)) {
				if c%uint64(side.vec) != 0 {
					t.Fatalf("a thread of %v begins at offset %d, in the middle of a vector of %d", side.l, c, side.vec)
				}
			}
			if k := conflicts(Staging{Offset: s.Offset, Vec: side.vec}, side.l, bytes, b); k != 0 {
				t.Fatalf("%d-byte elements of %v between\n%v\nand\n%v\nthrough %v (%d and %d at once): %d conflicts", bytes, shape, wide, narrow, s.Offset, n, s.Vec, k)
			}
		}
	}
	if found < lawRuns/20 {
		t.Errorf("only %d arrangements", found)
	}
}

// conflicts plays the first access of a warp, one wave after the other: the
// number of extra passes of the worst bank.
func conflicts(s Staging, l Layout, elemBytes int, b Banks) int {
	off := s.Offsets(l)
	lo, n := axisRange(off.ins, Lane)
	access := max(1, s.Vec*elemBytes/b.WordBytes) // words that a lane moves
	perWave := min(1<<n, max(1, b.Words/access))
	worst := 0
	for first := 0; first < 1<<n; first += perWave {
		words := make([]map[int]bool, b.Words)
		for lane := first; lane < first+perWave; lane++ {
			at := int(off.ApplyPacked(uint64(lane)<<lo)) / s.Vec * s.Vec * elemBytes / b.WordBytes
			for w := at; w < at+access; w++ {
				if words[w%b.Words] == nil {
					words[w%b.Words] = map[int]bool{}
				}
				words[w%b.Words][w] = true
			}
		}
		for _, in := range words {
			worst = max(worst, len(in)-1)
		}
	}
	return worst
}

// Two layouts of a tensor reach all of it, and a part of one does not.
func TestSameImage(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		shape := randomShape(r, 2)
		a, b := mustLinear(t, randomBlocked(r, 2, 4, 32), shape...), mustLinear(t, randomBlocked(r, 2, 4, 32), shape...)
		if !a.SameImage(b) {
			t.Fatalf("%v and %v", a, b)
		}
		part := a.Sub([]Dim{Register}, dims(a.outs))
		if part.SameImage(b) != (part.Rank() == b.Rank()) || b.SameImage(part) != part.SameImage(b) {
			t.Fatalf("%v and %v", part, b)
		}
	}
}
