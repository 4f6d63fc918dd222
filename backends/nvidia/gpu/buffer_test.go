package gpu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver/sim"
)

// randomShared is an arrangement of shared memory for an m by n buffer of
// elements of so many bytes, and the one that it is when its dimensions are
// swapped; "" when there is none to write down.
func randomShared(r *rand.Rand, m, n, size int) (enc, swapped string) {
	switch r.IntN(5) {
	case 0, 1:
		name := "swizzled_shared"
		if r.IntN(4) == 0 {
			name = "amd_rotating_shared"
		}
		order := r.Perm(2)
		text := func(o ...int) string { return list(o) }
		head := fmt.Sprintf("#ttg.%s<{vec = %d, perPhase = %d, maxPhase = %d, order = ", name, 1<<r.IntN(5), 1<<r.IntN(3), 1<<r.IntN(4))
		return head + text(order[0], order[1]) + "}>", head + text(order[1], order[0]) + "}>"
	case 2:
		// One interval or two, the inner of which divides the outer.
		pads := fmt.Sprintf("%d:+%d", 1<<(3+r.IntN(4)), 1<<r.IntN(4))
		if r.IntN(2) == 0 {
			pads += fmt.Sprintf(", %d:+%d", 1<<(7+r.IntN(3)), 1<<r.IntN(4))
		}
		order := r.Perm(2)
		return fmt.Sprintf("#ttg.padded_shared<[%s] {order = %s, shape = [%d, %d]}>", pads, list(order), m, n),
			fmt.Sprintf("#ttg.padded_shared<[%s] {order = [%d, %d], shape = [%d, %d]}>", pads, 1-order[0], 1-order[1], n, m)
	case 3:
		for _, width := range []int{128, 64, 32} {
			if n*size >= width && m >= 8 && m <= 256 && size <= 4 {
				head := fmt.Sprintf("#ttg.nvmma_shared<{swizzlingByteWidth = %d, transposed = ", width)
				tail := fmt.Sprintf(", elementBitWidth = %d}>", 8*size)
				return head + "false" + tail, head + "true" + tail
			}
		}
		return randomShared(r, m, n, size)
	}
	var basis [][]int
	for b := 1; b < m; b *= 2 {
		basis = append(basis, []int{b, 0})
	}
	for b := 1; b < n; b *= 2 {
		basis = append(basis, []int{0, b})
	}
	r.Shuffle(len(basis), func(i, j int) { basis[i], basis[j] = basis[j], basis[i] })
	for i := 1; i < len(basis); i++ {
		if r.IntN(3) == 0 {
			other := basis[r.IntN(i)]
			basis[i] = []int{basis[i][0] ^ other[0], basis[i][1] ^ other[1]}
		}
	}
	text := func(swap bool) string {
		var parts []string
		for _, v := range basis {
			if swap {
				v = []int{v[1], v[0]}
			}
			parts = append(parts, list(v))
		}
		return "#ttg.shared_linear<{offset = [" + strings.Join(parts, ", ") + "], block = []}, alignment = 16>"
	}
	return text(false), text(true)
}

// cutsSwizzle reports whether a module is refused since it has a part of a buffer
// along what its layout permutes.
func cutsSwizzle(module string) bool {
	f, err := text.ParseFile(dialect.NewContext(), "buffer.ttgir", []byte(module))
	if err != nil {
		return false
	}
	err = f.Verify()
	return err != nil && strings.Contains(err.Error(), "splitting along the swizzling pattern")
}

