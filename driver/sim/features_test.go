package sim

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

func TestCasts(t *testing.T) {
	m := load(t, "casts")
	r := newRand(t)
	const B = 256
	x := randn(r, B, 50)
	for i := range x {
		x[i] = float32(math.Abs(float64(x[i]))) // negative to u8 is not defined
		if i%3 == 0 {
			x[i] /= 1 << 20
		}
		x[i] = min(x[i], 127)
	}
	d := New(Options{})
	h, b, i8, u8, i64 := d.Alloc("h", 2*B), d.Alloc("b", 2*B), d.Alloc("i8", B), d.Alloc("u8", B), d.Alloc("i64", 8*B)
	launch(t, d, m, "casts", Dim(1), Dim(128), 4096, Upload(d, "x", x), h, b, i8, u8, i64)
	for i, v := range x {
		if got, want := Download[uint16](h)[i], toHalf(v); got != want {
			t.Errorf("half of %v is %04x, want %04x", v, got, want)
		}
		if got, want := Download[uint16](b)[i], toBF16(v); got != want {
			t.Errorf("bfloat16 of %v is %04x, want %04x", v, got, want)
		}
		if got, want := Download[int8](i8)[i], int8(v); got != want {
			t.Errorf("int8 of %v is %d, want %d", v, got, want)
		}
		if got, want := Download[uint8](u8)[i], uint8(v); got != want {
			t.Errorf("uint8 of %v is %d, want %d", v, got, want)
		}
		if got, want := Download[int64](i64)[i], int64(v)+int64(int32(math.Float32bits(v))); got != want {
			t.Errorf("int64 of %v is %d, want %d", v, got, want)
		}
	}
}

func TestCastsFP8(t *testing.T) {
	m := load(t, "sm90/casts_fp8")
	r := newRand(t)
	const B = 256
	x := randn(r, B, 30)
	e4, e5 := make([]byte, 2*B), make([]byte, 2*B)
	for i := range e4 {
		e4[i], e5[i] = byte(r.UintN(256))&0xbf, byte(r.UintN(256))&0xbf
	}
	d := New(Options{Chip: H200})
	h, b4, b5 := d.Alloc("h", 2*B), Upload(d, "e4", e4), Upload(d, "e5", e5)
	launch(t, d, m, "casts_fp8", Dim(1), Dim(128), 4096, Upload(d, "x", x), h, b4, b5)
	for i, v := range x {
		if got, want := Download[byte](b4)[i], byte(refFP8(floatFormats["e4m3"], float64(v))); got != want {
			t.Errorf("e4m3 of %v is %02x, want %02x", v, got, want)
		}
		if got, want := Download[byte](b5)[i], byte(refFP8(floatFormats["e5m2"], float64(v))); got != want {
			t.Errorf("e5m2 of %v is %02x, want %02x", v, got, want)
		}
		sum := floatFormats["e4m3"].value(uint64(e4[B+i])) + floatFormats["e5m2"].value(uint64(e5[B+i]))
		if got, want := Download[uint16](h)[i], toHalf(float32(sum)); got != want {
			t.Errorf("sum %d is %04x, want %04x", i, got, want)
		}
	}
}

func TestPromotions(t *testing.T) {
	m := load(t, "promotions")
	r := newRand(t)
	const B = 256
	x := randn(r, B, 3)
	is, us := make([]int32, B), make([]uint32, B)
	for k := range is {
		is[k], us[k] = int32(r.IntN(2000)-1000), uint32(r.IntN(100))
	}
	const s, f = int32(48), float32(1.5)
	d := New(Options{})
	o := d.Alloc("o", 4*B)
	launch(t, d, m, "promotions", Dim(1), Dim(128), 4096, Upload(d, "x", x), Upload(d, "i", is), Upload(d, "u", us), o, s, f)
	want := make([]float64, B)
	for k := range want {
		xv, i, u := float64(x[k]), is[k], us[k]
		a := xv + float64(i)
		b := i/3 + i%7 + i
		c := u>>2 | (u<<1 ^ (u & 255))
		dd := xv/float64(s) + float64(f)*xv - 2
		e := i < s && xv >= 0.5 || u != 3
		g := dd
		if e {
			g = a + float64(b)
		}
		want[k] = g + float64(c) + float64(^i) + float64((s+15)/16)
	}
	near(t, "o", Download[float32](o), want, 1e-5, 1e-3)
}

