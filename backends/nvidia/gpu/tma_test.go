package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver/sim"
)

// Triton's own module for compute capability 9.0: a block comes through a
// descriptor, is doubled, and leaves through another.
func TestDescriptors(t *testing.T) {
	k := build(t, "descriptors.ttgir", given(t, "descriptors"), 90)
	if k.GlobalScratch != 256 || k.GlobalScratchAlign != 128 {
		t.Errorf("global scratch: %d bytes aligned to %d, want 256 and 128", k.GlobalScratch, k.GlobalScratchAlign)
	}
	r := newRand(t)
	narrow := strings.NewReplacer(`"ttg.num-warps" = 4`, `"ttg.num-warps" = 1`, "warpsPerCTA = [4, 1]", "warpsPerCTA = [1, 1]")
	alone := build(t, "descriptors.ttgir", narrow.Replace(given(t, "descriptors")), 90)
	first := strings.NewReplacer("%x_7, %x_8, %true :", "%x_7, %x_8, %true evictionPolicy = evict_first :")
	hinted := build(t, "descriptors.ttgir", first.Replace(given(t, "descriptors")), 90)
	if !strings.Contains(hinted.ptx, "complete_tx::bytes.L2::cache_hint") {
		t.Errorf("no hint:\n%s", hinted.ptx)
	}
	for i, s := range []struct{ m, n int }{{32, 64}, {64, 128}, {33, 72}, {1, 8}, {95, 200}, {33, 72}, {33, 72}} {
		k := k
		switch i {
		case 5:
			k = alone
		case 6:
			k = hinted
		}
		x := halfs(randn(r, s.m*s.n))
		d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
		o := d.Alloc("o", 2*s.m*s.n)
		k.run(t, d, sim.Dim((s.m+31)/32, (s.n+63)/64), sim.Upload(d, "a", x), o, int32(s.m), int32(s.n))
		got := widened(sim.Download[uint16](o))
		for i, w := range widened(x) {
			if got[i] != 2*w {
				t.Fatalf("%v: o[%d] = %v, want %v", s, i, got[i], 2*w)
			}
		}
	}
}

// Blocks of random tensors come through descriptors, several times through one
// barrier, whose phases alternate; what lies outside of a tensor is zero.
func TestTMALoads(t *testing.T) {
	r := newRand(t)
	for i := range 10 {
		c := randomTMA(r, 1+i%5)
		k := build(t, "tma.ttgir", c.source(), 90)
		x, want := randomBytes(r, c.size()*c.bytes), make([]byte, c.dumped()*c.bytes)
		c.each(func(elem, at int, inside bool) {
			if inside {
				copy(want[elem*c.bytes:][:c.bytes], x[at*c.bytes:])
			}
		})
		d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
		o := d.Alloc("o", len(want))
		k.run(t, d, sim.Dim(c.programs()), append([]any{sim.Upload(d, "t", x), o}, c.params()...)...)
		if n := differing(o.Read(), want); n > 0 {
			t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(want), k.src)
		}
	}
}

// strideOfMap is the operand of an instruction that sets a stride.
var strideOfMap = regexp.MustCompile(`(@%p\d+ tensormap\.replace\.tile\.global_stride\.[^;]*, )(%rd\d+);`)

// An assembler before CUDA 12.5 takes strides of 16 bytes, a later one, as the
// simulator, of bytes that it makes these of. Shifted by 4, they are to the
// simulator what they were to the former: the same text must be right with both.
func TestTMAStridesOfOldAssemblers(t *testing.T) {
	r := newRand(t)
	for rank := 2; rank <= 5; rank++ {
		c := randomTMA(r, rank)
		k := build(t, "tma.ttgir", c.source(), 90)
		old := strideOfMap.ReplaceAllString(k.ptx, "{ .reg .b64 %stride; shl.b64 %stride, $2, 4; $1%stride; }")
		if n := strings.Count(old, "%stride;") / 2; n != rank {
			t.Fatalf("rank %d: %d strides are set, want the strides and one to find out what they are\n%s", rank, n, k.ptx)
		}
		var err error
		if k.mod, err = sim.Load("old.ptx", []byte(old)); err != nil {
			t.Fatal(err)
		}
		x, want := randomBytes(r, c.size()*c.bytes), make([]byte, c.dumped()*c.bytes)
		c.each(func(elem, at int, inside bool) {
			if inside {
				copy(want[elem*c.bytes:][:c.bytes], x[at*c.bytes:])
			}
		})
		d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
		o := d.Alloc("o", len(want))
		k.run(t, d, sim.Dim(c.programs()), append([]any{sim.Upload(d, "t", x), o}, c.params()...)...)
		if n := differing(o.Read(), want); n > 0 {
			t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(want), k.src)
		}
	}
}

