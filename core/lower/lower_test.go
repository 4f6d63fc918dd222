package lower

import (
	"bytes"
	endian "encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/testseed"
)

// Shapes of a warp and a program that no assumption about 32 lanes survives.
var programs = []struct{ lanes, warps int }{{64, 2}, {16, 8}, {32, 1}, {8, 4}, {64, 1}}

// blocked is a random blocked layout of two dimensions.
func blocked(r *rand.Rand, lanes, warps int) string {
	split := func(n int) [2]int {
		a := 1 << r.IntN(bitLen(n)+1)
		return [2]int{a, n / a}
	}
	l, w, s := split(lanes), split(warps), split(1<<r.IntN(4))
	order := []string{"[0, 1]", "[1, 0]"}[r.IntN(2)]
	return fmt.Sprintf("#ttg.blocked<{sizePerThread = [%d, %d], threadsPerWarp = [%d, %d], warpsPerCTA = [%d, %d], order = %s}>",
		s[0], s[1], l[0], l[1], w[0], w[1], order)
}

// kernel is a program over 32x64 i32 tensors: body turns %v, with layout SRC,
// into %w, of the shape OUT with layout DST. %p are pointers to store %w at.
func kernel(t *testing.T, lanes, warps int, src, dst, shape, body string) *ir.Operation {
	t.Helper()
	const header = `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = WARPS : i32, "ttg.threads-per-warp" = LANES : i32} {
  tt.func public @k(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>) {
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = SRC}>>
    %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = SRC}>> -> tensor<32x1xi32, SRC>
    %n = arith.constant dense<64> : tensor<32x1xi32, SRC>
    %r3 = arith.muli %r2, %n : tensor<32x1xi32, SRC>
    %c = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = SRC}>>
    %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = SRC}>> -> tensor<1x64xi32, SRC>
    %rb = tt.broadcast %r3 : tensor<32x1xi32, SRC> -> tensor<32x64xi32, SRC>
    %cb = tt.broadcast %c2 : tensor<1x64xi32, SRC> -> tensor<32x64xi32, SRC>
    %i = arith.addi %rb, %cb : tensor<32x64xi32, SRC>
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<32x64x!tt.ptr<i32>, SRC>
    %xp = tt.addptr %xs, %i : tensor<32x64x!tt.ptr<i32>, SRC>, tensor<32x64xi32, SRC>
    %v = tt.load %xp : tensor<32x64x!tt.ptr<i32>, SRC>
    %os = tt.splat %o : !tt.ptr<i32> -> tensor<OUTx!tt.ptr<i32>, DST>
`
	const footer = `
    %p = tt.addptr %os, %j : tensor<OUTx!tt.ptr<i32>, DST>, tensor<OUTxi32, DST>
    tt.store %p, %w : tensor<OUTx!tt.ptr<i32>, DST>
    tt.return
  }
}
`
	all := strings.NewReplacer("SRC", src, "DST", dst, "OUT", shape, "WARPS", fmt.Sprint(warps), "LANES", fmt.Sprint(lanes)).
		Replace(header + body + footer)
	mod, err := text.Parse(dialect.NewContext(), "k.ttgir", []byte(all))
	if err != nil {
		t.Fatalf("%v\n%s", err, all)
	}
	return mod
}

// memory is 2048 random words and room for as many.
func memory(r *rand.Rand) (mem []byte, in []uint32) {
	mem = make([]byte, 2*4*2048)
	for i := range 2048 {
		in = append(in, r.Uint32())
		endian.LittleEndian.PutUint32(mem[4*i:], in[i])
	}
	return mem, in
}

func words(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = endian.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

const outAt = 4 * 2048

func seeded(t *testing.T) *rand.Rand {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 2))
}

func TestConvert(t *testing.T) {
	r := seeded(t)
	for i := range 25 {
		p := programs[i%len(programs)]
		src, dst := blocked(r, p.lanes, p.warps), blocked(r, p.lanes, p.warps)
		mod := kernel(t, p.lanes, p.warps, src, dst, "32x64", `
    %w = ttg.convert_layout %v : tensor<32x64xi32, SRC> -> tensor<32x64xi32, DST>
    %j = ttg.convert_layout %i : tensor<32x64xi32, SRC> -> tensor<32x64xi32, DST>`)
		mem, _ := memory(r)
		runKernel(t, mod, p.lanes, mem, 0, outAt)
		if !bytes.Equal(mem[:outAt], mem[outAt:]) {
			t.Fatalf("%d lanes: elements moved from %s to %s", p.lanes, src, dst)
		}
	}
}