func TestControlFlow(t *testing.T) {
	m := load(t, "control_flow")
	r := newRand(t)
	const B = 256
	for _, flag := range []int{0, 1, 3, 4, 9} {
		const n = 2*B - 16
		x := randn(r, 2*B+16, 1)
		d := New(Options{})
		o := d.Alloc("o", 4*n)
		launch(t, d, m, "control_flow", Dim(3), Dim(128), 4096, Upload(d, "x", x), o, int32(n), int32(flag))
		want := make([]float64, n)
		for p := range want {
			acc := 3.0
			for i := range flag {
				switch {
				case i%2 == 0:
					acc += float64(x[p])
				case i%3 == 0:
					acc--
				default:
					acc *= 2
				}
			}
			acc += float64(flag * (flag + 1) / 2)
			for k := range flag {
				acc += float64(x[p+k])
			}
			if flag <= 3 {
				acc = -acc
			}
			want[p] = acc
		}
		near(t, fmt.Sprintf("flag %d", flag), Download[float32](o), want, 1e-5, 1e-4)
	}
}

func TestCalls(t *testing.T) {
	m := load(t, "calls")
	r := newRand(t)
	const B = 256
	x := randn(r, B, 2)
	d := New(Options{})
	o := d.Alloc("o", 4*B)
	launch(t, d, m, "calls", Dim(1), Dim(128), 4096, Upload(d, "x", x), o)
	mean, va := sum64(x)/B, 0.0
	for _, v := range x {
		va += (float64(v) - mean) * (float64(v) - mean)
	}
	want := make([]float64, B)
	for i, v := range x {
		want[i] = (float64(v)-mean)/math.Sqrt(va/B+1e-5) + mean*3 + 1
	}
	near(t, "o", Download[float32](o), want, 1e-5, 1e-5)
}

func TestShapes(t *testing.T) {
	m := load(t, "shapes")
	r := newRand(t)
	const M, N = 32, 32
	x := randn(r, M*N, 1)
	d := New(Options{})
	o := d.Alloc("o", 4*3*M*N)
	launch(t, d, m, "shapes", Dim(1), Dim(128), 16384, Upload(d, "x", x), o)
	got := Download[float32](o)
	// q[i][j][k] = t[i*2+k][j] with t = transposed x; a and b are its halves, and
	// joining or interleaving them gives q again.
	f := make([]float64, M*N)
	for i := range M / 2 {
		for j := range N {
			for k := range 2 {
				f[i*2*N+j*2+k] = float64(x[j*N+i*2+k])
			}
		}
	}
	want := make([]float64, M*N)
	for i := range M {
		for j := range N {
			p := i*N + j
			want[p] = 3*f[p] + float64(x[(p%M)*N+j]) + float64(j)
		}
	}
	near(t, "o", got[:M*N], want, 1e-6, 1e-5)
	cat := slices.Sorted(slices.Values(got[M*N:]))
	all := make([]float32, 0, 2*M*N)
	for _, v := range f {
		all = append(all, float32(v), float32(v))
	}
	slices.Sort(all)
	if !slices.Equal(cat, all) {
		t.Error("cat does not hold every value twice")
	}
}