// Buffers of all arrangements, stored from one layout and loaded to another, as
// a whole or in part, one of several, or with the dimensions swapped.
func TestBuffers(t *testing.T) {
	r := newRand(t)
	elems := []struct {
		name string
		size int
	}{{"f16", 2}, {"f32", 4}, {"i8", 1}, {"i64", 8}, {"bf16", 2}}
	var used string
	refused := 0
	for i := range 60 {
		elem := elems[r.IntN(len(elems))]
		m, n := 8<<r.IntN(4), 8<<r.IntN(4)
		enc, swapped := randomShared(r, m, n, elem.size)
		desc := func(shape, whole, enc string) string {
			if shape != whole {
				enc += ", #ttg.shared_memory, mutable, " + whole
			} else {
				enc += ", #ttg.shared_memory, mutable"
			}
			return fmt.Sprintf("!ttg.memdesc<%sx%s, %s>", shape, elem.name, enc)
		}
		distributed := func(shape []int) string {
			mma := fmt.Sprintf("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = %s, instrShape = [16, 8]}>", list(spreadOver(r, 2, 4)))
			switch r.IntN(6) {
			case 0, 1:
				return randomLinear(r, shape, r.IntN(2) == 0)
			case 2:
				return mma
			case 3:
				return fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s, kWidth = %d}>", r.IntN(2), mma, max(1, 4/elem.size))
			}
			return randomBlocked(r, 2)
		}
		whole := []int{m, n}
		src := distributed(whole)
		ws := times(whole)
		var b strings.Builder
		text, index := linear("i", whole, src)
		fmt.Fprintf(&b, "  tt.func public @k(%%x: !tt.ptr<%s>, %%o: !tt.ptr<%s>, %%at: i32) {\n%s", elem.name, elem.name, text)
		b.WriteString(pointers("x", "x", index, ws, elem.name, src))
		fmt.Fprintf(&b, "    %%v = tt.load %%x_p : tensor<%sx!tt.ptr<%s>, %s>\n", ws, elem.name, src)
		fmt.Fprintf(&b, "    %%all = ttg.local_alloc : () -> %s\n", desc("2x"+ws, "2x"+ws, enc))
		fmt.Fprintf(&b, "    %%m = ttg.memdesc_index %%all[%%at] : %s -> %s\n", desc("2x"+ws, "2x"+ws, enc), desc(ws, ws, enc))
		fmt.Fprintf(&b, "    ttg.local_store %%v, %%m : tensor<%sx%s, %s> -> %s\n", ws, elem.name, src, desc(ws, ws, enc))
		view, shape, offset, total := "%m", whole, []int{0, 0}, ws
		if r.IntN(2) == 0 {
			shape = []int{m >> r.IntN(3), n >> r.IntN(3)}
			offset = []int{r.IntN(m/shape[0]) * shape[0], r.IntN(n/shape[1]) * shape[1]}
			fmt.Fprintf(&b, "    %%part = ttg.memdesc_subslice %%m%s : %s -> %s\n", list(offset), desc(ws, ws, enc), desc(times(shape), ws, enc))
			view = "%part"
		}
		trans := r.IntN(2) == 0
		if trans {
			to := []int{shape[1], shape[0]}
			total = fmt.Sprintf("%dx%d", n, m)
			fmt.Fprintf(&b, "    %%turned = ttg.memdesc_trans %s {order = array<i32: 1, 0>} : %s -> %s\n", view, desc(times(shape), ws, enc), desc(times(to), total, swapped))
			view, shape, enc = "%turned", to, swapped
		}
		dst := distributed(shape)
		ss := times(shape)
		fmt.Fprintf(&b, "    %%w = ttg.local_load %s : %s -> tensor<%sx%s, %s>\n", view, desc(ss, total, enc), ss, elem.name, dst)
		text, index = linear("j", shape, dst)
		b.WriteString(text + pointers("o", "o", index, ss, elem.name, dst))
		fmt.Fprintf(&b, "    tt.store %%o_p, %%w : tensor<%sx!tt.ptr<%s>, %s>\n    tt.return\n  }\n", ss, elem.name, dst)
		module := moduleOf(b.String())
		if cutsSwizzle(module) {
			refused++
			continue
		}
		k := build(t, "buffer.ttgir", module, 80+i%2*10)
		used += k.ptx
		d := sim.New(sim.Options{})
		in := make([]byte, m*n*elem.size)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		out := d.Alloc("o", volume(shape)*elem.size)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out, int32(r.IntN(2)))
		got := out.Read()
		for i := range volume(shape) {
			row, col := i/shape[1], i%shape[1]
			if trans {
				row, col = col, row
			}
			at := ((offset[0]+row)*n + offset[1] + col) * elem.size
			if string(got[i*elem.size:(i+1)*elem.size]) != string(in[at:at+elem.size]) {
				t.Fatalf("element %d is not that of %d\n%s", i, at/elem.size, module)
			}
		}
	}
	if refused > 30 {
		t.Errorf("%d of 60 buffers are cut along swizzling, which leaves too few", refused)
	}
	for _, name := range []string{"ldmatrix.sync.aligned.m8n8.x", "stmatrix.sync.aligned.m8n8.x"} {
		if !strings.Contains(used, name) {
			t.Logf("this time without %s", name)
		}
	}
}