// Blocks leave through descriptors, clipped to the tensor.
func TestTMAStores(t *testing.T) {
	r := newRand(t)
	for i := range 10 {
		c := randomTMA(r, 1+i%5)
		c.out = true
		for d := range c.start { // hardware begins no store before the tensor
			c.start[d] = max(c.start[d], 0)
		}
		k := build(t, "tma.ttgir", c.source(), 90)
		from, want := randomBytes(r, c.dumped()*c.bytes), randomBytes(r, c.size()*c.bytes)
		d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
		to := sim.Upload(d, "t", want)
		c.each(func(elem, at int, inside bool) {
			if inside {
				copy(want[at*c.bytes:][:c.bytes], from[elem*c.bytes:])
			}
		})
		k.run(t, d, sim.Dim(c.programs()), append([]any{to, sim.Upload(d, "o", from)}, c.params()...)...)
		if n := differing(to.Read(), want); n > 0 {
			t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(want), k.src)
		}
	}
}

// Blocks are combined with the tensor as they leave.
func TestTMAReductions(t *testing.T) {
	r := newRand(t)
	type num = float64
	round := map[string]func(num) []byte{
		"f32":  func(x num) []byte { return sim.Bytes([]float32{float32(x)}) },
		"f16":  func(x num) []byte { return sim.Bytes(halfs([]float32{float32(x)})) },
		"bf16": func(x num) []byte { return sim.Bytes([]uint16{uint16(math.Float32bits(float32(x)) >> 16)}) },
		"i32":  func(x num) []byte { return sim.Bytes([]int32{int32(x)}) },
	}
	bits := func(f func(a, b uint32) uint32) func(a, b num) num {
		return func(a, b num) num { return num(int32(f(uint32(int32(a)), uint32(int32(b))))) }
	}
	kinds := map[string]func(old, x num) num{
		"add": func(old, x num) num { return old + x }, "min": math.Min, "max": math.Max,
		"and": bits(func(a, b uint32) uint32 { return a & b }),
		"or":  bits(func(a, b uint32) uint32 { return a | b }),
		"xor": bits(func(a, b uint32) uint32 { return a ^ b }),
	}
	for _, v := range []struct{ elem, kind string }{
		{"f32", "add"},
		{"f16", "add"},
		{"f16", "min"},
		{"f16", "max"},
		{"bf16", "add"},
		{"bf16", "max"},
		{"i32", "add"},
		{"i32", "min"},
		{"i32", "max"},
		{"i32", "and"},
		{"i32", "or"},
		{"i32", "xor"},
	} {
		t.Run(v.elem+" "+v.kind, func(t *testing.T) {
			c := randomTMA(r, 1+r.IntN(3))
			for c.elem != v.elem {
				c = randomTMA(r, 1+r.IntN(3))
			}
			c.out, c.reduce = true, v.kind
			for d := range c.start {
				c.start[d] = max(c.start[d], 0)
			}
			values := func(n int) (xs []num, b []byte) { // small numbers, so that sums are exact
				for range n {
					x := num(r.IntN(64) - 32)
					xs, b = append(xs, x), append(b, round[v.elem](x)...)
				}
				return xs, b
			}
			from, fromBytes := values(c.dumped())
			want, toBytes := values(c.size())
			c.each(func(elem, at int, inside bool) {
				if inside {
					want[at] = kinds[v.kind](want[at], from[elem])
				}
			})
			var wantBytes []byte
			for _, x := range want {
				wantBytes = append(wantBytes, round[v.elem](x)...)
			}
			k := build(t, "tma.ttgir", c.source(), 90)
			d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
			to := sim.Upload(d, "t", toBytes)
			k.run(t, d, sim.Dim(c.programs()), append([]any{to, sim.Upload(d, "o", fromBytes)}, c.params()...)...)
			if n := differing(to.Read(), wantBytes); n > 0 {
				t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(wantBytes), k.src)
			}
		})
	}
}