func TestAtomics(t *testing.T) {
	m := load(t, "atomics")
	const B, grid = 256, 3
	const n = 2*B + 96
	x := make([]float32, 32)
	is := make([]int32, 4097)
	for i := range 16 {
		x[16+i] = float32(i) - 8
		is[32+i] = -1
	}
	d := New(Options{})
	bx, bi, o := Upload(d, "x", x), Upload(d, "i", is), d.Alloc("o", 4*n)
	launch(t, d, m, "atomics", Dim(grid), Dim(128), 4096, bx, bi, o, int32(n))
	wantX := make([]float64, 32)
	wantI := make([]int32, 4097)
	for i := range 16 {
		wantX[i] = n / 16
		wantX[16+i] = min(float64(i)-8, -1)
		wantI[i] = int32(n - 16 + i)
		wantI[32+i] = -1
		for p := i; p < grid*B; p += 16 {
			wantI[32+i] &= int32(p)
			wantI[48+i] |= int32(p)
			wantI[64+i] ^= int32(p)
		}
	}
	for p := range n {
		wantI[80+p] = int32(p)
	}
	wantI[4096] = 1
	near(t, "x", Download[float32](bx), wantX, 0, 0)
	if got := Download[int32](bi); !slices.Equal(got, wantI) {
		t.Errorf("i is\n%v, want\n%v", got[:96], wantI[:96])
	}
	// The old values of one counter are 0, 1, 2, … in some order.
	for k := range 16 {
		var seen []int
		for p := k; p < n; p += 16 {
			seen = append(seen, int(Download[float32](o)[p]))
		}
		slices.Sort(seen)
		for i, v := range seen {
			if v != i {
				t.Fatalf("old values of counter %d are %v", k, seen)
			}
		}
	}
}

func TestBlockPointers(t *testing.T) {
	m := load(t, "block_ptrs")
	r := newRand(t)
	for _, c := range []struct{ m, n int }{{32, 64}, {48, 144}, {16, 80}} {
		a := halfs(randn(r, c.m*c.n, 1))
		d := New(Options{})
		o := d.Alloc("o", 4*c.m*64)
		launch(t, d, m, "block_ptrs", Dim(cdiv(c.m, 32)), Dim(128), 16384, Upload(d, "a", a), o, int32(c.m), int32(c.n), int32(c.n))
		want := make([]float64, c.m*64)
		for i := range c.m {
			for j := range c.n {
				want[i*64+j%64] += float64(fromHalf(a[i*c.n+j]))
			}
		}
		near(t, "o", Download[float32](o), want, 1e-5, 1e-5)
	}
}

func TestDescriptors(t *testing.T) {
	for _, dir := range generations {
		t.Run(dir, func(t *testing.T) { testDescriptors(t, load(t, dir+"/descriptors")) })
	}
}

func testDescriptors(t *testing.T, m *Module) {
	r := newRand(t)
	for _, c := range []struct{ m, n int }{{32, 64}, {48, 80}} {
		a := halfs(randn(r, c.m*c.n, 1))
		d := New(Options{})
		o := d.Alloc("o", 2*c.m*c.n)
		grid := Dim(cdiv(c.m, 32), cdiv(c.n, 64))
		scratch := d.Alloc("scratch", 256*grid[0]*grid[1]) // where tensor maps are made
		launch(t, d, m, "descriptors", grid, Dim(128), 16384, Upload(d, "a", a), o, int32(c.m), int32(c.n), scratch)
		for i, v := range Download[uint16](o) {
			if want := toHalf(2 * fromHalf(a[i])); v != want {
				t.Fatalf("o[%d] = %04x, want %04x", i, v, want)
			}
		}
	}
}

func TestMaths(t *testing.T) {
	m := load(t, "maths")
	r := newRand(t)
	const B = 128
	x := randn(r, B, 2)
	for i := range x {
		x[i] = float32(math.Abs(float64(x[i]))) + 0.01
	}
	d := New(Options{})
	o := d.Alloc("o", 4*B)
	launch(t, d, m, "maths", Dim(1), Dim(128), 4096, Upload(d, "x", x), o)
	want := make([]float64, B)
	for i, f := range x {
		x := float64(f)
		y := math.Exp(x) + math.Exp2(x) + math.Log(x) + math.Log2(x) + math.Sin(x) + math.Cos(x) + math.Sqrt(x) + 1/math.Sqrt(x)
		y += x + math.Floor(x) + math.Ceil(x) + math.Erf(x) + (x*x + x) + math.Sqrt(x) + x/y
		y += 1/(1+math.Exp(-x)) + min(x, 6) + min(x, y) + max(x, y)
		y += float64(int64(x) * 12345 >> 32)
		want[i] = y
	}
	near(t, "o", Download[float32](o), want, 3e-6, 1e-5)
}

