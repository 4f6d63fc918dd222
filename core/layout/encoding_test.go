package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The place of every element of a blocked tensor, computed by division and
// remainder instead of basis vectors.
func TestBlocked(t *testing.T) {
	r := seeded(t)
	for range 100 {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank)
		e := randomBlocked(r, rank, 4, 8)
		l := mustLinear(t, e, shape...)
		for range 50 {
			x := []int{r.IntN(l.InSize(Register)), r.IntN(l.InSize(Lane)), r.IntN(l.InSize(Warp)), 0}
			reg, lane, warp := x[0], x[1], x[2]
			want := make([]int, rank)
			unit := make([]int, rank)
			for i := range unit {
				unit[i] = 1
			}
			take := func(n *int, sizes []int) {
				for _, d := range e.Order {
					want[d] += *n % sizes[d] * unit[d]
					*n /= sizes[d]
					unit[d] *= sizes[d]
				}
			}
			take(&reg, e.SizePerThread)
			take(&lane, e.ThreadsPerWarp)
			take(&warp, e.WarpsPerCTA)
			rest := make([]int, rank)
			for d := range rest {
				rest[d] = max(1, int(shape[d])/unit[d])
			}
			take(&reg, rest)
			for d := range want {
				want[d] %= int(shape[d])
			}
			if got := l.Apply(x...); !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v on %v: %v is %v, want %v", e, shape, x, got, want)
			}
		}
	}
}

// The accumulator and the operands of mma.m16n8k16, as the PTX manual draws
// them: g = lane/4, t = lane%4.
func TestNvidiaMMA(t *testing.T) {
	mma := &NvidiaMMA{VersionMajor: 2, WarpsPerCTA: []int{2, 2}, InstrShape: []int{16, 8}}
	acc := mustLinear(t, mma, 32, 16)
	a := mustLinear(t, &DotOp{OpIdx: 0, Parent: mma, KWidth: 2}, 32, 16)
	b := mustLinear(t, &DotOp{OpIdx: 1, Parent: mma, KWidth: 2}, 16, 16)
	for warp := range 4 {
		for lane := range 32 {
			g, th := lane/4, lane%4
			wm, wn := warp/2, warp%2
			for i := range 4 {
				check(t, "c", acc, []int{i, lane, warp, 0}, wm*16+g+i/2*8, wn*8+2*th+i%2)
			}
			for i := range 8 {
				check(t, "a", a, []int{i, lane, warp, 0}, wm*16+g+i/2%2*8, 2*th+i%2+i/4*8)
			}
			for i := range 4 {
				check(t, "b", b, []int{i, lane, warp, 0}, 2*th+i%2+i/2*8, wn*8+g)
			}
		}
	}
	// wgmma: the warps of a group below one another.
	wg := mustLinear(t, &NvidiaMMA{VersionMajor: 3, WarpsPerCTA: []int{4, 1}, InstrShape: []int{16, 32, 16}}, 64, 32)
	for warp := range 4 {
		for lane := range 32 {
			for i := range 16 {
				check(t, "d", wg, []int{i, lane, warp, 0}, warp*16+lane/4+i/2%2*8, 2*(lane%4)+i%2+i/4*8)
			}
		}
	}
}

func check(t *testing.T, name string, l Layout, in []int, want ...int) {
	t.Helper()
	if got := l.Apply(in...); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: (register, lane, warp, block) %v holds %v, want %v", name, in, got, want)
	}
}