// Asynchronous copies of 4, 8 and 16 bytes, with masks, with other values, with
// hints, from several programs' worth of layouts.
func TestAsyncCopies(t *testing.T) {
	r := newRand(t)
	for i := range 24 {
		elem, size := []string{"f16", "f32", "i8", "i64"}[i%4], []int{2, 4, 1, 8}[i%4]
		m, n := 16<<r.IntN(3), 16<<r.IntN(3)
		least := max(1, 4/size)
		vec := least << r.IntN(3)
		for vec*size > 16 || vec > n {
			vec /= 2
		}
		src := fmt.Sprintf("#ttg.blocked<{sizePerThread = [1, %d], threadsPerWarp = [%s], warpsPerCTA = [2, 2], order = [1, 0]}>",
			vec, []string{"1, 32", "4, 8", "32, 1"}[r.IntN(3)])
		shared := fmt.Sprintf("#ttg.swizzled_shared<{vec = %d, perPhase = 1, maxPhase = %d, order = [1, 0]}>", vec, 1<<r.IntN(4))
		if vec == 1 && r.IntN(2) == 0 {
			shared = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>"
		}
		whole := []int{m, n}
		text, index := linear("i", whole, src)
		mask, other := "", ""
		if r.IntN(3) > 0 {
			mask = " mask %mask"
			if r.IntN(2) == 0 {
				other = " other %other"
			}
		}
		evict := []string{"", " evictionPolicy = evict_first", " evictionPolicy = evict_last"}[r.IntN(3)]
		seven := "7"
		if elem[0] == 'f' {
			seven = "7.0"
		}
		wait := "%g = ttg.async_commit_group tokens %t\n    %w = ttg.async_wait %g {num = 0 : i32}"
		if r.IntN(4) == 0 { // of no group
			wait = "%w = ttg.async_wait %t {num = -1 : i32}"
		}
		body := strings.NewReplacer("WAIT", wait, "DIMS", times(whole), "ELEM", elem, "SRC", src, "SHARED", shared, "INDEX", index, "SEVEN", seven,
			"MASK", mask, "OTHER", other, "EVICT", evict, "VEC", fmt.Sprint(vec)).Replace(
			"  tt.func public @k(%x: !tt.ptr<ELEM> {tt.divisibility = 16 : i32}, %o: !tt.ptr<ELEM>, %n: i32 {tt.divisibility = 16 : i32}) {\n" +
				text + pointers("x", "x", index, times(whole), elem, src) + `
    %limit = tt.splat %n : i32 -> tensor<DIMSxi32, SRC>
    %mask = arith.cmpi slt, %INDEX, %limit : tensor<DIMSxi32, SRC>
    %other = arith.constant dense<SEVEN> : tensor<DIMSxELEM, SRC>
    %m = ttg.local_alloc : () -> !ttg.memdesc<DIMSxELEM, SHARED, #ttg.shared_memory, mutable>
    %t = ttg.async_copy_global_to_local %x_p, %mMASKOTHEREVICT : tensor<DIMSx!tt.ptr<ELEM>, SRC> -> <DIMSxELEM, SHARED, #ttg.shared_memory, mutable>
    WAIT
    %v = ttg.local_load %m token %w : !ttg.memdesc<DIMSxELEM, SHARED, #ttg.shared_memory, mutable> -> tensor<DIMSxELEM, SRC>
` + pointers("o", "o", index, times(whole), elem, src) + "    tt.store %o_p, %v : tensor<DIMSx!tt.ptr<ELEM>, SRC>\n    tt.return\n  }\n")
		k := build(t, "copy.ttgir", moduleOf(body), 80)
		if !strings.Contains(k.ptx, fmt.Sprintf(", 0x%x", vec*size)) {
			t.Errorf("no copy of %d bytes\n%s", vec*size, k.ptx)
		}
		if strings.Contains(k.ptx, "cache_hint") { // cc 9.0 traps at it
			t.Errorf("a copy with a cache policy\n%s", k.ptx)
		}
		d := sim.New(sim.Options{})
		in := make([]byte, m*n*size)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		limit := 16 * r.IntN(m*n/16+1)
		out := d.Alloc("o", len(in))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out, int32(limit))
		fill := make([]byte, size)
		if other != "" {
			fill = map[string][]byte{"f16": sim.Bytes([]uint16{halfBits(7)}), "f32": sim.Bytes([]float32{7}), "i8": {7}, "i64": sim.Bytes([]int64{7})}[elem]
		}
		if mask != "" {
			for at := limit * size; at < len(in); at += size {
				copy(in[at:], fill)
			}
		}
		if string(out.Read()) != string(in) {
			t.Fatalf("%s: wrong elements\n%s", elem, body)
		}
	}
}