func TestLibdevice(t *testing.T) {
	m := load(t, "libdevices")
	r := newRand(t)
	const B = 128
	x := make([]float32, B)
	for i := range x {
		x[i] = r.Float32()*1.98 - 0.99
	}
	x[0], x[1] = 0.5, -0.5
	d := New(Options{})
	o := d.Alloc("o", 4*B)
	launch(t, d, m, "libdevices", Dim(1), Dim(128), 4096, Upload(d, "x", x), o)
	want := make([]float64, B)
	for i, f := range x {
		x := float64(f)
		want[i] = math.Tanh(x) + x*x + math.Log1p(x) + math.Expm1(x) + math.Asin(x) +
			math.Round(x) + math.RoundToEven(x) + math.Mod(x, 3)
	}
	near(t, "o", Download[float32](o), want, 2e-6, 1e-6)
}

// philox is the generator of tl.rand, from Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3".
func philox(seed uint64, c0 uint32) [4]uint32 {
	c := [4]uint32{c0}
	k0, k1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		a, b := uint64(0xD2511F53)*uint64(c[0]), uint64(0xCD9E8D57)*uint64(c[2])
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k0, uint32(b), uint32(a>>32) ^ c[3] ^ k1, uint32(a)}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

func uniform(v uint32) float64 {
	x := int32(v)
	if x < 0 {
		x = -x - 1
	}
	return float64(float32(x) * 4.6566127342e-10)
}

func TestRandoms(t *testing.T) {
	m := load(t, "randoms")
	const B, grid, seed = 128, 2, 48
	d := New(Options{})
	o := d.Alloc("o", 4*B*grid)
	launch(t, d, m, "randoms", Dim(grid), Dim(128), 4096, o, int32(seed))
	want := make([]float64, B*grid)
	for i := range want {
		c := philox(seed, uint32(i))
		u1, u2 := max(uniform(c[0]), 1e-7), uniform(c[1])
		want[i] = uniform(c[0]) + math.Sqrt(-2*math.Log(u1))*math.Cos(2*math.Pi*u2) + float64(c[0])
	}
	near(t, "o", Download[float32](o), want, 1e-6, 1e-5)
}

func TestInlineAssembly(t *testing.T) {
	m := load(t, "inline_asm")
	x := make([]int32, 128)
	for i := range x {
		x[i] = int32(i * i)
	}
	d := New(Options{})
	o := d.Alloc("o", 4*128)
	launch(t, d, m, "inline_asm", Dim(1), Dim(128), 4096, Upload(d, "x", x), o)
	for i, v := range Download[int32](o) {
		if v != x[i]+1 {
			t.Fatalf("o[%d] = %d, want %d", i, v, x[i]+1)
		}
	}
}

func TestDevicePrintAndAssert(t *testing.T) {
	m := load(t, "debugging")
	var out strings.Builder
	d := New(Options{Output: &out})
	x := make([]float32, 128)
	for i := range x {
		x[i] = float32(i) + 0.5
	}
	bx, o := Upload(d, "x", x), d.Alloc("o", 4*112)
	if _, err := d.Launch(m, "debugging", Dim(1), Dim(128), 0, bx, o, int32(112)); err == nil {
		t.Error("masked lanes hold zero: the assertion x > 0 must fail")
	} else if !strings.Contains(err.Error(), "assertion: features.py:252: x must be positive") {
		t.Errorf("error is %v", err)
	}
	out.Reset()
	o = d.Alloc("o", 4*128)
	launch(t, d, m, "debugging", Dim(1), Dim(128), 0, bx, o, int32(128))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(lines) // warps print in the order in which they pass the barrier
	if len(lines) != 128 || lines[5] != "pid (0, 0, 0) idx (  5) x: 5.500000" {
		t.Errorf("%d lines, the sixth is %q", len(lines), lines[min(5, len(lines)-1)])
	}
	if got := Download[float32](o); !slices.Equal(got, x) {
		t.Error("the output differs from the input")
	}
}