// Bases of encodings that Triton prints as linear ones when it has to.
func TestBases(t *testing.T) {
	mfma := &AMDMFMA{Version: 3, WarpsPerCTA: []int{4, 1}, InstrShape: []int{32, 32, 8}, IsTransposed: true}
	for _, tt := range []struct {
		name  string
		e     Encoding
		shape []int64
		want  string
	}{
		{
			"mfma operand A", &DotOp{OpIdx: 0, Parent: &AMDMFMA{Version: 3, WarpsPerCTA: []int{1, 4}, InstrShape: []int{32, 32, 8}, IsTransposed: true}, KWidth: 4},
			[]int64{64, 64},
			"register=[[0 1] [0 2] [0 8] [0 16] [0 32] [32 0]] lane=[[1 0] [2 0] [4 0] [8 0] [16 0] [0 4]] warp=[[0 0] [0 0]] block=[] -> dim0:64 dim1:64",
		},
		{
			"mfma transposed accumulator", mfma,
			[]int64{128, 32},
			"register=[[0 1] [0 2] [0 8] [0 16]] lane=[[1 0] [2 0] [4 0] [8 0] [16 0] [0 4]] warp=[[32 0] [64 0]] block=[] -> dim0:128 dim1:32",
		},
		{
			"wmma 1", &AMDWMMA{Version: 1, IsTranspose: true, WarpsPerCTA: []int{2, 2}},
			[]int64{32, 32},
			"register=[[0 2] [0 4] [0 8]] lane=[[1 0] [2 0] [4 0] [8 0] [0 1]] warp=[[0 16] [16 0]] block=[] -> dim0:32 dim1:32",
		},
		{
			"wmma 2", &AMDWMMA{Version: 2, WarpsPerCTA: []int{2, 1}},
			[]int64{32, 16},
			"register=[[1 0] [2 0] [4 0]] lane=[[0 1] [0 2] [0 4] [0 8] [8 0]] warp=[[16 0]] block=[] -> dim0:32 dim1:16",
		},
		{
			"wmma 1 operand", &DotOp{OpIdx: 0, Parent: &AMDWMMA{Version: 1, WarpsPerCTA: []int{2, 1}}, KWidth: 16},
			[]int64{32, 16},
			"register=[[0 1] [0 2] [0 4] [0 8]] lane=[[1 0] [2 0] [4 0] [8 0] [0 0]] warp=[[16 0]] block=[] -> dim0:32 dim1:16",
		},
		{
			"slice drops registers along the sliced dimension",
			&Slice{Dim: 1, Parent: &Blocked{SizePerThread: []int{2, 4}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{1, 2}, Order: []int{1, 0}}},
			[]int64{8},
			"register=[[1]] lane=[[0] [0] [0] [2] [4]] warp=[[0]] block=[] -> dim0:8",
		},
		{
			"blocked, smaller than its tile", &Blocked{SizePerThread: []int{4}, ThreadsPerWarp: []int{32}, WarpsPerCTA: []int{2}, Order: []int{0}},
			[]int64{8},
			"register=[[1] [2]] lane=[[4] [0] [0] [0] [0]] warp=[[0]] block=[] -> dim0:8",
		},
		{
			"blocked over two CTAs",
			&Blocked{SizePerThread: []int{1, 2}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{2, 1}, Order: []int{1, 0}, CGA: Bases{{0, 1}}},
			[]int64{16, 32},
			"register=[[0 1] [8 0]] lane=[[0 2] [0 4] [0 8] [1 0] [2 0]] warp=[[4 0]] block=[[0 16]] -> dim0:16 dim1:32",
		},
		{
			"fma operand", &DotOp{OpIdx: 1, Parent: &Blocked{SizePerThread: []int{2, 2}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{2, 1}, Order: []int{1, 0}}},
			[]int64{8, 16},
			"register=[[0 1] [1 0] [2 0] [4 0]] lane=[[0 2] [0 4] [0 8] [0 0] [0 0]] warp=[[0 0]] block=[] -> dim0:8 dim1:16",
		},
		{
			"linear over a larger tensor", &Linear{Register: Bases{{1, 0}}, Lane: Bases{{0, 1}, {0, 2}}, Warp: Bases{{2, 0}}},
			[]int64{8, 4},
			"register=[[1 0] [4 0]] lane=[[0 1] [0 2]] warp=[[2 0]] block=[] -> dim0:8 dim1:4",
		},
		{
			"linear over a smaller tensor", &Linear{Register: Bases{{0, 0}, {4, 0}}, Lane: Bases{{0, 1}, {0, 2}}, Warp: Bases{{2, 0}}},
			[]int64{4, 2},
			"register=[[0 0]] lane=[[0 1] [0 0]] warp=[[2 0]] block=[] -> dim0:4 dim1:2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustLinear(t, tt.e, tt.shape...).String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Where each element of a swizzled row lies.
func TestSwizzledShared(t *testing.T) {
	for _, e := range []*SwizzledShared{
		{Vec: 8, PerPhase: 1, MaxPhase: 8, Order: []int{1, 0}},
		{Vec: 4, PerPhase: 2, MaxPhase: 4, Order: []int{0, 1}},
		{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{1, 0}},
	} {
		shape := []int64{32, 64}
		at := mustLinear(t, e, shape...).Invert()
		cols := int(shape[e.Order[0]])
		for r := range int(shape[e.Order[1]]) {
			for c := range cols {
				want := r*cols + ((c/e.Vec)^(r/e.PerPhase%e.MaxPhase))*e.Vec + c%e.Vec
				coord := make([]int, 2)
				coord[e.Order[0]], coord[e.Order[1]] = c, r
				if got := at.Apply(coord...)[0]; got != want {
					t.Fatalf("%+v: element %v lies at %d, want %d", e, coord, got, want)
				}
			}
		}
	}
}

// nvmma_shared is swizzled_shared within rows of the swizzle's width.
func TestNVMMAShared(t *testing.T) {
	n := &NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 16}
	s := &SwizzledShared{Vec: 8, PerPhase: 1, MaxPhase: 8, Order: []int{1, 0}}
	if a, b := mustLinear(t, n, 64, 64), mustLinear(t, s, 64, 64); !a.Equal(b) {
		t.Errorf("one box wide:\n%v\n%v", a, b)
	}
	n.Transposed = true
	s.Order = []int{0, 1}
	if a, b := mustLinear(t, n, 64, 64), mustLinear(t, s, 64, 64); !a.Equal(b) {
		t.Errorf("transposed:\n%v\n%v", a, b)
	}
	n.Transposed = false
	wide := mustLinear(t, n, 64, 128)
	if got := wide.Apply(64*64, 0); got[0] != 0 || got[1] != 64 {
		t.Errorf("the second box starts at %v", got)
	}
	narrow := &NVMMAShared{SwizzlingByteWidth: 32, ElementBitWidth: 32}
	if a, b := mustLinear(t, narrow, 16, 8), mustLinear(t, &SwizzledShared{Vec: 4, PerPhase: 4, MaxPhase: 2, Order: []int{1, 0}}, 16, 8); !a.Equal(b) {
		t.Errorf("32-byte rows:\n%v\n%v", a, b)
	}
	// Boxes have at most 256 elements along a dimension; they follow one another
	// down the rows, and without swizzle along the last dimension, first.
	for _, c := range []struct {
		width        int
		offset, d, x int
	}{{32, 1 << 11, 0, 128}, {32, 1 << 12, 0, 256}, {32, 1 << 13, 1, 16}, {0, 1 << 7, 1, 128}, {0, 1 << 8, 0, 1}, {0, 1 << 16, 1, 256}, {0, 1 << 17, 0, 256}} {
		want := make([]int, 2)
		want[c.d] = c.x
		big := mustLinear(t, &NVMMAShared{SwizzlingByteWidth: c.width, ElementBitWidth: 16}, 512, 512)
		if got := big.Apply(c.offset, 0); !slices.Equal(got, want) {
			t.Errorf("swizzle %d, offset %d is element %v, must be %v", c.width, c.offset, got, want)
		}
	}
	for _, c := range []struct {
		enc   NVMMAShared
		shape []int64
		box   []int64
		align int
	}{
		{NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 16}, []int64{512, 128}, []int64{256, 64}, 1024},
		{NVMMAShared{SwizzlingByteWidth: 64, ElementBitWidth: 32}, []int64{4, 32, 16}, []int64{4, 32, 16}, 512},
		{NVMMAShared{SwizzlingByteWidth: 32, ElementBitWidth: 8, Transposed: true}, []int64{64, 128}, []int64{32, 128}, 256},
		{NVMMAShared{SwizzlingByteWidth: 0, ElementBitWidth: 8}, []int64{16, 512}, []int64{16, 256}, 128},
		{NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 16}, []int64{1024}, []int64{256}, 1024},
		{NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 8, FP4Padded: true}, []int64{64, 128}, []int64{64, 64}, 1024},
	} {
		if box, align := c.enc.Box(c.shape), c.enc.Align(); !slices.Equal(box, c.box) || align != c.align {
			t.Errorf("%+v of %v: boxes of %v at multiples of %d, must be %v and %d", c.enc, c.shape, box, align, c.box, c.align)
		}
	}
	n.NDims = 3
	cube := mustLinear(t, n, 4, 16, 64)
	if !cube.IsInvertible() {
		t.Errorf("rank 3 is not a bijection: %v", cube)
	}
	fp4 := mustLinear(t, &NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 8, FP4Padded: true}, 32, 64)
	if !fp4.IsSurjective() || fp4.InSize(Offset) != 32*128 {
		t.Errorf("fp4Padded: %v", fp4)
	}
}

