package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	tensorcores "github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/driver/sim"
)

// carriedBuffers is a dot of which each iteration fills the buffers that the next
// one reads: A of M×K and B of K×N elements per iteration.
func carriedBuffers(m, n, k int, convert bool) string {
	elem := "f16"
	load := "%x = ttg.local_load %am : MA -> XA"
	if convert {
		elem = "f8E5M2"
		load = "%x8 = ttg.local_load %am : MA -> XE\n      %x = tt.fp_to_fp %x8 : XE -> XA"
	}
	types := strings.NewReplacer(
		"TA", fmt.Sprintf("tensor<%dx%dx%s, #bl>", m, k, elem), "PA", fmt.Sprintf("tensor<%dx%dx!tt.ptr<%s>, #bl>", m, k, elem),
		"IA", fmt.Sprintf("tensor<%dx%dxi32, #bl>", m, k),
		"TB", fmt.Sprintf("tensor<%dx%dxf16, #bl>", k, n), "PB", fmt.Sprintf("tensor<%dx%dx!tt.ptr<f16>, #bl>", k, n),
		"IB", fmt.Sprintf("tensor<%dx%dxi32, #bl>", k, n),
		"MA", fmt.Sprintf("!ttg.memdesc<%dx%dx%s, #sa, #smem>", m, k, elem), "MB", fmt.Sprintf("!ttg.memdesc<%dx%dxf16, #sb, #smem>", k, n),
		"XA", fmt.Sprintf("tensor<%dx%dxf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>", m, k),
		"XE", fmt.Sprintf("tensor<%dx%dx%s, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>", m, k, elem),
		"XB", fmt.Sprintf("tensor<%dx%dxf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>>", k, n),
		"TC", fmt.Sprintf("tensor<%dx%dxf32, #mma>", m, n), "PC", fmt.Sprintf("tensor<%dx%dx!tt.ptr<f32>, #mma>", m, n),
		"IC", fmt.Sprintf("tensor<%dx%dxi32, #mma>", m, n),
		"SIZEA", fmt.Sprint(m*k), "SIZEB", fmt.Sprint(k*n), "EA", elem,
	)
	// offsets are those of a row-major matrix of that many columns.
	offsets := func(name, enc string, rows, cols int) string {
		return fmt.Sprintf(`    %%%[1]sr = tt.make_range {end = %[3]d : i32, start = 0 : i32} : tensor<%[3]dxi32, #ttg.slice<{dim = 1, parent = %[2]s}>>
    %%%[1]sc = tt.make_range {end = %[4]d : i32, start = 0 : i32} : tensor<%[4]dxi32, #ttg.slice<{dim = 0, parent = %[2]s}>>
    %%%[1]sR = tt.expand_dims %%%[1]sr {axis = 1 : i32} : tensor<%[3]dxi32, #ttg.slice<{dim = 1, parent = %[2]s}>> -> tensor<%[3]dx1xi32, %[2]s>
    %%%[1]sC = tt.expand_dims %%%[1]sc {axis = 0 : i32} : tensor<%[4]dxi32, #ttg.slice<{dim = 0, parent = %[2]s}>> -> tensor<1x%[4]dxi32, %[2]s>
    %%%[1]sw = arith.constant dense<%[4]d> : tensor<%[3]dx1xi32, %[2]s>
    %%%[1]sM = arith.muli %%%[1]sR, %%%[1]sw : tensor<%[3]dx1xi32, %[2]s>
    %%%[1]sb = tt.broadcast %%%[1]sM : tensor<%[3]dx1xi32, %[2]s> -> tensor<%[3]dx%[4]dxi32, %[2]s>
    %%%[1]sd = tt.broadcast %%%[1]sC : tensor<1x%[4]dxi32, %[2]s> -> tensor<%[3]dx%[4]dxi32, %[2]s>
    %%%[1]so = arith.addi %%%[1]sb, %%%[1]sd : tensor<%[3]dx%[4]dxi32, %[2]s>
`, name, enc, rows, cols)
	}
	return `#bl = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#sa = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#sb = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
` + types.Replace(`  tt.func public @k(%a: !tt.ptr<EA> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : TC
    %da = arith.constant dense<SIZEA> : IA
    %db = arith.constant dense<SIZEB> : IB
`) + offsets("a", "#bl", m, k) + offsets("b", "#bl", k, n) + offsets("c", "#mma", m, n) + types.Replace(`    %pa = tt.splat %a : !tt.ptr<EA> -> PA
    %pa0 = tt.addptr %pa, %ao : PA, IA
    %pb = tt.splat %b : !tt.ptr<f16> -> PB
    %pb0 = tt.addptr %pb, %bo : PB, IB
    %a0 = tt.load %pa0 : PA
    %am0 = ttg.local_alloc %a0 : (TA) -> MA
    %b0 = tt.load %pb0 : PB
    %bm0 = ttg.local_alloc %b0 : (TB) -> MB
    %r:5 = scf.for %i = %c0 to %n step %c1 iter_args(%qa = %pa0, %qb = %pb0, %am = %am0, %bm = %bm0, %acc = %zero) -> (PA, PB, MA, MB, TC) : i32 {
      `+load+`
      %y = ttg.local_load %bm : MB -> XB
      %d = tt.dot %x, %y, %acc : XA * XB -> TC
      %qa1 = tt.addptr %qa, %da : PA, IA
      %qb1 = tt.addptr %qb, %db : PB, IB
      %a1 = tt.load %qa1 : PA
      %am1 = ttg.local_alloc %a1 : (TA) -> MA
      %b1 = tt.load %qb1 : PB
      %bm1 = ttg.local_alloc %b1 : (TB) -> MB
      scf.yield %qa1, %qb1, %am1, %bm1, %d : PA, PB, MA, MB, TC
    }
    %pc = tt.splat %c : !tt.ptr<f32> -> PC
    %pc0 = tt.addptr %pc, %co : PC, IC
    tt.store %pc0, %r#4 : PC
    tt.return
  }
}
`)
}