func TestHints(t *testing.T) {
	m := load(t, "hints")
	r := newRand(t)
	const M, N = 512, 16
	x := randn(r, M, 1)
	d := New(Options{})
	o := d.Alloc("o", 4*M)
	launch(t, d, m, "hints", Dim(4), Dim(128), 0, Upload(d, "x", x), o, int32(M), int32(N))
	for i, v := range Download[float32](o) {
		c := i % 128 / 16 * N
		if want := x[i] + x[c] + x[c+1]; v != want {
			t.Fatalf("o[%d] = %v, want %v", i, v, want)
		}
	}
}

func TestTranspose(t *testing.T) {
	m := load(t, "transpose2d")
	for _, c := range []struct{ m, n int }{{64, 64}, {80, 144}, {16, 16}} {
		x := make([]uint16, c.m*c.n)
		for i := range x {
			x[i] = uint16(i)
		}
		d := New(Options{})
		o := d.Alloc("o", 2*c.m*c.n)
		launch(t, d, m, "transpose2d", Dim(cdiv(c.m, 64), cdiv(c.n, 64)), Dim(128), 16384, Upload(d, "x", x), o, int32(c.m), int32(c.n))
		got := Download[uint16](o)
		for i := range c.m {
			for j := range c.n {
				if got[j*c.m+i] != x[i*c.n+j] {
					t.Fatalf("element %d,%d is %d, want %d", j, i, got[j*c.m+i], x[i*c.n+j])
				}
			}
		}
	}
}

// TestProgress: every block is counted once, however the launch ends.
func TestProgress(t *testing.T) {
	for _, name := range []string{"vector_add", "atomics"} { // in parallel, and in waves
		m := load(t, name)
		var seen []int
		const blocks, n = 9, 256 * 9
		d := New(Options{Progress: func(done, total int) {
			if total != blocks {
				t.Errorf("%s: %d of %d blocks", name, done, total)
			}
			seen = append(seen, done)
		}})
		x, y := Upload(d, "x", make([]float32, 1024*blocks)), Upload(d, "y", make([]int32, 1024*blocks))
		launch(t, d, m, name, Dim(blocks), Dim(128), 0, x, y, d.Alloc("out", 4*1024*blocks), int32(n))
		if len(seen) != blocks || seen[0] != 1 || seen[blocks-1] != blocks {
			t.Errorf("%s: progress was %v", name, seen)
		}
	}
}

// TestByteRegisters: mov takes a word apart into registers of eight bits and puts
// it together, cvt widens them, ld and st move them.
func TestByteRegisters(t *testing.T) {
	m, err := Load("snippet.ptx", []byte(snippet(`.reg .b8 t<5>; mul.wide.u32 %rd3, %r2, 4;
		add.u64 %rd1, %rd1, %rd3; shl.b64 %rd3, %rd3, 2; add.u64 %rd2, %rd2, %rd3;
		ld.global.b32 %r6, [%rd1]; ld.global.b8 t4, [%rd1+1];
		mov.b32 {t0, t1, t2, t3}, %r6; mov.b32 %r7, {t3, t2, t1, t0};
		cvt.u32.u8 %r8, t2; cvt.s32.s8 %r9, t3;
		st.global.b32 [%rd2], %r7; st.global.b32 [%rd2+4], %r8; st.global.b32 [%rd2+8], %r9;
		mov.u32 %r10, 0; st.global.b32 [%rd2+12], %r10; st.global.b8 [%rd2+12], t4;`)))
	if err != nil {
		t.Fatal(err)
	}
	r := newRand(t)
	x := make([]uint32, 32)
	for i := range x {
		x[i] = r.Uint32()
	}
	d := New(Options{})
	out := d.Alloc("out", 16*len(x))
	launch(t, d, m, "k", Dim(1), Dim(len(x)), 0, Upload(d, "x", x), out, int32(0))
	got := Download[uint32](out)
	for i, v := range x {
		want := [4]uint32{bits.ReverseBytes32(v), v >> 16 & 0xff, uint32(int32(v) >> 24), v >> 8 & 0xff}
		if [4]uint32(got[4*i:]) != want {
			t.Errorf("of %08x: %08x, want %08x", v, got[4*i:4*i+4], want)
		}
	}
}