func TestPaddedShared(t *testing.T) {
	e := &PaddedShared{Intervals: []int{64, 512}, Paddings: []int{8, 16}, Order: []int{1, 0}, Shape: []int64{64, 64}}
	l := mustLinear(t, e, 64, 64)
	if !l.Equal(mustLinear(t, &SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{1, 0}}, 64, 64)) {
		t.Errorf("the linear part is %v", l)
	}
	for i, want := range map[int]int{0: 0, 63: 63, 64: 72, 511: 511 + 7*8, 512: 512 + 8*8 + 16} {
		if got := e.Pad(i); got != want {
			t.Errorf("offset %d is at %d, want %d", i, got, want)
		}
	}
	bases := &PaddedShared{Intervals: []int{4}, Paddings: []int{4}, Offset: Bases{{0, 1}, {1, 0}}}
	if got := mustLinear(t, bases, 2, 2).Apply(2, 0); got[0] != 1 || got[1] != 0 {
		t.Errorf("offset 2 is %v", got)
	}
}

func TestRefused(t *testing.T) {
	ok := &Blocked{SizePerThread: []int{1, 1}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{1, 1}, Order: []int{1, 0}}
	mma := &NvidiaMMA{VersionMajor: 2, WarpsPerCTA: []int{1, 1}, InstrShape: []int{16, 8}}
	for _, tt := range []struct {
		e     Encoding
		shape []int64
		want  string
	}{
		{ok, []int64{8}, "rank 2 on a tensor of rank 1"},
		{ok, []int64{8, 12}, "12 of the shape [8 12] is not a power of two"},
		{ok, []int64{8, 0}, "not a power of two"},
		{ok, []int64{1 << 20, 1 << 20}, "more than 2^32 elements"},
		{&Blocked{SizePerThread: []int{3}, ThreadsPerWarp: []int{32}, WarpsPerCTA: []int{1}, Order: []int{0}}, []int64{8}, "3 in [3] is not a power of two"},
		{&Blocked{SizePerThread: []int{1, 1}, ThreadsPerWarp: []int{32}, WarpsPerCTA: []int{1, 1}, Order: []int{0, 1}}, []int64{8, 8}, "has length 1"},
		{&Blocked{SizePerThread: []int{1, 1}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{1, 1}, Order: []int{1, 1}}, []int64{8, 8}, "not a permutation"},
		{&Slice{Dim: 2, Parent: ok}, []int64{8}, "dim 2 is outside its parent"},
		{&DotOp{OpIdx: 0, Parent: mma}, []int64{16, 16}, "kWidth 0"},
		{&DotOp{OpIdx: 2, Parent: mma, KWidth: 2}, []int64{16, 16}, "opIdx is 2"},
		{&DotOp{OpIdx: 0, Parent: &Linear{}, KWidth: 2}, []int64{16, 16}, "linear cannot be its parent"},
		{&NvidiaMMA{VersionMajor: 9, WarpsPerCTA: []int{1, 1}, InstrShape: []int{16, 8}}, []int64{16, 16}, "version 9"},
		{&AMDMFMA{Version: 3, WarpsPerCTA: []int{1, 1}, InstrShape: []int{8, 8, 8}}, []int64{16, 16}, "there is no instrShape [8 8 8]"},
		{&Linear{Lane: Bases{{1, 0}, {2}}}, []int64{4, 4}, "has length 1"},
		{&SharedLinear{Offset: Bases{{1}, {2}}}, []int64{8}, "describes the shape [4], not [8]"},
		{&NVMMAShared{SwizzlingByteWidth: 96, ElementBitWidth: 16}, []int64{64, 64}, "swizzlingByteWidth 96"},
		{&NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 16}, []int64{64, 32}, "needs 64 elements along dimension 1"},
		{&PaddedShared{Intervals: []int{4}, Order: []int{0}, Shape: []int64{8}}, []int64{8}, "each needs the other"},
	} {
		_, err := tt.e.Linear(tt.shape)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s on %v: error %v, want …%s…", tt.e.Mnemonic(), tt.shape, err, tt.want)
		}
	}
}