// Two buffers change places in each iteration of a loop; one of them is chosen
// by a condition and read by a function.
func TestBuffersInControlFlow(t *testing.T) {
	const n = 256
	src := strings.NewReplacer("T256", "tensor<256xi32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>",
		"P256", "tensor<256x!tt.ptr<i32>, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>",
		"R256", "tensor<256xi32, #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>",
		"Q256", "tensor<256x!tt.ptr<i32>, #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>",
		"M256", "!ttg.memdesc<256xi32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>").Replace(moduleOf(`
  tt.func public @k(%o: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : T256
    %j = tt.make_range {end = 256 : i32, start = 0 : i32} : R256
    %a = ttg.local_alloc %i : (T256) -> M256
    %b = ttg.local_alloc : () -> M256
    %s:2 = scf.for %k = %zero to %n step %one iter_args(%x = %a, %y = %b) -> (M256, M256) : i32 {
      %v = ttg.local_load %x : M256 -> R256
      %w = arith.addi %v, %v : R256
      %e = arith.addi %w, %j : R256
      ttg.local_store %e, %y : R256 -> M256
      scf.yield %y, %x : M256, M256
    }
    %c = arith.cmpi sgt, %n, %zero : i32
    %l = scf.if %c -> (M256) {
      scf.yield %s#0 : M256
    } else {
      scf.yield %a : M256
    }
    %r = tt.call @read(%l) : (M256) -> R256
    %p = tt.splat %o : !tt.ptr<i32> -> Q256
    %q = tt.addptr %p, %j : Q256, R256
    tt.store %q, %r : Q256
    tt.return
  }
  tt.func private @read(%m: M256) -> R256 attributes {noinline = true} {
    %v = ttg.local_load %m : M256 -> R256
    tt.return %v : R256
  }
`))
	k := build(t, "flow.ttgir", src, 80)
	for _, rounds := range []int{0, 1, 2, 5} {
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*n)
		k.run(t, d, sim.Dim(1), o, int32(rounds))
		for i, got := range sim.Download[int32](o) {
			want := i
			for range rounds {
				want = 2*want + i
			}
			if int(got) != want {
				t.Fatalf("after %d rounds o[%d] = %d, want %d", rounds, i, got, want)
			}
		}
	}
}

// A buffer seen in another shape, and as another type of the same size.
func TestBufferViews(t *testing.T) {
	src := strings.NewReplacer("FLAT", "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable",
		"BL", "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>").Replace(
		"  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<i32>) {\n" +
			indices("i", 64, 32, "BL") + pointers("x", "x", "i", "64x32", "f32", "BL") + `
    %v = tt.load %x_p : tensor<64x32x!tt.ptr<f32>, BL>
    %m = ttg.local_alloc %v : (tensor<64x32xf32, BL>) -> !ttg.memdesc<64x32xf32, FLAT>
    %s = ttg.memdesc_reshape %m : !ttg.memdesc<64x32xf32, FLAT> -> !ttg.memdesc<16x128xf32, FLAT>
    %n = ttg.memdesc_reinterpret %s : !ttg.memdesc<16x128xf32, FLAT> -> !ttg.memdesc<16x128xi32, FLAT>
    %w = ttg.local_load %n : !ttg.memdesc<16x128xi32, FLAT> -> tensor<16x128xi32, BL>
    ttg.local_dealloc %m : !ttg.memdesc<64x32xf32, FLAT>
` + indices("j", 16, 128, "BL") + pointers("o", "o", "j", "16x128", "i32", "BL") + `
    tt.store %o_p, %w : tensor<16x128x!tt.ptr<i32>, BL>
    tt.return
  }
`)
	k := build(t, "views.ttgir", moduleOf(src), 80)
	d := sim.New(sim.Options{})
	x := randn(newRand(t), 64*32)
	o := d.Alloc("o", 4*len(x))
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
	if string(o.Read()) != string(sim.Bytes(x)) {
		t.Error("the elements moved")
	}
}