// A dot whose buffers the loop carries gives the same bits with its operands
// read ahead, and the right ones.
func TestPrefetch(t *testing.T) {
	r := newRand(t)
	const m, n = 32, 64
	for _, c := range []struct {
		k       int
		convert bool
		parts   int // into which K is cut
	}{{16, false, 1}, {32, false, 2}, {64, false, 3}, {64, true, 3}} {
		src := carriedBuffers(m, n, c.k, c.convert)
		mod := parse(t, "plain.ttgir", src)
		var runner pass.Runner
		if _, err := runner.Run(mod, []pass.Row{{Pass: pipeline.NewPrefetch(tensorcores.Unit{})}}, nil); err != nil {
			t.Fatal(err)
		}
		ahead := string(text.Append(nil, mod, text.Options{}))
		if got := strings.Count(ahead, "tt.dot "); got != c.parts {
			t.Fatalf("K of %d is cut into %d parts, want %d\n%s", c.k, got, c.parts, ahead)
		}
		kernels := []*kernel{build(t, "plain.ttgir", src, 80), build(t, "ahead.ttgir", ahead, 80)}
		for _, trips := range []int{0, 1, 2, 5} {
			// One iteration more is loaded than is used.
			size := m * c.k * (trips + 1)
			b := halfOperand(r, c.k*n*(trips+1))
			a := halfOperand(r, size)
			if c.convert {
				a = fp8Operand(ir.F8E5M2)(r, size)
			}
			var out [2][]float32
			for i, k := range kernels {
				d := sim.New(sim.Options{})
				result := d.Alloc("c", 4*m*n)
				k.run(t, d, sim.Dim(1), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), result, int32(trips))
				out[i] = sim.Download[float32](result)
			}
			want, bound := make([]float64, m*n), make([]float64, m*n)
			for iter := range trips {
				x, y := a.values[iter*m*c.k:][:m*c.k], b.values[iter*c.k*n:][:c.k*n]
				p, e := product(x, y, m, n, c.k), sumBound(x, y, m, n, c.k, 1e-6*float64(trips))
				for i := range want {
					want[i] += p[i]
					bound[i] += e[i]
				}
			}
			within(t, fmt.Sprintf("K %d, %d iterations", c.k, trips), doubles(out[0]), want, bound, 0)
			if !slices.EqualFunc(out[0], out[1], func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }) {
				t.Errorf("K %d, %d iterations: other bits when operands are read ahead", c.k, trips)
			}
		}
	}
}