// Encodings that Triton's passes chose, from shape, sizes and warps alone.
func TestBlockedFor(t *testing.T) {
	for _, tt := range []struct {
		shape []int64
		size  []int
		order []int
		warps int
		lanes int
		ctas  int
		want  string
	}{
		{[]int64{1024}, []int{4}, []int{0}, 4, 32, 1, "[4] [32] [4] [0] []"},
		{[]int64{2, 2048}, []int{1, 8}, []int{1, 0}, 8, 32, 1, "[1 8] [1 32] [1 8] [1 0] []"},
		{[]int64{64, 64}, []int{1, 8}, []int{1, 0}, 4, 32, 1, "[1 8] [4 8] [4 1] [1 0] []"},
		{[]int64{64, 64}, []int{8, 1}, []int{0, 1}, 4, 32, 1, "[8 1] [8 4] [1 4] [0 1] []"},
		{[]int64{64, 64}, []int{1, 8}, []int{1, 0}, 4, 64, 1, "[1 8] [8 8] [4 1] [1 0] []"},
		{[]int64{1}, []int{1}, []int{0}, 4, 32, 1, "[1] [32] [4] [0] []"},
		{[]int64{128, 64}, []int{1, 1}, []int{1, 0}, 4, 32, 2, "[1 1] [1 32] [2 2] [1 0] [[1 0]]"},
		{[]int64{16, 16, 16}, []int{1, 1, 1}, []int{2, 1, 0}, 4, 32, 1, "[1 1 1] [1 2 16] [1 4 1] [2 1 0] []"},
	} {
		e := BlockedFor(tt.shape, tt.size, tt.order, tt.warps, tt.lanes, tt.ctas)
		if got := fmt.Sprint(e.SizePerThread, e.ThreadsPerWarp, e.WarpsPerCTA, e.Order, e.CGA); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.shape, got, tt.want)
		}
		l := mustLinear(t, e, tt.shape...)
		if !l.IsSurjective() || l.InSize(Lane) != tt.lanes || l.InSize(Warp) != tt.warps || l.InSize(Block) != tt.ctas {
			t.Errorf("%v: layout %v", tt.shape, l)
		}
	}
}