// What cannot be done with a buffer is told at the line of the source.
func TestBuffersRefused(t *testing.T) {
	const shared = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable"
	bl := "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"
	for name, c := range map[string]struct{ body, want string }{
		"a narrow copy": {
			`
    %m = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, S>
    %t = ttg.async_copy_global_to_local %p, %m : tensor<64x64x!tt.ptr<f16>, BL> -> <64x64xf16, S> loc("k.py":7:11)`,
			"k.py:7:12: error: ttg.async_copy_global_to_local: an asynchronous copy moves at least 4 bytes per thread, not 2",
		},
		"a part through a loop": {
			`
    %m = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, S>
    %h = ttg.memdesc_subslice %m[32, 0] : !ttg.memdesc<64x64xf16, S> -> !ttg.memdesc<32x64xf16, S, 64x64> loc("k.py":7:11)
    %s = scf.for %k = %n to %n step %n iter_args(%x = %h) -> (!ttg.memdesc<32x64xf16, S, 64x64>) : i32 {
      scf.yield %x : !ttg.memdesc<32x64xf16, S, 64x64>
    }`,
			"k.py:7:12: error: ttg.memdesc_subslice: a part of a buffer cannot be passed through control flow",
		},
	} {
		src := strings.NewReplacer("BL", bl, "S>", shared+">", "S, 64", shared+", 64").Replace(moduleOf(
			kernelText + "  tt.func private @f(%p: tensor<64x64x!tt.ptr<f16>, BL>, %n: i32) {" + c.body + "\n    tt.return\n  }\n"))
		_, err := lower.Module(parse(t, "buffer.ttgir", src), &Target{CC: 80}, lower.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A result of a matrix instruction goes to a buffer by matrices, eight rows of
// 16 bytes at once, along rows or along columns. Where warps hold the same elements, all
// of them store without a predicate.
func TestStoreMatrices(t *testing.T) {
	r := newRand(t)
	const bl = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
	for _, c := range []struct {
		rows        int
		warps       string
		order, want string
	}{
		{64, "2, 2", "1, 0", "\tstmatrix.sync.aligned.m8n8.x4.shared.b16"},
		{64, "2, 2", "0, 1", "\tstmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
		{32, "4, 1", "1, 0", "\tstmatrix.sync.aligned.m8n8.x4.shared.b16"},
		{32, "4, 1", "0, 1", "\tstmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
	} {
		mma := "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [" + c.warps + "], instrShape = [16, 8]}>"
		shape := fmt.Sprintf("%dx64", c.rows)
		desc := "!ttg.memdesc<SHAPExf16, #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [" + c.order + "]}>, #ttg.shared_memory>"
		src := strings.NewReplacer("MMA", mma, "BL", bl, "DESC", strings.Replace(desc, "SHAPE", shape, 1), "SHAPE", shape).Replace(
			moduleOf("  tt.func public @k(%x: !tt.ptr<f16>, %o: !tt.ptr<f16>) {\n" +
				indices("i", c.rows, 64, mma) + pointers("x", "x", "i", shape, "f16", mma) + `
    %v = tt.load %x_p : tensor<SHAPEx!tt.ptr<f16>, MMA>
    %m = ttg.local_alloc %v : (tensor<SHAPExf16, MMA>) -> DESC
    %w = ttg.local_load %m : DESC -> tensor<SHAPExf16, BL>
` + indices("j", c.rows, 64, bl) + pointers("o", "o", "j", shape, "f16", bl) + `
    tt.store %o_p, %w : tensor<SHAPEx!tt.ptr<f16>, BL>
    tt.return
  }
`))
		k := build(t, "store.ttgir", src, 90)
		if got := strings.Count(k.ptx, c.want); got != 4 {
			t.Errorf("%d rows, order [%s]: %d of %q, want 4\n%s", c.rows, c.order, got, c.want, k.ptx)
		}
		d := sim.New(sim.Options{})
		x := halfs(randn(r, c.rows*64))
		o := d.Alloc("o", 2*len(x))
		rep := k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		if string(o.Read()) != string(sim.Bytes(x)) {
			t.Errorf("%d rows, order [%s]: the elements moved", c.rows, c.order)
		}
		if c.order == "1, 0" { // otherwise a row is loaded element by element
			noConflicts(t, rep.Counters.SharedWavefronts, rep.Counters.SharedWavefrontsNeeded)
		}
	}
}