// each calls f for every element of every block: its index among all, and that in
// the tensor.
func (c *tmaCase) each(f func(elem, at int, inside bool)) {
	elem := 0
	for p := range c.programs() {
		for round := range c.rounds {
			for i := range volume(c.block) {
				at, inside := c.place(p, round, i)
				f(elem, at, inside)
				elem++
			}
		}
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func differing(got, want []byte) int {
	n := 0
	for i, w := range want {
		if got[i] != w {
			n++
		}
	}
	return n
}

// A function makes descriptors of its own, and each call's have a place of their
// own in the caller's scratch memory.
func TestDescriptorsInFunctions(t *testing.T) {
	const size = 32 * 64
	types := strings.NewReplacer(
		"DESC", "!tt.tensordesc<tensor<32x64xf16, SHARED>>", "MEM", "!ttg.memdesc<32x64xf16, SHARED, #ttg.shared_memory, mutable>",
		"BAR", "!ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>",
		"T", "tensor<32x64xf16, #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>>",
	)
	shared := strings.NewReplacer("SHARED", "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>")
	src := moduleOf(shared.Replace(types.Replace(`  tt.func private @block(%p: !tt.ptr<f16>, %n: i32) -> T attributes {noinline = true} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %rows = arith.constant 32 : i32
    %cols = arith.constant 64 : i32
    %stride = arith.constant 128 : i64
    %true = arith.constant true
    %skipped = ttg.global_scratch_alloc {alignment = 16 : i32, nbytes = 40 : i32} : !tt.ptr<i8>
    %map = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
    ttng.tensormap_create %map, %p, [%cols, %rows], [%cols, %n], [%stride], [%one, %one] {elem_type = 6 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<f16>, i32, i32, i32, i32, i64, i32, i32) -> ()
    ttng.tensormap_fenceproxy_acquire %map : !tt.ptr<i8>
    %desc = ttng.reinterpret_tensor_descriptor %map : !tt.ptr<i8> to DESC
    %m = ttg.local_alloc : () -> MEM
    %bar = ttg.local_alloc : () -> BAR
    ttng.init_barrier %bar, 1 : BAR
    ttng.barrier_expect %bar, 4096, %true : BAR
    ttng.async_tma_copy_global_to_local %desc[%zero, %zero] %m, %bar, %true : DESC, BAR -> MEM
    ttng.wait_barrier %bar, %zero : BAR
    ttng.inval_barrier %bar : BAR
    %v = ttg.local_load %m : MEM -> T
    tt.return %v : T
  }
  tt.func public @k(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f16>) {
    %x = tt.call @block(%a, %n) : (!tt.ptr<f16>, i32) -> T
    %y = tt.call @block(%b, %n) : (!tt.ptr<f16>, i32) -> T
    %s = arith.addf %x, %y : T
    %map = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
    %one = arith.constant 1 : i32
    %rows = arith.constant 32 : i32
    %cols = arith.constant 64 : i32
    %stride = arith.constant 128 : i64
    ttng.tensormap_create %map, %o, [%cols, %rows], [%cols, %rows], [%stride], [%one, %one] {elem_type = 6 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<f16>, i32, i32, i32, i32, i64, i32, i32) -> ()
    ttng.tensormap_fenceproxy_acquire %map : !tt.ptr<i8>
    %desc = ttng.reinterpret_tensor_descriptor %map : !tt.ptr<i8> to DESC
    %at = tt.get_program_id x : i32
    %row = arith.muli %at, %rows : i32
    %zero = arith.constant 0 : i32
    %m = ttg.local_alloc %s : (T) -> MEM
    ttng.fence_async_shared {bCluster = false}
    ttng.async_tma_copy_local_to_global %desc[%zero, %zero] %m : DESC, MEM
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
`)))
	k := build(t, "functions.ttgir", src, 90)
	// A call's frame: 40 bytes, and a map at the next multiple of 128. Two of them
	// and the kernel's own map.
	if k.GlobalScratch != 5*128 || k.GlobalScratchAlign != 128 {
		t.Errorf("global scratch: %d bytes aligned to %d, want 640 and 128", k.GlobalScratch, k.GlobalScratchAlign)
	}
	r := newRand(t)
	a, b := halfs(randn(r, size)), halfs(randn(r, size))
	const n = 19 // rows
	d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
	o := d.Alloc("o", 2*size)
	k.run(t, d, sim.Dim(1), sim.Upload(d, "a", a), sim.Upload(d, "b", b), int32(n), o)
	var want []float64
	for i := range size {
		if i >= 64*n {
			a[i], b[i] = 0, 0
		}
		want = append(want, float64(widened(halfs([]float32{widened(a[i : i+1])[0] + widened(b[i : i+1])[0]}))[0]))
	}
	near(t, "o", widened(sim.Download[uint16](o)), want, 0, 0)
}

// Nobody waits whose predicate is false.
func TestWaitPredicate(t *testing.T) {
	bar := "!ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>"
	for pred, stuck := range map[string]bool{"false": false, "true": true} {
		src := moduleOf(strings.ReplaceAll(strings.ReplaceAll(`  tt.func public @k(%o: !tt.ptr<i32>) {
    %zero = arith.constant 0 : i32
    %p = arith.constant PRED
    %b = ttg.local_alloc : () -> BAR
    ttng.init_barrier %b, 1 : BAR
    ttng.wait_barrier %b, %zero, %p : BAR
    ttng.inval_barrier %b : BAR
    tt.store %o, %zero : !tt.ptr<i32>
    tt.return
  }
`, "BAR", bar), "PRED", pred))
		k := build(t, "wait.ttgir", src, 90)
		d := sim.New(sim.Options{MaxInstructions: 1 << 14})
		_, err := d.Launch(k.mod, k.Kernel, sim.Dim(1), sim.Dim(k.Threads), k.Shared, d.Alloc("o", 4))
		if (err != nil) != stuck {
			t.Errorf("predicate %s: %v", pred, err)
		}
	}
}

// What descriptors, barriers and targets cannot do is told at the operation.
func TestTMARefused(t *testing.T) {
	const (
		plain = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
		turn  = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>"
		rows  = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
	)
	store := func(enc, coords string) string {
		return strings.NewReplacer("ENC", enc, "COORDS", coords).Replace(
			"%m = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, ENC, #ttg.shared_memory, mutable>\n" +
				"ttng.async_tma_copy_local_to_global %d[COORDS] %m : !tt.tensordesc<tensor<64x64xf16, " + rows +
				">>, !ttg.memdesc<64x64xf16, ENC, #ttg.shared_memory, mutable> loc(\"k.py\":7:11)\n")
	}
	flat := "tensor<4096xf16, " + strings.Replace(rows, "16}>", "16, rank = 1}>", 1) + ">"
	narrow := strings.NewReplacer("%d", "%e", "tensor<64x64xf16, "+rows+">", flat).Replace(store(rows, "%n"))
	for name, c := range map[string]struct {
		cc       int
		op, want string
	}{
		"before 9.0":        {80, "ttng.fence_async_shared {bCluster = false} loc(\"k.py\":7:11)", "ttng.fence_async_shared: the target has no such instruction: compute capability 9.0 brought it"},
		"other arrangement": {90, store(plain, "%n, %n"), "ttng.async_tma_copy_local_to_global: a buffer arranged as swizzled_shared"},
		"columns":           {90, store(turn, "%n, %n"), "the buffer is transposed"},
		"coordinates":       {90, "%e = ttng.reinterpret_tensor_descriptor %p : !tt.ptr<i8> to !tt.tensordesc<" + flat + ">\n" + narrow, "1 coordinate for a buffer of 2 dimensions"},
		"cluster":           {90, "ttng.fence_async_shared {bCluster = true} loc(\"k.py\":7:11)", "fences of a whole cluster are not lowered"},
		"not lowered":       {90, "ttng.cluster_wait loc(\"k.py\":7:11)", "ttng.cluster_wait: this operation cannot be lowered for this target"},
	} {
		t.Run(name, func(t *testing.T) {
			src := moduleOf("  tt.func public @k(%p: !tt.ptr<i8>, %n: i32) {\n    %d = ttng.reinterpret_tensor_descriptor %p : !tt.ptr<i8> to !tt.tensordesc<tensor<64x64xf16, " +
				rows + ">>\n    " + c.op + "\n    tt.return\n  }\n")
			if c.cc < 90 {
				src = moduleOf("  tt.func public @k() {\n    " + c.op + "\n    tt.return\n  }\n")
			}
			_, err := lower.Module(parse(t, "k.ttgir", src), &Target{CC: c.cc}, lower.Options{})
			all := diag.All(err)
			if len(all) != 1 {
				t.Fatalf("error %v, want one diagnostic", err)
			}
			if d := all[0]; !strings.Contains(d.Message, c.want) || d.Pos != (diag.Pos{File: "k.py", Line: 7, Col: 12}) {
				t.Errorf("%v, want %q at k.py:7:12", d, c.want)
			}
		})
	}
}

// A descriptor that the host makes is a parameter of 128 bytes where the hardware knows
// such, and refused elsewhere.
func TestDescriptorParameter(t *testing.T) {
	src := moduleOf(`  tt.func public @k(%d: !tt.tensordesc<tensor<64x64xf16>>) {
    tt.return
  } loc("k.py":7:11)
`)
	_, err := lower.Module(parse(t, "k.ttgir", src), &Target{CC: 89}, lower.Options{})
	if err == nil || !strings.Contains(err.Error(), "k.py:7:12: error: tt.func: a kernel whose parameter is a descriptor cannot be lowered") {
		t.Errorf("error %v", err)
	}
	res, err := lower.Module(parse(t, "k.ttgir", src), &Target{CC: 90}, lower.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text, want := string(res.LLVM.Print()), `ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %`; !strings.Contains(text, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
}

// What copies leave in shared memory is loaded for dots with no conflict of
// banks, as far as the swizzle is as long as a row.
func TestTMAOperands(t *testing.T) {
	const mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
	r := newRand(t)
	for _, v := range []struct {
		elem               string
		typ, bytes, kWidth int
		operand, swizzle   int
		block              []int
	}{
		{"f16", 6, 2, 2, 0, 128, []int{64, 64}},
		{"f16", 6, 2, 2, 0, 128, []int{128, 128}},
		{"f16", 6, 2, 2, 0, 64, []int{64, 32}},
		{"f16", 6, 2, 2, 0, 32, []int{64, 16}},
		{"bf16", 10, 2, 2, 1, 128, []int{64, 64}}, // along rows: transposed as they are loaded
		{"bf16", 10, 2, 2, 1, 64, []int{32, 32}},
		{"f32", 7, 4, 1, 0, 128, []int{64, 32}},
		{"i8", 0, 1, 4, 0, 128, []int{64, 128}},
		{"f8E5M2", 0, 1, 4, 0, 64, []int{64, 64}},
	} {
		t.Run(fmt.Sprintf("%s %d %v swizzle %d", v.elem, v.operand, v.block, v.swizzle), func(t *testing.T) {
			c := &tmaCase{
				elem: v.elem, typ: v.typ, bytes: v.bytes, block: v.block, swizzle: v.swizzle,
				dims: []int{v.block[0], 2 * v.block[1]}, row: 2 * v.block[1], start: []int{0, 0}, rounds: 1, buffers: 1,
				layout: fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s, kWidth = %d}>", v.operand, mma, v.kWidth),
			}
			k := build(t, "tma.ttgir", c.source(), 90)
			x, want := randomBytes(r, c.size()*c.bytes), make([]byte, c.dumped()*c.bytes)
			c.each(func(elem, at int, _ bool) { copy(want[elem*c.bytes:][:c.bytes], x[at*c.bytes:]) })
			d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
			o := d.Alloc("o", len(want))
			rep := k.run(t, d, sim.Dim(c.programs()), append([]any{sim.Upload(d, "t", x), o}, c.params()...)...)
			if n := differing(o.Read(), want); n > 0 {
				t.Fatalf("%d of %d bytes differ\n%s", n, len(want), k.src)
			}
			if n := rep.Counters; n.SharedWavefronts != n.SharedWavefrontsNeeded || !strings.Contains(k.ptx, "ldmatrix") {
				t.Errorf("%d passes through the banks of shared memory, where %d would do\n%s", n.SharedWavefronts, n.SharedWavefrontsNeeded, k.ptx)
			}
		})
	}
}