func TestReduce(t *testing.T) {
	r := seeded(t)
	for i := range 25 {
		p := programs[i%len(programs)]
		src, axis := blocked(r, p.lanes, p.warps), r.IntN(2)
		n := []int{64, 32}[axis]
		dst := fmt.Sprintf("#ttg.slice<{dim = %d, parent = %s}>", axis, src)
		mod := kernel(t, p.lanes, p.warps, src, dst, fmt.Sprint(n), fmt.Sprintf(`
    %%w = "tt.reduce"(%%v) <{axis = %d : i32}> ({
    ^bb0(%%a: i32, %%b: i32):
      %%m = arith.addi %%a, %%b : i32
      tt.reduce.return %%m : i32
    }) : (tensor<32x64xi32, SRC>) -> tensor<OUTxi32, DST>
    %%j = tt.make_range {end = OUT : i32, start = 0 : i32} : tensor<OUTxi32, DST>`, axis))
		mem, in := memory(r)
		runKernel(t, mod, p.lanes, mem, 0, outAt)
		for k, got := range words(mem[outAt : outAt+4*n]) {
			var want uint32
			for a := range 2048 / n {
				if axis == 0 {
					want += in[a*64+k]
				} else {
					want += in[k*64+a]
				}
			}
			if got != want {
				t.Fatalf("%d lanes: sum %d is %d, want %d in %s along %d", p.lanes, k, got, want, src, axis)
			}
		}
	}
}

func TestScan(t *testing.T) {
	r := seeded(t)
	for i := range 25 {
		p := programs[i%len(programs)]
		src, axis, reverse := blocked(r, p.lanes, p.warps), r.IntN(2), r.IntN(2) == 0
		// Affine maps x → a·x + b, composed in order: nothing commutes.
		mod := kernel(t, p.lanes, p.warps, src, src, "32x64", fmt.Sprintf(`
    %%both:2 = "tt.scan"(%%v, %%i) <{axis = %d : i32, reverse = %v}> ({
    ^bb0(%%a: i32, %%ai: i32, %%b: i32, %%bi: i32):
      %%p = arith.muli %%a, %%b : i32
      %%q = arith.muli %%ai, %%b : i32
      %%s = arith.addi %%q, %%bi : i32
      tt.scan.return %%p, %%s : i32, i32
    }) : (tensor<32x64xi32, SRC>, tensor<32x64xi32, SRC>) -> (tensor<32x64xi32, SRC>, tensor<32x64xi32, SRC>)
    %%none = arith.constant dense<0> : tensor<32x64xi32, SRC>
    %%j = arith.addi %%i, %%none : tensor<32x64xi32, SRC>
    %%w = arith.addi %%both#1, %%none : tensor<32x64xi32, SRC>`, axis, reverse))
		mem, in := memory(r)
		runKernel(t, mod, p.lanes, mem, 0, outAt)
		got := words(mem[outAt:])
		for line := range []int{64, 32}[axis] {
			acc := uint32(0)
			n := []int{32, 64}[axis]
			for a := range n {
				if reverse {
					a = n - 1 - a
				}
				at := line*64 + a
				if axis == 0 {
					at = a*64 + line
				}
				acc = acc*in[at] + uint32(at)
				if got[at] != acc {
					t.Fatalf("%d lanes: element %d is %d, want %d in %s along %d", p.lanes, at, got[at], acc, src, axis)
				}
			}
		}
	}
}

func TestInvert(t *testing.T) {
	for range 200 {
		n := 1 + rand.IntN(6)
		cols := make([]uint32, n)
		for i := range cols {
			cols[i] = rand.Uint32() & (1<<n - 1)
		}
		inv, ok := invert(cols)
		apply := func(m []uint32, x uint32) (y uint32) {
			for i, c := range m {
				if x>>i&1 != 0 {
					y ^= c
				}
			}
			return y
		}
		seen := map[uint32]bool{}
		for x := range uint32(1) << n {
			seen[apply(cols, x)] = true
			if ok && apply(inv, apply(cols, x)) != x {
				t.Fatalf("%v is not inverted by %v", cols, inv)
			}
		}
		if ok != (len(seen) == 1<<n) {
			t.Fatalf("%v: inverted %v, reaches %d of %d", cols, ok, len(seen), 1<<n)
		}
	}
}