func TestQueries(t *testing.T) {
	l := mustLinear(t, &Blocked{SizePerThread: []int{2, 4}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{2, 2}, Order: []int{1, 0}}, 64, 32)
	if got := l.Registers(); got != 32 {
		t.Errorf("registers: %d", got)
	}
	if a, b := l.Contig(TensorDim(1)), l.Contig(TensorDim(0)); a != 4 || b != 2 {
		t.Errorf("contiguous: %d, %d", a, b)
	}
	if a, b := l.ConsecutiveRegisters(TensorDim(1)), l.ConsecutiveRegisters(TensorDim(0)); a != 4 || b != 1 {
		t.Errorf("consecutive: %d, %d", a, b)
	}
	if a, b := l.Along(Lane, TensorDim(1)), l.Along(Warp, TensorDim(1)); a != 8 || b != 1 {
		t.Errorf("lanes and warps along dim1: %d, %d", a, b)
	}
	small := mustLinear(t, &Blocked{SizePerThread: []int{4}, ThreadsPerWarp: []int{32}, WarpsPerCTA: []int{4}, Order: []int{0}}, 2)
	if a, b := small.Registers(), small.UniqueRegisters(); a != 4 || b != 2 {
		t.Errorf("registers of a small tensor: %d, unique %d", a, b)
	}
	if a, b, c := small.UniqueRegisterMask(), small.FreeMask(Lane), small.FreeMask(Warp); a != 1 || b != 31 || c != 3 {
		t.Errorf("masks: unique registers %b, free lanes %b, free warps %b", a, b, c)
	}
	if got := fmt.Sprint(l.Order(), mustLinear(t, &Linear{Register: Bases{{0, 1, 0}}, Lane: Bases{{1, 0, 0}}, Warp: Bases{{0, 0, 1}}}, 2, 2, 2).Order()); got != "[1 0] [1 2 0]" {
		t.Errorf("orders: %s", got)
	}
}

func TestEqual(t *testing.T) {
	mk := func() []Encoding {
		b := &Blocked{SizePerThread: []int{1, 1}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{1, 1}, Order: []int{1, 0}}
		c := *b
		c.Order = []int{0, 1}
		mma := &NvidiaMMA{VersionMajor: 2, WarpsPerCTA: []int{1, 1}, InstrShape: []int{16, 8}}
		return []Encoding{
			nil, b, &c, &Slice{0, b}, &Slice{1, b}, &Slice{0, &c}, mma, &DotOp{0, mma, 2}, &DotOp{1, mma, 2}, &DotOp{0, mma, 4},
			&Linear{Lane: Bases{{1, 0}}}, &Linear{Warp: Bases{{1, 0}}},
			&AMDMFMA{Version: 3, WarpsPerCTA: []int{1, 1}, InstrShape: []int{32, 32, 8}}, &AMDWMMA{Version: 1, WarpsPerCTA: []int{1, 1}},
			&SwizzledShared{1, 1, 1, []int{0}, nil}, &AMDRotatingShared{1, 1, 1, []int{0}, nil},
			&PaddedShared{Intervals: []int{4}, Paddings: []int{4}, Order: []int{0}, Shape: []int64{8}},
			&SharedLinear{Offset: Bases{{1}}, Alignment: 16}, &NVMMAShared{SwizzlingByteWidth: 128, ElementBitWidth: 16},
		}
	}
	as, bs := mk(), mk()
	for i, a := range as {
		if a != nil && CTAs(a) != 1 {
			t.Errorf("%+v spans %d CTAs", a, CTAs(a))
		}
		for j, b := range bs {
			if Equal(a, b) != (i == j) {
				t.Errorf("Equal(%+v, %+v) = %v", a, b, i != j)
			}
		}
	}
}

// The worked table of the package's documentation.
func TestWorkedTable(t *testing.T) {
	e := &Blocked{SizePerThread: []int{2, 2}, ThreadsPerWarp: []int{8, 4}, WarpsPerCTA: []int{1, 2}, Order: []int{1, 0}}
	for _, tt := range []struct {
		shape []int64
		want  string
	}{
		{[]int64{16, 16}, "register=[[0 1] [1 0]] lane=[[0 2] [0 4] [2 0] [4 0] [8 0]] warp=[[0 8]] block=[] -> dim0:16 dim1:16"},
		{[]int64{8, 16}, "register=[[0 1] [1 0]] lane=[[0 2] [0 4] [2 0] [4 0] [0 0]] warp=[[0 8]] block=[] -> dim0:8 dim1:16"},
		{[]int64{16, 32}, "register=[[0 1] [1 0] [0 16]] lane=[[0 2] [0 4] [2 0] [4 0] [8 0]] warp=[[0 8]] block=[] -> dim0:16 dim1:32"},
	} {
		if got := mustLinear(t, e, tt.shape...).String(); got != tt.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tt.shape, got, tt.want)
		}
	}
	check(t, "table", mustLinear(t, e, 16, 16), []int{3, 9, 1, 0}, 5, 11)
}
